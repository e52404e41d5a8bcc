#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# NOT_SANITIZED: --inject needs a cprof whose C library is as the target's
"""cprof heap --inject, again and again, into programs under load: 16 threads or clients that allocate, and check what they get. In one
run of five cprof is killed at a random moment. No program ends, none finds an error, and afterwards the slots are as before.

Twice for each program, five times in a long run; COUNT in the environment says how often: `make injections COUNT=1000`. With SECONDS in the
environment a program is left after that time. A line for each program; the seed of the moments is printed, for SEED.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import harness as h
import injecting

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
IS_COUNTED = "COUNT" in os.environ
COUNT = int(os.environ.get("COUNT", "5" if h.IS_LONG else "2"))
SECONDS = float(os.environ.get("SECONDS", "86400" if IS_COUNTED else "60"))

PYTHON = """
import random, sys, threading
errors, over = [0], threading.Event()
def work(seed):
    chance, held = random.Random(seed), {}
    while not over.wait(0.001):
        for _ in range(20):
            at, mark = chance.randrange(64), chance.randrange(256)
            if at in held and held[at][1] != bytes([held[at][0]]) * len(held[at][1]):
                errors[0] += 1
            held[at] = mark, bytes([mark]) * chance.randrange(513, 20000)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
for thread in threads:
    thread.start()
print("{}", flush=True)
sys.stdin.readline()
over.set()
for thread in threads:
    thread.join()
print('{"errors": %d}' % errors[0], flush=True)
"""
NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
    const workers = [];
    let errors = 0, left = 16;
    for (let i = 0; i < 16; i++) {
        const worker = new Worker(__filename);
        worker.on('message', (nr) => {
            errors += nr;
            if (!--left) { console.log(JSON.stringify({ errors })); process.exit(0); }
        });
        workers.push(worker);
    }
    process.stdin.once('data', () => workers.forEach((worker) => worker.postMessage('end')));
    console.log('{}');
} else {
    const held = new Array(64);
    let errors = 0;
    const timer = setInterval(() => {
        for (let i = 0; i < 20; i++) {
            const at = Math.floor(Math.random() * 64), mark = Math.floor(Math.random() * 256);
            if (held[at] && !held[at].every((byte) => byte === held[at][0])) errors++;
            held[at] = Buffer.alloc(5000 + Math.floor(Math.random() * 5000), mark);
        }
    }, 5);
    parentPort.once('message', () => { clearInterval(timer); parentPort.postMessage(errors); });
}
"""
JAVA = """
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.*;
public class Load {
    static volatile boolean isOver;
    static final AtomicInteger errors = new AtomicInteger();
    static void work(int seed) {
        byte[] text = new byte[20000], packed = new byte[30000], again = new byte[20000];
        new java.util.Random(seed).nextBytes(text);
        try {
            while (!isOver) {
                Deflater deflater = new Deflater(1);
                deflater.setInput(text);
                deflater.finish();
                int nr = deflater.deflate(packed);
                deflater.end();
                Inflater inflater = new Inflater();
                inflater.setInput(packed, 0, nr);
                if (inflater.inflate(again) != text.length || !Arrays.equals(text, again))
                    errors.incrementAndGet();
                inflater.end();
                Thread.sleep(5);
            }
        } catch (Exception e) {
            errors.incrementAndGet();
        }
    }
    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[16];
        for (int i = 0; i < 16; i++) {
            int seed = i;
            (threads[i] = new Thread(() -> work(seed))).start();
        }
        System.out.println("{}");
        System.in.read();
        isOver = true;
        for (Thread thread : threads)
            thread.join();
        System.out.println("{\\"errors\\": " + errors + "}");
    }
}
"""


