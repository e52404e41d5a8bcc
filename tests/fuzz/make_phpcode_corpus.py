#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes tests/fuzz/corpus/phpcode: what PHP functions consist of (user/runtime/phpcode.h), good ones and some that are
not."""
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "phpcode")
FILE_AT = {0x0704: 136, 0x0800: 144, 0x0801: 144, 0x0802: 152, 0x0803: 144, 0x0804: 168}


def string(text, length=None):
    return struct.pack("<QQQ", 1, 0x1234, len(text) if length is None else length) + text


def function(version, kind=2, line=7):
    return bytes([kind]).ljust(FILE_AT.get(version, 152) + 8, b"\1") + struct.pack("<II", line, line + 9)


def parts(version, name=b"f", class_name=b"", file=b"/app/prog.php", kind=2, line=7):
    copies = [function(version, kind, line)] + [
        text if text[:1] == b"\1" else string(text) if text else b"" for text in (name, class_name, file)]
    return struct.pack("<5H", version, *map(len, copies)) + b"".join(copies)


INPUTS = {f"{version >> 8}.{version & 255}": parts(version) for version in FILE_AT}
INPUTS.update({
    "method": parts(0x0802, b"run", b"App\\Service"),
    "internal": parts(0x0802, b"usort", kind=1),
    "closure": parts(0x0802, b"{closure}"),
    "closure_of": parts(0x0802, b"App\\{closure}", b"App\\Service"),
    "closure_8.4": parts(0x0804, b"{closure:/app/prog.php:7}"),
    "main": parts(0x0802, b""),
    "nameless": parts(0x0802, b"", file=b""),
    "anonymous": parts(0x0802, b"run", b"class@anonymous\0/app/prog.php:3$0"),
    "namespace": parts(0x0802, b"run", b"App\\" * 45 + b"Service"),
    "bytes": parts(0x0802, b"caf\xe9\n"),
    "long": parts(0x0802, b"f" * 600),
    "beyond": parts(0x0802, string(b"short", 1 << 40)),
    "unknown": parts(0x0901),
    "short": parts(0x0802)[:40],
})

os.makedirs(HERE, exist_ok=True)
for input_name, content in INPUTS.items():
    with open(os.path.join(HERE, input_name), "wb") as out:
        out.write(content)
