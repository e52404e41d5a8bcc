#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where names come from besides a file's own symbols: debug files found by build-id, by the name that strip noted, and in
folders that the user gave; .gnu_debugdata; below the root of a process in a container."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import chance
import harness as h

OWN = {"hot_a", "hot_b", "main"}
SOURCE = os.path.join(h.ROOT, "tests/e2e/workloads/hot.c")
SYSTEM = "/usr/lib/debug"


def build(*flags, name="hot"):
    """A folder with a stripped program and, in a folder beside it, its debug file."""
    folder = h.folder()
    program, debug = os.path.join(folder, "bin", name), os.path.join(folder, "away", name + ".debug")
    os.makedirs(os.path.dirname(program))
    os.makedirs(os.path.dirname(debug))
    subprocess.run(["gcc", "-O0", "-g", "-D_GNU_SOURCE", "-I", os.path.dirname(SOURCE), *flags, "-o", program, SOURCE],
                   check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    return folder, program, debug


def note(program, debug):
    """Has the program say which debug file it has, and that file's checksum."""
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)


def names_of(run, program="hot"):
    frames = [frame for sample in run.profile()["samples"] for frame in sample["frames"]
              if frame["mapping"]["path"].endswith(f"/{program}")]
    assert frames, run.lines
    return {frame["name"] for frame in frames}


def record(program, *options):
    return h.cprof("record", "-F", "1999", *options, "--", program, "0.15").wait()


def watch(target):
    """A run that goes on for as long as target takes to use some CPU time, on however busy a machine."""
    run = h.cprof("record", "-F", "1999", "-p", target.pid).attached()
    target.uses(0.2)
    return run.stop()


def is_named(run, program="hot"):
    names = names_of(run, program)
    assert OWN <= names or not OWN & names, names
    if OWN <= names:
        assert not [name for name in names if "+0x" in name], names
    return OWN <= names


