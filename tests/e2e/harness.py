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

What holds for every run is asserted here and not in the tests: the accounting identity of the
closing line, the sum of what the files hold against it, the contract of tests/contract.py, `go tool
pprof` without a word on stderr, `protoc --decode`, mode 0600. After each case nothing may be left: no
BPF program, map or link, no uprobe, no process. Speaks TAP (scripts/run-tests.sh reads it).

All that depends on the wording of cprof's messages stands in "What cprof says" below.
"""
import atexit
import ctypes
import functools
import gzip
import inspect
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
CPROF = os.environ.get("CPROF", os.path.join(BUILD, "cprof"))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import contract  # noqa: E402 (its folder is known only now)
from contract import by_function, by_leaf, total  # noqa: E402, F401 (for the tests)

NOBODY = 65534
# What takes longer hangs: no limit on how fast anything is, on however busy a machine.
HANGS = 120
SECONDS_FOR_A_CASE = 300
MOST_FILES_FOR_PPROF = 8

# What cprof says ---------------------------------------------------------------------------------

NUMBER = r"([\d,]+)"
CLOSING = re.compile(rf"^cprof: taken {NUMBER} = written {NUMBER}(?: \+ not in use any more {NUMBER})?"
                     rf"(?: \+ lost {NUMBER} \((.*)\))?$")
TICKS = re.compile(rf"^cprof: ticks {NUMBER} \({NUMBER} expected\) = filtered {NUMBER} \+ taken {NUMBER}$")
CALLS = re.compile(rf"^cprof: calls {NUMBER} = nested {NUMBER} \+ not sampled {NUMBER} \+ failed {NUMBER} "
                   rf"\+ cut off {NUMBER} \+ under way {NUMBER} \+ taken {NUMBER}$")
STORED = re.compile(rf"^cprof: stored {NUMBER} = live {NUMBER} \+ freed {NUMBER} \+ frees lost {NUMBER} \+ "
                    rf"purged {NUMBER} \(left at exit {NUMBER}, gone by exec {NUMBER}\)$")
WROTE = re.compile(rf"^cprof: wrote (.+?): {NUMBER} ")
ALSO_WROTE = re.compile(rf"^cprof: also wrote (.+?): {NUMBER} ")
NEXT = re.compile(r"^cprof: next: cprof top (?:--sample-type alloc_space )?(.+)$")
UNACCOUNTED = re.compile(r"not accounted for|accounting below is not complete")
# Said once everything is attached, with -v. Without such a line the descriptors are watched.
ATTACHED = re.compile(r"^cprof: (sampling|profiling)\b", re.M)


def number(text):
    return int(text.replace(",", ""))


def loss_texts():
    """The texts of the loss reasons by their id, from the one place where they stand."""
    with open(os.path.join(ROOT, "bpf", "cprof_abi.h"), encoding="utf-8") as file:
        losses = file.read().split("#define ABI_LOSSES(X)")[1].split("\n\n")[0]
    return dict(re.findall(r'X\((\w+), "([^"]+)"\)', losses))


class Closing:
    """The accounting identity: taken = written + gone + lost, lost = the sum of its reasons."""

    def __init__(self, match):
        self.taken, self.written = number(match[1]), number(match[2])
        self.gone = number(match[3] or "0")  # cprof heap --inuse: not in use any more
        self.lost = number(match[4] or "0")
        # A reason may hold a comma, and so does a number: "event ring full 1,013, returns 3".
        self.reasons = {reason: number(count) for reason, count in
                        re.findall(r"(?:^|, )(\D.*?) (\d{1,3}(?:,\d{3})*)(?=, \D|$)", match[5] or "")}

    def check(self):
        assert self.taken == self.written + self.gone + self.lost, f"identity broken: {vars(self)}"
        assert sum(self.reasons.values()) == self.lost, f"reasons do not add up: {vars(self)}"
        assert all(self.reasons.values()), f"a reason without a loss: {vars(self)}"


class Accounts:
    """What became of each call of an allocator, and of each block that was sampled."""

    def __init__(self, calls, stored):
        (self.calls, self.nested, self.unsampled, self.failed, self.cut_off, self.under_way,
         self.taken) = map(number, calls.groups())
        (self.stored, self.live, self.freed, self.frees_lost, self.purged, self.left,
         self.gone) = map(number, stored.groups())

    def check(self, closing):
        assert self.calls == (self.nested + self.unsampled + self.failed + self.cut_off + self.under_way
                              + self.taken), vars(self)
        assert self.stored == self.live + self.freed + self.frees_lost + self.purged, vars(self)
        assert self.purged == self.left + self.gone, vars(self)
        assert self.taken == closing.taken, (vars(self), vars(closing))


# Workloads ---------------------------------------------------------------------------------------

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

    def uses(self, seconds):
        """Waits until it has used so much more CPU time, however long that takes on a busy machine."""
        enough, end = self.used() + seconds, time.monotonic() + HANGS
        while self.used() < enough:
            assert time.monotonic() < end, f"{self.process.args} is not busy"
            time.sleep(0.01)


# cprof -------------------------------------------------------------------------------------------

runs = []      # of the current case, to show when it fails


class Cprof:
    """A cprof under way. Its output goes to files, so that no pipe can fill up."""

    def __init__(self, *arguments, verbose=True, output=None, run_as=(), env=None, stdout=None):
        command, *rest = map(str, arguments)
        self.folder = folder()
        self.output = output or os.path.join(self.folder, "profile.pb.gz")
        os.chmod(self.folder, 0o755)
        if "-o" not in rest and output != "":
            rest = ["-o", self.output, *rest]
        if verbose:
            rest.insert(0, "-v")
        self.arguments = [*run_as, CPROF, command, *rest]
        self.heap_rate = None
        if command == "heap":
            self.heap_rate = rest[rest.index("--rate") + 1] if "--rate" in rest else "524288"
        self.says_path = os.path.join(folder(), "says")
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
        """Waits until it samples."""
        end, steady, count = time.monotonic() + timeout, 0.0, 0
        while time.monotonic() < end:
            assert self.process.poll() is None, "cprof ended before it sampled"
            if ATTACHED.search(self.said()):
                return self
            now = attachments(self.pid)
            steady = steady + 0.05 if now and now == count else 0.0
            count = now
            if steady >= 1:
                return self
            time.sleep(0.05)
        raise AssertionError(f"cprof did not attach within {timeout} s")

    def signal(self, number_of_signal):
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


def attachments(pid):
    """How many links and perf events a process holds."""
    count = 0
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            count += "bpf_link" in target or "bpf-link" in target or "perf_event" in target
    except OSError:
        pass  # it opens and closes them while we look
    return count


class Run:
    """A cprof that has ended."""

    def __init__(self, cprof_run):
        self.code = cprof_run.process.returncode
        self.out = cprof_run.said("out")
        self.lines = cprof_run.said().splitlines()
        self.output = cprof_run.output
        self.heap_rate = cprof_run.heap_rate  # as given; None: a CPU profile

    def matches(self, pattern):
        return [match for match in map(pattern.match, self.lines) if match]

    @property
    def closing(self):
        found = self.matches(CLOSING)
        assert len(found) == 1, f"{len(found)} closing lines"
        return Closing(found[0])

    @property
    def files(self):
        """{path: how many samples were written there}"""
        return {match[1]: number(match[2]) for match in self.matches(WROTE)}

    @property
    def extra(self):
        """{path: how many samples} of the further views, formats and snapshots."""
        return {match[1]: number(match[2]) for match in self.matches(ALSO_WROTE)}

    def extra_profile(self, suffix):
        """The further file whose name is that of the main one with suffix in place of .pb.gz, judged."""
        path = self.output.removesuffix(".pb.gz") + suffix
        assert path in {**self.files, **self.extra}, f"{path} is not in {sorted(self.extra)}"
        return judge(path)

    def windows(self):
        """The files that cut a run into pieces of time, judged, in their order; the last is of the end."""
        stem = self.output.removesuffix(".pb.gz")
        numbered = sorted((int(match[1]), path) for path in self.files
                          if (match := re.fullmatch(re.escape(stem) + r"\.(\d+)\.pb\.gz", path)))
        paths = [path for _, path in numbered] + [self.output] * (self.output in self.files)
        profiles = self.profiles()
        assert set(paths) == set(profiles), sorted(profiles)
        return [profiles[path] for path in paths]

    @property
    def accounts(self):
        """Of a heap run with -v."""
        found = list(zip(self.matches(CALLS), self.matches(STORED)))
        assert len(found) == 1, f"{len(found)} pairs of lines about calls and blocks"
        return Accounts(*found[0])

    @property
    def ticks_missed(self):
        """Ticks that the perf events' own clocks account for and that never came, on all CPUs: of a
        virtual machine whose processors were taken away meanwhile. Of a CPU profile with -v."""
        ticks, expected, *_ = map(number, self.matches(TICKS)[0].groups())
        return max(expected - ticks, 0)

    def says(self):
        """What the launched workload said last, a JSON object."""
        return json.loads(self.out.splitlines()[-1])

    def profiles(self, code=0):
        """{path: profile} of a run that went well, with everything asserted that always holds."""
        assert self.code == code, f"exit code {self.code}, not {code}"
        assert not [line for line in self.lines if UNACCOUNTED.search(line)], "samples unaccounted for"
        closing = self.closing
        closing.check()
        for match in self.matches(TICKS):
            ticks, _, filtered, taken = map(number, match.groups())
            assert ticks == filtered + taken and taken == closing.taken, match[0]
        if self.matches(CALLS):
            self.accounts.check(closing)
        assert self.files, "no file was written"
        assert sum(self.files.values()) == closing.written, \
            f"written {closing.written}, but the files are said to hold {self.files}"
        follow = self.matches(NEXT)
        assert len(follow) == 1 and follow[0][1] in self.files, "no next command to type"
        # -a on a busy machine: the other programs see the largest files only
        largest = sorted(self.files, key=self.files.get, reverse=True)[:MOST_FILES_FOR_PPROF]
        profiles = {path: judge(path, path in largest) for path in self.files}
        self.check_sums(profiles, closing)
        return profiles

    def check_sums(self, profiles, closing):
        """written = the sum of the counts in the files. Scaled heap counts are estimates."""
        if self.heap_rate is None:
            kind = "samples"
        elif self.heap_rate == "1":
            kind = "inuse_objects" if closing.gone else "alloc_objects"
        else:
            kind = None
        if kind:
            held = sum(total(profile, kind) for profile in profiles.values())
            assert held == closing.written, f"written {closing.written}, the files hold {held}"
        for path, profile in profiles.items():
            period = profile["period"]
            if self.heap_rate is not None:
                assert period == int(self.heap_rate), (path, period)
                continue
            for sample in profile["samples"]:
                values = sample["values"]
                assert values["cpu"] == values["samples"] * period, (path, values)

    def profile(self, code=0):
        """The same for a run that must have written one file, but for windows of time before it."""
        profiles = self.profiles(code)
        window = re.compile(re.escape(self.output.removesuffix(".pb.gz")) + r"\.\d+\.pb\.gz")
        profiles = {path: profile for path, profile in profiles.items() if not window.fullmatch(path)}
        assert list(profiles) == [self.output], f"one file {self.output} expected: {list(profiles)}"
        return profiles[self.output]

    def refused(self, code, pattern=""):
        """A run that must have failed: its code, one line that says why, and no file."""
        assert self.code == code, f"exit code {self.code}, not {code}"
        assert len(self.lines) == 1, f"{len(self.lines)} lines on stderr, not one"
        assert self.lines[0].startswith("cprof: "), self.lines[0]
        assert re.search(pattern, self.lines[0], re.I), f"{pattern!r} is not in {self.lines[0]!r}"


# Judges ------------------------------------------------------------------------------------------

def silent(what, path, **options):
    """Runs a judge: exit code 0 and nothing on stderr. Returns its stdout."""
    done = subprocess.run(what, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANGS,
                          check=False, **options)
    words = done.stderr.decode("utf-8", "replace").strip()
    assert done.returncode == 0 and not words, f"{' '.join(what)} on {path}: {words or done.returncode}"
    return done.stdout.decode("utf-8", "replace")


def judge(path, by_others=True):
    """The opinion of everyone about a profile file, or that of the contract only; its content."""
    with open(path, "rb") as file:
        data = file.read()
    mode = stat.S_IMODE(os.stat(path).st_mode)
    assert mode == 0o600, f"{path} has mode {mode:o}"
    broken, _ = contract.check(data)
    assert not broken, f"{path} breaks the contract: " + "; ".join(broken[:5])
    profile = contract.load(path)
    if by_others:
        judge_by_pprof(path)
        judge_by_protoc(path, data, len(profile["samples"]))
    return profile


def judge_by_pprof(path):
    quiet = {"HOME": os.path.dirname(path), **os.environ, "PPROF_TMPDIR": os.path.dirname(path)}
    raw = silent(["go", "tool", "pprof", "-raw", path], path, env=quiet)
    top = silent(["go", "tool", "pprof", "-top", path], path, env=quiet)
    assert "PeriodType:" in raw and "flat%" in top, f"pprof shows nothing of {path}"


def judge_by_protoc(path, data, nr_samples):
    text = silent(["protoc", "--decode=perftools.profiles.Profile",
                   f"--proto_path={ROOT}/proto", "profile.proto"], path, input=gzip.decompress(data))
    seen = len(re.findall(r"^sample \{", text, re.M))
    assert seen == nr_samples, f"protoc sees {seen} samples in {path}, not {nr_samples}"


def labels(profile, key):
    return {sample["labels"].get(key) for sample in profile["samples"]}


def share(profile, kind, *names):
    """The part of a profile whose stacks hold one of these functions."""
    held = sum(sample["values"][kind] for sample in profile["samples"]
               if set(names) & set(sample["stack"]))
    return held / total(profile, kind)


def near(value, expected, tolerance, what):
    assert expected, f"{what}: nothing to be near to"
    assert abs(value - expected) <= tolerance * expected, \
        f"{what}: {value:g}, not within {tolerance:.0%} of {expected:g}"


# Nothing is left ---------------------------------------------------------------------------------

def listed(kind, tries=10):
    """What bpftool lists. It fails if something of it goes while it looks: then it looks again."""
    bpftool = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    try:
        return json.loads(silent([bpftool, "-j", kind, "list"], kind) or "[]")
    except AssertionError:
        if tries == 1:
            raise
        time.sleep(0.05)
        return listed(kind, tries - 1)


@functools.cache
def names_of_ours():
    """What cprof's programs and maps are called in the kernel, which keeps 15 bytes of a name."""
    symbols = silent(["nm", "--format=just-symbols", os.path.join(BUILD, "gen", "cprof.bpf.o")], "cprof.bpf.o")
    return {name[:15] for name in [*symbols.split(), "slab"]}


