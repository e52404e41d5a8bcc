# SPDX-License-Identifier: BSD-2-Clause
"""What the threads of cprof's main process do, from a trace of all of its processes by strace(1)."""
import os
import re
import shutil

import harness as h

TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
DECODED = re.compile(r"^\w+\(\d+<((?:[^>\\]|\\.)*)>")


def run_as(path, calls="all"):
    """A command before cprof that traces these calls of all its processes, into the file path."""
    if not shutil.which("strace"):
        raise h.Skip("no strace")
    chosen = () if calls == "all" else ("--seccomp-bpf", "-e", f"trace={calls},clone,clone3")
    return ("strace", "-f", "-y", "-s", "4096", "-qq", *chosen, "-o", path)


def calls_of(path):
    """[(thread, call with its result)], in the order in which they began; those that were interrupted by others put together."""
    calls, begun = [], {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            thread, _, text = line.strip().partition(" ")
            text = text.strip()
            resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
            if resumed and thread in begun:
                calls[begun.pop(thread)][1] += resumed[1]
                continue
            if text.endswith("<unfinished ...>"):
                text = text[:-len("<unfinished ...>")]
                begun[thread] = len(calls)
            calls.append([thread, text])
    return calls


def of_main(path):
    """Its pid, [call of one of its threads] from when it forked for the first time (before, its loader works), number of threads."""
    calls = calls_of(path)
    threads = {calls[0][0]}
    for thread, text in calls:  # a thread is made by one of those before it
        made = re.match(r"clone3?\(.*CLONE_THREAD.*= (\d+)$", text)
        if made and thread in threads:
            threads.add(made[1])
    mine = [text for thread, text in calls if thread in threads]
    first = next(i for i, text in enumerate(mine) if text.startswith("clone"))
    return calls[0][0], mine[first:], len(threads)


def paths_in(call):
    """[path] that it names: of a link, not where that leads."""
    found = [re.sub(r"\\(.)", r"\1", text) for text in TEXT.findall(call)]
    return found[:1] if call.startswith("readlink") else found


def file_of(call):
    """The path of the descriptor that is its first argument; "" if it has none."""
    found = DECODED.match(call)
    return found[1] if found else ""


def own_paths(run, pid):
    """Is a path one of a run's own, whatever runs on the machine? A function that says so."""
    folders = [run.folder, os.environ["XDG_CACHE_HOME"]]
    above = [folder[:i] for folder in folders for i in range(1, len(folder)) if folder[i] == "/"]
    beside_cprof = os.path.realpath(os.path.join(os.path.dirname(h.CPROF), "libcprof-heap.so"))
    return re.compile("|".join([
        r"[^/]*",  # below a folder that it has open
        r"/|/dev/null|/sys/.*",
        rf"/proc/?|/proc/(self|thread-self|sys|{pid})(/.*)?|/proc/(kallsyms|mounts|stat|meminfo|version_signature)",
        # numbers that the kernel made
        r"/proc/\d+/(stat|status|cgroup|task|schedstat|task/\d+/(stat|status|schedstat))?",
        *(re.escape(folder) + "(/.*)?" for folder in folders), *map(re.escape, above),
        re.escape(h.CPROF), re.escape(beside_cprof), *(re.escape(part) for part in folders_above(beside_cprof))])).fullmatch


def folders_above(path):
    parts = []
    while path != "/":
        path = os.path.dirname(path)
        parts.append(path)
    return parts
