// SPDX-License-Identifier: BSD-2-Clause
// The parts around the graph: header, path to the zoomed box, tooltip, details, legend. The base of the
// page's class.

class Surroundings {
  showHeader() {
    const { about, title } = this.profile;
    $('title').textContent = title;
    document.title = title;
    $('accounts').textContent = about.comments.join(' · ');
  }

  showFacts() {
    const { about, types } = this.profile, { measure } = this, [name, unit] = types[measure.type];
    const facts = [[name.replaceAll('_', ' '), formatValue(measure.total, unit)]];
    if (measure.kept) {
      const all = this.profile.total('head', measure.type);
      facts[0][1] += ` of ${formatValue(all, unit)} (${formatShare(measure.total, all)})`;
    }
    if (measure.base) {
      facts[0][1] = `${formatValue(measure.base[0], unit)} → ${facts[0][1]}, ${formatGrowth(measure.base[0], measure.total)}`;
      if (measure.factor !== 1)
        facts.push(['before, multiplied by', threeDigits(measure.factor)]);
    }
    types.forEach(([other, otherUnit], type) => {
      if (type !== measure.type && type < 4 && other === 'samples')
        facts.push([other, formatValue(this.profile.total('head', type, measure.kept), otherUnit)]);
    });
    if (about.duration)
      facts.push(['over', formatValue(about.duration, 'nanoseconds')]);
    if (about.period > 1 && about.periodUnit)
      facts.push(['one per', formatValue(about.period, about.periodUnit)]);
    if (about.time)
      facts.push(['from', new Date(about.time / 1e6).toISOString().slice(0, 19).replace('T', ' ') + ' UTC']);
    if (about.full || about.pruned)
      facts.push(['very many stacks:', 'of the smallest only the ends are shown']);
    if (about.labelsCut)
      facts.push(['very many labels:', 'not all can be filtered by']);
    $('facts').replaceChildren();
    facts.forEach(([what, value], i) =>
      $('facts').append(i ? ' · ' : '', what + ' ', make('b', value)));
  }

  showDetails(tree, id) {
    const frame = tree.frame(id);
    const place = this.profile.place(frame) || this.profile.mapping(frame);
    $('details-text').textContent = describeBox(tree, id) + (place ? ' · ' + place : '');
    $('details-text').title = $('details-text').textContent;
    $('details-actions').hidden = frame < 0;
  }

  showTip(tree, id, event, isInverted) {
    const tip = $('tip');
    tip.hidden = id < 0;
    if (id < 0)
      return;
    tip.replaceChildren(...tipOf(tree, id, isInverted));
    const { innerWidth, innerHeight } = window, { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const top = event.clientY + 18 + height < innerHeight ? event.clientY + 18 : event.clientY - height - 12;
    tip.style.left = Math.max(8, left) + 'px';
    tip.style.top = Math.max(8, top) + 'px';
  }

  showTrail() {
    this.link.note();
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
}
