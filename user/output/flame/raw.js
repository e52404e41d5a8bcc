// SPDX-License-Identifier: BSD-2-Clause
// The sources of the page: the files it was made of, commands to look further into them, and its own
// data as folded stacks.

// A word for a shell, whatever a file is called.
function quoted(path) {
  const word = path.startsWith('-') ? './' + path : path;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function commandsFor(profile, type, frame) {
  const { source, baseSource } = profile.about, files = source.filter(path => path !== '-').map(quoted);
  if (!files.length)
    return [];
  const option = profile.types.length > 1 ? ` --sample-type ${quoted(profile.types[type][0])}` : '', all = files.join(' ');
  const bases = baseSource.filter(path => path !== '-').map(quoted);
  const commands = [`cprof top${option} ${all}`];
  if (frame >= 0)
    commands.push(`cprof peek${option} ${quoted(`^${profile.name(frame).replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')}$`)} ${all}`);
  if (bases.length === 1 && files.length === 1)
    commands.push(`cprof diff${option} ${bases[0]} ${files[0]}`);
  commands.push(`go tool pprof -http=: ${bases.map(base => `-diff_base=${base} `).join('')}${all}`);
  return commands;
}

// As output/folded.c: what would end a name is "\xNN".
function foldedName(name) {
  return name.replace(/[\u0000-\u001f\u007f;]/g, c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

// The head's stacks of one measure, a line each.
function foldedText({ profile, headSelf }) {
  const lines = [], names = Array.from({ length: profile.nrFrames }, (_, frame) => foldedName(profile.name(frame))), path = [];
  for (let i = 1; i < profile.nr; i++) {
    path.length = profile.depth[i] - 1;
    path.push(names[profile.frame[i]]);
    if (headSelf[i])
      lines.push(`${path.join(';')} ${headSelf[i]}\n`);
  }
  return lines;
}

function download(name, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }));
  make('a', '', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function commandItem(command) {
  const item = make('li'), button = make('button', 'Copy', { type: 'button', 'aria-label': `Copy ${command}` });
  button.addEventListener('click', () => copyFrom(button, command));
  item.append(make('code', command), button);
  return item;
}

function showRaw(page, frame) {
  const { profile, measure } = page, { source, baseSource } = profile.about;
  const shown = path => path === '-' ? 'standard input' : path;
  const files = [...source.map(shown), ...baseSource.map(path => `${shown(path)} (base)`)];
  $('raw-files').textContent = !files.length
    ? 'The run that was recorded wrote this page itself. For a file that tools read, have it write one besides: -o x.html -o x.pb.gz.'
    : `Drawn from ${files.join(', ')}.`;
  $('raw-commands').replaceChildren(...commandsFor(profile, measure.type, frame).map(commandItem));
  $('raw-type').textContent = profile.types[measure.type][0].replaceAll('_', ' ')
    + (page.choices.filters.length ? ', filtered' : '');
  $('raw').showModal();
}
