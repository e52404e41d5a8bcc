#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --leaks: a leak is the first that is shown, and what is none is not shown at all."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

import harness as h

LEAK = re.compile(r"^cprof: leak (\d+)(?: of \w+ \(\d+\))?: ([\d,]+) bytes in ([\d,]+) blocks, (\S+ \S+) to (\S+ \S+) old, \+(\d+) bytes/s "
                  r"\(standard error (\d+)\); (.*): (\w+) leaky\.c:\d+ < serve < run(?: < \w+)?$")
NONE = "no leak was found"
WINDOW = "no file of a window has them"
TYPES = ["leak_score", "inuse_objects", "inuse_space"]


def leaks(run):
    """What is said, in its order: (function, bytes, blocks, bytes a second)."""
    return [(match[9], h.number(match[2]), h.number(match[3]), int(match[6])) for match in run.matches(LEAK)]


def names(found):
    return [name for name, *_ in found]


def steadily(start):
    """A run over a program that served steadily, by its own account: growth is not steady where a machine holds a process up for
    long. What was found is not looked at."""
    for _ in range(5):
        run, did = start()
        if did["steady"]:
            return run, did
        print(f"# once more: the program was held up: {did}", file=sys.stderr)
    raise h.Skip("this machine holds processes up for long: nothing grows steadily")


def attached(seconds, kinds, *options):
    """A server that serves when cprof starts and when it ends. What it did before that end, and in all, as all of it."""
    target = h.Workload("leaky", str(seconds), kinds)
    target.says()
    run = h.cprof("heap", "--rate", "1", "--leaks", *options, "-p", target.pid).attached()
    target.go()
    before = target.says()
    ended = run.stop()
    target.go()
    after = target.says()
    return ended, {**before, "steady": after["steady"], "all": after}


def launched(kinds, *options, seconds=5):
    run = h.cprof("heap", "--rate", "1", "--leaks", *options, "--", h.workload("leaky"), seconds, kinds, "now").wait()
    return run, run.says()


@h.test
def the_leak_comes_first():
    """Beside a growing cache, a bounded one, and what was allocated at the start."""
    run, did = steadily(lambda: attached(6, "lgbs"))
    found = leaks(run)
    assert names(found) == ["site_leak", "site_cache_grows"], run.lines
    profile = run.profile()
    assert profile["types"] == TYPES and profile["default_type"] == "leak_score", profile["types"]
    for name, nr_bytes, nr_blocks, _ in found:
        assert h.by_function(profile, "inuse_space")[name] == nr_bytes
        assert h.by_function(profile, "inuse_objects")[name] == nr_blocks
    _, nr_bytes, nr_blocks, slope = found[0]
    # one in 250 requests, in the first half of the time that cprof saw
    assert nr_bytes == 100 * nr_blocks and did["quarter"] // 250 <= nr_blocks <= did["all"]["half"] // 250 + 1, (found, did)
    assert slope > 0, found
    rows = json.loads(h.run_cprof("top", "--json", run.output, text=False).stdout)["rows"]
    assert rows[0]["name"] == "site_leak" and rows[0]["flat"] == 1000, rows[:2]
    shown = [row["name"] for row in rows if row["flat"]]
    assert shown == ["site_leak", "site_cache_grows"], shown


@h.test
def of_a_command():
    """A program that has ended, too. What it kept all the time is no leak, and neither are waves."""
    for kinds, expected in ("lgs", ["site_leak"]), ("gbsw", []):
        run, _ = steadily(lambda: launched(kinds))
        assert names(leaks(run)) == expected, run.lines
        assert run.code == 0 and any(NONE in line for line in run.lines) == (not expected), run.lines
        profile = h.judge(run.output)
        assert profile["types"] == TYPES and bool(profile["samples"]) == bool(expected), profile["samples"]


@h.test
def no_older_than():
    """--leak-age chooses what is old; nothing is older than the run."""
    run, did = steadily(lambda: attached(6, "l", "--leak-age", "1s"))
    [(name, _, nr_blocks, _)] = leaks(run)
    assert name == "site_leak" and did["old"] // 250 <= nr_blocks <= did["all"]["requests"] // 250 + 1, (run.lines, did)
    run, _ = attached(2, "l", "--leak-age", "1h")
    assert not leaks(run) and any(NONE in line for line in run.lines), run.lines