@h.test
def a_debuglink_with_its_checksum():
    """In the program's folder, in .debug there, and in the system's folder; only with the right checksum or build-id."""
    folder, program, debug = build("-Wl,--build-id=none")
    note(program, debug)
    beside = os.path.dirname(program)
    places = [beside, os.path.join(beside, ".debug"), SYSTEM + beside]
    assert not is_named(record(program))
    for place in places:
        os.makedirs(place, exist_ok=True)
        copy = os.path.join(place, "hot.debug")
        try:
            shutil.copy(debug, copy)
            assert is_named(record(program)), place
            with open(copy, "ab") as file:
                file.write(b"x")
            assert not is_named(record(program)), place
        finally:
            os.unlink(copy)
            shutil.rmtree(SYSTEM + folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # others may be in there
                os.rmdir(SYSTEM + os.path.dirname(folder))


@h.test
def build_ids_come_before_checksums():
    """Where both have a build-id it decides, whatever the checksum says."""
    _, program, debug = build(f"-Wl,--build-id=0x{os.urandom(20).hex()}")
    note(program, debug)
    copy = os.path.join(os.path.dirname(program), "hot.debug")
    with open(debug, "rb") as file:
        data = file.read()
    with open(copy, "wb") as file:
        file.write(data + b"x")  # the checksum is wrong, the build-id is right
    assert is_named(record(program))
    _, _, other_debug = build(f"-Wl,--build-id=0x{os.urandom(20).hex()}")
    shutil.copy(other_debug, copy)
    subprocess.run(["objcopy", "--remove-section=.gnu_debuglink", f"--add-gnu-debuglink={copy}", program], check=True)
    assert not is_named(record(program)), "the checksum is right, the build-id is another's"


@h.test
def debug_dirs():
    """--debug-dir: by build-id, by the path of the program, and by name; several of them, in their order."""
    build_id = os.urandom(20).hex()
    folder, program, debug = build(f"-Wl,--build-id=0x{build_id}")
    empty, given = os.path.join(folder, "empty"), os.path.join(folder, "given")
    os.makedirs(empty)
    assert not is_named(record(program, "--debug-dir", empty))
    by_id = os.path.join(given, ".build-id", build_id[:2])
    os.makedirs(by_id)
    shutil.copy(debug, os.path.join(by_id, build_id[2:] + ".debug"))
    assert is_named(record(program, "--debug-dir", empty, "--debug-dir", given))
    assert is_named(record(program, "--no-sandbox", "--debug-dir", given))
    shutil.rmtree(given)
    note(program, debug)
    for place in (given, given + os.path.dirname(program)):
        os.makedirs(place, exist_ok=True)
        shutil.copy(debug, place)
        assert is_named(record(program, "--debug-dir", given)), place
        os.unlink(os.path.join(place, "hot.debug"))
    for bad in (os.path.join(folder, "none"), program):
        run = h.cprof("record", "--debug-dir", bad, "--", "true").wait()
        assert run.code == 2 and f"--debug-dir {bad}: " in "\n".join(run.lines), run.lines


@h.test
def a_link_leads_nowhere_else():
    """Below a process's root no symbolic link is followed: the one who owns that root chose where it leads."""
    _, program, debug = build("-Wl,--build-id=none")
    note(program, debug)
    beside = os.path.join(os.path.dirname(program), "hot.debug")
    os.symlink(debug, beside)
    assert not is_named(record(program))
    os.unlink(beside)
    os.mkfifo(beside)
    assert not is_named(record(program))


# Makes argv[1] the root of a mount namespace of its own, in which the rest of the file system cannot be reached, and runs
# the program there.
CONTAINER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def do(result):
    if result:
        raise OSError(ctypes.get_errno(), "container")
root = sys.argv[1].encode()
do(libc.unshare(0x20000))
do(libc.mount(b"none", b"/", None, 0x44000, None))
do(libc.mount(root, root, None, 0x1000, None))
os.chdir(root)
do(libc.syscall(155, b".", b"."))
do(libc.umount2(b".", 2))
os.chdir("/")
os.execv("/opt/hot", ["/opt/hot", "100"])
"""


@h.test
def in_a_container():
    """The debug file that counts is that of the process's own root."""
    folder, program, debug = build("-Wl,--build-id=none", "-static")
    note(program, debug)
    root = os.path.join(folder, "root")
    os.makedirs(os.path.join(root, "opt/.debug"))
    shutil.copy(program, os.path.join(root, "opt/hot"))
    shutil.copy(debug, os.path.join(root, "opt/.debug"))
    for command in (["chroot", root, "/opt/hot", "100"], ["python3", "-c", CONTAINER, root]):
        target = h.Workload(shutil.which(command[0]), *command[1:])
        while os.path.basename(os.readlink(f"/proc/{target.pid}/exe")) != "hot":
            time.sleep(0.01)
        assert is_named(watch(target)), command
    os.unlink(os.path.join(root, "opt/.debug/hot.debug"))
    assert not is_named(watch(target))


@h.test
def mini_debuginfo():
    """.gnu_debugdata as Fedora has it: the functions that are not exported have names in a stripped program."""
    folder, program, debug = build()
    mini = os.path.join(folder, "mini")
    subprocess.run(["objcopy", "-S", "--keep-symbol=hot_a", "--keep-symbol=hot_b", "--keep-symbol=main", debug, mini],
                   check=True)
    subprocess.run(["xz", mini], check=True)
    assert not is_named(record(program))
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={mini}.xz", program], check=True)
    names = names_of(record(program))
    assert OWN <= names, names


def ticks_by_leaf(profile):
    ticks = {}
    for sample in profile["samples"]:
        leaf = sample["frames"][0]
        ticks[leaf["name"]] = ticks.get(leaf["name"], 0) + sample["values"]["samples"]
    return ticks


def made_by(how, *options):
    """The ticks in each function that the workload made, after the checks that hold for all ways of telling."""
    where = h.folder()
    run = h.cprof("record", "-F", "3999", "--no-kernel", *options, "--", "env", "-C", where, h.workload("jitted"), how, "0.6").wait()
    ticks = ticks_by_leaf(run.profile())
    made = {name: count for name, count in ticks.items() if name.startswith("made_")}
    unnamed = sum(count for name, count in ticks.items() if "+0x" in name)
    assert sum(made.values()) > 20 * unnamed, ticks
    return made


@h.test
def perf_maps():
    """In each way of writing one: at once, at the end only, for code in a memory file, without the sandbox."""
    for how, options in (("map", ()), ("late", ()), ("memfd", ()), ("map", ("--no-sandbox",))):
        made = made_by(how, *options)
        assert set(made) == {"made_one", "made_two /srv/app.js:12"}, made
        chance.ratio_is(made["made_one"], made["made_two /srv/app.js:12"], 2, "made_one : made_two")


@h.test
def jitdumps():
    """Which function was at an address depends on the time."""
    made = made_by("dump")
    assert set(made) == {"made_one", "made_two", "made_three"}, made
    chance.ratio_is(made["made_one"], made["made_two"] + made["made_three"], 2, "made_one : the others")
    chance.ratio_is(made["made_two"], made["made_three"], 1, "made_two : made_three")


def has_grown(path, least):
    """Waits until the file is that long."""
    end = time.monotonic() + h.HANGS
    while os.path.getsize(path) < least:
        assert time.monotonic() < end, f"{path} does not grow"
        time.sleep(0.01)


def lines_of(profile, name):
    """Where a function's frames are: files and lines."""
    return {(frame["file"], frame["line"]) for sample in profile["samples"] for frame in sample["frames"]
            if frame["name"] == name}


@h.test
def lines_in_jitdumps():
    """A function that has lines in the dump is in these, its loop at least; one that has none has none."""
    profile = h.cprof("record", "-F", "3999", "--no-kernel", "--", "env", "-C", h.folder(), h.workload("jitted"), "dump",
                      "0.3").wait().profile()
    loop, start = ("/srv/made.c", 12), ("/srv/made.c", 10)
    assert loop in lines_of(profile, "made_one") <= {loop, start}, lines_of(profile, "made_one")
    for name in ("made_two", "made_three"):
        assert lines_of(profile, name) <= {("", 0)}, lines_of(profile, name)


SCRIPT = """
function busy(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) % 1000003;
	return sum;
}
for (const end = process.cpuUsage().user + 1e6; process.cpuUsage().user < end;)
	busy(100000);
"""


@h.test
def lines_in_jitdumps_of_node():
    """What V8 tells of a script's functions is in that script. How much it tells is its own matter."""
    if not shutil.which("node"):
        raise h.Skip("no node")
    folder = h.folder()
    script = os.path.join(folder, "busy_script.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    run = h.cprof("record", "-F", "999", "--no-kernel", "--no-v8", "--", "env", "-C", folder, "node", "--perf-prof", script).wait()
    lines = {frame["line"]: frame["file"] for sample in run.profile()["samples"] for frame in sample["frames"]
             if "busy_script.js" in frame["name"] and frame["line"]}
    print("# lines:", lines, flush=True)
    for line, file in lines.items():
        assert file.endswith("busy_script.js") and line <= SCRIPT.count("\n"), lines


@h.test
def code_in_the_place_of_other_code():
    """The same stack has another name in later files of a run, when its process has written so."""
    for how in ("map", "dump"):
        where = h.folder()
        target = h.Workload(shutil.which("env"), "-C", where, h.workload("jitted"), how, "SIGNALS")
        path = f"/tmp/perf-{target.pid}.map" if how == "map" else os.path.join(where, f"jit-{target.pid}.dump")
        try:
            target.uses(0.1)
            run = h.cprof("record", "-F", "999", "--no-kernel", "--interval", "400ms", "-p", target.pid).attached()
            size = os.path.getsize(path)
            target.uses(0.3)
            target.process.send_signal(signal.SIGUSR1)
            has_grown(path, size + 1)
            # cprof has looked at the file, and at all that ran before, when two files are there that begin after that
            run.writes_files(len([name for name in os.listdir(run.folder) if name.endswith(".pb.gz")]) + 3)
            target.process.send_signal(signal.SIGUSR1)
            target.uses(0.3)
            windows = [ticks_by_leaf(profile) for profile in run.stop().windows()]
        finally:
            target.process.kill()
            target.wait()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"/tmp/perf-{target.pid}.map")
        two = [i for i, ticks in enumerate(windows) if [name for name in ticks if name.startswith("made_two")]]
        three = [i for i, ticks in enumerate(windows) if "made_three" in ticks]
        assert two and three and two[-1] < three[0], (how, windows)


@h.test
def a_map_of_somebody_else():
    """A map that neither the process's user nor root wrote is not believed."""
    target = h.Workload("jitted", "late", "100")
    path = f"/tmp/perf-{target.pid}.map"
    while not os.path.exists(path):
        time.sleep(0.01)
    try:
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
            code = [line for line in maps if "r-xp" in line and line.split()[-1] == "0"][0]
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{code.split('-')[0]} 1000 made_up\n")
        os.chown(path, h.NOBODY, h.NOBODY)
        profile = watch(target).profile()
        assert "made_up" not in ticks_by_leaf(profile)
        os.chown(path, 0, 0)
        profile = watch(target).profile()
        assert "made_up" in ticks_by_leaf(profile)
    finally:
        os.unlink(path)  # whose writer is killed


BPF = """
#include <linux/bpf.h>
__attribute__((section("socket"), used)) int spin_in_bpf(struct __sk_buff *skb)
{
	unsigned int sum = skb->len;

	for (int i = 0; i < 20000; i++) {
		sum = sum * 1103515245 + i;
		asm volatile("" : "+r"(sum));
	}
	return sum & 1;
}
char _license[] __attribute__((section("license"))) = "GPL";
"""


def bpf_program(name):
    """A program that spins, of this name, as a file."""
    folder = h.folder()
    source, program = os.path.join(folder, "spin.c"), os.path.join(folder, f"{name}.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write(BPF.replace("spin_in_bpf", name))
    subprocess.run(["clang", "-O2", "-target", "bpf", "-I", f"/usr/include/{os.uname().machine}-linux-gnu", "-c",
                    "-o", program, source], check=True)
    return program


def find_bpftool():
    with open("/proc/sys/net/core/bpf_jit_kallsyms", encoding="utf-8") as file:
        if file.read().strip() == "0":
            raise h.Skip("the kernel gives BPF programs no symbols")
    return shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")


@h.test
def programs_of_bpf():
    """A BPF program's frame has the name that the kernel gives it: its tag, and its own name."""
    folder, bpftool, program = h.folder(), find_bpftool(), bpf_program("spin_in_bpf")
    data = os.path.join(folder, "data")
    pin = os.path.join("/sys/fs/bpf", f"cprof-test-{os.getpid()}")
    with open(data, "wb") as file:
        file.write(bytes(64))
    subprocess.run([bpftool, "prog", "load", program, pin, "type", "socket"], check=True)
    try:
        tag = json.loads(subprocess.run([bpftool, "--json", "prog", "show", "pinned", pin], check=True,
                                        capture_output=True, text=True).stdout)["tag"]
        run = h.cprof("record", "-F", "999", "--", bpftool, "prog", "run", "pinned", pin, "data_in", data, "repeat",
                      "30000").wait()
    finally:
        os.unlink(pin)
    ticks = ticks_by_leaf(run.profile())
    assert ticks.get(f"bpf_prog_{tag}_spin_in_bpf", 0) > 0.5 * sum(ticks.values()), ticks


# Loads program $4 unless its pin $2 is there, runs it, and removes it; waits until the kernel has no name of it any more.
COMES_AND_GOES = """
set -e
[ -e "$2" ] || "$1" prog load "$4" "$2" type socket
"$1" prog run pinned "$2" data_in "$3" repeat 8000
rm "$2"
while grep -q "_$5[[:space:]]" /proc/kallsyms; do sleep 0.1; done
"""


@h.test
def programs_of_bpf_that_come_and_go():
    """One that is there before the run, and then one that comes; both are gone at its end. Another one listens to the kernel, too."""
    folder, bpftool = h.folder(), find_bpftool()
    data, pid = os.path.join(folder, "data"), os.getpid()
    names = [f"early_{pid}", f"later_{pid}"]
    pins = [f"/sys/fs/bpf/cprof-test-{name}" for name in names]
    programs = [bpf_program(name) for name in names]
    with open(data, "wb") as file:
        file.write(bytes(64))
    other = h.cprof("record", "-p", h.Workload("hot", 3600).pid).attached()
    subprocess.run([bpftool, "prog", "load", programs[0], pins[0], "type", "socket"], check=True)
    script = "\n".join(f"sh -ec '{COMES_AND_GOES}' - {bpftool} {pin} {data} {program} {name}"
                       for pin, program, name in zip(pins, programs, names))
    try:
        run = h.cprof("record", "-F", "999", "--", "sh", "-ec", script).wait()
    finally:
        for pin in pins:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(pin)
    other.stop()
    ticks = ticks_by_leaf(run.profile())
    own = {name: sum(count for leaf, count in ticks.items() if leaf.startswith("bpf_prog_") and leaf.endswith(f"_{name}"))
           for name in names}
    unnamed = sum(count for leaf, count in ticks.items() if leaf.startswith("[kernel]"))
    assert min(own.values()) > 10 and min(own.values()) > unnamed, (own, unnamed, ticks)


h.main()
