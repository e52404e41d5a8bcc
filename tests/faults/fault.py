# SPDX-License-Identifier: BSD-2-Clause
"""What a fault is, and what is judged after each.

A fault is a function of this folder whose name begins with its number. Its first line of documentation says what is
injected, and it returns what was seen:

    @fault
    def f05_binary_is_deleted():
        \"\"\"the program's file is deleted while it runs\"\"\"
        return existing("test_record_life", "binary_is_deleted")

Many faults are cases of the end-to-end tests, which run with `make test`: existing() runs such a case and says what
cprof said. After each fault, whatever it asserted itself: every run ended with an exit code that cprof(1) documents,
its accounts add up, every file is a valid profile, those of a run that went well hold what the closing line says, no temporary
file is there, and nothing is left in the kernel, in the code of the programs that still run, or in the table of processes.
"""
import contextlib
import glob
import importlib
import os
import re
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness as h  # noqa: E402 (its folder is known only now)
import leftovers  # noqa: E402

DONE, REGRESSED, USAGE, NOTHING, CANNOT, TOO_EXPENSIVE = range(6)
TEMPORARY = ".cprof-*"

faults = {}  # number -> (function, what is injected)


def fault(function):
    number = int(re.match(r"f(\d+)_", function.__name__)[1])
    assert number not in faults, number
    faults[number] = function, function.__doc__.splitlines()[0]
    return function


class NotCovered(h.Skip):
    """This fault cannot be injected here; says why."""


# What is judged ----------------------------------------------------------------------------------

def is_documented(run, code):
    """What cprof(1) says of exit codes. It dies of no signal but one that was sent to it."""
    if code < 0:
        return -code in run.sent
    return code in (DONE, USAGE, NOTHING, CANNOT) or (code == TOO_EXPENSIVE and "--max-overhead" in run.arguments) or \
        code - 128 in run.sent or "--" in run.arguments  # it was told to give up; the launched command's


def judge_files(run, ended):
    """All that is there is valid; of a run that went well, it holds what the closing line says."""
    profiles = {}
    for path in glob.glob(f"{run.folder}/**/*.pb.gz", recursive=True):
        if not os.path.islink(path) and os.path.isfile(path):
            profiles[path] = h.judge(path, by_others=False)
    if ended.code != DONE or not ended.matches(h.CLOSING) or not profiles.keys() >= ended.files.keys():
        return  # nothing was taken, or what was written is gone
    assert sum(ended.files.values()) == ended.closing.written, ended.files
    ended.check_sums({path: profiles[path] for path in ended.files}, ended.closing)


def judge_run(run):
    code = run.process.poll()
    assert code is not None, f"cprof still runs: {run.arguments}"
    assert is_documented(run, code), f"exit code {code}: {run.said()[-500:]}"
    ended = h.Run(run)
    if ended.matches(h.CLOSING):
        ended.check_accounts()
    judge_files(run, ended)
    for folder in {run.folder, os.path.dirname(run.output or "")}:
        left = glob.glob(os.path.join(folder, TEMPORARY))
        assert code == -signal.SIGKILL or not left, f"temporary files are left: {left}"


def judge_runs():
    """All runs of a case, and the code of the programs that live on. Then these end."""
    for run in h.runs:
        judge_run(run)
    alive = [process.pid for process in h.running if process.poll() is None]
    left = leftovers.left_probes([*alive, *(child for pid in alive for child in h.children(pid))])
    assert not left, left
    h.clean_up()


@contextlib.contextmanager
def witness():
    """A process that nobody but `heap -a` has to do with: no probe may stay in its code either."""
    with subprocess.Popen([h.workload("idle")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield
            left = leftovers.left_probes([process.pid])
            assert not left, left
        finally:
            process.kill()


# What was seen -----------------------------------------------------------------------------------

def words(run=None):
    """What the last cprof said at its end, in a line."""
    run = run or h.runs[-1]
    lines = [line.removeprefix("cprof: ") for line in run.said().splitlines()]
    closing = [line for line in lines if line.startswith("taken ")]
    said = (closing or lines or ["nothing said"])[-1]
    return f"exit {run.process.returncode}, {said}"


def existing(module, *names):
    """Runs cases of an end-to-end test, and tells what cprof said at the end of the last."""
    cases = importlib.import_module(module)
    said, nr_runs = "", 0
    for name in names:
        try:
            getattr(cases, name)()
        except h.Skip as reason:
            raise NotCovered(f"{module}: {name}: {reason}") from None
        nr_runs += len(h.runs)
        said = words() if h.runs else said
        judge_runs()
        h.runs.clear()
    return f"{nr_runs} runs of cprof in {len(names)} case{'s' * (len(names) > 1)}, the last: {said}"


# Means -------------------------------------------------------------------------------------------

@contextlib.contextmanager
def mounted(*options, kind="tmpfs", what="none"):
    """A folder on a file system of its own."""
    path = h.folder()
    subprocess.run(["mount", "-t", kind, *options, what, path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def number_in(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())
