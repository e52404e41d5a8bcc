// SPDX-License-Identifier: BSD-2-Clause
// The functions, how much is in them (flat) and in and below them (cum). In a diff: how much that is
// now, and by how much it changed.

const ROWS_AT_ONCE = 200;

// A value, or where there is one its change, and its share.
function valueCell({ unit, whole: all }, value, change, whole = all) {
  const cell = make('td'), shown = change ?? value;
  cell.append(change === undefined ? formatValue(value, unit) : formatChange(change, unit), ' ',
    make('small', shown ? formatShare(shown, whole) : ''));
  if (!shown) {
    cell.className = 'nothing';
  } else if (change === undefined) {
    cell.className = 'share';
    cell.style.setProperty('--share', `${100 * Math.min(1, Math.abs(value) / (whole || 1))}%`);
  } else {
    cell.className = change > 0 ? 'grew' : 'shrank';
  }
  return cell;
}

class FunctionTable {
  constructor(elements, events) {
    Object.assign(this, elements, { events });
    this.selected = -1;
    this.order = { by: 'flat', descending: true };
    this.more.addEventListener('click', () => this.grow());
    this.table.tBodies[0].addEventListener('click', event => this.choose(event, false));
    this.table.tBodies[0].addEventListener('dblclick', event => this.choose(event, true));
    this.table.tBodies[0].addEventListener('keydown', event => this.key(event));
  }

  // Numbers of a measure; filter() puts them into rows.
  show(measure) {
    const { profile } = measure;
    this.measure = measure;
    [this.flat, this.cum] = profile.byFrame(measure.headSelf, measure.head);
    this.flatChange = this.cumChange = null;
    if (measure.base) {
      const [flat, cum] = profile.byFrame(measure.baseSelf, measure.base);
      this.flatChange = this.flat.map((value, frame) => value - flat[frame]);
      this.cumChange = this.cum.map((value, frame) => value - cum[frame]);
      this.cumBase = cum;
    }
  }

  filter(matches) {
    this.matches = matches;
    this.frames = [];
    for (let frame = 0; frame < this.flat.length; frame++)
      if ((this.cum[frame] || this.cumBase?.[frame]) && (!matches || matches[frame]))
        this.frames.push(frame);
    this.sort();
  }

  sort() {
    const { by, descending } = this.order, { profile } = this.measure;
    const sign = descending ? -1 : 1;
    const change = { flat: this.flatChange, cum: this.cumChange };
    // Where there is a change, that is what one looks for, in either direction.
    const weight = by === 'name' ? null : change[by] ? frame => Math.abs(change[by][frame]) : frame => this[by][frame];
    const byName = (a, b) => profile.name(a) < profile.name(b) ? -1 : profile.name(a) > profile.name(b) ? 1 : a - b;
    this.frames.sort((a, b) => weight ? sign * (weight(a) - weight(b)) || this.cum[b] - this.cum[a] || byName(a, b)
      : sign * byName(a, b));
    this.shown = 0;
    this.head();
    this.table.tBodies[0].replaceChildren();
    this.grow();
  }

  head() {
    const row = make('tr');
    const titles = this.flatChange ? { flat: 'Flat ±', cum: 'Cum ±', name: 'Function' } : { flat: 'Flat', cum: 'Cum', name: 'Function' };
    const says = { flat: 'In the function itself', cum: 'In the function and all that it calls', name: 'Function' };
    for (const [by, title] of Object.entries(titles)) {
      const isBy = by === this.order.by;
      const cell = make('th', '', { scope: 'col', title: says[by] });
      const button = make('button', title, { type: 'button' });
      if (isBy)
        cell.setAttribute('aria-sort', this.order.descending ? 'descending' : 'ascending');
      button.addEventListener('click', () => {
        this.order = { by, descending: isBy ? !this.order.descending : by !== 'name' };
        this.sort();
        this.table.tHead.querySelector(`th[aria-sort] button`).focus();
      });
      cell.append(button);
      row.append(cell);
    }
    this.table.tHead.replaceChildren(row);
  }

  grow() {
    const body = this.table.tBodies[0], next = this.frames.slice(this.shown, this.shown + ROWS_AT_ONCE);
    body.append(...next.map(frame => this.row(frame)));
    this.shown += next.length;
    const left = this.frames.length - this.shown;
    this.more.hidden = left === 0;
    this.more.textContent = `${formatNumber(Math.min(left, ROWS_AT_ONCE))} more of ${formatNumber(this.frames.length)} functions`;
    this.mark();
  }

  row(frame) {
    const { profile } = this.measure;
    const row = make('tr', '', { tabindex: -1, 'data-frame': frame });
    row.append(valueCell(this.measure, this.flat[frame], this.flatChange?.[frame]),
      valueCell(this.measure, this.cum[frame], this.cumChange?.[frame]),
      make('td', profile.name(frame), { title: [profile.name(frame), profile.place(frame), profile.mapping(frame)].filter(Boolean).join('\n') }));
    return row;
  }

  choose(event, isZoom) {
    const row = event.target.closest('tr');
    if (!row)
      return;
    const frame = Number(row.dataset.frame);
    this.events.chosen(isZoom || frame !== this.selected ? frame : -1, isZoom);
    row.focus();
  }

  key(event) {
    const row = event.target.closest('tr');
    const to = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (to)
      to.focus();
    else if (event.key === 'Enter' || event.key === ' ')
      this.choose(event, event.key === 'Enter');
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  select(frame) {
    this.selected = frame;
    this.mark();
  }

  // One row is in the order of the Tab key: the chosen one, or the first.
  mark() {
    const rows = [...this.table.tBodies[0].rows];
    const chosen = rows.find(row => Number(row.dataset.frame) === this.selected);
    for (const row of rows) {
      row.setAttribute('aria-selected', row === chosen);
      row.tabIndex = row === (chosen ?? rows[0]) ? 0 : -1;
    }
  }
}
