// SPDX-License-Identifier: BSD-2-Clause
// The sandwich view of one function: its callers above it, its callees below it, and both as numbers.
//
// The numbers are those of `cprof peek` and of pprof's -peek.
// In the graphs each stack is counted once, at the outermost frame of the function; in the tables once
// for each pair of caller and callee. They differ where functions recurse.

class Sandwich {
  constructor(elements, colours, events) {
    Object.assign(this, elements, { events });
    this.frame = -1; // -1: not shown
    const graphOf = (half, of) => new Graph({ element: half.element, canvas: half.canvas, space: half.space, item: half.item }, colours, {
      describe: id => describeBox(of().tree, id),
      moved: id => events.moved(of().tree, id),
      zoomed: () => {},
      hovered: (id, event) => events.hovered(of().tree, id, event, of() === this.callers),
    });
    this.callers = graphOf(elements.above, () => this.callers);
    this.callees = graphOf(elements.below, () => this.callees);
    this.callers.isFlame = true; // the function at the bottom, its callers on top of it
    this.graphs = [this.callers, this.callees];
    this.pane.addEventListener('focusin', event => {
      this.active = this.graphs.find(graph => graph.element.contains(event.target)) ?? this.active;
    });
    for (const table of [this.callersTable, this.calleesTable]) {
      table.addEventListener('click', event => this.choose(event));
      table.addEventListener('keydown', event => this.key(event));
    }
  }

  get isShown() { return this.frame >= 0; }

  // Numbers and trees of a function.
  show(measure, frame) {
    Object.assign(this, { measure, frame, active: this.callees });
    this.pane.hidden = this.edges.hidden = false;
    this.callers.show(new InvertedTree(measure, frame));
    this.callees.show(new CalleeTree(measure, frame));
    for (const graph of this.graphs)
      graph.tell();
    this.showEdges();
    this.events.moved(this.callees.tree, 0);
  }

  hide() {
    this.frame = -1;
    this.pane.hidden = this.edges.hidden = true;
  }

  set(what) {
    for (const graph of this.graphs) {
      Object.assign(graph, what(graph));
      graph.draw();
    }
  }

  showFacts(flat) {
    const { tree } = this.callees, { measure } = this, { unit } = measure;
    const facts = [[formatValue(tree.head(0), unit), ' in and below, '], [formatShare(tree.head(0), measure.total), ' of all, '],
      [formatValue(flat, unit), ' itself']];
    if (measure.base)
      facts.unshift([formatGrowth(tree.base(0), tree.head(0)), ': ']);
    this.name.textContent = measure.profile.name(this.frame);
    this.name.title = [measure.profile.place(this.frame), measure.profile.mapping(this.frame)].filter(Boolean).join('\n');
    this.facts.replaceChildren(...facts.flatMap(([value, words]) => [make('b', value), words]));
  }

  showEdges() {
    const { profile } = this.measure, { headSelf, baseSelf } = this.measure;
    const head = profile.edgesOf(this.frame, this.measure.head);
    const base = this.measure.base ? profile.edgesOf(this.frame, this.measure.base) : null;
    const ends = { callers: [0, 0], callees: [0, 0] }; // stacks that begin with it, that end in it
    for (let node = 1; node < profile.nr; node++) {
      if (profile.frame[node] !== this.frame)
        continue;
      ends.callees[0] += headSelf[node];
      ends.callees[1] += baseSelf ? baseSelf[node] : 0;
      if (profile.parent[node] === 0) {
        ends.callers[0] += this.measure.head[node];
        ends.callers[1] += base ? this.measure.base[node] : 0;
      }
    }
    this.showFacts(ends.callees[0]);
    this.fill(this.callersTable, head.callers, base?.callers, ends.callers, '(begins here)');
    this.fill(this.calleesTable, head.callees, base?.callees, ends.callees, '(itself)');
  }

  // Rows: the value, or its change, then the other function; frame -1 is the function's own.
  fill(table, head, base, [ownHead, ownBase], words) {
    const frames = [...new Set([...head.keys(), ...(base?.keys() ?? [])])];
    const rows = frames.map(frame => [frame, head.get(frame) ?? 0, base?.get(frame) ?? 0]);
    if (ownHead || ownBase)
      rows.push([-1, ownHead, ownBase]);
    const weight = ([, head, old]) => Math.abs(base ? head - old : head), { profile } = this.measure;
    rows.sort((a, b) => weight(b) - weight(a) || b[1] - a[1] || a[0] - b[0]);
    table.tBodies[0].replaceChildren(...rows.filter(([, head, old]) => head || old).map(([frame, head, old], i) => {
      const row = make('tr', '', { 'data-frame': frame, tabindex: i ? -1 : 0 });
      row.append(valueCell(this.measure, head, base ? head - old : undefined, this.callees.tree.head(0) || this.callees.tree.base(0)),
        frame < 0 ? make('td', words, { class: 'nothing' }) : make('td', profile.name(frame), { title: profile.name(frame) }));
      return row;
    }));
  }

  choose(event) {
    const frame = Number(event.target.closest('tbody tr')?.dataset.frame ?? -1);
    if (frame >= 0)
      this.events.chosen(frame);
  }

  key(event) {
    const row = event.target.closest('tbody tr');
    const to = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (to)
      to.focus();
    else if (event.key === 'Enter' || event.key === ' ')
      this.choose(event);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }
}
