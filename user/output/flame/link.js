// SPDX-License-Identifier: BSD-2-Clause
// The state of the view as the part of the address behind '#', so that a link shows the same view. It
// works from file:// too; nothing is stored or sent.
//
//	#type=cpu&view=inverted&search=parse&tag=thread:worker-1&zoom=0.4.k&of=2n
//
// zoom is the frames from the root to the zoomed box, pivot the function whose callers and callees are
// shown, as numbers to the base 36; they hold for this page only, which `of`, how many frames there
// are, is a guard for. An address is untrusted input: unknown parts are ignored.

const LONGEST_SEARCH = 500;

function linkOf(page) {
  const { choices, profile, graph, sandwich } = page, query = new URLSearchParams();
  const put = (name, value, usual) => {
    if (value !== usual && value !== '')
      query.append(name, value);
  };
  put('type', choices.type === profile.defaultType ? '' : profile.types[choices.type][0]);
  put('view', choices.inverted ? 'inverted' : 'callees', page.usual.inverted ? 'inverted' : 'callees');
  put('root', graph.isFlame ? 'bottom' : 'top', 'top');
  put('colour', choices.colour, page.usual.colour);
  put('width', choices.layout, 'union');
  put('normalized', choices.normalize ? 'yes' : 'no', page.usual.normalize ? 'yes' : 'no');
  put('search', $('search').value);
  for (const { key, value } of choices.filters)
    query.append('tag', `${profile.labels.keys[key].key}:${profile.labels.text({ key, value })}`);
  if (graph.zoomed)
    put('zoom', pathTo(graph.tree, graph.zoomed).slice(1).map(id => graph.tree.frame(id).toString(36)).join('.'));
  if (sandwich.isShown)
    put('pivot', sandwich.frame.toString(36));
  if (graph.zoomed || sandwich.isShown)
    put('of', profile.nrFrames.toString(36));
  return query.toString();
}

// The choices of an address, and what is to be found in the tree once that is made.
function choicesOf(text, page) {
  const query = new URLSearchParams(text), { profile, usual } = page;
  const one = (name, known, otherwise) => known.includes(query.get(name)) ? query.get(name) : otherwise;
  const type = profile.types.findIndex(([name]) => name === query.get('type'));
  const isOfThis = query.get('of') === profile.nrFrames.toString(36);
  const pivot = isOfThis && query.get('pivot') !== null ? parseInt(query.get('pivot'), 36) : -1;
  const filters = query.getAll('tag').slice(0, 100).map(tag => {
    const colon = [...tag.matchAll(/:/g)].find(({ index }) => profile.labels.keys.some(({ key }) => key === tag.slice(0, index)));
    return colon && profile.labels.find(tag.slice(0, colon.index), tag.slice(colon.index + 1));
  });
  return {
    choices: {
      type: type < 0 ? profile.defaultType : type,
      inverted: one('view', ['inverted', 'callees'], usual.inverted ? 'inverted' : 'callees') === 'inverted',
      normalize: one('normalized', ['yes', 'no'], usual.normalize ? 'yes' : 'no') === 'yes',
      layout: profile.isDiff ? one('width', ['union', 'head', 'base'], 'union') : 'union',
      colour: one('colour', [...$('colour').options].map(({ value }) => value), usual.colour),
      filters: filters.filter(Boolean),
    },
    isFlame: query.get('root') === 'bottom',
    search: (query.get('search') ?? '').slice(0, LONGEST_SEARCH),
    zoom: isOfThis && query.get('zoom') ? query.get('zoom').split('.').slice(0, 10000).map(frame => parseInt(frame, 36)) : [],
    pivot: pivot >= 0 && pivot < profile.nrFrames ? pivot : -1,
  };
}

// The box with these frames from the root on, or the last one on the way that is there.
function boxOfPath(tree, frames) {
  let at = 0;
  for (const frame of frames) {
    const next = tree.kids(at).find(kid => tree.frame(kid) === frame);
    if (next === undefined)
      break;
    at = next;
  }
  return at;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // an old way, for browsers that do not trust a file
    const area = make('textarea', text, { class: 'unseen' }), focused = document.activeElement;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    focused?.focus();
    return done;
  }
}

// Says on the button itself whether it could be copied.
async function copyFrom(button, text) {
  const usual = button.dataset.usual ??= button.textContent;
  button.textContent = await copyText(text) ? 'Copied' : 'Not allowed';
  setTimeout(() => { button.textContent = usual; }, 1500);
}

class Link {
  constructor(page) {
    this.page = page;
    window.addEventListener('hashchange', () => this.follow());
  }

  // What the address says is shown, from scratch.
  follow() {
    const { page } = this;
    const { choices, isFlame, search, zoom, pivot } = choicesOf(location.hash.slice(1), page);
    Object.assign(page.choices, choices);
    $('colour').value = choices.colour;
    $('normalize').checked = choices.normalize;
    $('layout').value = choices.layout;
    $('type').value = choices.type;
    $('search').value = search;
    page.sandwich.hide();
    $('graph').hidden = false;
    page.turn(isFlame);
    page.choosePalette();
    page.showType();
    if (zoom.length)
      page.graph.zoom(boxOfPath(page.graph.tree, zoom));
    else if (page.graph.zoomed)
      page.graph.zoom(0);
    if (pivot >= 0)
      page.pivot(pivot);
  }

  // The address says what is shown, a moment after the last change.
  note() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => this.noteNow(), 200);
  }

  noteNow() {
    clearTimeout(this.noting);
    const link = linkOf(this.page);
    if (link === location.hash.slice(1))
      return;
    try {
      history.replaceState(null, '', link ? '#' + link : location.pathname + location.search);
    } catch { // a page within a page may not: its link cannot be copied, all else works
    }
  }
}
