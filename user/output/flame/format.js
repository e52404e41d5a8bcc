// SPDX-License-Identifier: BSD-2-Clause
// Numbers for people. Units are pprof's: kB is 1024 bytes (profile/unit.h).

// [from this value on, divided by this, is in this unit]: seconds stay seconds up to two minutes.
const TIME = [[0, 1, 'ns'], [1e3, 1e3, 'µs'], [1e6, 1e6, 'ms'], [1e9, 1e9, 's'], [120e9, 60e9, 'min'],
  [7200e9, 3600e9, 'h']];
const SIZE = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'].map((name, i) => [i ? 1024 ** i : 0, 1024 ** i, name]);
const UNITS = {
  nanoseconds: [1, TIME], microseconds: [1e3, TIME], milliseconds: [1e6, TIME], seconds: [1e9, TIME],
  bytes: [1, SIZE],
};

function formatNumber(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: Number.isInteger(value) ? 0 : 1 });
}

function threeDigits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

function formatValue(value, unit) {
  if (value === 0)
    return '0';
  if (!Object.hasOwn(UNITS, unit)) // a unit is untrusted input, too
    return formatNumber(value) + (unit && unit !== 'count' ? ' ' + unit : '');
  const [factor, steps] = UNITS[unit], exact = value * factor;
  const [, size, name] = steps.findLast(([from]) => Math.abs(exact) >= from);
  const scaled = exact / size;
  return (Number.isInteger(scaled) ? String(scaled) : threeDigits(scaled)) + ' ' + name;
}

function formatShare(part, whole) {
  if (!whole)
    return '0 %';
  const share = 100 * part / whole, size = Math.abs(share);
  if (size > 0 && size < 0.01)
    return (share < 0 ? '−' : '') + '<0.01 %';
  const digits = size >= 99.995 || size === 0 ? 0 : size >= 9.995 ? 1 : 2;
  return share.toFixed(digits).replace('-', '−') + ' %';
}

// "+1.2 s": a change always has its sign.
function formatChange(change, unit) {
  return (change > 0 ? '+' : change < 0 ? '−' : '±') + formatValue(Math.abs(change), unit);
}

// How much a value changed: "+50 %", "new", "gone".
function formatGrowth(base, head) {
  if (!base && !head)
    return 'nothing';
  if (!base)
    return 'new';
  if (!head)
    return 'gone';
  const growth = 100 * (head - base) / base;
  if (growth >= 1000)
    return '×' + threeDigits(head / base);
  return (growth > 0 ? '+' : growth < 0 ? '−' : '±') + threeDigits(Math.abs(growth)) + ' %';
}

// An element with text and attributes. Text only: names are untrusted, and are never parsed as HTML.
function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== '')
    element.textContent = text;
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  return element;
}
