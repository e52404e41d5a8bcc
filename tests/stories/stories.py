#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stories: how people use cprof on servers, told with the servers themselves.

    tests/stories/stories.py [NAME...]      all stories; root

A line for each, "ok NAME WHAT IS RECORDED: WHAT WAS SEEN", "FAIL NAME ..." with the reason below it, or "SKIP NAME ...: WHY" where a
package cannot be installed. The exit code is 1 if any failed. STORY_SECONDS: how long is recorded (5).

Of each story is judged, besides what it says itself: the accounts are exact and no sample is lost; at least 95 % of the stacks are
whole; the CPU time is that which perf sees in the same stretch of time, within 5 % and what chance does.
"""
import collections
import contextlib
import math
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import servers
from servers import h  # harness
import chance
import unwinding as u

SECONDS = float(os.environ.get("STORY_SECONDS", "5"))
WHOLE = 0.95
NAMED = 0.9
TOLERANCE = 0.05
HZ = 499  # cprof's, and perf's
LOAD = os.path.join(servers.FOLDER, "load.py")

stories = {}


def story(function):
    stories[function.__name__] = function, function.__doc__.splitlines()[0]
    return function


# perf --------------------------------------------------------------------------------------------

class Perf:
    """perf record -g of the whole machine, by a clock of each CPU, as cprof samples. If there is a perf."""

    def __init__(self):
        self.folder, self.process = h.folder(), None
        if not shutil.which("perf"):
            return
        control, answer = (self.path(name) for name in ("control", "answer"))
        os.mkfifo(control)
        os.mkfifo(answer)
        commands, answers = os.open(control, os.O_RDWR), os.open(answer, os.O_RDWR)
        self.process = subprocess.Popen(["perf", "record", "-q", "-g", "-a", "-k", "mono", "-e", "cpu-clock", "-F", str(HZ),
                                         "-D", "-1", f"--control=fifo:{control},{answer}", "-o", self.path("perf.data")],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        h.running.append(self.process)
        os.write(commands, b"enable\n")
        while not select.select([answers], [], [], 0.1)[0] and self.process.poll() is None:
            pass
        os.close(commands)
        os.close(answers)

    def path(self, name):
        return os.path.join(self.folder, name)

    def seconds(self, profile, pids):
        """The CPU time that these have in the stretch of time of a profile, and how many samples that are. None: perf does not run."""
        if not self.process or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(h.HANGS)
        said = subprocess.run(["perf", "script", "-i", self.path("perf.data"), "-F", "pid,time", "-G"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True).stdout
        samples = [(int(pid), float(at)) for pid, at in re.findall(r"^\s*(\d+)\s+([\d.]+):", said, re.M)]
        begin = profile["time_ns"] / 1e9 - (time.time() - time.monotonic())
        nr = sum(pid in pids and begin <= at < begin + profile["duration_ns"] / 1e9 for pid, at in samples)
        return nr / HZ, nr


# What is judged ----------------------------------------------------------------------------------

def by_pid(samples):
    found = collections.Counter()
    for sample in samples:
        found[sample["labels"]["pid"]] += sample["values"]["samples"]
    return found


def compare(profile, samples, perf):
    """What is said of perf's opinion."""
    seen = perf.seconds(profile, set(by_pid(samples)))
    if not seen:
        return "no perf to compare with"
    seconds = sum(sample["values"]["cpu"] for sample in samples) / 1e9
    by_chance = chance.SIGMAS * math.hypot(1 / math.sqrt(u.count(samples)), 1 / math.sqrt(max(seen[1], 1)))
    assert abs(seconds - seen[0]) <= (TOLERANCE + by_chance) * seen[0], f"{seconds:.2f} s of CPU time, {seen[0]:.2f} s by perf"
    return f"{seconds:.2f} s of CPU time, {seen[0]:.2f} s by perf ({seconds / seen[0] - 1:+.1%})"


def judge(ended, profile, of=None):
    """What is the same for all: the accounts, and whole stacks. of: only the samples of these processes. Them, and what is said."""
    closing = ended.closing
    assert closing.lost == 0 and closing.taken == closing.written, ended.lines
    samples = [s for s in profile["samples"] if of is None or s["labels"]["pid"] in of]
    cut, nr = u.reasons(samples), u.count(samples)
    assert nr, "no samples"
    whole = 1 - sum(cut.values()) / nr
    assert whole >= WHOLE, f"{whole:.1%} of {nr} stacks are whole: {cut}"
    return samples, f"taken {closing.taken:,} = written {closing.written:,}, {whole:.1%} of {nr:,} stacks whole"


def share_of(samples, *names):
    """How many of the samples have one of these functions in their stacks."""
    return u.count([s for s in samples if set(names) & set(s["stack"])]) / u.count(samples)


def top(path):
    """The functions that cprof top lists, those first that are busiest by themselves."""
    lines = h.silent([h.CPROF, "top", path], path).splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[-1:] == ["cum%"])
    return [line.split()[-1] for line in lines[header + 1:] if line.strip()]


@contextlib.contextmanager
def asked(port, *paths):
    """A web server under load. What the load says at its end is judged."""
    load = h.Workload(sys.executable, LOAD, port, 4, *paths)
    load.says()
    yield
    load.go()
    said = load.says()
    assert said["pages"] > 100 and not said["failed"], said


def record(*options):
    """cprof, while perf records, too."""
    perf = Perf()
    return h.cprof("record", "-F", HZ, *options).attached(), perf


