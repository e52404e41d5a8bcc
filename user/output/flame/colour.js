// SPDX-License-Identifier: BSD-2-Clause
// The colours of boxes.
//
// By file or package: warm for programs, cool for libraries, rose for the kernel, green for code that
// a JIT made; a name decides the shade, so that it is the same in every graph. Code without a name is
// pale, a guessed frame hatched, a note (a stack cut short) grey and outlined: what is not sure must
// not look sure.
//
// By difference: red grew, blue shrank, on a diverging scale that the colour-blind can tell apart
// (red-blue of ColorBrewer); lightness grows with the change, grey is no change. The scale is the
// change in relation to the larger of the two values: -1 gone, 1 new, 0.5 twice as much. What chance
// alone explains, less than two standard errors of its number of samples, is grey.

const HUES = { program: [18, 40], library: [150, 140], kernel: [345, 0], jit: [85, 25] };

function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  hash ^= hash >>> 15;
  return (hash >>> 0) / 4294967296;
}

class Colours {
  constructor(profile, isDark) {
    Object.assign(this, { profile, isDark, by: 'mapping' });
    this.clear();
    this.ink = isDark ? '#f2f2f5' : '#1b1c20';
    this.hatch = isDark ? 'rgb(255 255 255 / 18%)' : 'rgb(0 0 0 / 16%)';
    this.rest = isDark ? '#2b2d35' : '#ececf0';
    this.root = isDark ? '#3a3c46' : '#dcdde4';
    this.match = isDark ? '#c13fb5' : '#f08be6';
    this.mark = isDark ? '#ffffff' : '#000000';
    this.gone = isDark ? '#84bdf7' : '#2166ac';
    this.accent = isDark ? '#8ea6ff' : '#3457d5';
  }

  clear() { this.cache = new Map(); }

  group(frame) {
    return this.by === 'package' ? this.profile.packageOf(frame) : this.profile.fileOfMapping(frame);
  }

  // {fill, kind} of a frame.
  of(frame) {
    let colour = this.cache.get(frame);
    if (!colour) {
      const kind = this.profile.kind(frame);
      colour = { kind, fill: frame < 0 ? this.root : this.fillOf(frame, kind) };
      this.cache.set(frame, colour);
    }
    return colour;
  }

  // An unnamed or guessed frame has the hue of the code that it is in.
  hueOf(frame, kind) {
    const group = this.group(frame);
    if (this.by === 'package' && kind !== 'kernel')
      return 360 * hashOf(group);
    const [from, range] = HUES[this.profile.where(frame)];
    return from + range * hashOf(group);
  }

  fillOf(frame, kind) {
    if (kind === 'note')
      return this.isDark ? '#3b3d45' : '#d7d8de';
    const hue = this.hueOf(frame, kind), shade = hashOf(this.profile.name(frame)) - 0.5;
    const pale = kind === 'unnamed' ? 0.45 : 1;
    return this.isDark
      ? `hsl(${hue} ${42 * pale}% ${34 + 8 * shade}%)`
      : `hsl(${hue} ${72 * pale}% ${79 + 8 * shade}%)`;
  }

  // change: -1 to 1, or 0 where it may be chance.
  ofChange(change) {
    const size = Math.min(1, Math.abs(change));
    if (size < 0.01)
      return this.isDark ? '#3f414a' : '#e6e6ea';
    const strength = 0.18 + 0.82 * size;
    if (this.isDark)
      return change > 0 ? `hsl(4 ${66 * strength}% ${27 + 19 * strength}%)` : `hsl(212 ${62 * strength}% ${27 + 19 * strength}%)`;
    return change > 0 ? `hsl(8 ${84 * strength}% ${91 - 25 * strength}%)` : `hsl(210 ${78 * strength}% ${91 - 25 * strength}%)`;
  }
}

function changeOf(base, head) {
  const larger = Math.max(base, head);
  return larger > 0 ? (head - base) / larger : 0;
}

// Could so different numbers of samples be chance? factor: what base was multiplied with.
function mayBeChance(baseSamples, headSamples, factor) {
  const error = Math.sqrt(headSamples + factor * factor * baseSamples);
  return Math.abs(headSamples - factor * baseSamples) < 2 * error;
}
