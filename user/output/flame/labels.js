// SPDX-License-Identifier: BSD-2-Clause
// The labels of samples: which values there are of each key ("thread": "worker-1", ...), and which sets
// of labels a filter keeps.
//
// A filter is {key, value}, two numbers; a value is 0 where a sample has no such label, 1 for the first
// of the key's values. Filters of one key add up, those of different keys cut down.
'use strict';

class Labels {
  constructor(stored) {
    this.keys = stored;
    this.nrSets = stored.length ? stored[0].sets.length : 0;
  }

  text({ key, value }) {
    const { values } = this.keys[key];
    return value === 0 ? '(none)' : value > values.length ? '(other)' : values[value - 1];
  }

  // The filter of such texts; undefined: there is none.
  find(name, text) {
    const key = this.keys.findIndex(({ key }) => key === name);
    return key < 0 ? undefined : this.choices(key).find(filter => this.text(filter) === text);
  }

  // All filters of a key that a sample matches, the heaviest value first.
  choices(key) {
    const { values, hasOther, sets } = this.keys[key];
    const numbers = values.map((_, i) => i + 1);
    if (hasOther)
      numbers.push(values.length + 1);
    if (sets.includes(0))
      numbers.push(0);
    return numbers.map(value => ({ key, value }));
  }

  // A 1 for each set of labels that is kept; null: all are.
  kept(filters) {
    if (!filters.length)
      return null;
    const kept = new Uint8Array(this.nrSets).fill(1);
    for (const key of new Set(filters.map(({ key }) => key))) {
      const wanted = new Set(filters.filter(filter => filter.key === key).map(({ value }) => value));
      this.keys[key].sets.forEach((value, set) => { kept[set] &= Number(wanted.has(value)); });
    }
    return kept;
  }
}

// The filters that are set, and the list to choose from.
class FilterBar {
  constructor(profile, elements, events) {
    Object.assign(this, elements, { profile, events });
    this.field.hidden = !profile.labels.keys.length;
    this.select.addEventListener('change', () => this.choose());
  }

  // Shares are those of the type that is shown, of all its samples.
  fill(type) {
    const { labels } = this.profile, whole = this.profile.total('head', type);
    const { value, set } = this.profile.stored.head[type], sums = new Float64Array(labels.nrSets);
    value.forEach((value, i) => { sums[set?.[i] ?? 0] += value; });
    this.select.replaceChildren(make('option', 'all samples', { value: '' }));
    labels.keys.forEach(({ key: name, sets }, key) => {
      const group = make('optgroup', '', { label: name });
      const byValue = new Map();
      sets.forEach((value, set) => byValue.set(value, (byValue.get(value) ?? 0) + sums[set]));
      for (const filter of labels.choices(key))
        group.append(make('option', `${labels.text(filter)}  ${formatShare(byValue.get(filter.value) ?? 0, whole)}`,
          { value: `${key}.${filter.value}` }));
      this.select.append(group);
    });
  }

  choose() {
    const [key, value] = this.select.value.split('.').map(Number);
    const { filters } = this.events;
    this.select.value = '';
    if (value === undefined)
      this.events.chosen([]);
    else if (!filters().some(filter => filter.key === key && filter.value === value))
      this.events.chosen([...filters(), { key, value }]);
  }

  // A button each, which takes it away.
  show(filters) {
    const { labels } = this.profile;
    this.list.replaceChildren(...filters.map(filter => {
      const what = `${labels.keys[filter.key].key}: ${labels.text(filter)}`;
      const button = make('button', what, { type: 'button', 'aria-label': `Remove the filter ${what}`, title: 'Remove this filter' });
      button.addEventListener('click', () => this.events.chosen(filters.filter(other => other !== filter)));
      return button;
    }));
    this.select.options[0].textContent = filters.length ? 'add a filter …' : 'all samples';
  }
}