def written(name, text):
    path = os.path.join(h.folder(), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Program:
    """One that checks itself, and says how many errors it found."""

    def __init__(self, *words):
        program = shutil.which(words[0])
        if not program:
            raise h.Skip(f"NOT RUN: there is no {words[0]}")
        self.target = h.Workload(program, *words[1:])
        self.target.says()
        self.pid, self.process = self.target.pid, self.target.process

    def errors(self):
        self.target.go()
        return self.target.says()["errors"]

    def ends(self):
        assert self.target.wait() == 0


class Redis:
    """redis-server, and redis-benchmark over and over; the latter says an error, or fails, if an answer is wrong."""

    def __init__(self):
        # Debian has the server in redis-tools, by another name: it goes by argv[0]
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        self.benchmark = shutil.which("redis-benchmark")
        if not program or not self.benchmark:
            raise h.Skip("NOT RUN: redis is not installed (apt-get install redis-tools)")
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--dir", h.folder()],
            executable=program, stdout=subprocess.DEVNULL)
        h.running.append(self.process)
        self.pid, self.found, self.is_over = self.process.pid, 0, False
        end = time.monotonic() + h.HANGS
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        self.load = threading.Thread(target=self.loads, daemon=True)
        self.load.start()

    def loads(self):
        while not self.is_over:
            run = subprocess.run([self.benchmark, "-p", str(self.port), "-c", "16", "-n", "2000", "-d", "700", "-r", "2000", "-q",
                                  "-t", "set,get,lpush,lpop,sadd,hset"], capture_output=True, text=True, check=False)
            self.found += run.returncode != 0 or "rror" in run.stdout + run.stderr

    def errors(self):
        self.is_over = True
        self.load.join()
        return self.found

    def ends(self):
        self.process.terminate()
        assert self.process.wait(h.HANGS) == 0


def once(program, is_killed, moment, tally):
    """An injection and its removal, or a kill of cprof at that part of the time that these take. Returns how long it took."""
    start = time.monotonic()
    run = h.cprof("heap", "--inject", "--rate", random.choice(("1", "4096", "524288")), "--allow-empty", "-d", "0.1s", "-p",
                  program.pid)
    if is_killed:
        time.sleep(moment)
        run.signal(signal.SIGKILL)
        run.process.wait()
        tally["killed"] += 1
    else:
        ended = run.wait()
        is_refused = ended.code == 4 and any(reason in "\n".join(ended.lines) for reason in injecting.REFUSED)
        assert ended.code == 0 or is_refused, (ended.code, ended.lines)
        tally["refused" if is_refused else "injected"] += 1
    assert program.process.poll() is None, "the program ended"
    injecting.calls_have_returned(program.pid)
    injecting.slots_are_as_before(program.pid)
    return time.monotonic() - start


def injections(name, start):
    random.seed(SEED)
    print(f"# SEED={SEED} kills at these moments again", flush=True)
    if IS_COUNTED:
        signal.alarm(0)
    program = start()
    tally, end, began = {"injected": 0, "refused": 0, "killed": 0}, time.monotonic() + SECONDS, time.monotonic()
    took = once(program, False, 0, tally)
    while sum(tally.values()) < (COUNT if tally["injected"] else COUNT + 5) and time.monotonic() < end:
        h.runs.clear()
        h.running[:] = [program.process]
        is_killed = sum(tally.values()) % 5 == 1
        last = once(program, is_killed, random.uniform(0, 1.2 * took), tally)
        took = took if is_killed else last
    left, errors, nr = injecting.left_slots(program.pid), program.errors(), sum(tally.values())
    print(f"# {name:8} {nr:5} runs: {tally['injected']:5} injected and removed, {tally['killed']:4} killed, {tally['refused']:4} refused; "
          f"0 crashes, {errors} errors, {left} slots left; "
          f"{(time.monotonic() - began) / nr:.1f} s each", flush=True)
    program.ends()
    assert not errors
    assert tally["injected"] or tally["refused"] < 2 or not IS_COUNTED, "it was always refused"


@h.test
def redis():
    injections("redis", Redis)


@h.test
def python3():
    injections("python3", lambda: Program("/usr/bin/python3", written("load.py", PYTHON)))


@h.test
def node():
    injections("node", lambda: Program("node", written("load.js", NODE)))


@h.test
def java():
    injections("java", lambda: Program("java", "-Xmx256m", written("Load.java", JAVA)))


@h.test
def busy():
    """In C."""

    class Busy(Program):
        def __init__(self):  # pylint: disable=super-init-not-called
            self.target = injecting.busy(16)
            self.pid, self.process = self.target.pid, self.target.process

        def errors(self):
            self.target.go()
            self.target.says()
            return super().errors()

    injections("busy", Busy)


h.main()