# The stories -------------------------------------------------------------------------------------

def web(server, port, *paths):
    """Records a web server by its master process: its workers were there before. (path of the file, samples, words)"""
    with server, asked(port, *paths):
        workers = set(server.workers())
        run, perf = record("-p", server.pid, "-d", f"{SECONDS}s")
        ended = run.wait()
        profile = ended.profile()
        samples, words = judge(ended, profile, workers)
        by_worker = by_pid(samples)
        assert set(by_worker) == workers and len(workers) > 1, (by_worker, workers)
        words = f"{len(workers)} workers with {', '.join(map(str, sorted(by_worker.values())))} samples, {words}"
        return ended.output, samples, f"{words}, {compare(profile, samples, perf)}"


@story
def gunicorn():
    """record -p MASTER, three workers under load"""
    path, samples, words = web(*servers.gunicorn(3), "/one", "/two", "/three")
    named, first = u.count([s for s in samples if u.is_joined(s, "python")]) / u.count(samples), top(path)
    assert named >= NAMED, (named, collections.Counter(tuple(s["stack"][:4]) for s in samples).most_common(5))
    # most of the time: the rest is gunicorn's and the kernel's, for a connection of each request
    assert share_of(samples, "app.application") > 0.5, share_of(samples, "app.application")
    assert "app.score" in first[:3], first
    inner = [s for s in samples if "app.score" in s["stack"]]
    for sample in inner:
        names = [name for name in sample["stack"] if name.startswith("app.")]
        assert u.why_truncated(sample) or names == ["app.score", "app.rank", "app.page", "app.application"], sample["stack"]
    return (f"{words}; {named:.1%} with Python's functions, {share_of(samples, 'app.application'):.1%} in app.application, "
            f"{share_of(samples, 'app.score'):.1%} in app.score")


@story
def nginx():
    """record -p MASTER, two workers that compress pages"""
    _, samples, words = web(*servers.nginx(2), "/page.txt")
    named = share_of(samples, "ngx_worker_process_cycle", "ngx_process_events_and_timers", "ngx_master_process_cycle")
    assert named >= NAMED, (named, collections.Counter(tuple(s["stack"][-4:]) for s in samples).most_common(5))
    return f"{words}; {named:.1%} in nginx's main loop"


POSTGRES_LOOP = "exec_simple_query", "PostgresMain"


@story
def postgres():
    """record -p POSTMASTER under pgbench -c 4, and another pgbench that comes later"""
    with servers.Postgres() as server:
        server.starts_pgbench("-c", 4, "-T", 3600, "postgres")
        before = server.awaits_backends(4)
        run, perf = record("-p", server.pid, "-d", f"{SECONDS}s")
        server.starts_pgbench("-S", "-c", 4, "-T", 3600, "postgres")
        later = server.awaits_backends(4, before)
        ended = run.wait()
        profile = ended.profile()
        samples, words = judge(ended, profile)
        by_backend = by_pid(samples)
        assert before | later <= set(by_backend), (before, later, by_backend)
        served = [s for s in samples if s["labels"]["pid"] in before | later]
        named = share_of(served, *POSTGRES_LOOP)
        assert named >= NAMED, (named, collections.Counter(tuple(s["stack"][-4:]) for s in served).most_common(5))
        counts = [sum(by_backend[pid] for pid in which) for which in (before, later)]
        return (f"{len(before)} backends of before with {counts[0]:,} samples, {len(later)} of later with {counts[1]:,}, {words}, "
                f"{compare(profile, samples, perf)}; {named:.1%} in PostgresMain")


@story
def pgbench():
    """record --comm postgres -- pgbench -c 4 -T 5"""
    with servers.Postgres() as server:
        before = server.seconds_of_ended()
        run, perf = record("--comm", "postgres", "--",
                           *server.pgbench("-c", 4, "-T", max(1, round(SECONDS)), "postgres"))
        backends = server.awaits_backends(4)
        ended = run.wait()
        profile = ended.profile()
        samples, words = judge(ended, profile)
        assert h.labels(profile, "comm") == {"postgres"}, h.labels(profile, "comm")
        assert backends <= set(by_pid(samples)), (backends, by_pid(samples))
        assert "number of failed transactions: 0" in ended.out, ended.out
        ours = [s for s in samples if s["labels"]["pid"] in {server.pid, *server.workers(), *backends}]
        served = [s for s in samples if s["labels"]["pid"] in backends]
        named = share_of(served, *POSTGRES_LOOP)
        assert named >= NAMED, (named, collections.Counter(tuple(s["stack"][-4:]) for s in served).most_common(5))
        server.awaits(lambda: not server.backends())
        return (f"{len(backends)} backends with {u.count(served):,} samples, {words}, {compare(profile, ours, perf)}, "
                f"{server.seconds_of_ended() - before:.2f} s by the kernel; {named:.1%} in PostgresMain")


# The command -------------------------------------------------------------------------------------

def tell(name):
    """Says the line of a story. Did it fail?"""
    function, what = stories[name]
    return h.report(f"{name} {what}", function, "SKIP") is False


def main():
    h.prepare()
    names = sys.argv[1:] or list(stories)
    unknown = [name for name in names if name not in stories]
    if unknown:
        sys.exit(f"no story {unknown[0]}; there are {', '.join(stories)}")
    sys.exit(any([tell(name) for name in names]))


main()
