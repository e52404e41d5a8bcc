// SPDX-License-Identifier: BSD-2-Clause
// The profile as it stands in the page (output/flame.c writes it), made fit to compute with.
//
// Stacks are a prefix tree. Its nodes are numbered in preorder: a node's first child is the next
// number, and all that is below node i is [i, end[i]). So a sum over a subtree is one loop over a
// range, and nothing here recurses. Node 0 is the root; it has no frame.
'use strict';

const KINDS = ['program', 'library', 'kernel', 'jit', 'unnamed', 'guessed', 'note'];

class Profile {
  constructor(data) {
    Object.assign(this, { title: data.title, about: data.about, types: data.types });
    this.defaultType = data.type;
    this.strings = data.strings;
    this.frames = data.frames;
    this.nrFrames = data.frames.name.length;
    this.isDiff = data.base !== null;
    this.stored = { head: data.head, base: data.base };
    this.labels = new Labels(data.labels);
    this.readNodes(data.nodes);
  }

  // up[i]: how many levels to go up from node i to find the parent of node i + 1.
  readNodes({ up, frame }) {
    const nr = this.nr = up.length + 1;
    this.parent = new Int32Array(nr);
    this.frame = new Int32Array(nr);
    this.depth = new Int32Array(nr);
    this.end = new Int32Array(nr).fill(nr);
    this.parent[0] = this.frame[0] = -1;
    for (let i = 1; i < nr; i++) {
      let at = i - 1;
      for (let levels = up[i - 1]; levels > 0; levels--) {
        this.end[at] = i;
        at = this.parent[at];
      }
      this.parent[i] = at;
      this.depth[i] = this.depth[at] + 1;
      this.frame[i] = frame[i - 1];
    }
  }

  // What ends in each node, of one side ("head", "base") and type: of the sets of labels that have a 1
  // in `kept`, or of all (null). Stored as steps and values, and where there are labels, sets.
  self(side, type, kept = null) {
    const dense = new Float64Array(this.nr);
    const { step, value, set } = this.stored[side][type];
    for (let i = 0, node = 0; i < step.length; i++) {
      node += step[i];
      if (!kept || kept[set[i]])
        dense[node] += value[i];
    }
    return dense;
  }

  total(side, type, kept = null) {
    const { value, set } = this.stored[side][type];
    return value.reduce((sum, value, i) => !kept || kept[set[i]] ? sum + value : sum, 0);
  }

  // The outermost nodes of a function: what it and all below it cost is in them, once.
  nodesOf(frame) {
    const nodes = [];
    for (let i = 1; i < this.nr;) {
      const found = this.frame[i] === frame;
      if (found)
        nodes.push(i);
      i = found ? this.end[i] : i + 1;
    }
    return nodes;
  }

  // The callers and callees of a function, and their values: Maps by frame. As pprof's -peek, a stack
  // counts once for each pair, however often it has it, and a function does not call itself.
  edgesOf(frame, totals) {
    const callers = new Map(), callees = new Map(), path = [];
    const open = { callers: new Int32Array(this.nrFrames), callees: new Int32Array(this.nrFrames) };
    for (let i = 1; i < this.nr; i++) {
      while (path.length && this.end[path[path.length - 1].node] <= i) {
        const { opened, other } = path.pop();
        opened[other]--;
      }
      const own = this.frame[i], above = this.frame[this.parent[i]];
      if (own === above || above < 0 || (own !== frame && above !== frame))
        continue;
      const [sums, opened, other] = own === frame ? [callers, open.callers, above] : [callees, open.callees, own];
      if (opened[other]++ === 0)
        sums.set(other, (sums.get(other) ?? 0) + totals[i]);
      path.push({ node: i, opened, other });
    }
    return { callers, callees };
  }

  // What is in and below each node.
  totals(self) {
    const sums = Float64Array.from(self);
    for (let i = this.nr - 1; i > 0; i--)
      sums[this.parent[i]] += sums[i];
    return sums;
  }

