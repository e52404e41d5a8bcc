#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof lint: each rule has a file that breaks it and nothing else; pprof's own package agrees with
what is said of it; what cprof writes is clean."""
import gzip
import json
import os
import subprocess
import sys

import harness as h

sys.path.insert(0, os.path.join(h.ROOT, "tests", "bad"))
import pprof as p  # noqa: E402 (its folder is known only now)
from pprof import location, msg, num, profile, text, varint  # noqa: E402

ORACLE = os.path.join(h.BUILD, "oracle", "oracle")

SYMBOLIZED = location(1, msg(4, num(1, 1)))
STACK = num(1, 1) + num(2, 5)


def strings(*more):
    return p.STRINGS + b"".join(map(text, more))


def label(*parts):
    return profile(sample=msg(2, STACK, msg(3, *parts)))


def rules():
    """(the rules that are broken, the bytes)"""
    yield [], p.GOOD
    yield [], p.GZIP
    yield ["empty"], b""
    yield ["empty"], gzip.compress(b"")
    yield ["gzip"], p.GZIP[:-3]
    yield ["gzip"], p.GZIP + b"\0\0\0\0"
    yield ["gzip-twice"], gzip.compress(p.GZIP)
    yield ["not-pprof"], b"heap profile: 1: 2 [3: 4] @ heap/5\n"
    yield ["wire"], p.GOOD[:-1]
    yield ["wire"], p.GOOD + num(6, 1)
    yield ["group"], p.GOOD + varint(99 << 3 | 3) + varint(99 << 3 | 4)
    yield ["field-0"], p.GOOD + b"\0\0"
    yield ["glued"], p.GOOD + num(9, 1700000000000000000)
    yield ["no-sample-types"], profile(types=b"", sample=b"")
    yield ["no-sample-types", "value-count"], profile(types=b"")
    yield ["same-sample-types"], profile(types=p.TYPE * 2, sample=msg(2, num(1, 1), msg(2, varint(1) * 2)))
    yield ["type-name-dash"], profile(types=msg(1, num(1, 6), num(2, 2)), strings=strings("a-b"))
    yield ["type-name"], profile(types=msg(1, num(1, 6), num(2, 2)), strings=strings("a.b"))
    yield ["no-samples"], profile(sample=b"")
    yield ["value-count"], profile(sample=msg(2, num(1, 1)))
    yield ["first-string"], profile(strings=p.STRINGS.replace(text(""), text("x"), 1))
    yield ["string-index"], profile(sample=msg(2, STACK, msg(3, num(1, 1), num(2, 77))))
    yield ["string-index"], profile(header=p.HEADER + num(13, 6))
    yield ["string-index", "period-type"], profile(header=p.TIME + msg(11, num(2, 6)) + num(12, 10))
    yield ["string-index-negative"], profile(header=p.HEADER + num(14, -1))
    yield ["utf-8"], profile(strings=strings(b"\xc0\x80"))
    yield ["utf-8"], profile(strings=strings(b"ends in \xe2\x82"))
    yield [], profile(strings=strings("\u20ac \U0001f600"))
    yield ["long-name"], profile(strings=strings("x" * 65536))
    yield ["id-order"], profile(locations=location(3, msg(4, num(1, 1))), sample=msg(2, num(1, 3), num(2, 5)))
    yield ["id-order"], profile(mapping=msg(3, num(1, 1)) + msg(3, num(1, 3)))
    yield ["mapping-id-0"], profile(mapping=p.MAPPING + msg(3, num(2, 1)))
    yield ["location-id-0"], profile(locations=p.LOCATIONS + location(0, msg(4, num(1, 1))))
    yield ["function-id-0"], profile(functions=p.FUNCTIONS + msg(5, num(2, 4)))
    yield ["same-id"], profile(functions=p.FUNCTIONS + msg(5, num(1, 1), num(2, 4)))
    yield ["missing-mapping"], profile(mapping=b"")
    yield ["missing-function"], profile(locations=SYMBOLIZED + location(2, msg(4, num(1, 9))))
    yield ["missing-function"], profile(locations=SYMBOLIZED + location(2, msg(4)))
    yield ["missing-location"], profile(sample=msg(2, num(1, 9), num(2, 5)))
    yield ["missing-location"], profile(sample=msg(2, num(1, 0), num(2, 5)))
    yield ["unsymbolized"], profile(locations=SYMBOLIZED + location(2))
    yield ["no-address"], profile(locations=SYMBOLIZED + msg(4, num(1, 2), num(2, 1)))
    yield ["no-name"], profile(functions=p.FUNCTIONS + msg(5, num(1, 3)))
    yield ["empty-stack"], profile(sample=msg(2, num(2, 5)))
    heap = msg(1, num(1, 6), num(2, 2))
    called = msg(5, num(1, 1), num(2, 7)) + msg(5, num(1, 2), num(2, 5))
    for name, broken in (("malloc", ["allocator-leaf"]), ("operator new(unsigned long)", ["allocator-leaf"]),
                         ("mallocate", []), ("main", [])):
        yield broken, profile(types=heap, functions=called, strings=strings("inuse_space", name))
    # of a profile of the CPU malloc is as good a leaf as any; of nothing but an allocator there is no other
    yield [], profile(functions=called, strings=strings("cpu", "malloc"))
    yield [], profile(types=heap, functions=called, strings=p.STRINGS.replace(text("main"), text("[no]")) +
                      text("inuse_space") + text("malloc"))
    yield ["deep-stack"], profile(sample=msg(2, msg(1, varint(1) * 1001), num(2, 5)))
    yield [], profile(sample=msg(2, msg(1, varint(1) * 1000), num(2, 5)))
    yield ["negative-value"], profile(sample=msg(2, num(1, 1), num(2, -5)))
    yield ["zero-sample"], profile(sample=msg(2, num(1, 1), num(2, 0)))
    yield ["label-key"], label(num(2, 4))
    yield ["label-empty"], label(num(1, 4))
    yield [], label(num(1, 4), num(3, 7))
    yield ["label-twice"], profile(sample=msg(2, STACK, msg(3, num(1, 4), num(2, 5)) * 2))
    yield ["label-long"], profile(sample=msg(2, STACK, msg(3, num(1, 4), num(2, 6))), strings=strings("x" * 2049))
    yield ["labels"], profile(sample=msg(2, STACK, *(msg(3, num(1, 6 + i), num(3, 1)) for i in range(101))),
                              strings=strings(*(f"k{i}" for i in range(101))))
    yield ["labels"], profile(sample=b"".join(msg(2, STACK, msg(3, num(1, 6 + i), num(2, 4))) for i in range(31)),
                              strings=strings(*(f"k{i}" for i in range(31))))
    yield ["samples"], profile(sample=p.SAMPLE * 16001)
    yield [], profile(sample=p.SAMPLE * 16000)
    yield ["size"], profile(strings=strings(*(f"{i}" * 60000 for i in range(10)) , *("x" * 60000 for _ in range(70))))
    yield ["period-type"], profile(header=p.TIME + num(12, 10))
    yield ["period"], profile(header=p.TIME + p.PERIOD_TYPE)
    yield ["time"], profile(header=p.PERIOD_TYPE + num(12, 10))
    yield ["time"], profile(header=num(9, 1700000000000000) + p.PERIOD_TYPE + num(12, 10))


def lint(*paths):
    done = h.run_cprof("lint", "--json", *paths, status=None)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def rejected_by_pprof(findings):
    """What pprof's package rejects; the types of one name, or none, only its command does."""
    return [f["rule"] for f in findings if f["consumers"].get("go tool pprof", "").startswith("rejects")
            and f["rule"] not in ("no-sample-types", "same-sample-types")]


