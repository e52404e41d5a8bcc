// SPDX-License-Identifier: BSD-2-Clause
// The page: what there is to choose, and what follows from a choice.
//
//	choices -> Measure (one sample type, filtered) -> tree (plain or inverted) -> graph
//	                                               -> callers and callees of one function
//	                                               -> table

const $ = id => document.getElementById(id);

class Page extends Surroundings {
  constructor(profile, view) {
    super();
    this.profile = profile;
    this.usual = { inverted: view.inverted, normalize: view.normalize, colour: profile.isDiff ? 'change' : 'mapping' };
    this.dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.makeViews(new Colours(profile, this.dark.matches));
    this.showHeader();
    this.fillToolbar();
    this.choices = choicesOf('', this).choices;
    this.link = new Link(this);
    this.listen();
    this.link.follow();
  }

  makeViews(colours) {
    this.graph = new Graph({ element: $('graph'), canvas: $('canvas'), space: $('space'), item: $('at') }, colours, {
      describe: id => describeBox(this.graph.tree, id),
      moved: id => this.showDetails(this.graph.tree, id),
      zoomed: () => this.showTrail(),
      hovered: (id, event) => this.showTip(this.graph.tree, id, event, this.choices.inverted),
    });
    this.table = new FunctionTable({ table: $('table'), more: $('more') }, {
      chosen: (frame, isZoom) => this.chooseFunction(frame, isZoom),
    });
    const half = name => ({ element: $(name), canvas: $(name + '-canvas'), space: $(name + '-space'), item: $(name + '-at') });
    this.sandwich = new Sandwich({ pane: $('sandwich'), edges: $('edges'), above: half('callers'), below: half('callees'),
      name: $('pivot-name'), facts: $('pivot-facts'), callersTable: $('callers-table'), calleesTable: $('callees-table') }, colours, {
      moved: (tree, id) => this.showDetails(tree, id),
      hovered: (tree, id, event, isInverted) => this.showTip(tree, id, event, isInverted),
      chosen: frame => this.pivot(frame),
    });
    this.filterBar = new FilterBar(this.profile, { field: $('filter-field'), select: $('filter'), list: $('filters') }, {
      filters: () => this.choices.filters,
      chosen: filters => {
        this.choices.filters = filters;
        this.showType();
      },
    });
  }

  // Toolbar -----------------------------------------------------------------------------------------

  fillToolbar() {
    this.profile.types.forEach(([name], type) => $('type').append(make('option', name, { value: type })));
    if (this.profile.types.length === 1)
      $('type').parentElement.hidden = true;
    $('difference').hidden = !this.profile.isDiff;
    if (this.profile.isDiff)
      $('colour').prepend(make('option', 'by change', { value: 'change' }));
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
    this.filterBar.fill(type);
    this.filterBar.show(this.choices.filters);
    this.search();
    this.showLegend();
    this.showEmpty();
    this.graph.tell();
    this.showTrail();
    if (this.sandwich.isShown)
      this.pivot(this.sandwich.frame);
  }

  // Callers and callees of a function, in place of the graph.
  pivot(frame) {
    if (frame < 0)
      return;
    $('graph').hidden = true;
    $('trail').replaceChildren();
    this.sandwich.show(this.measure, frame);
    this.table.select(frame);
    this.highlight(this.searched(), 1);
    this.showEmpty();
    this.link.note();
  }

  unpivot() {
    this.sandwich.hide();
    $('graph').hidden = false;
    this.showEmpty();
    this.graph.resize();
    this.showTrail();
    this.graph.tell();
    $('graph').focus();
  }

  // The function that an action is about: that of the box under the keyboard.
  get atFrame() {
    if (this.sandwich.isShown)
      return this.sandwich.active.tree.frame(this.sandwich.active.at);
    return this.graph.tree.frame(this.graph.at);
  }

  makeTree() {
    this.graph.tree = this.choices.inverted ? new InvertedTree(this.measure) : new CallTree(this.measure);
    this.graph.changeOf = this.choices.colour === 'change' ? id => this.change(id, this.graph.tree) : null;
    $('invert').setAttribute('aria-pressed', this.choices.inverted);
  }

  // -1 to 1; 0 where the samples are too few to say.
  change(id, tree) {
    const { about, types } = this.profile, { measure } = this;
    const base = tree.base(id), head = tree.head(id), [name, unit] = types[measure.type];
    const perSample = name === 'samples' ? 1 : about.period > 0 && unit === about.periodUnit && unit !== 'bytes' ? about.period : 0;
    if (perSample && mayBeChance(base / measure.factor / perSample, head / perSample, measure.factor))
      return 0;
    return changeOf(base, head);
  }

