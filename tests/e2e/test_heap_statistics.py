#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap on the real kernel: estimates from the sampling probability, and blocks counted right at rate 1, whatever
the allocator, the C library, and the thread that frees."""
import math
import os
import shutil
import socket
import subprocess
import time

import chance
import harness as h
import heaps


def chi_square_high(degrees):
    """More than this is the sum of squares once in 10^8 times, by Wilson and Hilferty's cube root."""
    return degrees * (1 - 2 / (9 * degrees) + 5.6 * math.sqrt(2 / (9 * degrees)))**3


def chi_square_low(degrees):
    return degrees * max(1 - 2 / (9 * degrees) - 5.6 * math.sqrt(2 / (9 * degrees)), 0)**3


@h.test
def estimates_of_every_size():
    """1 byte to 10 times the rate, and what --errors says of it is true."""
    rate, squares, values = 16384, 0, 0
    for _ in range(3):
        ended, expected = heaps.measure(h.Workload("sizes", str(rate)), "--rate", str(rate), "--errors")
        profile = ended.profile()
        for site, row in expected.items():
            size, p = row["size"], heaps.probability(row["size"], rate)
            for prefix, key in (("alloc", "objects"), ("inuse", "live_objects")):
                heaps.site_is(profile, site, prefix, row[key], size, rate)
                # each sample adds (1-p)/p^2 to the variance of the number of blocks
                heaps.estimate_is(h.by_function(profile, f"{prefix}_space_variance").get(site, 0), row[key],
                                  size, rate, f"{site}: {prefix}_space_variance", (1 - p) / p * size**2)
            if row["objects"] * (1 - p) > 10:
                found = h.by_function(profile, "alloc_space")[site]
                squares += (found / size - row["objects"])**2 / (row["objects"] * (1 - p) / p)
                values += 1
    # so many squared standard normal deviates: neither are all errors too large, nor all too small
    assert chi_square_low(values) < squares < chi_square_high(values), (squares, values)


@h.test
def a_mixture_of_sizes():
    """262,144 blocks of 16 bytes and sixteen of 32 MiB from one stack: neither spoils the other. 32 samples of the small
    ones, and 1,024."""
    for rate in (131072, 4096):
        ended, said = heaps.measure(h.Workload("mixture"), "--rate", str(rate))
        profile = ended.profile()
        # the large ones are sampled for certain: 1 - p is e^-256 and less
        for prefix in ("alloc", "inuse"):
            objects = h.by_function(profile, f"{prefix}_objects")["mixture"] - said["large"]
            space = h.by_function(profile, f"{prefix}_space")["mixture"] - said["large"] * said["large_bytes"]
            for found, scale in ((objects, 1), (space, said["small_bytes"])):
                heaps.estimate_is(found, said["small"], said["small_bytes"], rate, f"{prefix} at {rate}", scale)


@h.test
def all_is_freed():
    # 24 samples of the smallest size, on average: none once in 10^10 times
    target = h.Workload("sizes", "8192")
    run = heaps.watch(target, "--rate", "8192")
    target.says()
    target.says()  # full
    target.go()
    target.says()  # done
    profile = run.stop().profile()
    for i in range(8):
        assert h.by_function(profile, "alloc_space")[f"site_{i}"] > 0
        assert h.by_function(profile, "inuse_space")[f"site_{i}"] == 0, i


@h.test
def edges():
    """realloc that grows, shrinks, fails and frees, calloc that overflows, alignment that fails."""
    ended, expected = heaps.measure(h.Workload("edges"), "--rate", "1")
    heaps.exact(ended.profile(), expected)


def static_edges(compiler, package):
    """The same, with the C library in the executable."""
    program, source = os.path.join(h.folder(), "edges"), "tests/e2e/workloads/edges.c"
    built = shutil.which(compiler) and subprocess.run(
        [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-inline",
         "-pthread", "-static", "-o", program, os.path.join(h.ROOT, source)], check=False)
    if not built or built.returncode:
        raise h.Skip(f"NOT RUN: {compiler} -static builds nothing (apt-get install {package})")
    ended, expected = heaps.measure(h.Workload(program), "--rate", "1")
    heaps.exact(ended.profile(), expected)


@h.test
def edges_of_a_static_program():
    static_edges("gcc", "libc6-dev")


@h.test
def edges_of_a_static_program_with_musl():
    static_edges("musl-gcc", "musl-tools")


