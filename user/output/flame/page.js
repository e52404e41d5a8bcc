// SPDX-License-Identifier: BSD-2-Clause
// The page: what there is to choose, and what follows from a choice.
//
//	choices -> Measure (one sample type) -> tree (plain or inverted) -> graph
//	                                     -> table

const $ = id => document.getElementById(id);

class Page {
  constructor(profile, view) {
    this.profile = profile;
    this.choices = { type: profile.defaultType, inverted: view.inverted, normalize: view.normalize,
      layout: 'union', colour: 'mapping' };
    this.dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.graph = new Graph({ element: $('graph'), canvas: $('canvas'), space: $('space'), item: $('at') },
      new Colours(profile, this.dark.matches), {
        describe: id => this.describe(id),
        moved: id => this.showDetails(id),
        zoomed: () => this.showTrail(),
        hovered: (id, event) => this.showTip(id, event),
      });
    this.table = new FunctionTable({ table: $('table'), more: $('more') }, {
      chosen: (frame, isZoom) => this.chooseFunction(frame, isZoom),
    });
    this.showHeader();
    this.fillToolbar();
    this.listen();
    this.choosePalette();
    this.showType();
  }

  // Header ------------------------------------------------------------------------------------------

  showHeader() {
    const { about, title } = this.profile;
    $('title').textContent = title;
    document.title = title;
    $('accounts').textContent = about.comments.join(' · ');
  }

  showFacts() {
    const { about, types } = this.profile, { measure } = this, [name, unit] = types[measure.type];
    const facts = [[name.replaceAll('_', ' '), formatValue(measure.total, unit)]];
    if (measure.base) {
      facts[0][1] = `${formatValue(measure.base[0], unit)} → ${facts[0][1]}, ${formatGrowth(measure.base[0], measure.total)}`;
      if (measure.factor !== 1)
        facts.push(['before, multiplied by', threeDigits(measure.factor)]);
    }
    types.forEach(([other, otherUnit], type) => {
      if (type !== measure.type && type < 4 && other === 'samples')
        facts.push([other, formatValue(this.profile.total('head', type), otherUnit)]);
    });
    if (about.duration)
      facts.push(['over', formatValue(about.duration, 'nanoseconds')]);
    if (about.period > 1 && about.periodUnit)
      facts.push(['one per', formatValue(about.period, about.periodUnit)]);
    if (about.time)
      facts.push(['from', new Date(about.time / 1e6).toISOString().slice(0, 19).replace('T', ' ') + ' UTC']);
    if (about.full || about.pruned)
      facts.push(['very many stacks:', 'of the smallest only the ends are shown']);
    $('facts').replaceChildren();
    facts.forEach(([what, value], i) =>
      $('facts').append(i ? ' · ' : '', what + ' ', make('b', value)));
  }

  fillToolbar() {
    this.profile.types.forEach(([name], type) => $('type').append(make('option', name, { value: type })));
    if (this.profile.types.length === 1)
      $('type').parentElement.hidden = true;
    $('difference').hidden = !this.profile.isDiff;
    if (this.profile.isDiff) {
      $('colour').prepend(make('option', 'by change', { value: 'change' }));
      this.choices.colour = 'change';
    }
    const { colour, normalize, type } = this.choices;
    $('colour').value = colour;
    $('normalize').checked = normalize;
    $('type').value = type;
    this.toggleTable(window.matchMedia('(min-width: 901px)').matches);
  }

  // What is shown -----------------------------------------------------------------------------------

  // Anything but the direction has changed: new numbers.
  showType() {
    const old = this.graph.tree, { type } = this.choices, zoomed = this.graph.zoomed;
    this.measure = new Measure(this.profile, type, this.choices);
    this.showFacts();
    this.makeTree();
    this.graph.show(this.graph.tree, old ? sameBox(old, zoomed, this.graph.tree) : 0);
    this.table.show(this.measure);
    this.search();
    this.showEmpty();
    this.graph.tell();
    this.showTrail();
  }

  makeTree() {
    this.graph.tree = this.choices.inverted ? new InvertedTree(this.measure) : new CallTree(this.measure);
    this.graph.changeOf = this.choices.colour === 'change' ? id => this.change(id) : null;
    $('invert').setAttribute('aria-pressed', this.choices.inverted);
  }

  // -1 to 1; 0 where the samples are too few to say.
  change(id) {
    const { tree } = this.graph, { about, types } = this.profile, { measure } = this;
    const base = tree.base(id), head = tree.head(id), [name, unit] = types[measure.type];
    const perSample = name === 'samples' ? 1 : about.period > 0 && unit === about.periodUnit && unit !== 'bytes' ? about.period : 0;
    if (perSample && mayBeChance(base / measure.factor / perSample, head / perSample, measure.factor))
      return 0;
    return changeOf(base, head);
  }

