#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Node.js: the functions of JavaScript by name, file and first line, between the native frames.

The main judge is a program whose every legal stack is known: `//= name` begins a function, each line says whom it calls
(`//> callee`). Compilers put functions into their callers: then of a chain of calls some are not there.
NODE_SECONDS=20 records longer than the second of each way to run it; NODE=PATH takes another node."""
import os
import re
import shutil
import subprocess

import harness as h
import unwinding as u

SECONDS = float(os.environ.get("NODE_SECONDS", "3" if h.IS_LONG else "1"))
NODE = os.environ.get("NODE") or shutil.which("node")
PROGRAM = """'use strict';
function spin(n) { //= spin
  let x = 0;
  while (n) {
    x += n * n % 7;
    n -= 1;
  }
  return x;
}
function f_1(n) { //= f_1
  return spin(n) + 1; //> spin
}
function f_2(n) { //= f_2
  const y = f_1(n); //> f_1
  return y + spin(9); //> spin
}
class Shape {
  constructor(n) { //= Shape
    this.n = f_1(n); //> f_1
  }
  area() { //= area
    return f_2(this.n % 200); //> f_2
  }
  static make(n) { //= make
    return new Shape(n).area(); //> Shape //> area
  }
  get size() { //= get size
    return f_1(150); //> f_1
  }
}
const compare = (a, b) => { //= compare
  return f_1(a + 100) - f_1(b + 100); //> f_1
};
function by_sort() { //= by_sort
  [5, 3, 4, 2, 1].sort(compare); //> ~compare
}
function by_map() { //= by_map
  [1, 2, 3].map(function each(x) { return f_2(x + 90); }); //> ~each
} //= each //> f_2
function by_regex() { //= by_regex
  'some words'.replace(/[a-z]/g, function replacer() { return f_1(80); }); //> ~replacer
} //= replacer //> f_1
function by_json() { //= by_json
  JSON.parse('[1,2,3]', function reviver(k, v) { return f_1(100); }); //> ~reviver
} //= reviver //> f_1
function* numbers(n) { //= numbers
  for (let i = 0; i < n; i++)
    yield f_1(i + 80); //> f_1
}
function by_generator() { //= by_generator
  for (const each of numbers(5)) //> numbers //> ~numbers
    spin(each % 7); //> spin
}
function closures(n) { //= closures
  const a = n, b = 2;
  const inner = () => spin(a) + b;
  return inner(); //> inner
} //= inner //> spin
function down(n) { //= down
  if (!n)
    return spin(300); //> spin
  return down(n - 1) + 1; //> down
}
async function later(n) { //= later
  await null;
  return f_2(n); //> f_2
}
function work() { //= work
  by_sort(); //> by_sort
  by_map(); //> by_map
  by_regex(); //> by_regex
  by_json(); //> by_json
  by_generator(); //> by_generator
  closures(200); //> closures
  Shape.make(120); //> make
  new Shape(90).size; //> Shape //> get size
  down(20); //> down
  later(50); //> later
}
console.log('{}');
function again() { //= again
  for (let i = 0; i < 50; i++)
    work(); //> work
  setImmediate(again);
}
again();
"""


def has_maglev():
    return int(re.match(r"v(\d+)", subprocess.run([NODE, "--version"], capture_output=True, text=True,
                                                  check=True).stdout)[1]) >= 22


def ways():
    baseline = ("--no-opt", "--no-maglev") if has_maglev() else ("--no-opt",)
    return {"interpreted": (*baseline, "--no-sparkplug"), "baseline": baseline, "compiled": ()}


def script(text, name="prog.js"):
    return u.script(text, name)


def need_node():
    if not NODE:
        raise h.Skip("no node")


class Legal:
    """What the program's marks allow: direct calls, through a builtin (~), and what may be left of a chain."""

    inside = {name: number for number, line in enumerate(PROGRAM.splitlines(), 1)
              for name in re.findall(r"function (each|replacer|reviver)\b|const (inner) =", line) for name in name}

    def __init__(self, text):
        self.calls, self.lines, name = {}, {}, None
        for number, line in enumerate(text.splitlines(), 1):
            for mark, rest in re.findall(r"//([=>]) ([^/]*)", line):
                if mark == "=":
                    name = rest.strip()
                    self.calls[name] = set()
                    begins = line.startswith("}")  # it is in the function before, which calls it
                    self.lines[name] = self.inside[name] if begins else number
                else:
                    self.calls[name].add(rest.strip())
        self.reach = {name: {callee.strip("~") for callee in callees} for name, callees in self.calls.items()}
        for _ in self.calls:
            for callees in self.reach.values():
                callees |= {far for callee in callees for far in self.reach[callee]}

    def why_not(self, frames, compiled):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        callee, natives = None, 0
        for frame in frames:
            if not frame["mapping"]["path"].startswith("[v8 "):
                natives += 1
                continue
            name, file = frame["name"], frame["file"]
            if not file.endswith("/prog.js"):
                if not file.startswith("node:"):
                    return f"unknown function {name} of {file}"
                continue
            if name == "(anonymous:prog.js:1)":
                if callee not in (None, "again") and not compiled:
                    return f"the module calls {callee}"
                continue
            if name not in self.calls:
                return f"unknown function {name}"
            if (frame["line"], frame["start_line"]) != (self.lines[name], self.lines[name]):
                return f"unknown line {frame['line']} of {name}"
            if callee and compiled and callee not in self.reach[name]:
                return f"{name} never leads to {callee}"
            if callee and not compiled and callee not in self.calls[name] and \
                    not (f"~{callee}" in self.calls[name] and natives):
                return f"{name} does not call {callee} ({natives} between)"
            callee, natives = name, 0
        return None


