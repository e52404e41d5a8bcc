#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many user stacks are whole, on stock binaries under a real load, and why the others are not.

    tests/bench/complete.py [PROGRAM...]      all of them if none is named; needs root and build/cprof
        --seconds N   of profiling each (10)          --show     where stacks end, whole ones and others
        --perf        perf record beside it           --keep     leave the profiles in the work folder
        --node PATH   another node, measured as well (may be given several times)

Whole is strict: the walk came to a frame whose return address is undefined, or to _start, clone or
goexit. cprof's own closing lines (record -v) are the judge; beside them the profile's frames are
counted: how deep the stacks are, and how many of them have frames that were found by a frame pointer
in code which does not promise one ("guessed": code made at run time). Such a stack can be whole and yet
lack a frame: of a function that was interrupted before it had set up its own.

A JVM's compiled code uses rbp for other things, unless an option keeps it: both are measured. Without
frame pointers its frames are found by what the VM says of its code (user/runtime/hotspot.h).

Nothing is installed: what is missing is named and left out. Servers listen on loopback only and keep
their data in a temporary folder; whatever is started here is ended here, by pid.
"""
import argparse
import collections
import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LOADS = os.path.join(HERE, "loads")
CPROF = os.path.join(ROOT, "build", "cprof")
HZ = 199
TARGET = 99.5
sys.path.insert(0, os.path.dirname(HERE))

import contract  # noqa: E402


class Missing(Exception):
    """A program that is not installed; says the packages that have it."""


def need(program, packages, *places):
    """The path of a program, the Debian one rather than what PATH begins with."""
    for path in [*places, f"/usr/bin/{program}", f"/usr/sbin/{program}", shutil.which(program)]:
        if path and os.access(path, os.X_OK):
            return path
    raise Missing(f"{program} is not installed (apt-get install {packages})")


def load(name):
    return os.path.join(LOADS, name)


class Bench:
    """One program's run: its work folder, and what was started for it."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds
        self.lasting = str(seconds + 20)  # how long a load would go on if it were not ended
        self.children = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def run(self, *argv, **options):
        """To its end."""
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout[-800:]}")
        return done.stdout

    def start(self, *argv, **options):
        """In the background, in a process group of its own. Returns its pid."""
        child = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, **options)
        self.children.append(child)
        return child.pid

    def end(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        self.children = []

    def wait_for_port(self, port):
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError(f"nothing listens on port {port}")

    def loop(self, command):
        """A command to run again and again, to be given to cprof."""
        return ["timeout", str(self.seconds + 1), "/bin/sh", "-c", f"while :; do {command}; done"]


def children_of(pid):
    return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]


# The programs ------------------------------------------------------------------------------------
# Each returns what to profile: a list of pids, or of strings: a command.

def python3(bench):
    pid = bench.start(need("python3", "python3"), load("load.py"), bench.lasting)
    return [pid]


def perl(bench):
    return [bench.start(need("perl", "perl"), load("load.pl"), bench.lasting)]


def make_repository(bench, git):
    """A thousand commits to forty files, written by fast-import."""
    stream, mark = [], 0
    for i in range(1000):
        lines = [f"{i * j % 97} some text {j * (i // 40) % 89}\n" for j in range(300)]
        blob = "".join(lines)
        mark += 1
        stream.append(f"blob\nmark :{mark}\ndata {len(blob)}\n{blob}\n"
                      f"commit refs/heads/master\ncommitter a <a@b> {1600000000 + i} +0000\n"
                      f"data 6\nmore {i % 10}\nM 100644 :{mark} dir{i % 5}/file{i % 40}.c\n\n")
    bench.run(git, "init", "-q", "repo")
    subprocess.run([git, "-C", bench.path("repo"), "fast-import", "--quiet"], check=True,
                   input="".join(stream), text=True)
    bench.run(git, "-C", "repo", "reset", "-q", "--hard", "master")


def git(bench):
    program = need("git", "git")
    make_repository(bench, program)
    return bench.loop(f"{program} -C repo log -p --stat >/dev/null; {program} -C repo gc -q "
                      f"--aggressive --prune=now; {program} -C repo blame dir0/file0.c >/dev/null; "
                      f"{program} -C repo grep -c 'some.*[0-9]8$' HEAD~3 >/dev/null")