  invert() {
    this.choices.inverted = !this.choices.inverted;
    this.makeTree();
    this.graph.show(this.graph.tree);
    this.graph.tell();
    this.showTrail();
  }

  turn(isFlame) {
    this.graph.isFlame = isFlame;
    $('flame').setAttribute('aria-pressed', isFlame);
    $('icicle').setAttribute('aria-pressed', !isFlame);
    this.graph.resize();
    this.graph.scrollToRoot();
  }

  showEmpty() {
    const nothing = this.measure.width[0] > 0 ? '' : this.profile.nr > 1
      ? 'Nothing was seen of this sample type.' : 'The profile has no samples.';
    $('empty').textContent = nothing;
    $('empty').hidden = !nothing;
    $('graph').hidden = Boolean(nothing);
  }

  choosePalette() {
    const { colour } = this.choices;
    this.graph.colours = new Colours(this.profile, this.dark.matches);
    this.graph.colours.by = colour === 'package' ? 'package' : 'mapping';
    this.graph.changeOf = colour === 'change' ? id => this.change(id) : null;
    if (this.measure)
      this.showLegend();
    this.graph.draw();
  }

  toggleTable(isShown = $('table-pane').hidden) {
    $('table-pane').hidden = !isShown;
    $('table-toggle').setAttribute('aria-pressed', isShown);
  }

  // Search ------------------------------------------------------------------------------------------

  // "file:" and "mapping:" search there; a text that is no regular expression is searched as it is.
  matcher(text) {
    const [, where, pattern] = /^(?:(file|mapping):)?(.*)$/s.exec(text);
    const of = frame => this.profile[where ?? 'name'](frame);
    try {
      const regex = new RegExp(pattern, /[A-Z]/.test(pattern) ? '' : 'i');
      return frame => regex.test(of(frame));
    } catch {
      return frame => of(frame).includes(pattern);
    }
  }

  search() {
    const text = $('search').value;
    let matches = null, nr = 0;
    if (text) {
      const isMatch = this.matcher(text);
      matches = new Uint8Array(this.profile.nrFrames);
      for (let frame = 0; frame < matches.length; frame++)
        nr += matches[frame] = Number(isMatch(frame));
    }
    this.table.filter(matches);
    this.highlight(matches, nr);
  }

  highlight(matches, nr) {
    const { measure, profile } = this, found = $('found');
    this.graph.matches = matches;
    this.found = -1;
    found.className = matches && !nr ? 'wrong' : '';
    found.textContent = '';
    if (matches && !nr) {
      found.textContent = 'no match';
    } else if (matches) {
      const sum = profile.sumOf(matches, measure.head);
      found.textContent = `${formatShare(sum, measure.total)} · ${formatValue(sum, measure.unit)}`;
      if (measure.base) {
        const base = profile.sumOf(matches, measure.base);
        found.textContent = `${formatShare(base, measure.base[0])} → ${found.textContent}`;
      }
      found.title = `${formatNumber(nr)} functions`;
    }
    this.graph.draw();
    this.showLegend();
  }

  chooseFunction(frame, isZoom) {
    this.table.select(frame);
    if (frame < 0) {
      this.search();
      return;
    }
    const matches = new Uint8Array(this.profile.nrFrames);
    matches[frame] = 1;
    this.highlight(matches, 1);
    const widest = this.boxesThat(id => this.graph.tree.frame(id) === frame)
      .reduce((best, id) => best < 0 || this.graph.tree.width(id) > this.graph.tree.width(best) ? id : best, -1);
    if (widest < 0)
      return;
    if (isZoom)
      this.graph.zoom(widest);
    else
      this.graph.moveTo(widest);
  }

  // Of the boxes that would be drawn if nothing were zoomed, in reading order.
  boxesThat(isWanted) {
    const found = [], { graph } = this;
    graph.visit(graph.rangeOf(0), id => {
      if (graph.tree.frame(id) >= 0 && isWanted(id))
        found.push(id);
      return true;
    });
    return found.sort((a, b) => graph.tree.depth(a) - graph.tree.depth(b) || graph.tree.start(a) - graph.tree.start(b));
  }

  nextMatch(step) {
    const { matches, tree } = this.graph;
    if (!matches)
      return;
    const boxes = this.boxesThat(id => matches[tree.frame(id)]);
    if (!boxes.length)
      return;
    this.found = this.found < 0 && step < 0 ? boxes.length - 1 : (this.found + step + boxes.length) % boxes.length;
    this.graph.element.focus();
    this.graph.moveTo(boxes[this.found]);
  }

  // Words about a box -------------------------------------------------------------------------------

  describe(id) { return describeBox(this.graph.tree, id); }

  showDetails(id) {
    const frame = this.graph.tree.frame(id);
    const place = this.profile.place(frame) || this.profile.mapping(frame);
    $('details-text').textContent = this.describe(id) + (place ? ' · ' + place : '');
    $('details-text').title = $('details-text').textContent;
    $('details-actions').hidden = frame < 0;
  }