def attach(options, file, *more, seconds=SECONDS, run_as=()):
    """options are the interpreter's; None: file is a command."""
    return u.profile_of([NODE, *options, file] if options is not None else file, *more, seconds=seconds, run_as=run_as)


def has_functions(sample):
    return any(frame["mapping"]["path"].startswith("[v8 ") for frame in sample["frames"])


@h.test
def every_stack_is_legal():
    need_node()
    legal = Legal(PROGRAM)
    for way, options in ways().items():
        samples = [sample for sample in attach(options, script(PROGRAM))["samples"] if has_functions(sample)]
        nr, wrong = u.count(samples), {}
        for sample in samples:
            why = legal.why_not(sample["frames"], way == "compiled")
            if why:
                wrong[why] = wrong.get(why, 0) + sample["values"]["samples"]
        print(f"# {way}: {nr - sum(wrong.values())} of {nr} stacks are legal; {wrong}", flush=True)
        u.assert_enough(nr, way)
        assert not [why for why in wrong if "unknown" in why], wrong
        assert sum(wrong.values()) <= max(2, nr / 200), wrong


ALLOCATING = """'use strict';
const keep = [];
function large(n) {
  return new ArrayBuffer(n);
}
function viaMap(list) { return list.map(function each(n) { return large(n); }); }
class Store {
  add() { keep.push(large(SMALL)); }
}
function run(nr) {
  const store = new Store();
  for (let i = 0; i < nr; i++) {
    store.add();
    viaMap([LARGE, LARGE]);
  }
}
console.log('{}');
process.stdin.once('data', () => {
  run(200);
  console.log('{"times": 200}');
  process.stdin.once('data', () => process.exit(0));
});
"""
SMALL, LARGE = 70001, 90001


def buffers_of(options, text):
    """The functions of the program that lead to where a buffer's memory is allocated, leaf first: how much. And how much all is."""
    profile, times = u.allocations_of(NODE, *options, script(text), run_as=h.AHEAD_OF_OTHERS)
    found = {}
    for sample in profile["samples"]:
        if any("BackingStore" in name for name in sample["stack"]):
            frames = tuple((frame["name"], frame["line"]) for frame in sample["frames"] if frame["file"].endswith("/prog.js"))
            found[frames] = found.get(frames, 0) + sample["values"]["alloc_space"]
    return found, times


@h.test
def heap_shows_functions():
    """Those that lead to malloc: what a buffer holds is no object of V8's. What is compiled has those that are not inlined."""
    need_node()
    text = ALLOCATING.replace("SMALL", str(SMALL)).replace("LARGE", str(LARGE))
    lines = {name: number for number, line in enumerate(text.splitlines(), 1)
             for name in re.findall(r"(?:function )?\b(large|viaMap|each|add|run)\(\w*\) \{", line)}
    paths = ["large", "add", "run"], ["large", "each", "viaMap", "run"]
    for way, options in ways().items():
        found, times = buffers_of(options, text)
        print(f"# {way}: {found}", flush=True)
        shown = 0
        for frames, space in found.items():
            chain = [name for name, _ in frames if not name.startswith("(anonymous")]
            assert all(lines.get(name, line) == line for name, line in frames), frames
            assert any([name for name in path if name in chain] == chain for path in paths), chain
            if way == "compiled" or chain in paths:
                shown += space if chain else 0
        # Without a table of V8's code, which a busy machine has late, a stack has no functions.
        assert shown >= 0.5 * times * (SMALL + 2 * LARGE), shown