def cc1plus(bench):
    program = need("g++", "g++")
    return bench.loop(f"{program} -O2 -g -std=c++17 -c -o x.o {load('load.cc')}")


def clang(bench):
    program = need("clang++", "clang")
    return bench.loop(f"{program} -O2 -g -std=c++17 -c -o x.o {load('load.cc')}")


def redis(bench):
    server = need("redis-server", "redis-server")
    client = need("redis-benchmark", "redis-tools")
    port = "16399"
    pid = bench.start(server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir",
                      bench.folder)
    bench.wait_for_port(int(port))
    bench.start(client, "-p", port, "-l", "-q", "-n", "20000", "-c", "20", "-t",
                "set,get,lpush,lrange_300,zadd,sadd,hset,mset", "-r", "10000")
    bench.start(client, "-p", port, "-l", "-q", "-n", "10000", "-c", "2", "eval",
                "local s = {} for i = 1, 200 do s[i] = cjson.encode({i, tostring(i)}) end "
                "redis.call('sort', 'mylist', 'limit', 0, 5, 'alpha') "
                "return table.concat(s):gsub('%d', 'x')", "0")
    return [pid]


def postgres(bench):
    tools = "/usr/lib/postgresql/15/bin"
    initdb = need("initdb", "postgresql", f"{tools}/initdb")
    server = need("postgres", "postgresql", f"{tools}/postgres")
    pgbench = need("pgbench", "postgresql-contrib", f"{tools}/pgbench")
    user = pwd.getpwnam("postgres")
    options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    os.chown(bench.folder, user.pw_uid, user.pw_gid)
    bench.run(initdb, "-D", bench.path("data"), "-A", "trust", "-N", **options)
    pid = bench.start(server, "-D", bench.path("data"), "-p", "25439", "-h", "127.0.0.1", "-k",
                      bench.folder, "-c", "fsync=off", **options)
    bench.wait_for_port(25439)
    login = ["-h", "127.0.0.1", "-p", "25439", "-U", "postgres"]
    time.sleep(1)
    bench.run(pgbench, *login, "-i", "-q", "-s", "2", "postgres", **options)
    heavy = bench.write("heavy.sql", "select bid, count(*), avg(abalance), max(md5(filler || aid)) "
                        "from pgbench_accounts a join pgbench_branches b using (bid) "
                        "where aid % 7 < 3 group by bid order by 2;\n")
    for what in ["-S"], ["-N"], ["-f", heavy]:
        bench.start(pgbench, *login, "-n", *what, "-T", bench.lasting, "postgres", **options)
    time.sleep(1)
    return children_of(pid)


def nginx(bench):
    server = need("nginx", "nginx-light")
    ab = need("ab", "apache2-utils")
    openssl = need("openssl", "openssl")
    os.chmod(bench.folder, 0o755)
    bench.run(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
              "-keyout", "key.pem", "-out", "cert.pem")
    bench.write("page.html", "<p>A page of some length.</p>\n" * 400)
    conf = bench.write("nginx.conf", f"""
        daemon off; worker_processes 1; pid {bench.folder}/pid; error_log {bench.folder}/log;
        events {{ }}
        http {{
            access_log {bench.folder}/access; gzip on; gzip_types *; root {bench.folder};
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {{
                listen 127.0.0.1:18089; listen 127.0.0.1:18449 ssl;
                ssl_certificate cert.pem; ssl_certificate_key key.pem;
                location ~ ^/proxy/(.*)$ {{ proxy_pass http://127.0.0.1:18089/$1; }}
            }}
        }}""")
    pid = bench.start(server, "-p", bench.folder, "-c", conf)
    bench.wait_for_port(18089)
    for argv in (["-k", "-c", "10", "http://127.0.0.1:18089/page.html"],
                 ["-c", "4", "http://127.0.0.1:18089/proxy/page.html"],
                 ["-c", "4", "https://127.0.0.1:18449/page.html"]):
        bench.start(ab, "-q", "-H", "Accept-Encoding: gzip", "-t", bench.lasting, "-n", "10000000",
                    *argv)
    return children_of(pid)


def sqlite3(bench):
    return bench.loop(f"{need('sqlite3', 'sqlite3')} :memory: <{load('load.sql')} >/dev/null")


def node(bench, program=None):
    pid = bench.start(program or need("node", "nodejs"), load("load.js"), bench.lasting)
    time.sleep(1)
    return [pid]