  showTip(id, event) {
    const tip = $('tip');
    tip.hidden = id < 0;
    if (id < 0)
      return;
    tip.replaceChildren(...tipOf(this.graph.tree, id, this.choices.inverted));
    const { innerWidth, innerHeight } = window, { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const top = event.clientY + 18 + height < innerHeight ? event.clientY + 18 : event.clientY - height - 12;
    tip.style.left = Math.max(8, left) + 'px';
    tip.style.top = Math.max(8, top) + 'px';
  }

  showTrail() {
    const { graph } = this, path = graph.zoomed ? pathTo(graph.tree, graph.zoomed) : [];
    const isLong = path.length > 7, shown = isLong ? [path[0], null, ...path.slice(-5)] : path;
    $('trail').replaceChildren();
    shown.forEach((id, i) => {
      if (i)
        $('trail').append(make('i', '›', { 'aria-hidden': 'true' }));
      if (id === null) {
        $('trail').append(make('i', `… ${path.length - 6} …`));
        return;
      }
      const button = make('button', this.profile.name(graph.tree.frame(id)), { type: 'button' });
      if (id === graph.zoomed)
        button.setAttribute('aria-current', 'true');
      button.addEventListener('click', () => graph.zoom(id));
      $('trail').append(button);
    });
  }

  showLegend() {
    const { colours } = this.graph;
    const items = this.choices.colour === 'change' ? changeLegend(colours)
      : groupLegend(colours, this.table.flat, this.measure.whole);
    $('legend').replaceChildren(...items.map(([fill, text]) => legendItem(colours, fill, text)));
  }

  // Events ------------------------------------------------------------------------------------------

  listen() {
    const { choices } = this;
    const choose = (id, name, read) => $(id).addEventListener('change', event => {
      choices[name] = read(event.target);
      if (name === 'colour')
        this.choosePalette();
      else
        this.showType();
    });
    choose('type', 'type', target => Number(target.value));
    choose('layout', 'layout', target => target.value);
    choose('normalize', 'normalize', target => target.checked);
    choose('colour', 'colour', target => target.value);
    $('search').addEventListener('input', () => { this.table.select(-1); this.search(); });
    $('search').addEventListener('keydown', event => this.searchKey(event));
    $('icicle').addEventListener('click', () => this.turn(false));
    $('flame').addEventListener('click', () => this.turn(true));
    $('invert').addEventListener('click', () => this.invert());
    $('reset').addEventListener('click', () => this.reset());
    $('table-toggle').addEventListener('click', () => this.toggleTable());
    $('help-open').addEventListener('click', () => $('help').showModal());
    $('copy').addEventListener('click', () => this.copyName());
    $('find-this').addEventListener('click', () => this.chooseFunction(this.graph.tree.frame(this.graph.at), false));
    this.dark.addEventListener('change', () => this.choosePalette());
    document.addEventListener('keydown', event => this.key(event));
  }

  searchKey(event) {
    if (event.key === 'Enter')
      this.nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape')
      this.clearSearch();
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  clearSearch() {
    $('search').value = '';
    this.table.select(-1);
    this.search();
    $('graph').focus();
  }

  // Out by one step: first the search, then the zoom.
  escape() {
    if (this.graph.matches)
      this.clearSearch();
    else if (this.graph.zoomed)
      this.graph.zoom(0);
  }

  reset() {
    $('search').value = '';
    this.table.select(-1);
    this.search();
    this.graph.zoom(0);
  }

  key(event) {
    const isTyping = event.target.matches('input[type="search"], select');
    if (isTyping || $('help').open || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const type = Number(event.key) - 1;
    const actions = {
      '/': () => $('search').focus(),
      i: () => this.invert(),
      f: () => this.turn(!this.graph.isFlame),
      t: () => this.toggleTable(),
      c: () => this.copyName(),
      s: () => this.chooseFunction(this.graph.tree.frame(this.graph.at), false),
      n: () => this.nextMatch(1),
      N: () => this.nextMatch(-1),
      '?': () => $('help').showModal(),
      Escape: () => this.escape(),
    };
    if (actions[event.key])
      actions[event.key]();
    else if (type >= 0 && type < this.profile.types.length)
      this.chooseType(type);
    else
      return;
    event.preventDefault();
  }

  chooseType(type) {
    $('type').value = this.choices.type = type;
    this.showType();
  }

  async copyName() {
    const frame = this.graph.tree.frame(this.graph.at);
    if (frame < 0)
      return;
    const button = $('copy');
    try {
      await navigator.clipboard.writeText(this.profile.name(frame));
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => { button.textContent = 'Copy name'; }, 1500);
  }
}

const stored = JSON.parse($('data').textContent);
$('data').remove(); // its text would be held as long as the page
const page = new Page(new Profile(stored), stored.view);