def oracle_says(folder):
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    done = subprocess.run([ORACLE, "accepts", *paths], capture_output=True, text=True, check=False)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def written(files):
    folder = h.folder()
    for name, data in files:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder


@h.test
def every_rule():
    files = list(rules())
    folder = written((f"{i:03}-{'-'.join(broken)}", data) for i, (broken, data) in enumerate(files))
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    code, results = lint(*paths)
    assert code == 1 and len(results) == len(files)
    for (broken, _), result in zip(files, results):
        found = [finding["rule"] for finding in result["findings"]]
        assert sorted(found) == sorted(broken), (broken, result)
    with open(os.path.join(h.ROOT, "user", "input", "lint.h"), encoding="utf-8") as file:
        known = {line.split('"')[1] for line in file if line.startswith("\tX(") and '"' in line}
    assert known == {rule for broken, _ in files for rule in broken}, "a rule that no file breaks"
    words = oracle_says(folder)
    for path, result in zip(paths, results):
        rejects = rejected_by_pprof(result["findings"])
        if "heap profile" not in open(path, "rb").read(20).decode("latin-1"):
            assert bool(rejects) == (words[path] != "ok"), (path, rejects, words[path])


@h.test
def bad_files_are_what_pprof_rejects():
    files = [(name, data) for name, data, _ in p.bad() if not name.startswith("bomb-")]
    folder = written(files)
    words = oracle_says(folder)
    paths = sorted(words)
    for path, result in zip(paths, lint(*paths)[1]):
        assert result["file"] == path
        if os.path.basename(path) not in ("gzip-flags", "types-33"):
            assert bool(rejected_by_pprof(result["findings"])) == (words[path] != "ok"), (result, words[path])


@h.test
def as_text():
    folder = written([("good", p.GOOD), ("bad", profile(sample=msg(2, num(1, 9), num(2, 5)) * 3)),
                      ("x\x1b[31m", profile(sample=b""))])
    done = h.run_cprof("lint", "good", status=None, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    done = h.run_cprof("lint", "good", "bad", status=None, cwd=folder)
    assert done.returncode == 1 and done.stdout == (
        "bad: missing-location: sample 0 refers to location 9, which does not exist (and 2 more), at byte 8: "
        "go tool pprof rejects it; Parca rejects it; Pyroscope drops the sample\n"), done.stdout
    done = h.run_cprof("lint", "x\x1b[31m", "/nonexistent", status=None, cwd=folder)
    assert done.returncode == 2 and done.stdout.startswith("x\\x1b[31m: no-samples") and \
        done.stderr == "cprof: /nonexistent: No such file or directory.\n", done
    done = h.run_cprof("lint", status=None, cwd=h.folder(), text=False)
    assert done.returncode == 2 and b"lint: no FILE given" in done.stderr


@h.test
def what_cprof_writes():
    run = h.cprof("record", "-F", "999", "-t", "--", h.workload("hot"), "1").wait()
    heap = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now").wait()
    run.profile(), heap.profile()
    for path in [*run.files, *heap.files]:
        code, results = lint(path)
        assert code == 0, results


h.main()
