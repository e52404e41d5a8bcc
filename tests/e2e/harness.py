# SPDX-License-Identifier: BSD-2-Clause
"""End-to-end tests: cprof on the real kernel, against workloads with a known answer.

A test file is a program; each of its cases is a function:

    import harness as h

    @h.test
    def two_to_one():
        run = h.cprof("record", "-F", "999", "--", h.workload("hot"), "2").wait()
        profile = run.profile()         # one file, judged by every judge there is
        ...

    h.main()

What holds for every run is asserted by judges.py and not in the tests: the accounts of the closing
lines, and all that can be said of every file. After each case nothing may be left, by leftovers.py: no
BPF program, map or link, no uprobe, no process. This file runs workloads, cprof and the cases, and
speaks TAP (scripts/run-tests.sh reads it). Tests need no other import: what the two others offer is here,
too.
"""
import atexit
import ctypes
import functools
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import judges
import leftovers
import turns
from judges import (ALSO_WROTE, ATTACHED, CLOSING, HANGS, NEXT, NUMBER, ROOT, Closing, Run, count_of, judge,  # noqa: F401
                    labels, loss_texts, near, number, pprof, share, silent)
from leftovers import (BUILD, children, kernel_objects, left_objects, left_processes,  # noqa: F401
                       listed, problems_of, stray_objects)
import contract  # noqa: E402, F401 (judges knows its folder)
from contract import by_function, by_leaf, total  # noqa: E402, F401

CPROF = os.environ.get("CPROF", os.path.join(BUILD, "cprof"))
NOBODY = 65534
SECONDS_FOR_A_CASE = 900
# How a command is sampled that is launched by cprof heap, where a test does not say: the same cases for each mode.
HEAP_MODE = os.environ.get("HEAP_MODE")
IS_LONG = bool(os.environ.get("TEST_LONG"))  # more of what chance decides (scripts/run-tests.sh)
IS_SANITIZED = bool(os.environ.get("SANITIZED"))  # a cprof of make asan-e2e (scripts/run-tests.sh)
# A failure is shown where the test made it, not where it was noticed.
HARNESS = (__file__, judges.__file__, leftovers.__file__)

# Workloads ---------------------------------------------------------------------------------------

# The names that are found are kept for the other cases of this program, and for nobody else.
# Go's stays where it is: without it, each program builds the library anew.
os.environ.setdefault("GOCACHE", os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "go-build"))
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="cprof-e2e-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

running = []   # everything the current case started
folders = []   # and made


def workload(name):
    return os.path.join(BUILD, "workloads", name)


@atexit.register
def forget_folders():
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)


def folder():
    """A folder that goes away with the case, or with us, should we be ended in the middle of it."""
    path = tempfile.mkdtemp(prefix="cprof-e2e-")
    folders.append(path)
    return path