@h.test
def which_frames_are_shown():
    need_node()
    shown = {}
    for options in ((), ("--all-frames",), ("--no-native",), ("--no-v8",)):
        samples = attach(ways()["baseline"], script(PROGRAM), *options, seconds=0.4)["samples"]
        shown[options] = {re.sub(r" \[guessed\]$", "", name) for sample in samples for name in sample["stack"]
                          if has_functions(sample) or options == ("--no-v8",)}
    assert {"compare", "spin", "work"} <= shown[()]
    assert not [name for name in shown[()] if re.match("Builtins_(Interpreter|JSEntry)", name)]
    assert "compare" in shown["--all-frames",] and "compare" not in shown["--no-v8",]
    assert "Builtins_JSEntry" in shown["--all-frames",] or "Builtins_JSEntry" not in shown["--no-v8",]
    assert "compare" in shown["--no-native",] and "__libc_start_main" not in shown["--no-native",]


MARKED = "function marked(n) { if (!n) return new Error().stack; let x = 0; while (n) { x += n * n % 7; n -= 1; } return x; }\n" \
    "console.log(JSON.stringify({stack: marked(0)}));\nfor (;;) marked(9999);\n"


@h.test
def ends_of_lines():
    """JavaScript has five, and the source comes in pieces: V8 itself says which line it is."""
    need_node()
    for before in ("// a\r// bcd\r\n// e\n" * 2000, "// a\u2028// bcd\u2029\r// \u4e2d\r\n\n\r" * 2000):
        path = u.script("", "ends.js")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(before + MARKED)
        target = h.Workload(NODE, *ways()["baseline"], path)
        said = int(re.search(r"at marked [(].*ends[.]js:(\d+):", target.says()["stack"])[1])
        run = h.cprof("record", "-F", 499, "-p", target.pid).attached()
        target.uses(0.3)
        found = {frame["start_line"] for sample in run.stop().profile()["samples"] for frame in sample["frames"]
                 if frame["name"] == "marked"}
        target.process.kill()
        assert found == {said}, (found, said)


CHURN = """
const fs = require('fs');
const comm = fs.openSync('/proc/self/comm', 'w');
console.log('{}');
for (let i = 1; ; i++) {
  const outer = new Function('n', `
    function inner_${i}(n) { let x = 0; while (n) { x += n * n % 7; n -= 1; } return x; }
    return (function outer_${i}(n) { return inner_${i}(n) + inner_${i}(n + 1); })(n);`);
  fs.writeSync(comm, `${i}`);
  outer(1500);
  fs.writeSync(comm, '-');
  if (i % 20 == 0)
    gc();
}
"""


def number_of_made(frame):
    found = re.fullmatch(r"(?:inner|outer)_(\d+)", frame["name"])
    return found and int(found[1])


@h.test
def functions_that_come_and_go():
    """And the collector moves what is left."""
    need_node()
    profile = attach(("--expose-gc",), script(CHURN, "churn.js"), "--threads", run_as=h.AHEAD_OF_OTHERS)
    u.check_made(profile["samples"], number_of_made, 0.05)


@h.test
def forged_engine():
    """A program that exports what V8 does, with structures that lead anywhere: bounded, and every frame is one that it
    has."""
    for what in ("circle", "wild", "text"):
        profile = attach(None, (h.workload("forgedv8"), what), seconds=0.4)
        u.assert_enough(u.count(profile["samples"]), what)
        frames = [frame for sample in profile["samples"] for frame in sample["frames"]
                  if frame["mapping"]["path"] == "[v8 11.3]"]
        assert len(frames) < 600 * len(profile["samples"]), what
        if what == "circle":
            assert {(frame["name"], frame["file"], frame["line"]) for frame in frames} == \
                {("made_up", "/made/up.js", 3)}, frames[:3]


h.main()
