// SPDX-License-Identifier: BSD-2-Clause
// The texts about a box, and the legend of the colours.

// One line, for the footer and for who listens.
function describeBox(tree, id) {
  const { measure, profile } = tree, head = tree.head(id), base = tree.base(id);
  const change = measure.base ? `, before ${formatValue(base, measure.unit)}, ${formatGrowth(base, head)}` : '';
  return `${profile.name(tree.frame(id))}, ${formatValue(head, measure.unit)}, ${formatShare(head, measure.total)} of all${change}`;
}

const REMARKS = {
  kernel: 'kernel',
  jit: 'code of a JIT',
  unnamed: 'no symbol',
  guessed: 'guessed: found by a frame pointer that this code does not promise',
  note: 'not code: why the stack is not whole',
};

// What kind of frame it is, where that is not plain.
function remarksOn(profile, frame) {
  if (frame < 0)
    return '';
  const inlined = ['', 'inlined in places', 'inlined'][profile.frames.inlined[frame]];
  return [REMARKS[profile.kind(frame)], inlined].filter(Boolean).join(' · ');
}

// The content of the tooltip of a box.
function tipOf(tree, id, isInverted) {
  const { profile, measure } = tree, frame = tree.frame(id);
  const lines = [profile.place(frame), profile.mapping(frame), remarksOn(profile, frame)].filter(Boolean);
  const table = make('table');
  for (const cells of measure.base ? changeRows(tree, id) : valueRows(tree, id, isInverted))
    table.insertRow().append(...cells.map(cell => make('td', cell)));
  return [make('b', profile.name(frame)), ...lines.map(line => make('p', line)), table];
}

function valueRows(tree, id, isInverted) {
  const { unit, total } = tree.measure, head = tree.head(id), parent = tree.parent(id);
  const rows = [[isInverted ? 'of stacks like this' : 'in and below', formatValue(head, unit)],
    ['of all', formatShare(head, total)]];
  if (parent > 0)
    rows.push(['of its parent', formatShare(head, tree.head(parent))]);
  if (!isInverted)
    rows.push(['itself', formatValue(tree.headSelf(id), unit)]);
  return rows;
}

function changeRows(tree, id) {
  const { unit, base: bases, total } = tree.measure, parent = tree.parent(id);
  const base = tree.base(id), head = tree.head(id), baseSelf = tree.baseSelf(id), headSelf = tree.headSelf(id);
  const rows = [['', 'before', 'after', 'change'],
    ['in and below', formatValue(base, unit), formatValue(head, unit), `${formatChange(head - base, unit)} (${formatGrowth(base, head)})`],
    ['of all', formatShare(base, bases[0]), formatShare(head, total)]];
  if (parent > 0)
    rows.push(['of its parent', formatShare(base, tree.base(parent)), formatShare(head, tree.head(parent))]);
  rows.push(['itself', formatValue(baseSelf, unit), formatValue(headSelf, unit), formatChange(headSelf - baseSelf, unit)]);
  return rows;
}

// Legend --------------------------------------------------------------------------------------------

// [colour, or null for an empty outline; text]
function changeLegend(colours) {
  return [[null, 'gone'], [colours.ofChange(-0.5), 'half'], [colours.ofChange(-0.2), ''], [colours.ofChange(0), 'same, or chance'],
    [colours.ofChange(0.2), ''], [colours.ofChange(0.5), 'twice'], [colours.ofChange(1), 'new']];
}

// The files or packages with the most in themselves, in the colour of their largest function.
function groupLegend(colours, flat, whole) {
  const groups = new Map();
  flat.forEach((value, frame) => {
    if (!value || colours.profile.kind(frame) === 'note')
      return;
    const name = colours.group(frame), group = groups.get(name) ?? { sum: 0, largest: frame };
    group.sum += value;
    if (value > flat[group.largest])
      group.largest = frame;
    groups.set(name, group);
  });
  return [...groups].sort(([, a], [, b]) => b.sum - a.sum).slice(0, 5)
    .map(([name, { sum, largest }]) => [colours.of(largest).fill, `${name || '(unknown)'} ${formatShare(sum, whole)}`]);
}

function legendItem(colours, fill, text) {
  const item = make('li'), swatch = make('canvas', '', { width: 12, height: 12, 'aria-hidden': 'true' });
  const context = swatch.getContext('2d');
  context.fillStyle = fill ?? 'transparent';
  context.fillRect(0, 0, 12, 12);
  if (fill === null) {
    context.strokeStyle = colours.gone;
    context.setLineDash([3, 2]);
    context.strokeRect(0.5, 0.5, 11, 11);
  }
  item.append(swatch, text);
  return item;
}