def is_ours(item, programs):
    """Other people's objects come and go, and not all are held by a process: systemd has programs for
    its control groups. A link has no name, but a program."""
    name = item.get("name", "")
    return (name in names_of_ours() or name.startswith(("cprof_bp", ".rodata", ".bss"))
            or item.get("prog_id") in programs)


def kernel_objects():
    """The BPF programs, maps and links of cprof's kind that there are, and the uprobe events, as a set of
    names."""
    found, programs = set(), set()
    for kind in ("prog", "map", "link"):
        ours = {item["id"] for item in listed(kind) if is_ours(item, programs)}
        programs = ours if kind == "prog" else programs
        found |= {f"{kind}_id:\t{number}" for number in ours}
    try:
        with open("/sys/kernel/tracing/uprobe_events", encoding="utf-8") as file:
            found |= {f"uprobe event {line.strip()}" for line in file}
    except OSError:
        pass  # not mounted: libbpf has no such events then
    return found


def held_by_others(objects):
    """Those of the objects that a process of somebody else holds: other people trace, too."""
    ours = {os.getpid(), *children(os.getpid())}
    others = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in ours:
            continue
        try:
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8", errors="replace") as file:
                    others |= objects & set(file.read().splitlines())
        except OSError:
            continue  # gone meanwhile
    return others


