// SPDX-License-Identifier: BSD-2-Clause
// The keys of the page, as its help lists them; the graph and the table have their own for the arrows.

// What a key does while nothing is typed and no dialog is open. 1 to 9 choose a sample type.
function pressKey(page, event) {
  const isTyping = event.target.matches('input[type="search"], select');
  if (isTyping || $('help').open || $('raw').open || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const type = Number(event.key) - 1;
  const actions = {
    '/': () => $('search').focus(),
    i: () => page.invert(),
    f: () => page.turn(!page.graph.isFlame),
    t: () => page.toggleTable(),
    c: () => page.copyName(),
    s: () => page.findThis(),
    p: () => page.pivot(page.frameOfRow(event) ?? page.atFrame),
    l: () => page.copyLink(),
    d: () => showRaw(page, page.atFrame),
    n: () => page.nextMatch(1),
    N: () => page.nextMatch(-1),
    '?': () => $('help').showModal(),
    Escape: () => page.escape(),
  };
  if (actions[event.key])
    actions[event.key]();
  else if (type >= 0 && type < page.profile.types.length)
    page.chooseType(type);
  else
    return;
  event.preventDefault();
}