@h.test
def new_and_delete():
    ended, expected = heaps.measure(h.Workload("newdelete"), "--rate", "1", "--all-frames")
    profile = ended.profile()
    heaps.exact(profile, expected)
    assert any("operator new(unsigned long)" in sample["stack"] for sample in profile["samples"])


@h.test
def sixteen_threads_free_each_others_blocks():
    """Addresses are reused at once, by any thread: at rate 1 the count of blocks is exact."""
    ended, expected = heaps.measure(h.Workload("exchange", "16", "4000"), "--rate", "1", "--interval", "300ms")
    windows = ended.windows()
    heaps.exact(windows, {"exchange": expected}, heaps.ALLOCATED)
    heaps.exact(windows[-1], {"exchange": expected}, heaps.LIVE)


@h.test
def sixteen_threads_and_nothing_is_left():
    target = h.Workload("exchange", "16", "8000")
    run = heaps.watch(target, "--rate", "4096")
    expected = target.says()
    target.says()
    target.go()
    target.says()
    profile = run.stop().profile()
    held = h.by_function(profile, "inuse_space").get("exchange", 0)
    assert held == 0, held
    space = h.by_function(profile, "alloc_space")["exchange"]
    # every size is far below the rate
    error = math.sqrt(4096 / expected["bytes"]) * expected["bytes"]
    assert abs(space - expected["bytes"]) < chance.SIGMAS * error, (space, expected["bytes"])


class Redis:
    """A redis-server of its own, spoken to in its own protocol."""

    def __init__(self):
        # Debian has the server in redis-tools, by another name: it goes by argv[0]
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if not program:
            raise h.Skip("NOT RUN: redis is not installed (apt-get install redis-tools)")
        self.folder = h.folder()
        path = os.path.join(self.folder, "socket")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.folder,
             "--enable-debug-command", "local"], executable=program, stdout=subprocess.DEVNULL, stdin=subprocess.PIPE)
        h.running.append(self.process)
        self.pid = self.process.pid
        end = time.monotonic() + h.HANGS
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.05)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(h.HANGS)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def ask(self, command):
        self.socket.sendall(command.encode() + b"\r\n")
        said = self.reader.readline()
        assert not said.startswith(b"-"), said
        return self.reader.read(int(said[1:]) + 2).decode() if said.startswith(b"$") else said.decode()

    def used(self):
        text = self.ask("INFO memory")
        return int(text.split("used_memory:")[1].split()[0])


@h.test
def redis_with_its_jemalloc():
    """What is in use is what redis itself says, before and after everything is deleted."""
    redis = Redis()
    before = redis.used()
    # some 5,000 samples: chance is 9 % of it at most
    run = h.cprof("heap", "--rate", "8192", "--all-frames", "-p", redis.pid).attached()
    redis.ask("DEBUG POPULATE 40000 key 900")
    held = redis.used() - before
    run.snapshot(1)
    redis.ask("FLUSHALL SYNC")
    ended = run.stop()
    full, empty = ended.extra_profile(".1.pb.gz"), ended.profile()
    # redis counts what jemalloc rounds sizes up to: up to a quarter more
    share = h.total(full, "inuse_space") / held
    assert 0.75 < share < 1.1, (share, held)
    assert h.total(empty, "inuse_space") < 0.1 * h.total(full, "inuse_space")
    assert any("jemalloc" in (frame["mapping"] or {}).get("path", "")
               for sample in full["samples"] for frame in sample["frames"])


@h.test
def python_with_malloc():
    """20,000 bytes objects of 1,033 bytes are in use, then they are not."""
    program = shutil.which("python3", path="/usr/bin")
    if not program:
        raise h.Skip("NOT RUN: /usr/bin/python3 is not installed")
    code = ("import os; print('{\"ready\": 1}', flush=True); os.read(0, 1);"
            "x = [bytes(i % 2 + 1000) for i in range(20000)]; print('{\"full\": 1}', flush=True);"
            "os.read(0, 1); del x; print('{\"done\": 1}', flush=True); os.read(0, 1)")
    target = h.Workload(program, "-c", code, env={"PYTHONMALLOC": "malloc"})
    run = heaps.watch(target, "--rate", "8192")
    target.says()  # full
    run.snapshot(1)
    target.go()
    target.says()  # done
    ended = run.stop()
    truth = 20000 * 1033.5
    found = h.total(ended.extra_profile(".1.pb.gz"), "inuse_space")
    # the list itself is 160 KB
    assert abs(found - truth - 160000) < chance.SIGMAS * math.sqrt(8192 / truth) * truth + 40000, found
    assert h.total(ended.profile(), "inuse_space") < 0.05 * truth


h.main()
