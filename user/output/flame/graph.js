// SPDX-License-Identifier: BSD-2-Clause
// The graph on its canvas. A camera looks at a range of the root's width; zooming moves it. What is
// drawn is found from the root down, leaving out what is beside the range or too thin to see, so that
// a drawing costs what is on the screen, not what is in the profile.
//
// The canvas is as large as the window on it and sticks there while an empty block of the graph's
// full height scrolls below: a stack of thousands of frames is a long page, not a large bitmap.
//
// A canvas has no text for a screen reader: the frame under the keyboard is an element (role treeitem)
// that the graph names as its active descendant.

const ROW = 20;          // px, a box with its gap
const THINNEST = 0.7;    // px, of a box that is drawn
const TEXT_FROM = 28;    // px, of a box with a name in it
const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const ZOOM_MS = 220;

class Graph {
  constructor(elements, colours, events) {
    Object.assign(this, elements, { colours, events });
    this.context = this.canvas.getContext('2d');
    this.isFlame = false;    // the root at the bottom
    this.zoomed = 0;         // the box that fills the width
    this.at = 0;             // the box that the keyboard is on
    this.hover = -1;
    this.matches = null;     // a 1 for each frame that was searched; null: no search
    this.changeOf = null;    // box to change, where colours show a difference
    this.rows = [];          // what is drawn: {id, x, width} by row
    this.textWidths = new Map();
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.element.addEventListener('scroll', () => this.draw());
    this.listen();
  }

  show(tree, zoomed = 0, at = zoomed) {
    Object.assign(this, { tree, zoomed, at, hover: -1 });
    this.camera = this.rangeOf(zoomed);
    this.resize();
    this.scrollToRoot();
  }

  rangeOf(id) {
    pathTo(this.tree, id).forEach(box => this.tree.kids(box)); // so that its start is known
    return { left: this.tree.start(id), width: this.tree.width(id) || 1 };
  }

  // Sizes -------------------------------------------------------------------------------------------

  resize() {
    if (!this.tree)
      return;
    const ratio = window.devicePixelRatio || 1, below = this.height - this.cssHeight - this.element.scrollTop;
    this.cssWidth = this.element.clientWidth;
    this.cssHeight = this.element.clientHeight;
    this.canvas.width = Math.round(this.cssWidth * ratio);
    this.canvas.height = Math.round(this.cssHeight * ratio);
    this.canvas.style.width = this.cssWidth + 'px';
    this.canvas.style.height = this.cssHeight + 'px';
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.measureHeight();
    if (this.isFlame && below >= 0) // what is as far from the root stays in sight
      this.element.scrollTop = this.height - this.cssHeight - below;
    this.draw();
  }

  // The space is beside the canvas, not below: the higher of both is what scrolls.
  measureHeight() {
    let deepest = 0;
    this.visit(this.rangeOf(this.zoomed), id => {
      deepest = Math.max(deepest, this.tree.depth(id));
      return true;
    });
    this.height = Math.max((deepest + 1) * ROW + 2, this.cssHeight);
    this.space.style.height = this.height + 'px';
  }

  yOf(depth) {
    const y = this.isFlame ? this.height - (depth + 1) * ROW - 1 : depth * ROW + 1;
    return y - this.element.scrollTop;
  }

  scrollToRoot() {
    const depth = this.tree.depth(this.zoomed);
    this.element.scrollTop = this.isFlame ? this.height - this.cssHeight - Math.max(0, depth - 3) * ROW
      : Math.max(0, depth - 3) * ROW;
  }

  // Drawing -----------------------------------------------------------------------------------------

  // Calls enter(id, x, width) of every box that can be seen in a range, parents first, and rest(id, x,
  // width) where children are too thin. Below a box for which enter() is false nothing is visited.
  visit({ left, width }, enter, rest) {
    const { tree } = this, scale = this.cssWidth / width, right = left + width;
    const stack = [0];
    while (stack.length) {
      const id = stack.pop();
      if (!enter(id, (tree.start(id) - left) * scale, tree.width(id) * scale))
        continue;
      const kids = tree.kids(id);
      for (let i = this.firstBeyond(kids, left); i < kids.length && tree.start(kids[i]) < right; i++) {
        if (tree.width(kids[i]) * scale < THINNEST) {
          const last = kids[kids.length - 1], from = tree.start(kids[i]);
          rest?.(id, (from - left) * scale, (tree.start(last) + tree.width(last) - from) * scale);
          break;
        }
        stack.push(kids[i]);
      }
    }
  }