  invert() {
    this.choices.inverted = !this.choices.inverted;
    this.makeTree();
    if (this.sandwich.isShown)
      this.unpivot();
    this.graph.show(this.graph.tree);
    this.graph.tell();
    this.showTrail();
  }

  turn(isFlame) {
    this.graph.isFlame = isFlame;
    $('flame').setAttribute('aria-pressed', isFlame);
    $('icicle').setAttribute('aria-pressed', !isFlame);
    this.graph.resize();
    if (this.graph.tree)
      this.graph.scrollToRoot();
    this.link.note();
  }

  showEmpty() {
    const nothing = this.measure.width[0] > 0 ? '' : this.profile.nr <= 1 ? 'The profile has no samples.'
      : this.measure.kept ? 'No sample has all of these labels.' : 'Nothing was seen of this sample type.';
    $('empty').textContent = nothing;
    $('empty').hidden = !nothing;
    $('graph').hidden = Boolean(nothing) || this.sandwich.isShown;
    $('sandwich').hidden = Boolean(nothing) || !this.sandwich.isShown;
  }

  choosePalette() {
    const { colour } = this.choices;
    this.graph.colours = new Colours(this.profile, this.dark.matches);
    this.graph.colours.by = colour === 'package' ? 'package' : 'mapping';
    this.graph.changeOf = colour === 'change' ? id => this.change(id, this.graph.tree) : null;
    this.sandwich.set(graph => ({ colours: this.graph.colours, changeOf: colour === 'change' ? id => this.change(id, graph.tree) : null }));
    if (this.measure)
      this.showLegend();
    this.graph.draw();
    this.link.note();
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

  // A 1 for each frame that is searched for; null: none is.
  searched() {
    const text = $('search').value;
    if (!text)
      return null;
    const isMatch = this.matcher(text), matches = new Uint8Array(this.profile.nrFrames);
    for (let frame = 0; frame < matches.length; frame++)
      matches[frame] = Number(isMatch(frame));
    return matches;
  }

  search() {
    const matches = this.searched();
    this.table.filter(matches);
    this.highlight(matches, matches ? matches.reduce((a, b) => a + b, 0) : 0);
    this.link.note();
  }

  highlight(matches, nr) {
    const { measure, profile } = this, found = $('found');
    this.graph.matches = matches;
    this.sandwich.set(() => ({ matches }));
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
  }

  chooseFunction(frame, isZoom) {
    if (this.sandwich.isShown && frame >= 0) {
      this.pivot(frame);
      return;
    }
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
    if (!matches || this.sandwich.isShown)
      return;
    const boxes = this.boxesThat(id => matches[tree.frame(id)]);
    if (!boxes.length)
      return;
    this.found = this.found < 0 && step < 0 ? boxes.length - 1 : (this.found + step + boxes.length) % boxes.length;
    this.graph.element.focus();
    this.graph.moveTo(boxes[this.found]);
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
    $('find-this').addEventListener('click', () => this.findThis());
    $('pivot-open').addEventListener('click', () => this.pivot(this.atFrame));
    $('pivot-close').addEventListener('click', () => this.unpivot());
    $('link').addEventListener('click', () => this.copyLink());
    $('raw-open').addEventListener('click', () => showRaw(this, this.atFrame));
    $('raw-download').addEventListener('click', () => download(`${this.profile.types[this.measure.type][0]}.folded`, foldedText(this.measure)));
    this.dark.addEventListener('change', () => this.choosePalette());
    document.addEventListener('keydown', event => pressKey(this, event));
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
    else if (this.sandwich.isShown)
      this.unpivot();
    else if (this.graph.zoomed)
      this.graph.zoom(0);
  }

  reset() {
    $('search').value = '';
    this.table.select(-1);
    this.choices.filters = [];
    if (this.sandwich.isShown)
      this.unpivot();
    this.showType();
    this.graph.zoom(0);
  }

  chooseType(type) {
    $('type').value = this.choices.type = type;
    this.showType();
  }

  // The function of the table's row that has the keyboard.
  frameOfRow(event) {
    const frame = event.target.closest('tbody tr')?.dataset.frame;
    return frame === undefined || frame < 0 ? undefined : Number(frame);
  }

  // All boxes of the function under the keyboard, in the whole graph.
  findThis() {
    const frame = this.atFrame;
    if (this.sandwich.isShown)
      this.unpivot();
    this.chooseFunction(frame, false);
  }

  copyName() {
    if (this.atFrame >= 0)
      copyFrom($('copy'), this.profile.name(this.atFrame));
  }

  copyLink() {
    this.link.noteNow();
    copyFrom($('link'), location.href);
  }
}

const stored = JSON.parse($('data').textContent);
$('data').remove(); // its text would be held as long as the page
const page = new Page(new Profile(stored), stored.view);
