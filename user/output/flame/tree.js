// SPDX-License-Identifier: BSD-2-Clause
// What is drawn: a tree of boxes. Three of them, with the same methods: the prefix tree itself, the
// inverted one, whose first row is the functions that stacks end in, callers after them, and that of all
// a function calls.
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

// A tree whose boxes are made when they are first asked for: each is a set of stacks, or of nodes.
class BoxTree {
  constructor(measure) {
    this.measure = measure;
    this.profile = measure.profile;
    this.starts = [0];
    this.boxes = [];
    this.bucketOf = new Int32Array(this.profile.nrFrames).fill(-1);
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

  // cursors: the nodes that the box stands for. sources: the node that the value of each is of.
  add(parent, frame, cursors, sources, { width, head, base }) {
    const box = { parent, frame, depth: parent < 0 ? 0 : this.boxes[parent].depth + 1, cursors, sources, kids: null,
      width: 0, head: 0, base: 0, headSelf: 0, baseSelf: 0 };
    for (const source of sources) {
      box.width += width[source];
      box.head += head[source];
      box.base += base ? base[source] : 0;
    }
    return this.boxes.push(box) - 1;
  }

  kids(id) {
    const box = this.boxes[id];
    if (!box.kids) {
      box.kids = this.groups(id).map(({ frame, cursors, sources }) => this.addKid(id, frame, cursors, sources))
        .filter(kid => this.boxes[kid].width > 0);
      layOut(box.kids, child => this.boxes[child].width, this.starts[id], this.starts);
    }
    return box.kids;
  }

  // The boxes below one: what each(put) puts as (cursor, source), by the frame of the cursor.
  grouped(each) {
    const { profile, bucketOf } = this, buckets = [];
    each((cursor, source) => {
      const frame = profile.frame[cursor];
      if (bucketOf[frame] < 0)
        bucketOf[frame] = buckets.push({ frame, cursors: [], sources: [] }) - 1;
      buckets[bucketOf[frame]].cursors.push(cursor);
      buckets[bucketOf[frame]].sources.push(source);
    });
    for (const { frame } of buckets)
      bucketOf[frame] = -1;
    return buckets;
  }
}

// A box of the inverted tree is a set of stacks that end in the same frames. A stack is known by the
// node it ends in (source) and by the node that its box stands for (cursor), which is an ancestor.
//
// With a function to begin with, it is the tree of its callers: a stack ends in the outermost node of
// that function, and its value is all that is in and below it.
class InvertedTree extends BoxTree {
  constructor(measure, frame = -1) {
    super(measure);
    const nodes = frame < 0 ? [] : this.profile.nodesOf(frame);
    this.values = frame < 0 ? { width: measure.widthSelf, head: measure.headSelf, base: measure.baseSelf } : measure;
    this.isOfFunction = frame >= 0;
    this.addKid(-1, frame, nodes, nodes);
    if (frame < 0)
      Object.assign(this.boxes[0], { width: measure.width[0], head: measure.head[0], base: measure.base ? measure.base[0] : 0 });
  }

  addKid(parent, frame, cursors, sources) {
    const { head, base } = this.values, id = this.add(parent, frame, cursors, sources, this.values);
    cursors.forEach((cursor, i) => {
      if (this.profile.parent[cursor] !== 0)
        return;
      this.boxes[id].headSelf += head[sources[i]]; // the stack begins here
      this.boxes[id].baseSelf += base ? base[sources[i]] : 0;
    });
    return id;
  }

  // The stacks of a box, by the frame that comes next in them.
  groups(id) {
    const { profile } = this, { cursors, sources } = this.boxes[id];
    return this.grouped(put => {
      for (let node = 1; id === 0 && !this.isOfFunction && node < profile.nr; node++)
        if (this.measure.widthSelf[node] > 0)
          put(node, node);
      for (let i = 0; i < cursors.length; i++)
        if (profile.parent[cursors[i]] > 0)
          put(profile.parent[cursors[i]], sources[i]);
    });
  }
}

// What a function calls, wherever it was called from: its outermost nodes as one, and all below them.
class CalleeTree extends BoxTree {
  constructor(measure, frame) {
    super(measure);
    const nodes = this.profile.nodesOf(frame);
    this.addKid(-1, frame, nodes, nodes);
  }

  addKid(parent, frame, cursors, sources) {
    const { measure } = this, id = this.add(parent, frame, cursors, sources, measure);
    for (const node of cursors) {
      this.boxes[id].headSelf += measure.headSelf[node];
      this.boxes[id].baseSelf += measure.base ? measure.baseSelf[node] : 0;
    }
    return id;
  }

  groups(id) {
    const { end } = this.profile;
    return this.grouped(put => {
      for (const node of this.boxes[id].cursors)
        for (let child = node + 1; child < end[node]; child = end[child])
          put(child, child);
    });
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
