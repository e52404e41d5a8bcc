#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judges what guest.sh left of one virtual machine.

    tests/vm/judge.py FOLDER KERNEL LOCKDOWN [faults]    the first line sums it up; then a line for each thing that is wrong

With faults, the machine was also suspended and throttled. Exit code 1 if anything is. Everything that holds for every run of cprof (exit code, the accounting
of its closing line, the contract, protoc, go tool pprof's silence) is judged by the end-to-end tests'
harness, as if cprof had run here. Then go tool pprof says what is on top, and how many allocations
there were.
"""
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness as h  # noqa: E402 (its folder is known only now)

GUEST_FOLDER = "/run/out"
TABLE = "instructions-arm64.txt" if os.environ.get("ARCH") == "arm64" else "instructions.txt"
kernel_name, lockdown = (sys.argv + ["", "none"])[2:4]
# There, samples inside the kernel have no user registers, only frame pointers.
BY_FRAME_POINTERS = lockdown == "confidentiality" and kernel_name == "5.10"
HEAP_TYPES = {"objects": "alloc_objects", "bytes": "alloc_space",
              "live_objects": "inuse_objects", "live_bytes": "inuse_space"}
PEAK_TYPES = {what: kind for what, kind in HEAP_TYPES.items() if what.startswith("live")}
KERNEL_COMPLAINTS = re.compile(r"WARNING:|BUG:|Oops|Call Trace|general protection|soft lockup|rcu.*detected stall")


def read(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="backslashreplace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def not_empty(folder, name):
    """The same of what must not be empty: silence is no answer."""
    text = read(folder, name)
    assert text.strip(), f"{name} is empty"
    return text


UNKNOWN = float("nan")  # what was stolen from the machine over there: no assertion on it holds


def run_of(folder, case, heap_rate=None):
    """A cprof that ended over there, as the harness sees one that ended here."""
    code = read(folder, case + ".code").strip()
    assert code, "did not run"
    return h.Run(SimpleNamespace(
        process=SimpleNamespace(returncode=int(code)), heap_rate=heap_rate, stolen_before=UNKNOWN,
        said=lambda stream="err": read(folder, f"{case}.{stream}").replace(GUEST_FOLDER, folder),
        output=os.path.join(folder, case + ".pb.gz")))


def pprof_top(path, kind):
    """What go tool pprof shows: [(function, flat, cumulative)], the biggest first."""
    text = h.silent(h.pprof("-top", f"-sample_index={kind}", "-unit=B", "-nodefraction=0", "-nodecount=1000",
                            path), path)
    rows = re.findall(r"^\s*(\d+)B?\s+\S+%\s+\S+%\s+(\d+)B?\s+\S+%\s+(.+)$", text, re.M)
    assert rows, f"pprof shows no function of {path}"
    return [(name.removesuffix(" (inline)"), int(flat), int(cum)) for flat, cum, name in rows]


def share(profile, inner, outer):
    """Of the stacks that hold one of the inner functions, the part that holds outer, too; by frame pointers only where
    no more can be had."""
    stacks = [({name.removesuffix(" [guessed]") if BY_FRAME_POINTERS else name for name in sample["stack"]},
               sample["values"]["samples"]) for sample in profile["samples"]]
    stacks = [(names, number) for names, number in stacks if set(inner) & names]
    count = sum(number for _, number in stacks)
    assert count >= 5, f"only {count} stacks hold {inner}"  # an emulated machine that waits for its host loses ticks
    return sum(number for stack, number in stacks if outer in stack) / count


def top_of(path, functions):
    """Which of the program's functions pprof shows first: an emulated machine's interrupts are slow, and count to whom
    they interrupt."""
    return next((name for name, _, _ in pprof_top(path, "samples") if name in functions), None)


def busy_in(profile, path, leaf, inner, *callers):
    """pprof has leaf on top, and the stacks of the inner functions reach down to main."""
    top = top_of(path, (*inner, *callers))
    assert top == leaf, f"pprof shows {top} on top, not {leaf}"
    for name in callers:
        part = share(profile, inner, name)
        assert part >= 0.99, f"only {part:.1%} of the stacks with {inner} hold {name}"


def record_pid(folder):
    run = run_of(folder, "record-pid")
    busy_in(run.profile(), run.output, "hot_a", ("hot_a", "hot_b"), "hot", "main")


def record_command(folder):
    run = run_of(folder, "record-command")
    busy_in(run.profile(), run.output, "hot_a", ("hot_a", "hot_b"), "hot", "main")
    assert run.says()["cpu_seconds"] > 0


def record_all(folder):
    """One file for each process that ran; nearly all samples are those of the workload."""
    run = run_of(folder, "record-all")
    busy_in(run.profile(), run.output, "hot_a", ("hot_a", "hot_b"), "hot", "main")


def reads(folder):
    """The commands that read profiles confine themselves here, and still work; Linux 5.10 lacks landlock, as -v tells."""
    for case in ("merge", "top"):
        code, said = read(folder, case + ".code").strip(), read(folder, case + ".err").splitlines()
        assert code == "0", f"{case}: {code} {said}"
        lacks = kernel_name == "5.10" or bool(said)
        assert len(said) == lacks and all("landlock" in line for line in said), f"{case}: {said}"
    assert " hot_a" in read(folder, "top.out"), read(folder, "top.out")
    top = top_of(os.path.join(folder, "merge.pb.gz"), ("hot_a", "hot_b", "hot", "main"))
    assert top == "hot_a", f"pprof shows {top} on top of what was merged"


def record_kernel(folder):
    """Always inside a system call: the user's part of the stack is found from there."""
    profile = run_of(folder, "record-kernel").profile()
    for name in ("ask_kernel", "main"):
        part = share(profile, ("read_zero",), name)
        assert part >= 0.99, f"only {part:.1%} of the stacks with read_zero hold {name}"


def record_hotplug(folder):
    """A processor that was offline for a second is sampled again, and that it was away is said."""
    run = run_of(folder, "record-hotplug")
    assert any("CPU 1 is online again" in line for line in run.lines), run.lines[-8:]
    busy_in(run.profile(), run.output, "hot_a", ("hot_a", "hot_b"), "main")


def heap_hotplug(folder):
    """A processor that comes and goes costs a heap profile nothing, and nobody says that it did."""
    run = run_of(folder, "heap-hotplug", heap_rate="1")
    said = [line for line in run.lines if "CPU 1 is online again" in line]
    assert len(said) == 1 and "nothing is missing" in said[0], (said, run.lines[-8:])
    exact_heap(run, HEAP_TYPES)


def record_clock(folder):
    """The clock is set by an hour, forward and back: the run ends in time, and its profile says when it began and how
    long it took. What was set is said."""
    run = run_of(folder, "record-clock")
    profile = run.profile()
    now, before, after, began = map(int, read(folder, "clock-began").split())
    ended, forward, back = (int(read(folder, f"clock-{what}") or 1 << 40) for what in ("ended", "forward", "back"))
    # all are cut to whole seconds, and the clock was read at a moment between two of the machine's own time
    earliest, latest = (profile["time_ns"] / 1e9 - epoch for epoch in (now + 1 - before, now - after - 1))
    assert began <= latest and earliest <= ended + 1, (began, earliest, latest, ended)
    duration = profile["duration_ns"] / 1e9
    assert 12 <= duration <= ended + 1 - began, (began, duration, ended)
    said = [int(match[1]) for line in run.lines if (match := re.search(r"clock was set by ([+-]\d+) s", line))]
    # what was set in the last seconds, on a machine that is slow, may come too late to be noticed
    expected = [3600] * (forward + 6 <= ended) + [-7200] * (back + 6 <= ended)
    assert len(said) >= len(expected), (said, forward, back, ended)
    assert all(abs(a - b) < 600 for a, b in zip(said, (3600, -7200))), said


def record_suspend(folder):
    """A machine that slept is sampled again: what ran only after that has samples. How long it slept is said."""
    run = run_of(folder, "record-suspend")
    profile = run.profile()
    assert "PM: suspend exit" in read(folder, "dmesg"), "it did not sleep"
    said = [float(match[1]) for line in run.lines
            if (match := re.search(r"^cprof: the machine was suspended for ([\d.]+) s: ", line))]
    assert len(said) == 1 and 0.5 <= said[0] < 300, (said, run.lines[-8:])  # run.sh wakes it up after some seconds
    woken = h.by_function(profile, "samples").get("busy_until_the_end", 0)
    assert woken >= 20, f"{woken} samples after it woke up"


def record_throttled(folder):
    """That the kernel's limit fell below the rate is said, though it has risen since; what there is adds up, and that ticks are
    missing is counted."""
    run = run_of(folder, "record-throttled")
    busy_in(run.profile(), run.output, "hot_a", ("hot_a", "hot_b"), "main")
    said = [line for line in run.lines if "fell to 500 ticks a second" in line]
    assert len(said) == 1, run.lines[-8:]
    ticks, expected, *_ = map(h.number, run.matches(h.judges.TICKS)[0].groups())
    assert ticks < 0.9 * expected, (ticks, expected)


def heap(folder):
    """Every allocation is sampled, so every count is exact: of a process, of a fork server, and of a process that samples
    its own."""
    for case in ("heap", "heap-fork", "heap-inside"):
        exact_heap(run_of(folder, case, heap_rate="1"), HEAP_TYPES)
    exact_heap(run_of(folder, "heap-peak", heap_rate="1"), PEAK_TYPES)


def exact_heap(run, types):
    """As exact as on any machine: an emulated one is only slower, and nothing may be lost for that."""
    run.profile()
    assert run.closing.lost == 0, f"lost {run.closing.reasons} of {run.closing.taken}"
    told = run.says()
    for what, kind in types.items():
        shown = {name: cum for name, _, cum in pprof_top(run.output, kind)}
        wrong = {site: (shown.get(site, 0), expected[what]) for site, expected in told.items()
                 if shown.get(site, 0) != expected[what]}
        assert not wrong, f"{kind}, shown and true: {wrong}"


def nothing_left(folder):
    names = read(folder, "verify").split()
    for kind in ("programs", "maps", "links"):
        left = json.loads(not_empty(folder, f"left-{kind}"))
        assert left is not None and not isinstance(left, dict), f"bpftool says {left}"
        ours = [item.get("name", item.get("id")) for item in left if kind != "programs" or item.get("name") in names]
        assert not ours, f"left in the kernel: {kind} {ours}"
    processes = not_empty(folder, "left-processes").splitlines()
    assert "kthreadd" in processes, f"processes: {processes}"  # it always is
    ours = [name for name in processes if name.startswith("cprof")]
    assert not ours, f"processes are left: {ours}"
    assert not read(folder, "left-uprobes"), "uprobe events are left"


def kernel_is_silent(folder):
    found = [line for line in not_empty(folder, "dmesg").splitlines() if KERNEL_COMPLAINTS.search(line)]
    assert not found, "the kernel complains: " + "; ".join(found[:3])


def table_of_instructions():
    """{program: instructions} of this kernel, for each program that is loaded there: None where no number is stored."""
    with open(os.path.join(ROOT, "tests", "vm", TABLE), encoding="utf-8") as file:
        kernels = next(file).split()[1:]
        rows = [line.split() for line in file]
    counts = {program: dict(zip(kernels, stored)).get(kernel_name, "-") for program, *stored in rows}
    return {program: int(count) if count.isdigit() else None for program, count in counts.items() if count != "-"}


def loaded(folder):
    """{program: the instructions that the verifier went through, -1 where its log does not say}"""
    return {name: int(count) for name, count in re.findall(r"^loaded (\S+) (-?\d+)$", read(folder, "verify"), re.M)}


def loads(folder):
    """Each program, and each that was loaded when the table of instructions was written."""
    text = read(folder, "verify")
    programs = re.findall(r"^(loaded|refused) (\S+)", text, re.M)
    refused = [name for how, name in programs if how == "refused"]
    assert programs, "verify said nothing: " + read(folder, "verify.err")[-500:]
    assert not refused, f"refused: {', '.join(refused)}\n{text[text.index('refused'):]}"
    missing = set(table_of_instructions()) - set(loaded(folder))
    assert not missing, f"in tests/vm/{TABLE}, and not loaded: {missing}"


def doctor_of(folder, case):
    """What cprof doctor said: {check: row}, {command: row}. Its exit code is that of its outcomes."""
    said = json.loads(not_empty(folder, case + ".out"))
    commands = {row["name"]: row for row in said["commands"]}
    cannot = any(row["outcome"] == "cannot" for row in commands.values())
    code = read(folder, case + ".code").strip()
    assert code == ("4" if cannot else "0"), f"{case}: exit code {code}, {commands}"
    return {row["name"]: row for row in said["checks"]}, commands


def doctor(folder):
    """Root can do all here, and doctor says so, and which lockdown there is."""
    checks, commands = doctor_of(folder, "doctor")
    assert checks["lockdown"]["value"] == lockdown, checks["lockdown"]
    wrong = [row for row in commands.values()
             if row["outcome"] != "works" and not (BY_FRAME_POINTERS and row["losses"] == ["lockdown"])]
    assert not wrong, f"{wrong} {[row for row in checks.values() if row['why']]}"


def locked_down(folder):
    """confidentiality: doctor says whether something is lost by it, and every run that loses something does, in one line.
    Kernel frames are there as ever."""
    checks, commands = doctor_of(folder, "doctor")
    row = checks["lockdown"]
    assert row["value"] == "confidentiality" and row["why"], row
    losses = {name: command["losses"] for name, command in commands.items()}
    lost = ["lockdown"] if BY_FRAME_POINTERS else []
    assert losses == {"record -p": lost, "record -a": lost, "heap": []}, losses
    for case in ("record-pid", "record-all", "record-command", "record-kernel", "heap"):
        said = [line for line in read(folder, f"{case}.err").splitlines() if "lockdown" in line]
        expected = [f"cprof: {row['why']}: {row['remedy']}."] if lost and case != "heap" else []
        assert said == expected, f"{case}: {said}, {row}"
    part = share(run_of(folder, "record-kernel").profile(), ("ask_kernel",), "read_zero")
    assert part >= 0.5, f"only {part:.1%} of the stacks with ask_kernel hold read_zero"


def frame_pointers_are_marked(folder):
    """What was found by frame pointers is called a guess, and only that: inside the kernel, behind the first frame."""
    if not BY_FRAME_POINTERS:
        return
    run = run_of(folder, "record-kernel")
    stacks = [sample["stack"] for sample in run.profile()["samples"] if "read_zero" in sample["stack"]]
    marked = [stack for stack in stacks if "main [guessed]" in stack and "ask_kernel" in stack]
    assert marked and len(marked) == len([stack for stack in stacks if "ask_kernel" in stack]), stacks[:3]
    assert any("user registers not found" in line for line in run.lines), run.lines[-8:]


def refused_alike(folder, case, row):
    code, said = read(folder, case + ".code").strip(), read(folder, case + ".err").splitlines()
    assert code == "4" and said == [f"cprof: {row['why']}: {row['remedy']}."], f"{case}: {code} {said}, {row}"


def privileges(folder):
    """With less than root has: what doctor says of a command is what the command does."""
    cases = sorted(name.removesuffix("-record.code") for name in os.listdir(folder)
                   if re.fullmatch(r"privileges-.*-record\.code", name))
    outcomes = {}
    for case in cases:
        checks, commands = doctor_of(folder, case)
        for command, name in (("record -p", "record"), ("heap", "heap")):
            causes = commands[command]["causes"]
            outcomes[case.removeprefix("privileges-"), name] = causes or commands[command]["losses"] or "works"
            if causes:
                refused_alike(folder, f"{case}-{name}", checks[causes[0]])
            else:
                code = read(folder, f"{case}-{name}.code").strip()
                assert code == "0", f"{case}-{name}: {code} {read(folder, f'{case}-{name}.err')}"
    with open(os.path.join(folder, "privileges"), "w", encoding="utf-8") as file:
        for (case, name), outcome in outcomes.items():
            file.write(f"{case} {name}: {outcome}\n")
    if cases:
        sets_are_enough(folder, outcomes)


def sets_are_enough(folder, outcomes):
    """What PRIVILEGES in cprof-record(1) says of the sets of capabilities, on this kernel."""
    checks, _ = doctor_of(folder, "doctor")
    multi, counts_memory = checks["multi-uprobe links"]["verdict"] == "ok", kernel_name == "5.10"
    first = {case: outcome[0] if outcome != "works" else "works" for case, outcome in outcomes.items()}
    expected = {
        ("nothing", "record"): "CAP_BPF",
        ("bpf", "record"): "CAP_PERFMON",
        ("perfmon", "record"): "CAP_BPF",
        ("two", "record"): "memlock limit" if counts_memory else "CAP_SYS_PTRACE",
        ("two-memory", "record"): "CAP_SYS_PTRACE",
        ("two-memory", "heap"): "CAP_SYS_PTRACE" if multi else "probe privilege",
        ("whole", "record"): "works",
        ("whole", "heap"): "works" if multi else "probe privilege",
        ("admin", "record"): "CAP_SYS_PTRACE",
        ("admin", "heap"): "CAP_SYS_PTRACE",
        ("paranoid-root", "record"): "works",
        ("paranoid-root", "heap"): "works",
        ("paranoid-two", "record"): "perf_event_open(2)",
        ("paranoid-two", "heap"): "perf_event_open(2)",
        ("paranoid-admin", "record"): "CAP_SYS_PTRACE",
        ("hidden-symbols", "record"): "kernel symbols",
        ("hidden-symbols", "heap"): "works",
    }
    wrong = {case: (first.get(case), wanted) for case, wanted in expected.items() if first.get(case) != wanted}
    assert not wrong, f"found and expected: {wrong}"
    said = read(folder, "privileges-hidden-symbols-record.err")
    assert said.count("kernel.kptr_restrict is 2") == 1, said
    said = read(folder, "privileges-paranoid-two-record.err")
    assert "kernel.perf_event_paranoid is 3" in said and "sysctl kernel.perf_event_paranoid=2" in said, said


def instructions(folder):
    """No program costs the verifier a fifth more than the table has."""
    table = table_of_instructions()
    for program, count in loaded(folder).items():
        stored = table.get(program)
        assert count > 0, f"the verifier does not say how many instructions {program} took"
        assert stored, f"{program} is not in tests/vm/{TABLE}: see run.sh"
        assert count <= 1.2 * stored, f"{program}: {count} instructions, {stored} in tests/vm/{TABLE}"


CASES = (doctor, loads, instructions, record_pid, record_command, reads, record_all, record_kernel, record_hotplug,
         record_clock, heap, heap_hotplug, nothing_left, kernel_is_silent, privileges)
FAULTS = (record_suspend, record_throttled)
# The table of instructions is that of the programs as they are without it.
CASES_OF = {"confidentiality": (locked_down, frame_pointers_are_marked,
                                *(case for case in CASES if case is not instructions))}


def trouble(case, folder):
    """None, or what is wrong."""
    try:
        case(folder)
    except (AssertionError, OSError, ValueError, KeyError, IndexError,
            subprocess.TimeoutExpired) as error:
        said = read(folder, case.__name__.replace("_", "-") + ".err").splitlines()[-12:]
        return "\n".join([f"{case.__name__}: {error}", *said])
    return None


def main():
    if len(sys.argv) < 4 or sys.argv[4:] not in ([], ["faults"]):
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[1])
    cases = CASES_OF.get(lockdown, CASES) + (FAULTS if sys.argv[4:] else ())
    troubles = {case.__name__: trouble(case, folder) for case in cases}
    print(" ".join(f"{name}={'FAIL' if wrong else 'ok'}" for name, wrong in troubles.items()))
    for wrong in filter(None, troubles.values()):
        print(wrong)
    sys.exit(any(troubles.values()))


main()