def kept_folder():
    """A folder that goes away with us, for what several cases use."""
    path = tempfile.mkdtemp(prefix="cprof-e2e-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class Workload:
    """A workload of its own, not launched by cprof."""

    def __init__(self, name, *arguments, env=None):
        path = name if "/" in name else workload(name)
        self.process = subprocess.Popen([path, *map(str, arguments)], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        running.append(self.process)

    def says(self):
        """The next line that it says, a JSON object."""
        line = self.process.stdout.readline()
        assert line, f"workload {self.process.args} ended without a word"
        return json.loads(line)

    def go(self):
        """Lets it go on from where it waits for a line."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def wait(self, timeout=HANGS):
        return self.process.wait(timeout)

    def used(self):
        """CPU seconds, of all its threads."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def sleeps(self):
        """Waits until it does nothing but wait for a line."""
        self.says()
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            while file.read().rpartition(")")[2].split()[0] != "S":
                time.sleep(0.01)
                file.seek(0)

    def pauses(self):
        """It stops, until uses() or goes_on(): what nobody samples leaves the CPU to others. Not before record -a, which reads the
        files of the busiest first."""
        os.kill(self.pid, signal.SIGSTOP)
        return self

    def goes_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def uses(self, seconds):
        """Waits until it has used so much more CPU time, however long that takes on a busy machine."""
        self.goes_on()
        enough, end = self.used() + seconds, time.monotonic() + HANGS
        while self.used() < enough:
            assert time.monotonic() < end, f"{self.process.args} is not busy"
            time.sleep(0.01)


def paused(name, *arguments):
    """A workload that has begun its work, and pauses."""
    target = Workload(name, *arguments)
    target.uses(0.02)
    return target.pauses()


# cprof -------------------------------------------------------------------------------------------

runs = []      # of the current case, to show when it fails


# run_as, for a test of what cprof can do in time: the others that are busy on this machine do not delay it.
AHEAD_OF_OTHERS = ("nice", "-n", "-20")


class Cprof:
    """A cprof under way. Its output goes to files, so that no pipe can fill up."""

    def __init__(self, *arguments, verbose=True, output=None, run_as=(), env=None, stdout=None):
        command, *rest = map(str, arguments)
        self.folder = folder()
        self.output = output or os.path.join(self.folder, "profile.pb.gz")
        os.chmod(self.folder, 0o755)
        own = rest[:rest.index("--")] if "--" in rest else rest
        if "-o" not in own and output != "":
            rest = ["-o", self.output, *rest]
        if verbose:
            rest.insert(0, "-v")
        if HEAP_MODE and command == "heap" and "--" in rest and "--mode" not in rest:
            rest = ["--mode", HEAP_MODE, *rest]
        self.arguments = [*run_as, CPROF, command, *rest]
        self.heap_rate = None
        if command == "heap":
            self.heap_rate = rest[rest.index("--rate") + 1] if "--rate" in rest else "524288"
        self.sent = set()  # the signals that the case has sent it
        self.says_path = os.path.join(folder(), "says")
        self.stolen_before = judges.stolen_seconds()
        turns.shared()
        if IS_SANITIZED:  # under strace nobody else can trace it, to look for leaks
            env = {**(env or {}), "ASAN_OPTIONS": f"detect_leaks={int('strace' not in run_as)}:verify_asan_link_order=0"}
        with open(self.says_path + ".out", "wb") as out, open(self.says_path + ".err", "wb") as err:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL,
                                            stdout=out if stdout is None else stdout, stderr=err, env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        running.append(self.process)
        runs.append(self)

    def said(self, stream="err"):
        with open(f"{self.says_path}.{stream}", encoding="utf-8", errors="backslashreplace") as file:
            return file.read()

    def attached(self, timeout=HANGS):
        """Waits until it says that it samples."""
        end, has_ended = time.monotonic() + timeout, False
        while not ATTACHED.search(self.said()):
            assert not has_ended, "cprof ended before it sampled"
            assert time.monotonic() < end, f"cprof did not attach within {timeout} s"
            time.sleep(0.02)
            has_ended = self.process.poll() is not None
        return self

    def signal(self, number_of_signal):
        self.sent.add(number_of_signal)
        self.process.send_signal(number_of_signal)

    def takes(self, number_of_signal):
        """Sends it, and waits until it has come."""
        self.signal(number_of_signal)
        pending = 1
        while pending:
            time.sleep(0.01)
            with open(f"/proc/{self.pid}/status", encoding="utf-8", errors="replace") as file:
                found = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", file.read(), re.M)
            pending = any(int(mask, 16) >> (number_of_signal - 1) & 1 for mask in found)

    def awaits(self, pattern, timeout=HANGS):
        """Waits until it says so."""
        end = time.monotonic() + timeout
        while not re.search(pattern, self.said(), re.M):
            assert time.monotonic() < end, f"cprof did not say {pattern} within {timeout} s"
            time.sleep(0.02)

    def snapshot(self, number_of_snapshot, timeout=HANGS):
        """Asks for one, and waits until it is written."""
        self.signal(signal.SIGUSR1)
        self.writes(f".{number_of_snapshot}.pb.gz", timeout)

    def writes(self, suffix, timeout=HANGS):
        """Waits until the further file is there that has suffix in place of .pb.gz."""
        path, end = self.output.removesuffix(".pb.gz") + suffix, time.monotonic() + timeout
        while not os.path.exists(path):
            assert self.process.poll() is None, f"cprof ended without {path}"
            assert time.monotonic() < end, f"no {path} after {timeout} s"
            time.sleep(0.02)

    def writes_files(self, count):
        """Waits until there are so many, whichever; one of a time without a sample is never written."""
        end = time.monotonic() + HANGS
        while sum(name.endswith(".pb.gz") for name in os.listdir(self.folder)) < count:
            assert self.process.poll() is None, "cprof has ended"
            assert time.monotonic() < end, f"no {count} files in {self.folder}"
            time.sleep(0.02)

    def wait(self, timeout=HANGS):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"cprof still runs after {timeout} s") from None
        return Run(self)

    def stop(self):
        """Ctrl-C, and the result."""
        self.signal(signal.SIGINT)
        return self.wait()


def cprof(*arguments, **options):
    return Cprof(*arguments, **options)


# Running the cases -------------------------------------------------------------------------------

cases = []


def run(*command, status=0, **options):
    """Any command that ends by itself, to its end: a CompletedProcess with its output, as text unless text=False. Another exit code
    than status (one, several, or None: any) fails. Options are those of subprocess.run()."""
    if not {"stdout", "stderr", "capture_output"} & options.keys():
        options["capture_output"] = True
    if options.get("input") is None:
        options = {"stdin": subprocess.DEVNULL, **{name: value for name, value in options.items() if name != "input"}}
    done = subprocess.run([str(word) for word in command], check=False, **{"text": True, "timeout": HANGS, **options})
    expected = (status,) if isinstance(status, int) else status
    assert expected is None or done.returncode in expected, \
        f"{command}: exit code {done.returncode}: {(done.stdout or '')[-2000:]!r} {(done.stderr or '')[-2000:]!r}"
    return done


def run_cprof(*arguments, **options):
    """The same of cprof where no profile is recorded, or none that is to be judged. cprof() is for the others."""
    return run(CPROF, *arguments, **options)


def formats():
    """The names of all output formats."""
    said = run_cprof("convert", "--format", "none", os.devnull, status=2).stderr
    return re.search(r"not one of (.*)\.$", said, re.M)[1].split(", ")


class Skip(Exception):
    """This case cannot be tried here; says why."""


def confined(function):
    """A case about the filters of system calls and the limits on memory, which a sanitized cprof has not."""
    @functools.wraps(function)
    def case():
        if IS_SANITIZED:
            raise Skip("a sanitized cprof limits neither system calls nor memory")
        function()
    return case


def test(function):
    cases.append(function)
    return function


def on_alarm(*_):
    raise AssertionError(f"still running after {SECONDS_FOR_A_CASE} s")


def on_term(*_):
    raise SystemExit(143)


def clean_up():
    """Ends what the case itself started. cprof goes first: its targets must not notice."""
    for process in reversed(running):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()
    running.clear()


def run_case(case):
    """None, or why the case failed, as lines."""
    before = kernel_objects()
    problems, skipped = [], None
    signal.alarm(SECONDS_FOR_A_CASE)
    try:
        case()
    except Skip as reason:
        skipped = reason
    except Exception as error:  # whatever it is, the next case shall run
        where = traceback.extract_tb(error.__traceback__)
        problems = [f"{os.path.basename(f.filename)}:{f.lineno}: {f.line}" for f in where
                    if f.filename not in HARNESS][-2:]
        problems += f"{type(error).__name__}: {error}".splitlines()
    finally:
        signal.alarm(0)
        stray = [process for process in running if process.poll() is None and process.args
                 and process.args[0] == CPROF]
        if stray and not problems:
            problems.append("the case left cprof running")
        clean_up()
        turns.end()
    problems += left_processes() + left_objects(before)
    if problems:
        for run in runs:
            problems.append(f"$ {' '.join(run.arguments)}  -> {run.process.returncode}")
            problems += run.said().splitlines()[-8:]
    runs.clear()
    forget_folders()
    if skipped and not problems:
        raise skipped
    return problems


def report(head, function, skipped="NOT COVERED"):
    """For commands that say a line for each of their cases: "ok HEAD: what function() returns (2.1 s)", or "FAIL HEAD" with the reasons
    below it. Whether it is ok; None: the case was skipped, which is said with the word skipped."""
    seen = None

    def case():
        nonlocal seen
        seen = function()

    start = time.monotonic()
    try:
        problems = run_case(case)
    except Skip as reason:
        print(f"{skipped} {head}: {reason}", flush=True)
        return None
    took = f"({time.monotonic() - start:.1f} s)"
    print(f"FAIL {head} {took}" if problems else f"ok {head}: {seen} {took}")
    for line in problems:
        print(f"     {line}")
    sys.stdout.flush()
    return not problems



def prepare():
    """What running a case needs."""
    if os.geteuid() != 0:
        print("needs root")
        sys.exit(77)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us
    # A shell lets its background jobs ignore Ctrl-C, and cprof would inherit that until it catches it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_term)


def main():
    """Runs the cases of the file that is run. tests/faults imports such files, to run some of their cases."""
    if inspect.currentframe().f_back.f_globals["__name__"] != "__main__":
        return
    prepare()
    wanted = sys.argv[1:]
    chosen = [case for case in cases if not wanted or case.__name__ in wanted]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for i, case in enumerate(chosen, 1):
        start = time.monotonic()
        name = f"{i} - {case.__name__}"
        try:
            problems = run_case(case)
        except Skip as reason:
            print(f"ok {name} # SKIP {reason}", flush=True)
            continue
        took = time.monotonic() - start
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {name} ({took:.1f} s)")
        if problems:
            print(f"# {inspect.getdoc(case) or case.__name__}")
        for line in problems:
            print(f"# {line}")
        sys.stdout.flush()
    sys.exit(failed != 0)