  // Siblings stand side by side: the first one that ends right of `left`.
  firstBeyond(kids, left) {
    let low = 0, high = kids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tree.start(kids[middle]) + this.tree.width(kids[middle]) <= left)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  draw() {
    if (!this.tree || !this.cssWidth)
      return;
    const { context } = this;
    context.clearRect(0, 0, this.cssWidth, this.cssHeight);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.rows = [];
    this.visit(this.camera, (id, x, width) => {
      const depth = this.tree.depth(id), y = this.yOf(depth);
      const left = Math.max(0, x), right = Math.min(this.cssWidth, x + width);
      if (y > -ROW && y < this.cssHeight) {
        this.drawBox(id, left, y, right - left);
        (this.rows[depth] ??= []).push({ id, x: left, width: right - left });
      }
      return this.isFlame ? y > -ROW : y < this.cssHeight;
    }, (id, x, width) => this.drawRest(id, x, width));
    this.drawMarks();
  }

  drawRest(id, x, width) {
    const y = this.yOf(this.tree.depth(id) + 1), left = Math.max(0, x);
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.colours.rest;
    this.context.fillRect(left, y, Math.min(this.cssWidth, x + width) - left, ROW - 1);
  }

  drawBox(id, x, y, width) {
    const { context, colours, tree } = this;
    const frame = tree.frame(id), { kind, fill } = colours.of(frame);
    const isMatch = this.matches && frame >= 0 && this.matches[frame];
    const isGone = this.changeOf && tree.head(id) === 0 && tree.base(id) > 0;
    const inner = Math.max(width - 1, THINNEST), height = ROW - 1;
    // An ancestor of what is zoomed is only context; so is what a search did not find.
    const isContext = id !== this.zoomed && tree.depth(id) < tree.depth(this.zoomed);
    context.globalAlpha = isContext ? 0.55 : this.matches && !isMatch ? 0.42 : 1;
    context.fillStyle = isMatch ? colours.match : this.changeOf && frame >= 0 ? colours.ofChange(this.changeOf(id)) : fill;
    if (isGone) {
      this.drawGone(x, y, inner, height);
    } else {
      context.fillRect(x, y, inner, height);
      if (inner > 3 && (kind === 'guessed' || kind === 'note') && frame >= 0)
        this.drawDoubt(kind, x, y, inner, height);
    }
    if (width >= TEXT_FROM) {
      context.globalAlpha = isContext ? 0.75 : this.matches && !isMatch ? 0.7 : 1;
      this.drawText(frame, x + 5, y + height / 2 + 0.5, inner - 9);
    }
  }

  // Only the base has it: an empty box with a dashed outline.
  drawGone(x, y, width, height) {
    const { context, colours } = this;
    if (width < 3) {
      context.globalAlpha *= 0.6;
      context.fillRect(x, y, width, height);
      return;
    }
    context.strokeStyle = colours.gone;
    context.setLineDash([3, 2]);
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    context.setLineDash([]);
  }

