#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Debug files from Debian's own debuginfod server on the loopback interface, and from servers that are none: they cost a line
and a bounded time, and the profile is written all the same."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import dwarfjudge as d
import harness as h

SAID = re.compile(r"debuginfod: ([\d,]+) debug files? downloaded \(([\d.]+) MB in ([\d.]+) s\), ([\d,]+) not there"
                  r"(?:, ([\d,]+) failed \((.*)\))?(?:, ([\d,]+) not asked for: time was up)?")


def said(run):
    """Downloaded, not there, failed, why, late."""
    (line,) = [match for text in run.lines if (match := SAID.search(text))] or [None]
    assert line, run.lines
    return int(line[1]), int(line[4]), int(line[5] or 0), line[6] or "", int(line[7] or 0)


def stripped():
    """A stripped program, the file that llvm-symbolizer is asked about, and a folder with its debug file."""
    whole = d.build()
    folder = os.path.dirname(whole)
    os.makedirs(os.path.join(folder, "bin"))
    os.makedirs(os.path.join(folder, "served"))
    program = shutil.copy(whole, os.path.join(folder, "bin", "twofold"))
    d.run("objcopy", "--only-keep-debug", whole, os.path.join(folder, "served", "twofold.debug"))
    d.run("strip", program)
    return program, whole, os.path.join(folder, "served")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(folder, build_id):
    """Debian's debuginfod, once it knows the file."""
    if not shutil.which("debuginfod"):
        raise h.Skip("no debuginfod")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(["debuginfod", "-d", ":memory:", "-p", str(port), "-F", "-t", "0", "-g", "0", folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              env={**os.environ, "DEBUGINFOD_URLS": ""})
    try:
        limit = time.monotonic() + h.HANGS
        while True:
            try:
                with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=h.HANGS) as answer:
                    assert answer.status == 200
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None and time.monotonic() < limit, "debuginfod does not index the folder"
                time.sleep(0.1)
        yield url
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def answering(answer):
    """A server on the loopback interface that does answer(connection) for each; and the list of what was asked of it."""
    asked = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=[connection], daemon=True).start()

    def handle(connection):
        with connection, contextlib.suppress(OSError):
            asked.append(connection.recv(65536).split(b"\r\n")[0])
            answer(connection)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def http(body, status=b"200 OK", length=None):
    length = len(body) if length is None else length
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % length + body


def is_named(run):
    seen = {name for chain in d.chains(run).values() for name, _, _ in chain}
    return {"leaf", "middle", "one", "two", "main"} <= seen


@h.test
def with_a_server():
    """Names, lines and inlined functions are there with it, and not without it; nothing is asked without the flag."""
    program, whole, folder = stripped()
    assert not is_named(d.record(program))
    with served(folder, d.build_id(whole)) as url:
        run = d.record(program, f"--debuginfod={url}")
        d.assert_same(run, whole)
        assert said(run)[0] == 1 and said(run)[2] == 0, run.lines
        given = {**os.environ, "DEBUGINFOD_URLS": f"{url} http://127.0.0.1:1"}
        for options in (["--debuginfod"], ["--debuginfod", "--no-sandbox"]):
            run = h.cprof("record", "-F", "1999", "--no-kernel", *options, "--", program, "0.15", env=given).wait()
            d.assert_same(run, whole)
        run = h.cprof("record", "-F", "1999", "--no-kernel", "--", program, "0.15", env=given).wait()
        assert not is_named(run) and not [line for line in run.lines if line.startswith("cprof: debuginfod")], run.lines
        run = h.cprof("heap", f"--debuginfod={url}", "--allow-empty", "--", program, "0.1").wait()
        assert run.code == 0, run.lines


def by_address(path):
    frames = [frame for sample in h.contract.load(path)["samples"] for frame in sample["frames"]
              if frame["mapping"]["path"].endswith("/twofold")]
    found = {}
    for frame in frames:
        found.setdefault(frame["address"], set()).add((frame["name"], frame["file"], frame["line"]))
    return found


@h.test
def after_the_fact():
    """cprof symbolize downloads, too, and not without the flag."""
    program, whole, folder = stripped()
    with served(folder, d.build_id(whole)) as url:
        known = d.record(program, f"--debuginfod={url}")
        bare = d.record(program).output
        named = os.path.join(h.folder(), "named.pb.gz")
        for options in ([], [f"--debuginfod={url}"], [f"--debuginfod={url}", "--no-sandbox"]):
            done = h.run_cprof("symbolize", bare, *options, "-o", named)
            assert ("debuginfod: 1 debug file downloaded" in done.stderr) == bool(options), done.stderr
            found = by_address(named)
            assert ("leaf" in {name for frames in found.values() for name, _, _ in frames}) == bool(options)
        right = d.judged(whole, [address for address, frames in found.items()
                                 if {name for name, _, _ in frames} & d.FUNCTIONS])
        assert right and {address: set(chain) for address, chain in right.items()} == {
            address: found[address] for address in right}, (found, right)
        assert d.own(d.chains(known))


