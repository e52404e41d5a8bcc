#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that anybody may have made: each bad one is refused with one clear line, exit code 2, below
256 MB and in no longer than zlib needs for some of them; each odd one is read. pprof's own package says which are which, too."""
import os
import re
import subprocess
import sys
import time
import zlib

import harness as h

sys.path.insert(0, os.path.join(h.ROOT, "tests", "bad"))
import pprof as pprof_files  # noqa: E402 (its folder is known only now)

ORACLE = os.path.join(h.BUILD, "oracle", "oracle")
BYTES = 256 << 20
# Refused here and taken by pprof: a head that RFC 1952 says to refuse, more types than the model has.
STRICTER = {"gzip-flags", "types-33"}


def run(command, path):
    """Exit code, stdout, stderr, seconds of the processor, bytes."""
    with subprocess.Popen([h.CPROF, command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, out.decode(), err.decode(), usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024)


def seconds_allowed():
    """As long as zlib needs on this machine for ten times what a file may be inflated to."""
    zeros = zlib.compress(bytes(1 << 20), 1)
    start = time.process_time()
    for _ in range(BYTES >> 20):
        zlib.decompress(zeros)
    return 10 * (time.process_time() - start)


def written(files):
    folder = h.folder()
    for name, data, *_ in files:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder


def oracle(folder):
    """{name: pprof's own word}"""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    lines = subprocess.run([ORACLE, "accepts", *paths], capture_output=True, text=True, check=False)
    return dict((os.path.basename(path), word) for path, word in
                (line.split(": ", 1) for line in lines.stdout.splitlines()))


@h.test
def bad_files():
    files = list(pprof_files.bad())
    assert len(files) >= 100, len(files)
    folder, allowed = written(files), seconds_allowed()
    wrong, longest = [], 0
    for name, _, pattern in files:
        code, out, err, seconds, size = run("info", os.path.join(folder, name))
        if code != 2 or out or err.count("\n") != 1 or not err.startswith("cprof: "):
            wrong.append(f"{name}: exit code {code}, {err!r} {out!r}")
        elif not re.search(pattern, err):
            wrong.append(f"{name}: {err!r} does not say {pattern!r}")
        if seconds > allowed or size > BYTES:
            wrong.append(f"{name}: {seconds:.2f} s of {allowed:.2f} s, {size >> 20} MB")
        longest = max(longest, seconds)
    print(f"# {longest:.2f} s of {allowed:.2f} s at most")
    assert not wrong, "\n".join(wrong)


@h.test
def pprof_refuses_them_too():
    files = [row for row in pprof_files.bad() if not row[0].startswith("bomb-")]
    words = oracle(written(files))
    assert len(words) == len(files), (len(words), len(files))
    taken = {name for name, word in words.items() if word == "ok"}
    assert taken <= STRICTER, taken - STRICTER


@h.test
def odd_files():
    files = list(pprof_files.odd())
    folder = written(files)
    words = oracle(folder)
    for name, _ in files:
        assert words[name] == "ok", (name, words[name])
        code, _, err, _, _ = run("info", os.path.join(folder, name))
        assert code == 0 and not err, (name, err)
    again = h.folder()
    compared = subprocess.run([os.path.join(h.BUILD, "oracle", "reencode"), "-d", folder, again],
                              capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout
    compared = subprocess.run([ORACLE, "compare-dirs", folder, again], capture_output=True, text=True,
                              check=False)
    assert compared.returncode == 0, compared.stdout


@h.test
def files_that_are_none():
    folder = h.folder()
    for path, word in ((folder, "directory"), ("/nonexistent/x", "No such file"), ("", "No such file")):
        code, _, err, _, _ = run("info", path)
        assert code == 2 and err.count("\n") == 1 and word in err, err


@h.test
def stdin_and_pipes():
    for data in (pprof_files.GOOD, pprof_files.GZIP):
        done = h.run_cprof("info", "-", status=None, input=data, text=False)
        assert done.returncode == 0 and b"cpu/nanoseconds: total 5" in done.stdout, done
    fifo = os.path.join(h.folder(), "fifo")
    os.mkfifo(fifo)
    with subprocess.Popen([h.CPROF, "info", fifo], stdout=subprocess.PIPE) as process:
        with open(fifo, "wb") as file:
            file.write(pprof_files.GZIP[:30])
            file.flush()
            file.write(pprof_files.GZIP[30:])
        assert b"total 5" in process.stdout.read()


h.main()
