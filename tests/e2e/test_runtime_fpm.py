#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""php-fpm: the functions of PHP in its workers, which one request after the other makes anew.

It listens on a socket in a folder of its own; its workers answer a bounded number of requests."""
import glob
import os
import shutil
import socket
import struct
import threading
import time

import harness as h
import unwinding as u

CONFIGURATION = """
[global]
error_log = {folder}/log
daemonize = no
[www]
listen = {folder}/socket
user = root
pm = static
pm.max_children = 2
{more}
"""
PAGE = """<?php
function spin($n) {
    $x = 0;
    while ($n) {
        $x += $n * $n % 7;
        $n -= 1;
    }
    return $x;
}
class Page {
    function row($n) { return spin($n + 20000); }
    function show() { return array_sum(array_map(fn($n) => $this->row($n), range(1, 10))); }
}
function page() { return (new Page)->show(); }
echo page();
"""
LINES = {name: number for number, line in enumerate(PAGE.splitlines(), 1)
         for name in ("spin", "Page::row", "Page::show", "page") if f"function {name.rpartition(':')[2]}(" in line}
MOST_REQUESTS = 20000


def php_fpm():
    found = [shutil.which("php-fpm")] if shutil.which("php-fpm") else sorted(glob.glob("/usr/sbin/php-fpm*"))
    if not found:
        raise h.Skip("no php-fpm (apt-get install php-fpm)")
    return found[-1]


def record(kind, body):
    return struct.pack(">BBHHBx", 1, kind, 1, len(body), 0) + body


def ask(path, script):
    """A request by FastCGI: the whole answer; nothing, where the server has ended."""
    parameters = b"".join(struct.pack(">BI", len(name), len(value) | 1 << 31) + name + value for name, value in (
        (b"SCRIPT_FILENAME", script.encode()), (b"REQUEST_METHOD", b"GET")))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(h.HANGS)
        connection.connect(path)
        connection.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, parameters) + record(4, b"") + record(5, b""))
        return b"".join(iter(lambda: connection.recv(65536), b""))


class Server:
    def __init__(self, folder, script, *more):
        path = os.path.join(folder, "conf")
        os.chmod(folder, 0o755)
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(folder=folder, more="\n".join(more)))
        self.socket, self.script, self.nr_answers, self.is_over = os.path.join(folder, "socket"), script, 0, False
        self.main = h.Workload(php_fpm(), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", path)
        end = time.monotonic() + h.HANGS
        while len(self.workers()) < 2 or not os.path.exists(self.socket):
            assert self.main.process.poll() is None and time.monotonic() < end, "php-fpm does not begin"
            time.sleep(0.05)

    def workers(self):
        return h.children(self.main.pid)

    def ask_on(self):
        while not self.is_over and self.nr_answers < MOST_REQUESTS:
            self.nr_answers += b"Content-type" in ask(self.socket, self.script)

    def __enter__(self):
        self.asking = threading.Thread(target=self.ask_on)
        self.asking.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.asking.join()
        self.main.process.terminate()
        self.main.wait()


def samples_of(server):
    """While a hundred requests were answered."""
    with server:
        cprof = h.cprof("record", "-F", 999, "--no-kernel", "-p", ",".join(map(str, server.workers()))).attached()
        before, end = server.nr_answers, time.monotonic() + h.HANGS
        while server.nr_answers < before + 100:
            assert server.asking.is_alive() and time.monotonic() < end, "it does not answer"
            time.sleep(0.05)
        return cprof.stop().profile()["samples"]


def is_legal(sample):
    frames = [frame for frame in sample["frames"] if frame["mapping"]["path"].startswith("[php ") and frame["name"] in LINES]
    return [(frame["name"], frame["start_line"]) for frame in frames] == list(LINES.items())


@h.test
def functions_of_the_workers():
    """With what opcache keeps for all workers, and without: then each request compiles the page again."""
    for cached in (1, 0):
        samples = samples_of(Server(h.folder(), u.script(PAGE, "page.php"), f"php_admin_value[opcache.enable] = {cached}"))
        spinning = [sample for sample in samples if "spin" in sample["stack"]]
        wrong = [sample for sample in spinning if not is_legal(sample)]
        gone = u.count([sample for sample in samples if "[code is gone]" in sample["stack"]])
        print(f"# opcache {cached}: {u.count(spinning)} of {u.count(samples)} samples in spin(), {u.count(wrong)} wrong, {gone} gone",
              flush=True)
        u.assert_enough(u.count(spinning), "in spin()")
        assert u.count(wrong) <= max(2, 0.005 * u.count(spinning)), [sample["stack"] for sample in wrong]
        assert gone <= max(2, 0.01 * u.count(samples)), gone
        assert u.count(spinning) > 0.5 * u.count(samples), (u.count(spinning), u.count(samples))


h.main()