# What runs after it sees no debug file of a package that is installed.
NO_DEBUG_FILES = ("/usr/bin/unshare", "-m", "sh", "-c", 'if [ -d /usr/lib/debug ]; then mount -t tmpfs none /usr/lib/debug; fi; exec "$@"',
                  "sh")


def libc_package():
    """The debug file of this machine's libc by libc6-dbg, downloaded where that is not installed, its build-id, and libc."""
    folder = h.folder()
    libc = next((path for path in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if os.path.exists(path)), None)
    build_id = libc and d.build_id(libc)
    place = build_id and f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if place and os.path.exists("/" + place):
        return shutil.copy("/" + place, folder), build_id, libc
    if not place or not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise h.Skip("no libc6-dbg, and no apt-get to download it")
    version = h.run("dpkg-query", "-W", "-f", "${Version}", "libc6", status=None).stdout
    h.run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", f"libc6-dbg={version}", status=None, cwd=folder)
    for package in os.listdir(folder):
        d.run("dpkg-deb", "-x", os.path.join(folder, package), os.path.join(folder, "debug"))
    if not os.path.exists(os.path.join(folder, "debug", place)):
        raise h.Skip(f"libc6-dbg {version} cannot be downloaded, or is not that of this libc")
    return os.path.join(folder, "debug", place), build_id, libc


@h.test
def debug_files_of_libc():
    """Debian's own package on a server: record and symbolize name functions of libc that have no symbol in it, as nm
    has them."""
    debug, build_id, libc = libc_package()
    exported = set(re.findall(r" ([\w.]+)(?:@.*)?$", h.run("nm", "-D", "--defined-only", libc).stdout, re.M))
    known = {name: (int(start, 16), int(size, 16)) for start, size, name in re.findall(
        r"^(\w+) (\w+) [tT] ([\w.]+)$", h.run("nm", "-S", debug).stdout, re.M)}
    program = [d.build(), "0.3"]

    def hidden(path):
        """Frames of libc that have a symbol which it does not export."""
        return [frame for sample in h.contract.load(path)["samples"] for frame in sample["frames"]
                if frame["mapping"]["build_id"] == build_id and frame["system_name"] and frame["system_name"] not in exported]

    def assert_right(path, said_to_be):
        found = [frame for frame in hidden(path) if frame["system_name"] in known]
        assert "__libc_start_call_main" in {frame["system_name"] for frame in found}, (found[:3], said_to_be)  # main's caller
        for frame in found:
            start, size = known[frame["system_name"]]
            assert start <= frame["address"] < start + size, frame
            assert frame["line"] or frame["system_name"] != "__libc_start_call_main", frame

    with served(os.path.dirname(debug), build_id) as url:
        bare = h.cprof("record", "-F", "999", "--no-kernel", "--", *program, run_as=NO_DEBUG_FILES).wait()
        assert not hidden(bare.output), hidden(bare.output)[:3]
        run = h.cprof("record", "-F", "999", "--no-kernel", f"--debuginfod={url}", "--debuginfod-timeout", "60s",
                      "--symbolize-timeout", "60s", "--", *program, run_as=NO_DEBUG_FILES).wait()
        assert said(run)[0] >= 1, run.lines
        assert_right(run.output, run.lines)
        named = os.path.join(h.folder(), "named.pb.gz")
        done = h.run(*NO_DEBUG_FILES, h.CPROF, "symbolize", bare.output, f"--debuginfod={url}", "--debuginfod-timeout", "60s",
                           "--symbolize-timeout", "60s", "-o", named)
        assert_right(named, done.stderr)