@h.test
def inside():
    run, _ = steadily(lambda: launched("lb", "--mode", "inside", "--views"))
    assert names(leaks(run)) == ["site_leak"], run.lines
    assert h.by_function(run.extra_profile(".leaks.pb.gz"), "inuse_objects").keys() >= {"site_leak"}
    run.profile()


@h.test
def in_mid_run():
    """No file of a window, which is said once."""
    target = h.Workload("leaky", "1", "l")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--leaks", "--allow-empty", "-p", target.pid).attached()
    run.takes(signal.SIGUSR1)
    end = time.monotonic() + h.HANGS
    while WINDOW not in run.said() and time.monotonic() < end:
        time.sleep(0.02)
    run.takes(signal.SIGUSR1)
    ended = run.stop()
    assert len([line for line in ended.lines if WINDOW in line]) == 1, ended.lines
    assert not os.path.exists(ended.output.replace(".pb.gz", ".1.pb.gz"))


LEAKING_PYTHON = """
import sys
held = []
class Session:
    def __init__(self, n):
        self.data = bytearray(n)
def load():
    held.append(Session(20000))
print("{}", flush=True)
while sys.stdin.readline():
    load()
    print("{}", flush=True)
"""


def is_steady_since(first, nr):
    """As in workloads/leaky.c; nr: by eighths of a second."""
    width = 1
    while len(nr) // width >= 64:
        width *= 2
    n = (len(nr) - first) // width
    if n < 8:
        return False
    start = len(nr) - n * width
    joined = [sum(nr[start + i * width:start + (i + 1) * width]) for i in range(n)]
    whole = sum(joined)
    return whole > 0 and sum(joined[n // 2:]) >= whole / 3 and sum(joined[n - n // 4:]) >= whole / 8 and \
        statistics.mean(joined) >= 2 * (4 + 16 / n) * statistics.stdev(joined) / n ** 0.5


def is_steady(times, begin, end):
    nr = [0] * int((end - begin) * 8)
    for at in times:
        if at - begin < len(nr) / 8:
            nr[int((at - begin) * 8)] += 1
    return is_steady_since(len(nr) // 4, nr) and is_steady_since(len(nr) // 2, nr)


def leaking_python(path):
    """A hundred times a second, until it was so steadily."""
    target = h.Workload("/usr/bin/python3", path)
    target.says()
    start = time.monotonic()
    run = h.cprof("heap", "--rate", "1", "--leaks", "-p", target.pid).attached()
    begin = end = time.monotonic()
    times, least = [], max(4, 2 * (begin - start))
    while end < begin + least or (not is_steady(times, begin, end) and end < begin + h.HANGS / 2):
        target.go()
        target.says()
        times.append(time.monotonic())
        time.sleep(0.01)
        end = time.monotonic()
    ended = run.stop()
    return ended, {"steady": is_steady(times, begin, end)}


@h.test
def of_a_python_program():
    """The function of the program's leads the line, with its own; and what a profile of malloc's lacks is said."""
    path = os.path.join(h.folder(), "leaking.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(LEAKING_PYTHON)

    ended, _ = steadily(lambda: leaking_python(path))
    assert [line for line in ended.lines if re.search(r"leak 1: .*: leaking\.Session\.__init__ leaking\.py:6 < ", line)], ended.lines
    assert [line for line in ended.lines if "its objects of up to 512 bytes only if" in line], ended.lines


@h.test
def of_two_threads():
    """The line is about all samples of a stack, which -t tells apart."""
    run, _ = steadily(lambda: launched("lt", "-t"))
    [(name, nr_bytes, nr_blocks, _)] = leaks(run)
    profile = run.profile()
    assert name == "site_leak" and len(profile["samples"]) == 2, (run.lines, profile["samples"])
    assert nr_bytes == h.total(profile, "inuse_space") and nr_blocks == h.total(profile, "inuse_objects"), run.lines


def of_two(args):
    command = "{0} {1} & {0} {1} & wait".format(h.workload("leaky"), args)
    run = h.cprof("heap", "--rate", "1", "--mode", "inside", "--leaks", "--format", "proto,text", "--", "sh", "-c", command).wait()
    return run, {"steady": all(json.loads(line)["steady"] for line in run.out.splitlines())}


@h.test
def of_two_processes():
    """The line says whose it is, in one file and in several; that there is none is said once."""
    for args, is_leak in ("4 l now", True), ("1 b now", False):
        run, _ = steadily(lambda: of_two(args))
        assert len(leaks(run)) == (2 if is_leak else 0), run.lines
        assert len([line for line in run.lines if NONE in line]) == (0 if is_leak else 1), run.lines
        assert len({line.split(":")[1].split(" of ")[1] for line in run.lines if "cprof: leak " in line}) == (2 if is_leak else 0)


# They last for as long as it takes to see growth, and rest for most of it, but for the long tests: so few of their turns are judged.
REST = 0 if h.IS_LONG else 0.005
BUSY = f"t = time.time()\nwhile time.time() - t < 3:\n  time.sleep({REST})\n"
PROGRAMS = {
    "decodes": ["python3", "-c", f"import time, json\n{BUSY}  json.loads(json.dumps([{{'a': i}} for i in range(2000)]))"],
    "strings": ["perl", "-e", "$t = time; while (time - $t < 4) { $h{$i++ % 9999} .= 'x'; @a = map {$_ * 2} 1 .. 5; "
                f"select(undef, undef, undef, {REST}) unless $i % 1000 }}"],
}
if h.IS_LONG:
    PROGRAMS.update({
        "a_cache": ["python3", "-c", f"import time\nd = {{}}\n{BUSY}  d[int(time.time() * 1e5) % 5000] = 'x' * 100"],
        "a_list": ["python3", "-c", f"import time\nd = []\n{BUSY}  d.append('x' * 100)"],
        "classes": ["python3", "-c", f"import time\n{BUSY}  exec('class A:\\n  x = 1\\ndef f(): return A()\\nf()')"],
        "regexes": ["python3", "-c", f"import time, re\n{BUSY}  re.purge(); re.match('a(b|c)*d+' * 9, 'abcd' * 9)"],
        "sorts": ["python3", "-c", f"import time\n{BUSY}  sorted(map(str, range(9999)))"],
        "threads": ["python3", "-c", "import time, threading\n" + BUSY +
                    "  x = threading.Thread(target=lambda: [0] * 9999); x.start(); x.join()"],
        "deques": ["python3", "-c", "import time, collections\nd = collections.deque(maxlen=9999)\n" + BUSY +
                   "  d.append('x' * 100)"],
        "sql": ["python3", "-c", "import time, sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t(a)')\n" +
                BUSY + "  c.execute('insert into t values(1)'); c.execute('delete from t')"],
        "compiles": ["gcc", "-O2", "-c", f"{h.ROOT}/tests/e2e/workloads/allocs.c", "-o/dev/null"],
        "lists": ["find", "/usr/share", "-name", "*.x"],
        "ls": ["ls", "-lR", "/usr/share/doc"],
        "counts": ["awk", "BEGIN { for (i = 0; i < 3000000; i++) a[i % 5000] = a[i % 5000] i % 9; }"],
        "a_shell": ["bash", "-c", "for i in $(seq 40000); do x=$x$((i % 7)); x=${x:0:100}; done"],
        "a_pipe": ["sh", "-c", "seq 300000 | sort -R | uniq | wc -l"],
        "packs": ["xz", "-k", "-c", h.CPROF],
        "names": ["nm", "-C", h.CPROF],
        "dwarf": ["readelf", "-w", h.CPROF],
        "diffs": ["git", "-C", h.ROOT, "log", "--format=fuller"],
    })


@h.test
def none_in_programs_without_any():
    for name, command in PROGRAMS.items():
        if not shutil.which(command[0]):
            print(f"# {name}: there is no {command[0]}", file=sys.stderr)
            continue
        run = h.cprof("heap", "--rate", "64", "--mode", "inside", "--leaks", "--", *command, stdout=subprocess.DEVNULL).wait()
        assert not any("cprof: leak 1" in line for line in run.lines), (name, run.lines)
        assert any(NONE in line for line in run.lines), (name, run.lines)


if __name__ == "__main__":
    h.main()