  drawDoubt(kind, x, y, width, height) {
    const { context, colours } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.strokeStyle = colours.hatch;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let at = x - height - (x % 7); kind === 'guessed' && at < x + width; at += 7) {
      context.moveTo(at, y + height);
      context.lineTo(at + height, y);
    }
    if (kind === 'note')
      context.rect(x + 0.75, y + 0.75, width - 1.5, height - 1.5);
    context.stroke();
    context.restore();
  }

  drawText(frame, x, y, room) {
    const { context, colours } = this;
    const text = this.fit(frame, room);
    if (!text)
      return;
    context.fillStyle = colours.ink;
    context.fillText(text, x, y);
  }

  // As much of a name as there is room for; a box is known by how its name begins.
  fit(frame, room) {
    const name = this.tree.profile.name(frame);
    let width = this.textWidths.get(frame);
    if (width === undefined) {
      width = this.context.measureText(name.slice(0, 400)).width;
      this.textWidths.set(frame, width);
    }
    if (width <= room && name.length <= 400)
      return name;
    const length = Math.min(name.length, 400);
    let nr = Math.floor(length * (room - 9) / width);
    while (nr > 1 && this.context.measureText(name.slice(0, nr) + '…').width > room)
      nr--;
    return nr < 2 ? '' : name.slice(0, nr) + '…';
  }

  drawMarks() {
    const { context, colours } = this;
    context.globalAlpha = 1;
    this.drawMark(this.hover, colours.mark, 1);
    if (document.activeElement === this.element)
      this.drawMark(this.at, colours.accent, 2);
  }

  drawMark(id, colour, lineWidth) {
    const box = id >= 0 && this.boxOf(id);
    if (!box)
      return;
    this.context.strokeStyle = colour;
    this.context.lineWidth = lineWidth;
    this.context.strokeRect(box.x + lineWidth / 2, this.yOf(this.tree.depth(id)) + lineWidth / 2,
      Math.max(box.width - 1 - lineWidth, 1), ROW - 1 - lineWidth);
    this.context.lineWidth = 1;
  }

  boxOf(id) { return this.rows[this.tree.depth(id)]?.find(box => box.id === id); }

  // Zooming and moving ------------------------------------------------------------------------------

  zoom(id) {
    const from = this.camera, to = this.rangeOf(id), start = performance.now();
    const before = this.tree.depth(this.zoomed);
    this.zoomed = id;
    this.at = id;
    cancelAnimationFrame(this.moving);
    this.measureHeight();
    const step = now => {
      const done = Math.min(1, Math.max(0, (now - start) / ZOOM_MS)), eased = 1 - (1 - done) ** 3;
      const width = from.width * (to.width / from.width) ** eased; // by factors, not by pixels
      const part = from.width === to.width ? eased : (from.width - width) / (from.width - to.width);
      this.camera = done === 1 ? to : { left: from.left + (to.left - from.left) * part, width };
      this.draw();
      if (done < 1)
        this.moving = requestAnimationFrame(step);
    };
    if (window.matchMedia('(prefers-reduced-motion: reduce)').matches)
      this.camera = to;
    else
      this.moving = requestAnimationFrame(step);
    if (this.tree.depth(id) < before || !this.isInSight(id))
      this.scrollToRoot();
    this.draw();
    this.tell();
    this.events.zoomed(id);
  }

  isInSight(id) {
    const y = this.yOf(this.tree.depth(id));
    return y >= 0 && y + ROW <= this.cssHeight;
  }

  // Puts the keyboard on a box, zooming out until it is in the camera's range and wide enough.
  moveTo(id) {
    const { tree } = this;
    let outer = this.zoomed;
    const isBelow = () => pathTo(tree, id).includes(outer) || pathTo(tree, this.zoomed).includes(id);
    while (outer > 0 && !isBelow())
      outer = tree.parent(outer);
    this.rangeOf(id);
    if (outer !== this.zoomed)
      this.zoom(outer);
    this.at = id;
    if (!this.isInSight(id)) {
      const y = this.yOf(tree.depth(id));
      this.element.scrollTop += y < 0 ? y - ROW : y + 2 * ROW - this.cssHeight;
    }
    this.draw();
    this.tell();
  }

  tell() {
    const { tree, at } = this, parent = tree.parent(at), kids = parent < 0 ? [0] : tree.kids(parent);
    const item = this.item;
    item.textContent = this.events.describe(at);
    item.setAttribute('aria-level', tree.depth(at) + 1);
    item.setAttribute('aria-setsize', kids.length);
    item.setAttribute('aria-posinset', kids.indexOf(at) + 1);
    item.setAttribute('aria-selected', at === this.zoomed);
    if (tree.kids(at).length)
      item.setAttribute('aria-expanded', 'true');
    else
      item.removeAttribute('aria-expanded');
    this.events.moved(at);
  }

  // Pointer and keys --------------------------------------------------------------------------------

  boxAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left, y = event.clientY - area.top + this.element.scrollTop;
    const depth = Math.floor((this.isFlame ? this.height - y : y) / ROW);
    const box = this.rows[depth]?.find(({ x: left, width }) => x >= left && x < left + Math.max(width, 1));
    return box ? box.id : -1;
  }

  listen() {
    this.canvas.addEventListener('pointermove', event => {
      if (event.pointerType === 'touch')
        return;
      const id = this.boxAt(event);
      if (id !== this.hover) {
        this.hover = id;
        this.draw();
      }
      this.events.hovered(id, event);
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = -1;
      this.events.hovered(-1);
      this.draw();
    });
    this.canvas.addEventListener('click', event => {
      const id = this.boxAt(event);
      if (id >= 0)
        this.zoom(id);
    });
    this.element.addEventListener('focus', () => this.draw());
    this.element.addEventListener('blur', () => this.draw());
    this.element.addEventListener('keydown', event => this.key(event));
  }

  key(event) {
    const { tree, at } = this;
    const [up, down] = this.isFlame ? ['ArrowDown', 'ArrowUp'] : ['ArrowUp', 'ArrowDown'];
    const actions = {
      [up]: () => tree.parent(at),
      [down]: () => tree.kids(at)[0],
      ArrowLeft: () => this.sibling(-1),
      ArrowRight: () => this.sibling(1),
      Home: () => 0,
    };
    const zooms = { Enter: () => at, ' ': () => at, Backspace: () => tree.parent(this.zoomed) };
    if (event.ctrlKey || event.metaKey || event.altKey)
      return;
    if (actions[event.key]) {
      const to = actions[event.key]();
      if (to !== undefined && to >= 0)
        this.moveTo(to);
    } else if (zooms[event.key]) {
      const to = zooms[event.key]();
      if (to >= 0)
        this.zoom(to);
    } else {
      return;
    }
    event.preventDefault();
  }

  sibling(step) {
    const parent = this.tree.parent(this.at);
    if (parent < 0)
      return undefined;
    const kids = this.tree.kids(parent);
    return kids[kids.indexOf(this.at) + step];
  }
}
