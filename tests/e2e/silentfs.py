#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A FUSE file system with one file, without a library: silentfs.py FOLDER FILE mounts one on FOLDER whose "file" is FILE,
prints "mounted", and serves until it is killed. Stopped by SIGSTOP, it answers nothing. After SIGUSR1 it takes requests and
answers none: who asked cannot even be killed.

Source: <linux/fuse.h>, protocol 7.31."""
import ctypes
import os
import signal
import stat
import struct
import sys

LOOKUP, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, INTERRUPT = 1, 3, 14, 15, 17, 18, 25, 26, 27, 36
FORGET, BATCH_FORGET, ACCESS = 2, 42, 34
ROOT, FILE = 1, 2
HEAD = struct.Struct("<IIQQIIII")


def attributes(node, size):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, content):
    """(error, payload) of a request."""
    if opcode == INIT:
        major, minor, ahead = struct.unpack_from("<III", body)
        return 0, struct.pack("<IIIIHHIIHHI28x", major, min(minor, 31), ahead, 0, 16, 12, 131072, 1, 0, 0, 0)
    if opcode == LOOKUP:
        if node != ROOT or body != b"file\0":
            return -2, b""
        return 0, struct.pack("<QQQQII", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE, len(content))
    if opcode == GETATTR:
        return 0, struct.pack("<QII", 3600, 0, 0) + attributes(node, 0 if node == ROOT else len(content))
    if opcode in (OPEN, OPENDIR):
        return 0, struct.pack("<QII", 0, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return 0, content[offset:offset + size]
    if opcode == STATFS:
        return 0, struct.pack("<QQQQQIII28x", 0, 0, 0, 2, 0, 4096, 255, 4096)
    if opcode in (RELEASE, FLUSH, ACCESS):
        return 0, b""
    return -38, b""


def main(folder, path):
    with open(path, "rb") as file:
        content = file.read()
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"silent", folder.encode(), b"fuse", 0, options.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    swallows = []
    signal.signal(signal.SIGUSR1, lambda *_: swallows.append(True))
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:
            return
        _, opcode, unique, node, *_ = HEAD.unpack_from(request)
        if swallows or opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        error, payload = answer(opcode, node, request[HEAD.size:], content)
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(payload), error, unique) + payload)
        except OSError:
            pass  # nobody waits for it any more


main(*sys.argv[1:])
