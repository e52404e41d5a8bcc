#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Node.js beside V8's own profiler, that of --cpu-prof: the same functions have the same shares of one run.

Both sample the same work, whose order chance has chosen so that no rhythm of one of them can meet that of the program. NODE_SECONDS=20
samples for longer than two seconds of each way to run it."""
import collections
import json
import math
import os
import shutil

import chance
import harness as h
import unwinding as u

SECONDS = float(os.environ.get("NODE_SECONDS", "2"))
NODE = os.environ.get("NODE") or shutil.which("node")
# V8's profiler counts the collector's work for nobody, which is much of what compiled code does here.
WAYS = {"interpreted": ("--no-opt", "--no-sparkplug"), "baseline": ("--no-opt", "--always-sparkplug")}
PROGRAM = """'use strict';
const fs = require('fs'), inspector = require('inspector');
let seed = 14;
function chance(n) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
}
function plain(n) {
  let x = 0;
  while (n) {
    x += n * n % 7;
    n -= 1;
  }
  return x;
}
const arrow = (n) => {
  let x = 1;
  for (let i = 0; i < 2 * n; i++)
    x = (x * 31 + i) & 0xffff;
  return x;
};
class Shape {
  constructor(n) {
    this.n = n;
  }
  area() {
    let x = 0;
    for (let i = 0; i < 3 * this.n; i++)
      x ^= i * this.n;
    return x;
  }
  get size() {
    let x = 0;
    for (let i = 0; i < this.n; i++)
      x += i & 5;
    return x;
  }
  static make(n) {
    const shape = new Shape(n);
    for (let i = 0; i < 4 * n; i++)
      shape.n ^= i & 1;
    return shape;
  }
}
function* numbers(n) {
  for (let i = 0; i < n; i++)
    yield i * i % 5;
}
function sum(n) {
  let x = 0;
  for (const each of numbers(n))
    x += each;
  return x;
}
function closures(n) {
  const inner = () => { let x = 0; for (let i = 0; i < 5 * n; i++) x = x + i & 0xff; return x; };
  return inner();
}
function viaPlain(n) { return plain(6 * n); }
function viaArrow(n) { return arrow(n); }
function viaSum(n) { return sum(n); }
function viaClosures(n) { return closures(n); }
function viaArea(n) { return new Shape(n).area(); }
function viaSize(n) { return new Shape(5 * n).size; }
function viaMake(n) { return Shape.make(n).n; }
const WORK = [viaPlain, viaArrow, viaSum, viaClosures, viaArea, viaSize, viaMake];
let sink = 0;
function main(seconds) {
  const start = process.cpuUsage().user;
  while (process.cpuUsage().user - start < seconds * 1e6)
    for (let i = 0; i < 3000; i++)
      sink += WORK[chance(WORK.length)](200 + chance(200));
}
main(0.3);
console.log('{}');
fs.readSync(0, Buffer.alloc(1));
const session = new inspector.Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', {interval: 1000});
session.post('Profiler.start');
main(SECONDS);
session.post('Profiler.stop', (error, {profile}) => fs.writeFileSync(process.argv[2], JSON.stringify(profile)));
console.log('{}');
fs.readSync(0, Buffer.alloc(1));
"""


def chains_of_v8(profile):
    """The functions of the program in each stack, leaf first: how many of its samples."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", ())}
    found = collections.Counter()
    for node in profile["nodes"]:
        chain, hits = [], node["hitCount"]
        while node:
            frame = node["callFrame"]
            if frame["url"].endswith("/prog.js"):
                chain.append((frame["functionName"], frame["lineNumber"] + 1))
            node = nodes.get(parents.get(node["id"]))
        found[tuple(chain)] += hits
    return found


def chains_of_cprof(profile):
    found = collections.Counter()
    for sample in profile["samples"]:
        found[tuple((frame["name"], frame["start_line"]) for frame in sample["frames"]
                    if frame["file"].endswith("/prog.js"))] += u.count([sample])
    return found


def by_caller(chains):
    """The samples in what main() calls, by the function that it calls."""
    found = collections.Counter()
    for chain, nr in chains.items():
        outer = [function for function in chain if function[0].startswith("via")]
        if outer:
            found[outer[0]] += nr
    return found


def profiled(options):
    text = PROGRAM.replace("SECONDS", str(SECONDS))
    script, output = u.script(text, "prog.js"), os.path.join(h.folder(), "v8.cpuprofile")
    target = h.Workload(NODE, *options, script, output)
    target.says()
    cprof = h.cprof("record", "-F", 997, "--no-kernel", "-p", target.pid).attached()
    target.go()
    target.says()
    profile = cprof.stop().profile()
    target.go()
    assert target.wait() == 0
    with open(output, encoding="utf-8") as file:
        return chains_of_v8(json.load(file)), chains_of_cprof(profile)


def sigmas(a, b, of_a, of_b):
    """How many standard errors two parts are apart."""
    part = (a + b) / (of_a + of_b)
    error = math.sqrt(part * (1 - part) * (1 / of_a + 1 / of_b))
    return abs(a / of_a - b / of_b) / error if error else 0


def compare(v8, cprof, what):
    of_v8, of_cprof = sum(v8.values()), sum(cprof.values())
    u.assert_enough(of_v8, "V8's samples")
    u.assert_enough(of_cprof, "cprof's samples")
    print(f"# {what}: {of_v8} samples of V8, {of_cprof} of cprof", flush=True)
    for name in sorted({*v8, *cprof}, key=lambda name: -v8[name]):
        apart = sigmas(v8[name], cprof[name], of_v8, of_cprof)
        print(f"#   {name[0]}, line {name[1]}: {v8[name] / of_v8:.1%} and {cprof[name] / of_cprof:.1%}, {apart:.1f} sigma", flush=True)
        assert apart < chance.SIGMAS, (what, name, v8, cprof)


@h.test
def shares_of_functions():
    """V8's profiler often has no leaf where that is interpreted or from the baseline compiler: so callers are compared."""
    if not NODE:
        raise h.Skip("no node")
    for way, options in WAYS.items():
        v8, cprof = profiled(options)
        compare(by_caller(v8), by_caller(cprof), way)


h.main()
