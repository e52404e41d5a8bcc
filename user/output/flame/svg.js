// SPDX-License-Identifier: BSD-2-Clause
// Zoom and search in an SVG that is opened by itself; its address says both, "#zoom=7&of=90&search=parse"
// (box 7 of 90), so that a link or a reload shows the same. The boxes (<g class="f">) say all there is to
// know: a <title> whose first line is the name, a <rect>, a <text>.
'use strict';
{
  const svg = document.documentElement, full = Number(svg.dataset.full), letter = Number(svg.dataset.letter);
  const found = document.getElementById('found'), back = document.getElementById('back');
  const boxes = [...document.querySelectorAll('g.f')].map(group => {
    const [title, rect, text] = group.children;
    return { group, rect, text, name: title.textContent.split('\n')[0], value: Number(group.dataset.v),
      x: Number(rect.getAttribute('x')), width: Number(rect.getAttribute('width')), y: Number(rect.getAttribute('y')) };
  });

  const place = (box, x, width) => {
    box.rect.setAttribute('x', x);
    box.rect.setAttribute('width', width);
    box.text.setAttribute('x', x + 4);
    const room = Math.floor((width - 8) / letter);
    box.text.textContent = room < 3 ? '' : box.name.length <= room ? box.name : box.name.slice(0, room - 1) + '…';
  };

  let zoomed = 0, searched = '';
  const note = () => {
    const query = new URLSearchParams();
    if (zoomed)
      query.set('zoom', zoomed), query.set('of', boxes.length);
    if (searched)
      query.set('search', searched);
    try {
      history.replaceState(null, '', query.size ? '#' + query : location.pathname + location.search);
    } catch { // a picture within a page may not
    }
  };

  const zoom = to => {
    zoomed = boxes.indexOf(to);
    const scale = full / to.width, end = to.x + to.width;
    for (const box of boxes) {
      const isOuter = box.y < to.y && box.x <= to.x + 0.01 && box.x + box.width >= end - 0.01;
      const isInner = box.y >= to.y && box.x >= to.x - 0.01 && box.x + box.width <= end + 0.01;
      box.group.style.display = isOuter || isInner ? '' : 'none';
      box.group.style.opacity = isOuter ? 0.5 : '';
      if (isOuter)
        place(box, boxes[0].x, full);
      else if (isInner)
        place(box, boxes[0].x + (box.x - to.x) * scale, box.width * scale);
    }
    back.style.display = to === boxes[0] ? 'none' : '';
  };

  // What matches, and its share: a box below one that matched is in it already.
  const search = pattern => {
    const ends = [];
    let sum = 0;
    for (const box of boxes) {
      const isMatch = pattern !== null && pattern.test(box.name);
      box.group.classList.toggle('match', isMatch);
      if (!isMatch || ends.some(([x, end, y]) => y < box.y && box.x >= x - 0.01 && box.x + box.width <= end + 0.01))
        continue;
      ends.push([box.x, box.x + box.width, box.y]);
      sum += box.value;
    }
    found.textContent = pattern === null ? '' : 'found: ' + (100 * sum / (boxes[0].value || 1)).toFixed(2) + ' %';
  };

  const searchFor = text => {
    try {
      search(text ? new RegExp(text, 'i') : null);
      searched = text;
    } catch {
      found.textContent = 'not a regular expression';
    }
  };

  const ask = () => {
    const text = window.prompt('Search: a regular expression', '');
    if (text === null)
      return;
    searchFor(text);
    note();
  };

  svg.addEventListener('click', event => {
    const group = event.target.closest('g.f');
    if (group || event.target.id === 'back') {
      zoom(boxes.find(box => box.group === group) ?? boxes[0]);
      note();
    } else if (event.target.id === 'search') {
      ask();
    }
  });
  window.addEventListener('keydown', event => {
    if (event.key === '/' || (event.key === 'f' && (event.ctrlKey || event.metaKey)))
      ask();
    else if (event.key === 'Escape')
      zoom(boxes[0]), note();
    else
      return;
    event.preventDefault();
  });
  document.getElementById('search').style.display = '';

  // What the address says. It is untrusted input: unknown parts are ignored.
  const follow = () => {
    const query = new URLSearchParams(location.hash.slice(1));
    searchFor((query.get('search') ?? '').slice(0, 500));
    zoom((query.get('of') === String(boxes.length) && boxes[parseInt(query.get('zoom'), 10)]) || boxes[0]);
  };
  window.addEventListener('hashchange', follow);
  if (boxes.length && location.hash)
    follow();
}
