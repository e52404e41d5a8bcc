#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Asks a web server on the loopback interface for pages, without end.

    load.py PORT CLIENTS PATH...    it says {} once each client has got a page; after a line it says {"pages": N, "failed": N}
"""
import http.client
import itertools
import json
import sys
import threading

is_over = threading.Event()


def ask(port, paths, has_begun, counts):
    """One client: a connection for as long as the server keeps it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path in itertools.cycle(paths):
        if is_over.is_set():
            return
        try:
            connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
            reply = connection.getresponse()
            counts["pages" if reply.status == 200 and reply.read() else "failed"] += 1
        except (OSError, http.client.HTTPException):
            counts["failed"] += 1
            connection.close()
        has_begun.set()


def main():
    port, nr, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    begun = [threading.Event() for _ in range(nr)]
    counts = [{"pages": 0, "failed": 0} for _ in range(nr)]
    for each in zip(begun, counts):
        threading.Thread(target=ask, args=(port, paths, *each), daemon=True).start()
    for event in begun:
        event.wait()
    print("{}", flush=True)
    sys.stdin.readline()
    is_over.set()
    print(json.dumps({key: sum(each[key] for each in counts) for key in counts[0]}), flush=True)


main()
