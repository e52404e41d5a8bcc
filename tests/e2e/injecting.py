# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of cprof heap --inject share: targets, a cprof whose library is in use, and the slots that lead there."""
import os
import re
import subprocess
import time

import harness as h

LIBRARY = "libcprof-heap.so"
# What a busy machine may lead to.
REFUSED = "no thread of it was outside", "no thread of it was on its own stack", "its loader did not answer in time"
SOURCES = os.path.join(h.ROOT, "tests", "e2e", "workloads")
kept = {}


def busy(threads):
    """Threads that check what they have allocated; none of them may ever find a wrong block. All together they are busy for
    about a third of the time of one processor, in a long run always."""
    if "busy" not in kept:
        kept["folder"] = h.kept_folder()
        os.chmod(kept["folder"], 0o755)
        kept["busy"] = os.path.join(kept["folder"], "busy")
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-builtin",
                        "-pthread", "-o", kept["busy"],
                        os.path.join(SOURCES, "heap", "busy.c")], check=True)
    target = h.Workload(kept["busy"], threads, 500 if h.IS_LONG else 500 * threads)
    target.says()
    return target


def ends_well(target):
    target.go()
    assert target.says() == {"errors": 0}
    assert target.wait() == 0


def built(name, source, *options):
    """A program, or a library, of a text, in a folder that all users may read."""
    folder = h.folder()
    os.chmod(folder, 0o755)
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O0", "-w", "-pthread", *options, "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path


def live_thread(pid):
    """The files of one that has not ended."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[0] != "Z":
                return f"/proc/{pid}/task/{tid}"
    raise AssertionError(f"process {pid} has ended")


def count_words(data, low, high):
    """Aligned words from low up to high. They are found by their upper five bytes, since a program may have millions of words."""
    found = 0
    for upper in {address >> 24 for address in (low, high - 1)}:
        for match in re.finditer(re.escape(upper.to_bytes(5, "little")), data):
            at = match.start() - 3
            found += at >= 0 and at % 8 == 0 and low <= int.from_bytes(data[at:at + 8], "little") < high
    return found


def left_slots(pid):
    """Words in the data of its files that lead to the library."""
    thread = live_thread(pid)
    with open(f"{thread}/maps", encoding="utf-8") as file:
        lines = [line.split(None, 5) for line in file if line.count("/")]
    ranges = [[int(word, 16) for word in line[0].split("-")] + line[1:] for line in lines]
    code = [(start, end) for start, end, *rest in ranges if LIBRARY in rest[-1]]
    found = 0
    with open(f"{thread}/mem", "rb", buffering=0) as memory:
        for start, end, access, *rest in ranges:
            if access[0] != "r" or access[2] == "x" or LIBRARY in rest[-1] or end - start > 1 << 24:
                continue
            memory.seek(start)
            data = memory.read(end - start)
            found += sum(count_words(data, low, high) for low, high in code)
    return found


def slots_are_as_before(pid):
    end = time.monotonic() + h.HANGS
    while left_slots(pid):
        assert time.monotonic() < end, f"{left_slots(pid)} slots still lead to the library"
        time.sleep(0.2)


def blocks_all(status):
    """Signal 32, the C library's own: a thread blocks it while it makes a call for cprof, and for a moment when it starts or ends."""
    try:
        with open(status, encoding="utf-8") as file:
            return bool(int(re.search(r"SigBlk:\s*(\w+)", file.read())[1], 16) >> 31 & 1)
    except (FileNotFoundError, ProcessLookupError):
        return False


def calls_have_returned(pid):
    """That a call was slow is no error; one that never returns keeps its thread for ever."""
    end = time.monotonic() + h.HANGS
    while any(blocks_all(f"/proc/{pid}/task/{tid}/status") for tid in os.listdir(f"/proc/{pid}/task")):
        assert time.monotonic() < end, "a thread's call for cprof does not return"
        time.sleep(0.05)


def injected(target, *options):
    """A cprof whose library is in use; it may have found no moment on a busy machine."""
    for _ in range(5):
        run, end = h.cprof("heap", "--inject", "-p", target.pid, *options), time.monotonic() + h.HANGS
        while run.process.poll() is None and not re.search(r"\d+ GOT entries lead to ", run.said()):
            assert time.monotonic() < end, run.said()
            time.sleep(0.02)
        if run.process.poll() is None:
            return run.attached()
        assert any(reason in run.said() for reason in REFUSED), run.said()
        run.wait()
    raise h.Skip("this machine is too busy: no thread was ever outside the allocator")
