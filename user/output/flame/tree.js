// SPDX-License-Identifier: BSD-2-Clause
// What is drawn: a tree of boxes. Two of them, with the same methods: the prefix tree itself, and the
// inverted one, whose first row is the functions that stacks end in, callers after them.
//
// Boxes are numbers, 0 is the root. kids() is asked only of boxes that are wide enough to be seen, so
// that neither tree is laid out (and the inverted one not even made) beyond what a screen can show.

// Sorts boxes by width, puts them side by side from `start` on.
function layOut(ids, widthOf, start, starts) {
  ids.sort((a, b) => widthOf(b) - widthOf(a));
  for (const id of ids) {
    starts[id] = start;
    start += widthOf(id);
  }
  return ids;
}

class CallTree {
  constructor(measure) {
    this.measure = measure;
    this.profile = measure.profile;
    this.starts = new Float64Array(this.profile.nr);
    this.laidOut = new Map();
  }

  frame(id) { return this.profile.frame[id]; }
  parent(id) { return this.profile.parent[id]; }
  depth(id) { return this.profile.depth[id]; }
  width(id) { return this.measure.width[id]; }
  head(id) { return this.measure.head[id]; }
  headSelf(id) { return this.measure.headSelf[id]; }
  base(id) { return this.measure.base ? this.measure.base[id] : 0; }
  baseSelf(id) { return this.measure.base ? this.measure.baseSelf[id] : 0; }
  start(id) { return this.starts[id]; }

  // Widest first; their start() is known after this.
  kids(id) {
    let kids = this.laidOut.get(id);
    if (!kids) {
      kids = [];
      const { end } = this.profile;
      for (let child = id + 1; child < end[id]; child = end[child])
        if (this.measure.width[child] > 0)
          kids.push(child);
      layOut(kids, child => this.measure.width[child], this.starts[id], this.starts);
      this.laidOut.set(id, kids);
    }
    return kids;
  }
}

// A box of the inverted tree is a set of stacks that end in the same frames. A stack is known by the
// node it ends in (source) and by the node that its box stands for (cursor), which is an ancestor.
class InvertedTree {
  constructor(measure) {
    this.measure = measure;
    this.profile = measure.profile;
    this.starts = [0];
    this.boxes = [{ parent: -1, frame: -1, depth: 0, cursors: [], sources: [], kids: null,
      width: measure.width[0], head: measure.head[0], base: measure.base ? measure.base[0] : 0,
      headSelf: 0, baseSelf: 0 }];
    this.bucketOf = new Int32Array(this.profile.nrFrames).fill(-1);
  }

  add(parent, frame, cursors, sources) {
    const { widthSelf, headSelf, baseSelf } = this.measure;
    const box = { parent, frame, depth: this.boxes[parent].depth + 1, cursors, sources, kids: null,
      width: 0, head: 0, base: 0, headSelf: 0, baseSelf: 0 };
    sources.forEach((source, i) => {
      const head = headSelf[source], base = baseSelf ? baseSelf[source] : 0;
      box.width += widthSelf[source];
      box.head += head;
      box.base += base;
      if (this.profile.parent[cursors[i]] === 0) { // the stack begins here
        box.headSelf += head;
        box.baseSelf += base;
      }
    });
    return this.boxes.push(box) - 1;
  }

  frame(id) { return this.boxes[id].frame; }
  parent(id) { return this.boxes[id].parent; }
  depth(id) { return this.boxes[id].depth; }
  width(id) { return this.boxes[id].width; }
  head(id) { return this.boxes[id].head; }
  headSelf(id) { return this.boxes[id].headSelf; }
  base(id) { return this.boxes[id].base; }
  baseSelf(id) { return this.boxes[id].baseSelf; }
  start(id) { return this.starts[id]; }

  kids(id) {
    const box = this.boxes[id];
    if (!box.kids) {
      box.kids = this.callers(id).map(({ frame, cursors, sources }) => this.add(id, frame, cursors, sources));
      layOut(box.kids, child => this.boxes[child].width, this.starts[id], this.starts);
    }
    return box.kids;
  }

  // The stacks of a box, by the frame that comes next in them.
  callers(id) {
    const { profile, bucketOf } = this, { cursors, sources } = this.boxes[id];
    const buckets = [];
    const put = (cursor, source) => {
      const frame = profile.frame[cursor];
      if (bucketOf[frame] < 0)
        bucketOf[frame] = buckets.push({ frame, cursors: [], sources: [] }) - 1;
      buckets[bucketOf[frame]].cursors.push(cursor);
      buckets[bucketOf[frame]].sources.push(source);
    };
    if (id === 0) {
      for (let node = 1; node < profile.nr; node++)
        if (this.measure.widthSelf[node] > 0)
          put(node, node);
    } else {
      for (let i = 0; i < cursors.length; i++)
        if (profile.parent[cursors[i]] > 0)
          put(profile.parent[cursors[i]], sources[i]);
    }
    for (const { frame } of buckets)
      bucketOf[frame] = -1;
    return buckets;
  }
}

// From the root to a box, both included.
function pathTo(tree, id) {
  const path = [];
  for (; id >= 0; id = tree.parent(id))
    path.push(id);
  return path.reverse();
}

// The box that stands for the same stack of frames in another tree of the same direction; the deepest
// one that is there, where it ends earlier.
function sameBox(from, id, to) {
  let at = 0;
  for (const step of pathTo(from, id).slice(1)) {
    const next = to.kids(at).find(kid => to.frame(kid) === from.frame(step));
    if (next === undefined)
      break;
    at = next;
  }
  return at;
}