def other_cprofs():
    """Processes that run a cprof of somebody else: what their maps hold, nobody's descriptor shows."""
    ours = {os.getpid(), *children(os.getpid())}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() == "cprof" and int(pid) not in ours:
                    found.add(int(pid))
        except OSError:
            continue
    return found


def children(pid):
    """All descendants of a process that live (zombies do not)."""
    parents = {}
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            parents[int(other)] = int(fields[1])
    found, front = [], [pid]
    while front:
        front = [child for child, parent in parents.items() if parent in front]
        found += front
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} ({file.read().replace(bytes(1), b' ').decode('utf-8', 'replace').strip()})"
    except OSError:
        return f"{pid} (gone)"


def kill_and_reap(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while True:
        try:
            if os.waitpid(-1, 0)[0] == 0:
                break
        except ChildProcessError:
            break


def left_processes(seconds=30):
    """What a case has left running. Being orphaned, they are our children: we are a subreaper."""
    end = time.monotonic() + seconds
    while children(os.getpid()) and time.monotonic() < end:
        time.sleep(0.05)
    left = children(os.getpid())
    names = [command_line(pid) for pid in left]
    kill_and_reap(left)
    return [f"process {name} is left" for name in names]


def stray_objects(before, seconds):
    """What is there after a case, stays, and is held by nobody: the kernel frees in its own time, and
    what another tracer of this machine has made meanwhile is none of ours. And who ran a cprof beside
    us: whose a map without a descriptor is cannot be told then."""
    end = time.monotonic() + seconds
    left = kernel_objects() - before
    crowd = other_cprofs()
    while left and not crowd and time.monotonic() < end:
        left -= held_by_others(left)
        crowd |= other_cprofs()
        time.sleep(0.1)
        left &= kernel_objects()
    return sorted(left), sorted(crowd)


def left_objects(before, seconds=60):
    """What a case has left in the kernel. In a crowd that is said, not judged."""
    left, crowd = stray_objects(before, seconds)
    if left and crowd:
        print(f"# other cprofs ran beside this ({crowd}): {len(left)} objects may be theirs, {left[0]} ...")
        return []
    return [f"{name} is left" for name in left]


# Running the cases -------------------------------------------------------------------------------

cases = []


class Skip(Exception):
    """This case cannot be tried here; says why."""


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
                    if f.filename != __file__][-2:]
        problems += f"{type(error).__name__}: {error}".splitlines()
    finally:
        signal.alarm(0)
        stray = [process for process in running if process.poll() is None and process.args
                 and process.args[0] == CPROF]
        if stray and not problems:
            problems.append("the case left cprof running")
        clean_up()
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


def main():
    if os.geteuid() != 0:
        print("needs root")
        sys.exit(77)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_term)
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