@h.test
def of_a_file_that_is_not_here():
    """cprof symbolize asks for what is on another machine: the mapping's build-id is enough, and it asks once."""
    program, whole, folder = stripped()
    bare, wanted = d.record(program).output, b"GET /buildid/" + d.build_id(whole).encode() + b"/debuginfo HTTP/1.1"
    named = os.path.join(h.folder(), "named.pb.gz")
    with open(os.path.join(folder, "twofold.debug"), "rb") as file:
        debug = file.read()
    os.unlink(program)

    def answer(connection):
        connection.sendall(http(debug) if asked[-1] == wanted else http(b"", b"404 Not Found"))
    with answering(answer) as (url, asked):
        done = h.run_cprof("symbolize", bare, "-o", named)
        assert not asked and "their files are not here" in done.stderr, (done.stderr, asked)
        done = h.run_cprof("symbolize", bare, f"--debuginfod={url}", "-o", named)
        assert "debuginfod: 1 debug file downloaded" in done.stderr and asked.count(wanted) == 1, (done.stderr, asked)
    found = by_address(named)
    own = [address for address, frames in found.items() if {name for name, _, _ in frames} & d.FUNCTIONS]
    right = d.judged(whole, own)
    assert "leaf" in {name for frames in found.values() for name, _, _ in frames}
    assert {address: set(chain) for address, chain in right.items()} == {address: found[address] for address in right}, (found, right)


@h.test
def nothing_is_sent_without_the_flag():
    program, _, _ = stripped()
    with answering(lambda connection: connection.sendall(http(b"", b"404 Not Found"))) as (url, asked):
        given = {**os.environ, "DEBUGINFOD_URLS": url}
        h.cprof("record", "-F", "999", "--", program, "0.2", env=given).wait()
        assert not asked, asked
        run = d.record(program, f"--debuginfod={url}/")
        done, absent, failed, _, _ = said(run)
        assert (done, failed) == (0, 0) and absent == len(asked) > 0, (run.lines, asked)
        assert b"GET /buildid/" + d.build_id(program).encode() + b"/debuginfo HTTP/1.1" in asked, asked
        assert len(asked) == len(set(asked)), f"asked twice: {asked}"
        assert not is_named(run)


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        connection.sendall(b"\x7fELF" + bytes(1 << 16))


def trickling(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def silent(connection):
    while connection.recv(1):
        pass


@h.test
def bad_servers():
    """Silent, endless, slow, too large, another file, garbage, another protocol, an error, a circle of redirections."""
    program, _, _ = stripped()
    with open(os.path.join(os.path.dirname(d.build("-DOTHER")), "twofold"), "rb") as file:
        another = file.read()
    circle = b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    elsewhere = b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    servers = {
        "silent": silent, "endless": endless, "trickling": trickling,
        "too large": lambda connection: connection.sendall(http(b"x", length=1 << 40)),
        "another": lambda connection: connection.sendall(http(another)),
        "garbage": lambda connection: connection.sendall(http(os.urandom(100000))),
        "empty": lambda connection: connection.sendall(http(b"")),
        "cut": lambda connection: connection.sendall(http(another[:1000], length=len(another))),
        "no HTTP": lambda connection: connection.sendall(os.urandom(1000)),
        "error": lambda connection: connection.sendall(http(b"\x1b[2Joops", b"500 \x1b[2Joops")),
        "circle": lambda connection: connection.sendall(circle),
        "file": lambda connection: connection.sendall(elsewhere),
    }
    for name, answer in servers.items():
        with answering(answer) as (url, asked):
            run = d.record(program, f"--debuginfod={url}", "--debuginfod-timeout", "2s")
            done, _, failed, why, late = said(run)
            assert done == 0 and failed > 0 and not is_named(run), (name, run.lines)
            assert len([line for line in run.lines if line.startswith("cprof: debuginfod")]) == 1, (name, run.lines)
            assert "\x1b" not in why and url in why, (name, run.lines)
            assert failed <= 3, f"{name}: a server that fails is given up: {run.lines}"
            seconds = float(next(match for text in run.lines if (match := SAID.search(text)))[3])
            print(f"# {name}: {failed} failed, {late} late, in {seconds} s: {why}", flush=True)
            assert asked, name
    run = d.record(program, f"--debuginfod=http://127.0.0.1:{free_port()}")
    assert said(run)[2] > 0 and not is_named(run), run.lines


@h.test
def wrong_usage():
    for options, env, words in ((["--debuginfod"], {}, "DEBUGINFOD_URLS is not set"),
                                (["--debuginfod=ftp://127.0.0.1"], {}, "http://"), (["--debuginfod="], {}, "empty"),
                                (["--debuginfod"], {"DEBUGINFOD_URLS": "file:///tmp"}, "http://")):
        given = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"} | env
        run = h.cprof("record", *options, "--", "true", env=given).wait()
        assert run.code == 2 and words in "\n".join(run.lines), (options, run.lines)


if __name__ == "__main__":
    h.main()
