#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A target does not notice: what it writes to stdout and stderr, byte for byte, and how it ends are the
same with and without cprof, in many runs of several programs, attached to and launched, recorded and
with its heap profiled; and those of the heap tests' own programs, in each way to profile a heap. OUTPUTS: how often of the
latter (`make kills`: 1,000)."""
import functools
import os
import shutil
import signal
import subprocess

import harness as h

WAYS = [("record", "-F", "499"), ("heap", "--rate", "1"), ("heap", "--rate", "65536"),
        ("record", "-F", "99", "-t")]
ATTACHED_AT_ONCE, ATTACHED = (20, 160) if h.IS_LONG else (5, 20)
LAUNCHED = 40 if h.IS_LONG else 20
HEAPS = [("--mode", "inside"), ("--mode", "probe")]
RATES = "1", "4096"
OUTPUTS = int(os.environ.get("OUTPUTS", "40" if h.IS_LONG else "10"))

PYTHON = """
import hashlib, json, sqlite3, sys, threading
rows = [{"id": i, "name": str(i * 7919 % 1009), "at": [i / 3] * (i % 5)} for i in range(1500)]
text = json.dumps(rows, sort_keys=True)
db = sqlite3.connect(":memory:")
db.execute("create table t (id integer, name text)")
db.executemany("insert into t values (:id, :name)", rows)
found = db.execute("select name, count(*), sum(id) from t group by name order by name").fetchall()
sums = [0] * 3
def work(n):
    sums[n] = sum(len(str(x) * 3) for x in range(n, 9000, 3))
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
print(hashlib.sha256(text.encode()).hexdigest(), len(found), found[:3], sums)
print("done", file=sys.stderr)
sys.exit(7)
"""

SHELL = 'i=0; while [ $i -lt 40 ]; do echo "line $i" | sed s/line/row/; i=$((i+1)); done; ls /nonexistent; exit 5'


def programs():
    """{name: command}, each of which always says the same, and ends with another code than 0, whose place
    cprof's own could take."""
    folder = h.kept_folder()
    path = os.path.join(folder, "rows.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[" + ",".join(f'{{"id": {i}, "x": "{i * 7919 % 10007}"}}' for i in range(20000)) + "]")
    found = {
        "alarmed": [h.workload("alarmed")],
        "python3": [shutil.which("python3", path="/usr/bin"), "-c", PYTHON],
        "shell": ["/bin/sh", "-c", SHELL],
        "sort": ["/bin/sh", "-c", f'sort --parallel=2 -t : -k3 {path.replace("json", "txt")} && exit 9'],
        "jq": [shutil.which("jq"), "-e", "map(select(.id % 7 == 0).x | tonumber) | add, (.[0] | .nothing)", path],
    }
    with open(path.replace("json", "txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{i * 31 % 977}:{i}:{i * 7919 % 10007}\n" for i in range(20000))
    missing = [name for name, command in found.items() if not command[0]]
    for name in missing:
        print(f"# NOT RUN: {name} is not installed")
        del found[name]
    return found


class Target:
    """A program behind a shell that waits for a line; what it writes goes to files."""

    def __init__(self, name, command, folder, number):
        self.name, self.path = name, os.path.join(folder, f"{name}.{number}")
        with open(self.path + ".out", "wb") as out, open(self.path + ".err", "wb") as err:
            self.process = subprocess.Popen(["/bin/sh", "-c", 'read -r _; exec "$@"', "sh", *command],
                                            stdin=subprocess.PIPE, stdout=out, stderr=err)
        h.running.append(self.process)

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def result(self):
        """What it wrote, and how it ended."""
        code = self.process.wait()
        return (code, *written(self.path))


def written(path):
    content = []
    for stream in ("out", "err"):
        with open(f"{path}.{stream}", "rb") as file:
            content.append(file.read())
    return content


def compare(name, found, expected):
    if found == expected:
        return
    parts = [part for part, a, b in zip(("exit code", "stdout", "stderr"), found, expected) if a != b]
    raise AssertionError(f"{name}: another {', '.join(parts)}: {found[0]} {found[1][-300:]} {found[2][-300:]}")


@functools.cache
def bare():
    """The programs, and what each says without cprof: the same twice, or it is no use here."""
    commands, folder, results = programs(), h.folder(), {}
    for name, command in commands.items():
        for _ in range(2):
            target = Target(name, command, folder, "bare")
            target.go()
            found = target.result()
            compare(name, found, results.setdefault(name, found))
    return commands, results


@h.test
def attached_to():
    (commands, expected), folder, count = bare(), h.folder(), 0
    names = list(commands)
    while count < ATTACHED:
        options = WAYS[count // ATTACHED_AT_ONCE % len(WAYS)]
        targets = [Target(name, commands[name], folder, i) for i, name in
                   enumerate(names[i % len(names)] for i in range(ATTACHED_AT_ONCE))]
        run = h.cprof(*options, "-p", ",".join(str(target.process.pid) for target in targets)).attached()
        for target in targets:
            target.go()
        for target in targets:
            compare(f"{target.name}, {options}", target.result(), expected[target.name])
            count += 1
        assert run.wait().code == 0
        h.runs.clear()  # it has nothing to tell any more
    assert count == ATTACHED, count


@h.test
def launched():
    (commands, expected), folder = bare(), h.folder()
    names = list(commands)
    assert expected["alarmed"][0] == 3 and len({row[0] for row in expected.values()}) >= 4
    for i in range(LAUNCHED):
        name, options = names[i % len(names)], WAYS[i // len(names) % len(WAYS)]
        path = os.path.join(folder, name + ".launched")
        run = h.cprof(*options, "--", "/bin/sh", "-c", 'exec "$@" >"$0.out" 2>"$0.err"', path,
                      *commands[name]).wait()
        compare(f"{name}, {options}", (run.code, *written(path)), expected[name])
        h.runs.clear()


@functools.cache
def allocating():
    """{name: command} of programs that allocate much, end by themselves and always say the same."""
    ours = {"allocs": (20, "now"), "forkserver": (6, "now"), "peaks": (5000, "now")}
    return {**{name: [h.workload(name), *map(str, arguments)] for name, arguments in ours.items()},
            **{name: command for name, command in programs().items() if name in ("python3", "jq")}}


@functools.cache
def output_of(name):
    """Without cprof: how it ends, and what it writes."""
    found = [h.run(*allocating()[name], status=None, text=False) for _ in range(2)]
    results = [(done.returncode, done.stdout, done.stderr) for done in found]
    compare(name, *results)
    return results[0]


@h.test
def heaps_of_allocating_programs():
    """Launched, inside and by probes from outside, each block and a part of them; every program as often in every way."""
    if "OUTPUTS" in os.environ:
        signal.alarm(0)
    names, folder, ways = list(allocating()), h.kept_folder(), [(*mode, "--rate", rate) for rate in RATES for mode in HEAPS]
    for i in range(OUTPUTS):
        name, way = names[i % len(names)], ways[i // len(names) % len(ways)]
        path = os.path.join(folder, name)
        run = h.cprof("heap", *way, "--follow-fork", "--allow-empty", "--", "/bin/sh", "-c", 'exec "$@" >"$0.out" 2>"$0.err"', path,
                      *allocating()[name]).wait()
        compare(f"{name}, {way}", (run.code, *written(path)), output_of(name))
        h.runs.clear()
        h.forget_folders()
    print(f"# {OUTPUTS} runs of {', '.join(names)}: the same output and exit codes", flush=True)


h.main()
