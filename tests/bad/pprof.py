#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that look like pprof and are broken, and files that look broken and are not.

    tests/bad/pprof.py FOLDER     writes all of them, bad-NAME and odd-NAME

bad() gives (name, bytes, pattern): what cprof must say about it, in one line. odd() gives (name,
bytes): pprof's own package takes them, so cprof does. Written by hand from
https://protobuf.dev/programming-guides/encoding/, so that every kind of damage can be said.
"""
import gzip
import os
import sys
import zlib


def varint(value, width=0):
    """At least width bytes of it."""
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7f or len(out) + 1 < width:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def num(field, value):
    return varint(field << 3) + varint(value)


def msg(field, *parts):
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def text(s):
    return msg(6, s if isinstance(s, bytes) else s.encode())


TYPE = msg(1, num(1, 1), num(2, 2))
PERIOD_TYPE = msg(11, num(1, 1), num(2, 2))
SAMPLE = msg(2, num(1, 1), num(1, 2), num(2, 5))
MAPPING = msg(3, num(1, 1), num(2, 0x1000), num(3, 0x2000), num(5, 3))


def location(number, *parts):
    return msg(4, num(1, number), num(2, 1), num(3, 0x1000 + number), *parts)


LOCATIONS = location(1, msg(4, num(1, 1), num(2, 7))) + location(2, msg(4, num(1, 2)))
FUNCTIONS = msg(5, num(1, 1), num(2, 4)) + msg(5, num(1, 2), num(2, 5))
STRINGS = b"".join(map(text, ["", "cpu", "nanoseconds", "/bin/app", "leaf", "main"]))
TIME = num(9, 1700000000000000000)
HEADER = TIME + num(10, 10 ** 9) + PERIOD_TYPE + num(12, 10)


def profile(types=TYPE, sample=SAMPLE, mapping=MAPPING, locations=LOCATIONS, functions=FUNCTIONS,
            strings=STRINGS, header=HEADER):
    return types + sample + mapping + locations + functions + strings + header


GOOD = profile()
GZIP = gzip.compress(GOOD, mtime=0)


def containers():
    yield "empty", b"", "empty"
    yield "gzip-empty", gzip.compress(b""), "empty"
    yield "gzip-twice", gzip.compress(GZIP), "twice"
    for cut in (2, 3, 9, 10, 11, 20, len(GZIP) // 2, len(GZIP) - 9, len(GZIP) - 8, len(GZIP) - 4,
                len(GZIP) - 1):
        yield f"gzip-cut-{cut}", GZIP[:cut], "truncated|gzip"
    yield "gzip-then-zeros", GZIP + b"\0" * 100, "follow"
    yield "gzip-then-text", GZIP + b"trailing", "follow"
    yield "gzip-then-one-byte", GZIP + b"\x1f", "follow"
    yield "gzip-then-half-a-member", GZIP + GZIP[:12], "truncated"
    yield "gzip-glued", GZIP + GZIP, "concatenated"
    yield "glued", GOOD + GOOD, "concatenated"
    yield "gzip-method", GZIP[:2] + b"\x07" + GZIP[3:], "gzip"
    yield "gzip-flags", GZIP[:3] + b"\xe0" + GZIP[4:], "gzip"
    yield "gzip-crc", GZIP[:-8] + b"\0\0\0\0" + GZIP[-4:], "gzip"
    yield "gzip-length", GZIP[:-4] + b"\xff\xff\xff\x7f", "gzip"
    yield "gzip-bits", GZIP[:12] + bytes([GZIP[12] ^ 0xff]) + GZIP[13:], "gzip|truncated"
    yield "gzip-name-without-end", GZIP[:3] + b"\x08" + GZIP[4:10] + b"a" * 5000, "truncated|gzip"
    yield "zlib", zlib.compress(GOOD), "."
    yield "bzip2-magic", b"BZh91AY&SY" + bytes(range(200)), "."
    yield "elf", b"\x7fELF\x02\x01\x01" + bytes(1000), "."
    yield "png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100), "."
    yield "text", b"hello, world\n" * 100, "any format"
    yield "html", b"<!DOCTYPE html><html><body>404</body></html>", "a page or a picture, not a profile"
    yield "json", b'{"profile": []}', "any format"
    yield "gzip-text", gzip.compress(b"404 page not found\n"), "any format"
    yield "one-byte", b"\x0a", "."
    yield "one-zero", b"\0", "truncated"
    yield "zeros", bytes(4096), "string table"
    yield "ones", b"\xff" * 4096, "."


def inlined(lines, times):
    """One location with so many inlined functions, so many times in one stack."""
    stack = msg(2, msg(1, b"\x01" * times), num(2, 5))
    return gzip.compress(profile(sample=stack, locations=location(1, msg(4, num(1, 1)) * lines)), 9, mtime=0)


def long_names(length, times):
    """A function with so long a name, so many times in one stack."""
    names = b"".join(map(text, ["", "cpu", "nanoseconds", "/bin/app", "x" * length, "main"]))
    return gzip.compress(profile(sample=msg(2, msg(1, b"\x01" * times), num(2, 5)), strings=names), 9, mtime=0)


def bombs():
    yield "bomb-zeros", gzip.compress(bytes(64 << 20), 9), "bomb"
    yield "bomb-strings", gzip.compress(text("") * (30 << 20), 9), "bomb"
    yield "bomb-samples", gzip.compress(GOOD + msg(2) * (10 << 20), 9), "bomb"
    yield "bomb-small-samples", gzip.compress(GOOD + msg(2) * (5 << 20), 9), "0 values"
    yield "bomb-small-labels", gzip.compress(
        GOOD + msg(2, num(1, 1), num(2, 1), num(2, 2), msg(3) * (4 << 20)), 9), "2 values"
    yield "bomb-small-locations", gzip.compress(GOOD + msg(4) * (5 << 20), 9), "id is 0"
    yield "bomb-small-packed", gzip.compress(GOOD + msg(2, msg(1, b"\x09" * (8 << 20))), 9), "location 9"
    yield "bomb-inlines", inlined(1_000_000, 100), "expand to 100000000 frames"
    yield "bomb-inlines-often", inlined(1000, 4 << 20), "expand to 4194304000 frames"
    yield "bomb-names", long_names(4 << 20, 2 << 20), "expand to 8388"
    yield "bomb-members", gzip.compress(bytes(32 << 20), 9) * 20, "bomb"


def string_indexes():
    for name, bad in (("past", 6), ("far", 10 ** 9), ("negative", -1), ("least", -2 ** 63)):
        yield f"string-type-{name}", profile(types=msg(1, num(1, bad), num(2, 2))), "type refers to string"
        yield f"string-unit-{name}", profile(types=msg(1, num(1, 1), num(2, bad))), "unit refers to string"
        yield f"string-function-{name}", profile(
            functions=msg(5, num(1, 1), num(2, bad)) + msg(5, num(1, 2))), "name refers to string"
        yield f"string-system-{name}", profile(
            functions=msg(5, num(1, 1), num(3, bad)) + msg(5, num(1, 2))), "system name refers to string"
        yield f"string-source-{name}", profile(
            functions=msg(5, num(1, 1), num(4, bad)) + msg(5, num(1, 2))), "filename refers to string"
        yield f"string-mapping-{name}", profile(mapping=msg(3, num(1, 1), num(5, bad))), "filename refers to"
        yield f"string-build-id-{name}", profile(mapping=msg(3, num(1, 1), num(6, bad))), "build id refers to"
        for what, parts in (("key", (num(1, bad), num(2, 1))), ("value", (num(1, 1), num(2, bad))),
                            ("unit", (num(1, 1), num(3, 1), num(4, bad)))):
            yield f"string-label-{what}-{name}", profile(
                sample=msg(2, num(1, 1), num(2, 5), msg(3, *parts))), f"label's {what} refers to string"
        for field in (7, 8, 14, 15):
            yield f"string-field-{field}-{name}", profile(header=num(field, bad)), "refers to string"
        yield f"string-comment-{name}", profile(header=num(13, bad)), "comment refers to string"
        yield f"string-comment-packed-{name}", profile(
            header=msg(13, varint(1), varint(bad))), "comment refers to string"
        yield f"string-period-{name}", profile(header=msg(11, num(1, bad))), "type refers to string"
    yield "string-first", profile(strings=STRINGS.replace(text(""), text("first"), 1)), 'must be empty'
    yield "string-first-escape", profile(strings=text(b"\x1b[31m\n") + STRINGS), r"\\x1b\[31m\\x0a"
    yield "string-none", profile(strings=b""), "string table"


def ids():
    yield "mapping-0", profile(mapping=msg(3, num(2, 1))), "mapping 0: its id is 0"
    yield "mapping-twice", profile(mapping=MAPPING * 2), "mapping 1: its id 1 is not unique"
    yield "function-0", profile(functions=FUNCTIONS + msg(5, num(2, 4))), "function 2: its id is 0"
    yield "function-twice", profile(functions=FUNCTIONS * 2), "function 2: its id 1"
    yield "location-0", profile(locations=LOCATIONS + location(0)), "location 2: its id is 0"
    yield "location-twice", profile(locations=LOCATIONS + location(2)), "its id 2"
    large = 1 << 63
    yield "location-large-twice", profile(locations=LOCATIONS + location(large) * 2), "its id 9223"
    yield "sample-location-missing", profile(sample=msg(2, num(1, 99), num(2, 5))), "refers to location 99"
    yield "sample-location-0", profile(sample=msg(2, num(1, 0), num(2, 5))), "refers to location 0"
    yield "sample-location-large", profile(sample=msg(2, num(1, -1), num(2, 5))), "refers to location 1844"
    yield "sample-location-packed", profile(
        sample=msg(2, msg(1, varint(1), varint(77)), num(2, 5))), "refers to location 77"
    yield "line-function-missing", profile(locations=location(1, msg(4, num(1, 99))) + location(2)), \
        "refers to function 99"
    yield "line-function-0", profile(locations=location(1, msg(4, num(2, 7))) + location(2)), \
        "refers to function 0"
    yield "line-empty", profile(locations=location(1, msg(4)) + location(2)), "refers to function 0"


def values():
    yield "values-none", profile(sample=msg(2, num(1, 1))), "0 values"
    yield "values-two", profile(sample=msg(2, num(1, 1), num(2, 1), num(2, 2))), "2 values"
    yield "values-many", profile(sample=msg(2, msg(2, varint(1) * 100000))), "100000 values"
    yield "values-in-the-second", profile(sample=SAMPLE + msg(2)), "sample 1: it has 0 values"
    yield "types-none", profile(types=b""), "no sample type"
    yield "types-33", profile(types=TYPE * 33), "33 sample types"


def wire():
    """Every field of every message with every wire type it cannot have."""
    bodies = {0: b"\x01", 1: bytes(8), 5: bytes(4), 2: b"\x01\x01"}
    parts = {1: ("types", (1, 2), ()), 2: ("sample", (), (3,)), 3: ("mapping", range(1, 11), ()),
             4: ("locations", (1, 2, 3, 5), (4,)), 5: ("functions", range(1, 6), ())}
    for number, (name, numbers, messages) in parts.items():
        for kind in (0, 1, 5):
            yield f"wire-{name}-as-{kind}", GOOD + varint(number << 3 | kind) + bodies[kind], "wire type"
        for field in numbers:
            for kind in (1, 2, 5):
                yield f"wire-{name}-{field}-as-{kind}", \
                    GOOD + msg(number, varint(field << 3 | kind) + bodies[kind]), "wire type|values|id"
        for field in messages:
            yield f"wire-{name}-{field}-as-0", GOOD + msg(number, num(field, 1)), "wire type"
    for field in (1, 2):
        for kind in (1, 5):
            yield f"wire-sample-{field}-as-{kind}", \
                profile(sample=msg(2, varint(field << 3 | kind) + bodies[kind])), "wire type"
    for field in (7, 8, 9, 10, 12, 14, 15):
        yield f"wire-field-{field}", profile(header=msg(field, b"\x01")), "wire type"
    yield "wire-string-as-number", GOOD + num(6, 1), "wire type"
    yield "wire-comment-as-64", profile(header=varint(13 << 3 | 1) + bytes(8)), "wire type"
    yield "wire-label-key-as-bytes", profile(sample=msg(2, num(2, 5), msg(3, msg(1, b"\x01")))), "wire type"
    yield "wire-line-as-bytes", profile(
        locations=location(1, msg(4, msg(1, b"\x01"))) + location(2)), "wire type"
    for kind in (6, 7):
        yield f"wire-type-{kind}", GOOD + varint(99 << 3 | kind) + bytes(8), "unknown wire type"
    yield "group-end", GOOD + varint(99 << 3 | 4), "group"
    yield "group-open", GOOD + varint(99 << 3 | 3) + num(1, 1), "group"
    yield "group-other-end", GOOD + varint(99 << 3 | 3) + varint(98 << 3 | 4), "group"
    yield "group-deep", GOOD + varint(99 << 3 | 3) * 100000, "nested"
    yield "group-known", GOOD + varint(12 << 3 | 3) + varint(12 << 3 | 4), "wire type"


def lengths():
    yield "varint-11-bytes", GOOD + b"\x60" + b"\x80" * 10 + b"\x01", "10 bytes"
    yield "varint-cut", GOOD + b"\x60\x80\x80", "truncated"
    yield "varint-packed-cut", profile(sample=msg(2, msg(1, b"\x01\x80"), num(2, 5))), "truncated"
    yield "varint-packed-long", profile(sample=msg(2, msg(1, b"\xff" * 11 + b"\x01"), num(2, 5))), "10 bytes"
    yield "varint-value-long", profile(sample=msg(2, msg(2, b"\xff" * 11 + b"\x01"))), "10 bytes"
    yield "varint-comment-long", profile(header=msg(13, b"\xff" * 12)), "10 bytes"
    yield "length-past-end", GOOD + b"\x32\x05abc", "exceeds the data"
    yield "length-huge", GOOD + b"\x32" + varint(2 ** 64 - 1) + b"abc", "exceeds the data"
    yield "length-wraps", GOOD + b"\x32" + varint(2 ** 63) + b"abc", "exceeds the data"
    yield "length-4g", GOOD + b"\x32" + varint(2 ** 32) + b"abc", "exceeds the data"
    yield "length-inner", profile(locations=msg(4, num(1, 1), b"\x22\x50\x08")), "exceeds the data"
    yield "length-label", profile(sample=msg(2, num(2, 5), b"\x1a\x7f\x08")), "exceeds the data"
    yield "fixed-cut", GOOD + varint(99 << 3 | 1) + b"1234567", "truncated"
    yield "fixed32-cut", GOOD + varint(99 << 3 | 5) + b"123", "truncated"
    yield "tag-only", GOOD + b"\x60", "truncated"
    yield "tag-long", GOOD + b"\xff" * 11, "10 bytes"
    # Cut anywhere before the last string that is used, something is missing.
    end = len(profile(header=b"")) - 1
    for cut in sorted(set(range(2, end, 11)) | {end}):
        yield f"cut-{cut:03}", GOOD[:cut], "."


def bad():
    for family in (containers, bombs, string_indexes, ids, values, wire, lengths):
        yield from family()


def odd():
    yield "good", GOOD
    yield "gzip", GZIP
    yield "gzip-members", gzip.compress(GOOD[:50]) + gzip.compress(GOOD[50:])
    yield "gzip-empty-member", GZIP + gzip.compress(b"")
    yield "gzip-with-name", GZIP[:3] + b"\x08" + GZIP[4:10] + b"p.pb\0" + GZIP[10:]
    yield "nothing-but-strings", text("")
    yield "no-samples", profile(sample=b"")
    yield "strings-first", STRINGS + profile(strings=b"")
    yield "tables-backwards", HEADER + STRINGS + FUNCTIONS + LOCATIONS + MAPPING + SAMPLE + TYPE
    yield "strings-scattered", b"".join(
        text(s) + part for s, part in zip(["", "cpu", "nanoseconds", "/bin/app", "leaf", "main"],
                                          [TYPE, SAMPLE, MAPPING, LOCATIONS, FUNCTIONS, HEADER]))
    yield "unknown-fields", GOOD + num(99, 1) + msg(98, b"xyz") + varint(97 << 3 | 1) + bytes(8) + \
        varint(96 << 3 | 5) + bytes(4) + num(2 ** 29 - 1, 7)
    yield "unknown-inside", profile(sample=msg(2, num(1, 1), num(2, 5), num(17, 3), msg(18, b"x")),
                                    mapping=msg(3, num(1, 1), msg(30, b"x")))
    yield "field-0", GOOD + b"\0\0"
    yield "missing-mapping", profile(mapping=b"")
    yield "ids-large", profile(
        sample=msg(2, num(1, 2 ** 64 - 1), num(2, 5)), locations=location(2 ** 64 - 1, msg(4, num(1, 2 ** 63))),
        functions=msg(5, num(1, 2 ** 63), num(2, 4)))
    yield "ids-permuted", profile(
        locations=location(2) + location(1), functions=msg(5, num(1, 2), num(2, 4)) + msg(5, num(1, 1)))
    yield "packed", profile(sample=msg(2, msg(1, varint(1), varint(2)), msg(2, varint(5))))
    yield "packed-in-pieces", profile(
        sample=msg(2, msg(1, varint(1)), num(2, 5), num(1, 2), msg(1), msg(1, varint(2), varint(1))))
    yield "long-varints", profile(sample=msg(2, msg(1, varint(1, 10)), b"\x10" + varint(5, 9)),
                                  header=b"\x60" + varint(10, 10))
    yield "varint-beyond-64-bits", profile(header=b"\x60" + b"\x8a" + b"\x80" * 8 + b"\x7e")
    yield "empty-stack", profile(sample=msg(2, num(2, 5)))
    yield "negative", profile(sample=msg(2, num(1, 1), num(2, -5)))
    yield "last-one-wins", profile(mapping=msg(3, num(1, 7), num(1, 1), num(5, 3), num(5, 4)),
                                   header=num(14, 99) + msg(11, num(1, 99)) + HEADER +
                                   num(12, 11) + num(10, 3) + num(14, 1) + msg(11, num(1, 4)))
    yield "label-both", profile(sample=msg(2, num(2, 5), msg(3, num(1, 1), num(2, 4), num(3, 9))))
    yield "label-nothing", profile(sample=msg(2, num(2, 5), msg(3, num(1, 1)), msg(3)))
    yield "label-unit-only", profile(sample=msg(2, num(2, 5), msg(3, num(1, 1), num(4, 2))))
    yield "label-units-mixed", profile(sample=msg(
        2, num(2, 5), msg(3, num(1, 1), num(3, 7)), msg(3, num(1, 1), num(3, 8), num(4, 2)),
        msg(3, num(1, 1), num(3, 9))))
    yield "not-utf-8", profile(strings=STRINGS[:-6] + text(b"m\xff\xfe"))
    yield "time-0-twice", profile(header=num(9, 0) + num(9, 5))
    yield "bools", profile(mapping=msg(3, num(1, 1), *(num(f, 2 ** 40) for f in range(7, 11))),
                           locations=location(1, num(5, -1)) + location(2))


def main():
    folder = sys.argv[1]
    for name, data, _ in bad():
        with open(os.path.join(folder, f"bad-{name}"), "wb") as file:
            file.write(data)
    for name, data in odd():
        with open(os.path.join(folder, f"odd-{name}"), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