def java(bench, *flags):
    bench.run(need("javac", "default-jdk-headless"), "-d", bench.folder, load("Load.java"))
    pid = bench.start(need("java", "default-jre-headless"), *flags, "-cp", bench.folder,
                      "Load", bench.lasting)
    time.sleep(1)
    return [pid]


def java_fp(bench):
    return java(bench, "-XX:+PreserveFramePointer")


def go(bench):
    bench.run(need("go", "golang-go"), "build", "-o", bench.path("load"), load("load.go"))
    return [bench.start(bench.path("load"), bench.lasting)]


def rust(bench):
    bench.run(need("rustc", "rustc"), "-O", "-o", bench.path("load"), load("load.rs"))
    return [bench.start(bench.path("load"), bench.lasting)]


PROGRAMS = {"python3": python3, "perl": perl, "git": git, "cc1plus": cc1plus, "clang": clang,
            "redis-server": redis, "postgres": postgres, "nginx": nginx, "sqlite3": sqlite3,
            "node": node, "java": java, "java-frame-pointers": java_fp, "go": go, "rust": rust}


# Measuring ---------------------------------------------------------------------------------------

def target_of(what, seconds):
    """The end of cprof's and perf's command line."""
    if isinstance(what[0], int):
        return ["-p", ",".join(map(str, what))], ["sleep", str(seconds)]
    return ["--", *what], []


class Result:
    def __init__(self):
        self.nr = self.nr_whole = self.nr_frames = self.nr_guessed = 0
        self.reasons = {}
        self.last = collections.defaultdict(collections.Counter)  # reason: {last frames: samples}


def count_stacks(result, profile):
    """What cprof's closing lines do not say: guessed frames, and where the broken stacks end."""
    for sample in profile["samples"]:
        nr, stack = sample["values"]["samples"], sample["stack"]
        result.nr_guessed += nr * any(name.endswith("[guessed]") for name in stack)
        if stack[-1].startswith("[truncated: "):
            files = [os.path.basename((f["mapping"] or {}).get("path") or "")
                     for f in sample["frames"]]
            names = [f"{n} ({f})" for n, f in zip(stack, files)]
            result.last[stack[-1][len("[truncated: "):-1]][" < ".join(names[-6:-1])] += nr
        else:
            result.last["whole"][stack[-1]] += nr


