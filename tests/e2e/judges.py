# SPDX-License-Identifier: BSD-2-Clause
"""What is judged of every run of cprof: its accounts, and the files that it wrote.

The accounts are the closing lines: taken = written + lost, and with -v what became of each tick, call
and block. A file is judged by the contract of tests/contract.py, by `go tool pprof` without a word on
stderr, by `protoc --decode` and by its mode, 0600. Test files use all of this through harness.py.

All that depends on the wording of cprof's messages stands in "What cprof says" below.
"""
import functools
import gzip
import json
import os
import re
import stat
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import contract  # noqa: E402 (its folder is known only now)
from contract import total  # noqa: E402

# What takes longer hangs: no limit on how fast anything is, on however busy a machine.
HANGS = int(os.environ.get("HANGS", "300"))  # for commands of their own, which run alone
MOST_FILES_FOR_PPROF = 8

# What cprof says ---------------------------------------------------------------------------------

NUMBER = r"([\d,]+)"
CLOSING = re.compile(rf"^cprof: taken {NUMBER} = written {NUMBER}(?: \+ not (?:in use any more|in use at the peak|suspected) {NUMBER})?"
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


# A run that has ended ----------------------------------------------------------------------------

def stolen_seconds():
    """For how long the virtual machine's processors were taken away, all together: `steal` in proc_stat(5)."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Run:
    """A cprof that has ended."""

    def __init__(self, cprof_run):
        self.code = cprof_run.process.returncode
        self.out = cprof_run.said("out")
        self.lines = cprof_run.said().splitlines()
        self.output = cprof_run.output
        self.heap_rate = cprof_run.heap_rate  # as given; None: a CPU profile
        # of all CPUs, since before it started: time that no task is charged for, but in which ticks come due
        self.stolen_seconds = stolen_seconds() - cprof_run.stolen_before

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
    def ticks(self):
        """Of all CPUs, cprof's own clock: it stands still while the virtual machine does. With -v."""
        return number(self.matches(TICKS)[0][1])

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
        closing = self.check_accounts()
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

    def check_accounts(self):
        """Each tick, call and sample stands where the lines say. The closing line."""
        assert not [line for line in self.lines if UNACCOUNTED.search(line)], "samples unaccounted for"
        closing = self.closing
        closing.check()
        for match in self.matches(TICKS):
            ticks, _, filtered, taken = map(number, match.groups())
            assert ticks == filtered + taken and taken == closing.taken, match[0]
        if self.matches(CALLS):
            self.accounts.check(closing)
        return closing

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


@functools.cache
def pprof_itself():
    """The program that `go tool pprof` runs: to find it costs go thirty times what a small file costs pprof."""
    path = os.environ.get("TEST_PPROF") or subprocess.run(["go", "tool", "-n", "pprof"], stdout=subprocess.PIPE, text=True,
                                                          check=True).stdout.strip()
    return [path] if os.access(path, os.X_OK) else ["go", "tool", "pprof"]


def pprof(*arguments):
    """The command line of go tool pprof with these arguments."""
    return [*pprof_itself(), *map(str, arguments)]


def judge_by_pprof(path):
    quiet = {"HOME": os.path.dirname(path), **os.environ, "PPROF_TMPDIR": os.path.dirname(path)}
    raw = silent(pprof("-raw", path), path, env=quiet)
    top = silent(pprof("-top", path), path, env=quiet)
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


def count_of(samples):
    """Of some of a profile's samples: a stack stands there once, however often it was met."""
    return sum(s["values"].get("samples", s["values"].get("alloc_objects")) for s in samples)


def near(value, expected, tolerance, what):
    assert expected, f"{what}: nothing to be near to"
    assert abs(value - expected) <= tolerance * expected, \
        f"{what}: {value:g}, not within {tolerance:.0%} of {expected:g}"
