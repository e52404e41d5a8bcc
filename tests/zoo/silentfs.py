#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A FUSE file system with one file, which stops answering.

    silentfs.py FOLDER FILE     mounts itself on FOLDER, as root; FOLDER/file is FILE

Says {"ready": PID}; answers until a line comes on stdin, says {"silent": PID}, and never answers again: a process that asks it
waits until it is killed, which also ends the wait. Exit code 77: it cannot be mounted here. Attributes may not be cached, so that stat(2) asks it, too.
"""
import ctypes
import json
import os
import select
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = \
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 36, 42
ROOT, FILE = 1, 2
ENOENT, ENOSYS = 2, 38
HEADER = struct.Struct("2I2Q4I")
MS_NOSUID_NODEV = 2 | 4


def say(**words):
    print(json.dumps(words), flush=True)


def mount(fd, folder):
    options = f"fd={fd},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"zoo", os.fsencode(folder), b"fuse", MS_NOSUID_NODEV, options):
        raise OSError(ctypes.get_errno(), "mount a FUSE file system")


def attributes(node, content):
    size, mode = (len(content), 0o100755) if node == FILE else (0, 0o40755)
    return struct.pack("6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, content):
    """(error, what to send), or None where none is expected."""
    if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    if opcode == INIT:
        _, minor, readahead, _ = struct.unpack_from("4I", body)
        return 0, struct.pack("4I2H2I2HI7I", 7, min(minor, 31), readahead, 0, 16, 12, 65536, 1, 0, 0, 0, *[0] * 7)
    if opcode == LOOKUP:
        known = node == ROOT and body.rstrip(b"\0") == b"file"
        return (0, struct.pack("4Q2I", FILE, 0, 0, 0, 0, 0) + attributes(FILE, content)) if known else (-ENOENT, b"")
    if opcode == GETATTR:
        return 0, struct.pack("Q2I", 0, 0, 0) + attributes(node, content)
    if opcode in (OPEN, OPENDIR):
        return 0, struct.pack("Q2I", 0, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("2QI", body)
        return 0, content[offset:offset + size]
    if opcode == STATFS:
        return 0, struct.pack("5Q3I28x", 0, 0, 0, 2, 0, 4096, 255, 4096)
    return (0, b"") if opcode in (RELEASE, FLUSH) else (-ENOSYS, b"")


def serve(fd, content):
    """Until a line comes."""
    while True:
        ready, _, _ = select.select([fd, sys.stdin], [], [])
        if sys.stdin in ready:
            sys.stdin.readline()
            return
        try:
            request = os.read(fd, 1 << 17)
        except FileNotFoundError:
            continue  # it was interrupted before it was read
        _, opcode, unique, node, *_ = HEADER.unpack_from(request)
        reply = answer(opcode, node, request[HEADER.size:], content)
        if reply:
            error, words = reply
            os.write(fd, struct.pack("IiQ", 16 + len(words), error, unique) + words)


def main():
    folder, path = sys.argv[1:]
    with open(path, "rb") as file:
        content = file.read()
    try:
        fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount(fd, folder)
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(77)
    say(ready=os.getpid())
    serve(fd, content)
    say(silent=os.getpid())
    while sys.stdin.readline():
        pass


main()