def measure(bench, what):
    profile = bench.path("cprof.pb.gz")
    which, _ = target_of(what, bench.seconds)
    limit = ["-d", f"{bench.seconds}s"] if isinstance(what[0], int) else []
    run = subprocess.run([CPROF, "record", "-v", "-F", str(HZ), "-o", profile, *limit, *which],
                         cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    bench.write("cprof.log", run.stderr)
    result = Result()
    for line in run.stderr.splitlines():
        found = re.match(r"cprof: stacks (.*): ([\d,]+) of ([\d,]+) \(", line)
        if found:
            nr, result.nr = (int(n.replace(",", "")) for n in found.groups()[1:])
            if found[1] == "whole":
                result.nr_whole = nr
            else:
                result.reasons[found[1]] = nr
        found = re.match(r"cprof: user frames: ([\d,]+)", line)
        if found:
            result.nr_frames = int(found[1].replace(",", ""))
    if not result.nr:
        raise RuntimeError(f"cprof: exit {run.returncode}\n{run.stderr[-800:]}")
    count_stacks(result, contract.load(profile))
    return result


# perf --------------------------------------------------------------------------------------------

ROOTS = {"_start", "clone", "__clone", "clone3", "__clone3", "runtime.goexit.abi0", "runtime.mstart",
         "runtime.goexit"}


def entry_offset(path, known={}):
    """The file offset of an executable's entry point: _start, whatever symbols are left."""
    if path not in known:
        known[path] = None
        with contextlib.suppress(OSError, struct.error), open(path, "rb") as f:
            head = f.read(64)
            entry, at = struct.unpack_from("<QQ", head, 24)
            size, nr = struct.unpack_from("<HH", head, 54)
            for i in range(nr if head[:4] == b"\x7fELF" else 0):
                f.seek(at + i * size)
                kind, _, offset, address, _, length = struct.unpack("<IIQQQQ", f.read(40))
                if kind == 1 and address <= entry < address + length:
                    known[path] = entry - address + offset
    return known[path]


def is_root(pid, ip, name, maps):
    if name.split("+")[0] in ROOTS:
        return True
    for start, length, offset, path in maps.get(pid, ()):
        if start <= ip < start + length:
            entry = entry_offset(path)
            return entry is not None and 0 <= ip - start + offset - entry < 64
    return False


def perf(bench, what, mode):
    """The share of perf's user stacks whose last frame is an outermost function, as cprof judges."""
    program = need("perf", "linux-perf")
    which, wait = target_of(what, bench.seconds)
    data = bench.path(f"perf.{mode}")
    subprocess.run([program, "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "--call-graph", mode,
                    "-o", data, *(["-p", which[1], "--", *wait] if wait else which)],
                   cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    script = subprocess.run([program, "script", "-i", data, "--show-mmap-events", "--max-stack",
                             "1024", "-F", "pid,event,ip,sym"], cwd=bench.folder, text=True,
                            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    maps, nr, nr_whole, pid, last = collections.defaultdict(list), 0, 0, 0, None
    for line in [*script.stdout.splitlines(), ""]:
        mmap = re.search(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[(0x\w+)\((0x\w+)\) @ (\w+) .*: \S+ (.*)$",
                         line)
        frame = re.match(r"\s+([0-9a-f]+) (.*)", line)
        if mmap:
            maps[int(mmap[1])].append((int(mmap[2], 16), int(mmap[3], 16), int(mmap[4], 0), mmap[5]))
        elif frame:
            last = (int(frame[1], 16), frame[2])
        elif line.strip():
            pid = int(line.split()[0])
        elif last:
            if last[0] < 1 << 63:
                nr += 1
                nr_whole += is_root(pid, *last, maps)
            last = None
    size = os.path.getsize(data) / 1e6
    return f"{100 * nr_whole / nr:.2f} % of {nr:,} ({size:.1f} MB)" if nr else "no samples"


# The table ---------------------------------------------------------------------------------------

def print_result(name, result, options, beside):
    share = 100 * result.nr_whole / result.nr
    print(f"{name:<22} {result.nr:>7,} {share:>8.2f} {result.nr_frames / result.nr:>7.1f} "
          f"{100 * result.nr_guessed / result.nr:>8.1f}  {'' if share >= TARGET else 'below'}")
    for root, nr in result.last["whole"].most_common(8 if options.show else 0):
        print(f"{'':<22} {nr:>7,} {'':>8}  ends in {root}")
    for reason, nr in sorted(result.reasons.items(), key=lambda item: -item[1]):
        print(f"{'':<22} {nr:>7,} {100 * nr / result.nr:>8.2f}  {reason}")
        for frames, count in result.last[reason].most_common(8 if options.show else 0):
            print(f"{'':<32} {count:>5,}  {frames}")
    for mode, text in beside.items():
        print(f"{'':<22} perf {mode}: {text}")
    sys.stdout.flush()


def bench_one(name, program, options):
    folder = tempfile.mkdtemp(prefix=f"complete-{name.replace('/', '_')}-")
    bench = Bench(folder, options.seconds)
    try:
        what = program(bench)
        time.sleep(0.5)
        result = measure(bench, what)
        beside = {mode: perf(bench, what, mode) for mode in (["fp", "dwarf"] if options.perf else [])}
    finally:
        bench.end()
        if options.keep:
            print(f"# {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print_result(name, result, options, beside)
    return 100 * result.nr_whole / result.nr >= TARGET


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--node", action="append", default=[], metavar="PATH")
    for flag in "--show", "--perf", "--keep":
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    programs = {name: PROGRAMS[name] for name in options.programs or PROGRAMS}
    for path in options.node if "node" in programs else ():
        programs[path] = lambda bench, path=path: node(bench, path)

    if os.geteuid():
        sys.exit("SKIP: profiling needs root")
    print(f"{'program':<22} {'stacks':>7} {'whole %':>8} {'frames':>7} {'guessed %':>9}")
    nr_good = nr_below = nr_missing = 0
    for name, program in programs.items():
        try:
            good = bench_one(name, program, options)
            nr_good, nr_below = nr_good + good, nr_below + (not good)
        except (Missing, RuntimeError) as why:
            print(f"{name:<22} SKIP: {why}")
            nr_missing += 1
    print(f"{nr_good} programs with {TARGET} % or more, {nr_below} below, {nr_missing} not measured")


main()