  // Adds up by frame, what is below a recursive function once: [flat, cum].
  byFrame(self, totals) {
    const flat = new Float64Array(this.nrFrames), cum = new Float64Array(this.nrFrames);
    const open = new Int32Array(this.nrFrames);
    const path = [];
    for (let i = 1; i < this.nr; i++) {
      while (path.length && this.end[path[path.length - 1]] <= i)
        open[this.frame[path.pop()]]--;
      const frame = this.frame[i];
      flat[frame] += self[i];
      if (open[frame]++ === 0)
        cum[frame] += totals[i];
      path.push(i);
    }
    return [flat, cum];
  }

  // The sum of the stacks that have such a frame; matches has a 1 for each frame that counts.
  sumOf(matches, totals) {
    let sum = 0;
    for (let i = 1; i < this.nr;) {
      const found = matches[this.frame[i]];
      if (found)
        sum += totals[i];
      i = found ? this.end[i] : i + 1;
    }
    return sum;
  }

  name(frame) { return frame < 0 ? 'all' : this.strings[this.frames.name[frame]]; }
  file(frame) { return frame < 0 ? '' : this.strings[this.frames.file[frame]]; }
  mapping(frame) { return frame < 0 ? '' : this.strings[this.frames.mapping[frame]]; }
  kind(frame) { return frame < 0 ? 'note' : KINDS[this.frames.kind[frame]]; }
  where(frame) { return KINDS[this.frames.where[frame]]; }

  // "app.c:12-40"
  place(frame) {
    const file = this.file(frame);
    if (!file)
      return '';
    const first = this.frames.first[frame], last = this.frames.last[frame];
    return file + (first ? ':' + first + (last > first ? '-' + last : '') : '');
  }

  // "libc.so.6" of "/lib/libc.so.6", and of "/lib/[libc.so.6]", its code without names.
  fileOfMapping(frame) {
    const path = this.mapping(frame), base = path.slice(path.lastIndexOf('/') + 1);
    return base.length < path.length ? base.replace(/^\[(.*)\]$/, '$1') : base;
  }

  // The package, namespace, crate or class of a function; its mapping where the name tells nothing.
  packageOf(frame) {
    const kind = this.kind(frame);
    if (kind === 'note' || kind === 'kernel' || kind === 'unnamed')
      return this.fileOfMapping(frame);
    const name = this.name(frame).replace(/ \[guessed\]$/, '').replace(/[<(].*$/s, '');
    const colons = name.lastIndexOf('::');
    if (colons > 0)
      return name.slice(0, colons).replace(/^.* /, '').split('::').slice(0, 2).join('::');
    const slash = name.lastIndexOf('/'), dot = name.indexOf('.', slash + 1);
    if (dot > 0)
      return name.slice(0, dot);
    return this.fileOfMapping(frame);
  }
}

// One sample type of a profile, ready to draw: what is in each node, and how wide it is. In a diff a
// node that only the base has is as wide as it was there ("union"), or has no width ("head").
class Measure {
  constructor(profile, type, { normalize, layout, filters }) {
    this.profile = profile;
    this.type = type;
    this.unit = profile.types[type][1];
    this.kept = profile.labels.kept(filters);
    this.headSelf = profile.self('head', type, this.kept);
    this.head = profile.totals(this.headSelf);
    this.widthSelf = this.headSelf;
    this.width = this.head;
    this.factor = 1;
    if (profile.isDiff)
      this.addBase(normalize, layout);
    this.total = this.head[0];
    // What shares are of: the head's total, or the base's where there is no head.
    this.whole = this.total || (this.base ? this.base[0] : 0);
  }

  addBase(normalize, layout) {
    const { profile, headSelf } = this;
    this.baseSelf = profile.self('base', this.type, this.kept);
    const sum = this.baseSelf.reduce((a, b) => a + b, 0);
    if (normalize && sum > 0 && this.head[0] > 0) {
      this.factor = this.head[0] / sum;
      this.baseSelf = this.baseSelf.map(value => value * this.factor);
    }
    this.base = profile.totals(this.baseSelf);
    if (layout === 'union')
      this.widthSelf = headSelf.map((value, i) => Math.max(value, this.baseSelf[i]));
    else if (layout === 'base')
      this.widthSelf = this.baseSelf;
    this.width = profile.totals(this.widthSelf);
  }
}
