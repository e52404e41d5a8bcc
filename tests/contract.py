#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The contract of a profile that cprof writes, judged from its bytes.

    tests/contract.py FILE...       one line for each rule broken, exit 1 if there is any
    tests/contract.py --self-test   damages a good profile in many ways: is each one caught?

The rules are what the strictest reader of each kind asks for (pprof, Parca, Pyroscope, speedscope):
a file that keeps them all opens everywhere, loses no sample there and prints no warning. The wire
format is decoded here, by hand, from https://protobuf.dev/programming-guides/encoding/ and
proto/profile.proto: nothing of cprof, protobuf-c or pprof is used, so that this is a second opinion.

Other tests import it:

    from contract import load, check

    profile = load("cpu.pb.gz")
    profile["types"]            ["samples", "cpu"]; units in profile["units"]
    profile["samples"][0]       {"stack": ["leaf", "caller", ...],      function names, leaf first,
                                                                        inlined ones included
                                 "frames": [{"name", "system_name", "file", "start_line", "line", "address",
                                             "mapping": {...}}, ...],
                                 "labels": {"pid": 42, "comm": "x"},
                                 "values": {"samples": 3, "cpu": 30303030}}
    profile["mappings"][0]      {"path", "build_id", "start", "limit", "offset", "has_functions", ...}
    also "period", "period_type", "time_ns", "duration_ns", "comments", "default_type"

    total(profile, "cpu")                       the sum of one type
    by_function(profile, "cpu")                 {name: cumulative value}; recursion counts once
    by_leaf(profile, "cpu")                     {name: flat value}

    check(data)                                 (violations, warnings) of a file's bytes

load() raises Malformed where the bytes are no profile at all.
"""
import gzip
import os
import re
import struct
import subprocess
import sys
import time
import zlib

PAGE = 4096
CPU_TYPES = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"),
              ("inuse_objects", "count"), ("inuse_space", "bytes")]
ALLOC_VARIANCE = ("alloc_space_variance", "square_bytes")
INUSE_VARIANCE = ("inuse_space_variance", "square_bytes")
LEAK_TYPES = [("leak_score", "count"), *HEAP_TYPES[2:]]
# period type: the sample types there may be, with the one that is shown first
TYPES = {("cpu", "nanoseconds"): [(CPU_TYPES, "cpu")],
         ("space", "bytes"): [(HEAP_TYPES, "inuse_space"), (HEAP_TYPES[:2], "alloc_space"),
                              (HEAP_TYPES + [ALLOC_VARIANCE, INUSE_VARIANCE], "inuse_space"),
                              (HEAP_TYPES[:2] + [ALLOC_VARIANCE], "alloc_space"),
                              (LEAK_TYPES, "leak_score"), (LEAK_TYPES + [INUSE_VARIANCE], "leak_score")]}
NUMBER_LABELS = {"pid", "tid"}
STRING_LABELS = {"comm", "thread", "lifetime"}
# A name that we made because there was no symbol: "libc.so.6+0x1234", "[truncated: why]".
# Files of tests/zoo that lie about their segments. Any test that records the whole machine may meet them.
LYING = re.compile(r"/lying-[a-z]+/[^/]+$")
NOT_LOOKED_UP = re.compile(r"[\d,]+ of [\d,]+ addresses were not looked up, or not wholly: time was up")
OF_AN_ADDRESS = re.compile(r"\+0x[0-9a-f]+( \[guessed\])?$")
MADE_UP = re.compile(rf"(^\[.*\]$)|({OF_AN_ADDRESS.pattern})", re.S)


class Malformed(Exception):
    """The bytes cannot be read as a profile."""


# The wire format ---------------------------------------------------------------------------------

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# field number: (name, kind, repeated); kinds: int (signed), uint, bool, bytes, or a message's name.
SCHEMA = {
    "Profile": {1: ("sample_type", "ValueType", True), 2: ("sample", "Sample", True),
                3: ("mapping", "Mapping", True), 4: ("location", "Location", True),
                5: ("function", "Function", True), 6: ("string_table", "bytes", True),
                7: ("drop_frames", "int", False), 8: ("keep_frames", "int", False),
                9: ("time_nanos", "int", False), 10: ("duration_nanos", "int", False),
                11: ("period_type", "ValueType", False), 12: ("period", "int", False),
                13: ("comment", "int", True), 14: ("default_sample_type", "int", False),
                15: ("doc_url", "int", False)},
    "ValueType": {1: ("type", "int", False), 2: ("unit", "int", False)},
    "Sample": {1: ("location_id", "uint", True), 2: ("value", "int", True),
               3: ("label", "Label", True)},
    "Label": {1: ("key", "int", False), 2: ("str", "int", False), 3: ("num", "int", False),
              4: ("num_unit", "int", False)},
    "Mapping": {1: ("id", "uint", False), 2: ("memory_start", "uint", False),
                3: ("memory_limit", "uint", False), 4: ("file_offset", "uint", False),
                5: ("filename", "int", False), 6: ("build_id", "int", False),
                7: ("has_functions", "bool", False), 8: ("has_filenames", "bool", False),
                9: ("has_line_numbers", "bool", False), 10: ("has_inline_frames", "bool", False)},
    "Location": {1: ("id", "uint", False), 2: ("mapping_id", "uint", False),
                 3: ("address", "uint", False), 4: ("line", "Line", True),
                 5: ("is_folded", "bool", False)},
    "Line": {1: ("function_id", "uint", False), 2: ("line", "int", False),
             3: ("column", "int", False)},
    "Function": {1: ("id", "uint", False), 2: ("name", "int", False),
                 3: ("system_name", "int", False), 4: ("filename", "int", False),
                 5: ("start_line", "int", False)},
}


def read_varint(data, at):
    value = 0
    for i in range(10):
        if at + i >= len(data):
            raise Malformed("truncated varint")
        byte = data[at + i]
        value |= (byte & 0x7f) << (7 * i)
        if byte < 0x80:
            if value >= 1 << 64:
                raise Malformed("varint of more than 64 bits")
            return value, at + i + 1
    raise Malformed("varint of more than 10 bytes")


def number_of(kind, value):
    if kind == "int" and value >= 1 << 63:
        return value - (1 << 64)
    return bool(value) if kind == "bool" else value


def decode(data, message="Profile"):
    """One message as a dict of its fields. "twice" lists single fields that came more than once."""
    fields = SCHEMA[message]
    result = {"twice": []}
    for name, kind, repeated in fields.values():
        result[name] = [] if repeated else {"int": 0, "uint": 0, "bool": False}.get(kind)
    seen = set()
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        field, wire = tag >> 3, tag & 7
        if field not in fields:
            raise Malformed(f"{message} has unknown field {field} (wire type {wire})")
        name, kind, repeated = fields[field]
        if wire == VARINT and kind in ("int", "uint", "bool"):
            value, at = read_varint(data, at)
            values = [number_of(kind, value)]
        elif wire == BYTES:
            size, at = read_varint(data, at)
            if at + size > len(data):
                raise Malformed(f"{message}.{name} reaches past the end")
            body = data[at:at + size]
            at += size
            values = decode_body(body, kind, repeated, f"{message}.{name}")
        else:
            raise Malformed(f"{message}.{name} has wire type {wire}")
        if repeated:
            result[name] += values
        else:
            if name in seen:
                result["twice"].append(f"{message}.{name}")
            seen.add(name)
            result[name] = values[0]
    return result


def decode_body(body, kind, repeated, where):
    if kind == "bytes":
        return [body]
    if kind in SCHEMA:
        return [decode(body, kind)]
    if not repeated:
        raise Malformed(f"{where} has wire type 2")
    values, at = [], 0
    while at < len(body):
        value, at = read_varint(body, at)
        values.append(number_of(kind, value))
    return values


def gunzip(data):
    """The content of exactly one gzip member."""
    if data[:2] != b"\x1f\x8b":
        raise Malformed("not gzip")
    stream = zlib.decompressobj(31)
    try:
        content = stream.decompress(data)
    except zlib.error as error:
        raise Malformed(f"gzip: {error}") from None
    if not stream.eof:
        raise Malformed("gzip: the file ends too early")
    if stream.unused_data:
        raise Malformed(f"gzip: {len(stream.unused_data)} bytes after the first member")
    return content


# Loading -----------------------------------------------------------------------------------------

def text(raw, index):
    """A string of the string table; never raises, for the checker asks about broken ones too."""
    strings = raw["string_table"]
    if 0 <= index < len(strings):
        return strings[index].decode("utf-8", "backslashreplace")
    return f"<string {index}>"


def load(path):
    """A profile file as dicts; see the top of this file."""
    with open(path, "rb") as file:
        return loads(file.read())


def loads(data):
    raw = decode(gunzip(data))

    def string(index):
        return text(raw, index)

    mappings = [{"path": string(m["filename"]), "build_id": string(m["build_id"]),
                 "start": m["memory_start"], "limit": m["memory_limit"],
                 "offset": m["file_offset"], **{key: m[key] for key in m if key[:4] == "has_"}}
                for m in raw["mapping"]]
    functions = {f["id"]: {"name": string(f["name"]), "system_name": string(f["system_name"]),
                           "file": string(f["filename"]), "start_line": f["start_line"]}
                 for f in raw["function"]}
    frames = {}
    for location in raw["location"]:
        number = location["mapping_id"]
        mapping = mappings[number - 1] if 0 < number <= len(mappings) else None
        frames[location["id"]] = [
            {**functions.get(line["function_id"], {"name": "", "system_name": "", "file": "",
                                                   "start_line": 0}),
             "line": line["line"], "address": location["address"], "mapping": mapping}
            for line in location["line"]]
    types = [string(t["type"]) for t in raw["sample_type"]]
    samples = []
    for sample in raw["sample"]:
        stack = [frame for number in sample["location_id"] for frame in frames.get(number, [])]
        samples.append({
            "stack": [frame["name"] for frame in stack], "frames": stack,
            "labels": {string(l["key"]): string(l["str"]) if l["str"] else l["num"]
                       for l in sample["label"]},
            "values": dict(zip(types, sample["value"]))})
    period_type = raw["period_type"] or {"type": 0, "unit": 0}
    return {"types": types, "units": [string(t["unit"]) for t in raw["sample_type"]],
            "samples": samples, "mappings": mappings, "period": raw["period"],
            "period_type": (string(period_type["type"]), string(period_type["unit"])),
            "time_ns": raw["time_nanos"], "duration_ns": raw["duration_nanos"],
            "comments": [string(c) for c in raw["comment"]],
            "default_type": string(raw["default_sample_type"])}


def total(profile, type_name):
    return sum(sample["values"][type_name] for sample in profile["samples"])


def by_function(profile, type_name):
    sums = {}
    for sample in profile["samples"]:
        for name in set(sample["stack"]):
            sums[name] = sums.get(name, 0) + sample["values"][type_name]
    return sums


def by_leaf(profile, type_name):
    sums = {}
    for sample in profile["samples"]:
        if sample["stack"]:
            leaf = sample["stack"][0]
            sums[leaf] = sums.get(leaf, 0) + sample["values"][type_name]
    return sums


# The rules ---------------------------------------------------------------------------------------

def check(data):
    """Every rule broken by a file's bytes, and what is merely unwise: two lists of lines."""
    try:
        content = gunzip(data)
        raw = decode(content)
    except Malformed as error:
        return [str(error)], []
    bad, unwise = [], []
    check_strings(raw, bad)
    check_twice(raw, bad)
    check_ids(raw, bad)
    check_header(raw, bad)
    check_functions(raw, bad)
    check_mappings(raw, bad, unwise)
    check_locations(raw, bad)
    check_flags(raw, bad)
    check_samples(raw, bad)
    if len(raw["sample"]) >= 16000:
        unwise.append(f"{len(raw['sample'])} samples: a default Pyroscope takes 16,000")
    if len(content) >= 2 << 20:
        unwise.append(f"{len(content)} bytes uncompressed: a default Pyroscope takes 2 MiB")
    return bad, unwise


def check_strings(raw, bad):
    strings = raw["string_table"]
    if not strings or strings[0]:
        bad.append("string_table[0] is not the empty string")
    for i, string in enumerate(strings):
        try:
            string.decode("utf-8")
        except UnicodeDecodeError:
            bad.append(f"string {i} is not UTF-8: {string[:60]!r}")
        if len(string) > 65535:
            bad.append(f"string {i} has {len(string)} bytes, Pyroscope cuts at 65,535")
    if len(set(strings)) != len(strings):
        bad.append("the string table holds a string twice")


def check_twice(raw, bad):
    def walk(message):
        bad.extend(f"{name} is given twice" for name in message["twice"])
        for value in message.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    walk(item)
    walk(raw)


def string_fields(raw):
    for kind, fields in (("sample_type", "type unit"), ("mapping", "filename build_id"),
                         ("function", "name system_name filename")):
        for i, item in enumerate(raw[kind]):
            for field in fields.split():
                yield f"{kind} {i + 1} {field}", item[field]
    for i, sample in enumerate(raw["sample"]):
        for label in sample["label"]:
            for field in ("key", "str", "num_unit"):
                yield f"sample {i + 1} label {field}", label[field]
    for field in ("drop_frames", "keep_frames", "default_sample_type", "doc_url"):
        yield field, raw[field]
    for comment in raw["comment"]:
        yield "comment", comment
    if raw["period_type"]:
        yield "period_type type", raw["period_type"]["type"]
        yield "period_type unit", raw["period_type"]["unit"]


def check_ids(raw, bad):
    for kind in ("mapping", "location", "function"):
        ids = [item["id"] for item in raw[kind]]
        if ids != list(range(1, len(ids) + 1)):
            bad.append(f"{kind} ids are not 1..{len(ids)} in order: {ids[:10]}")
    for where, index in string_fields(raw):
        if not 0 <= index < len(raw["string_table"]):
            bad.append(f"{where}: no string {index}")
    for location in raw["location"]:
        for line in location["line"]:
            if not 1 <= line["function_id"] <= len(raw["function"]):
                bad.append(f"location {location['id']}: no function {line['function_id']}")
    for i, sample in enumerate(raw["sample"]):
        for number in sample["location_id"]:
            if not 1 <= number <= len(raw["location"]):
                bad.append(f"sample {i + 1}: no location {number}")


def check_header(raw, bad):
    types = [(text(raw, t["type"]), text(raw, t["unit"])) for t in raw["sample_type"]]
    period_type = raw["period_type"]
    for name, unit in types:
        if not re.fullmatch("[a-z_]+", name) or not re.fullmatch("[a-z_]+", unit):
            bad.append(f"sample type {name}/{unit}: only a-z and _ go everywhere")
    if len({name for name, _ in types}) != len(types):
        bad.append("two sample types have the same name")
    given = period_type and (text(raw, period_type["type"]), text(raw, period_type["unit"]))
    if given not in TYPES:
        bad.append(f"period type is {given}, neither cpu/nanoseconds nor space/bytes")
    else:
        default = [shown for want, shown in TYPES[given] if want == types]
        if not default:
            bad.append(f"sample types are {types}, not {TYPES[given][0][0]} or a view of them")
        elif text(raw, raw["default_sample_type"]) != default[0]:
            bad.append(f"default sample type is not {default[0]}")
    if raw["period"] <= 0:
        bad.append(f"period is {raw['period']}")
    check_times(raw, bad)
    comments = [c for c in raw["comment"] if not NOT_LOOKED_UP.fullmatch(text(raw, c))]
    if len(comments) != 1:
        bad.append(f"{len(comments)} comments about the run, not one")
    for comment in raw["comment"]:
        words = text(raw, comment)
        if not words or "\n" in words or len(words) > 300:
            bad.append(f"the comment is not one short line: {words[:80]!r}")


def check_times(raw, bad):
    now = time.time_ns()
    if not 1_577_836_800 * 10**9 <= raw["time_nanos"] <= now + 600 * 10**9:
        bad.append(f"time_nanos {raw['time_nanos']} is not a time in ns from 2020 until now")
    if raw["sample"] and is_inuse_view(raw) and raw["duration_nanos"]:
        bad.append(f"what is in use is of a moment, but the duration is {raw['duration_nanos']}")
    if not 0 <= raw["duration_nanos"] <= 366 * 86400 * 10**9:
        bad.append(f"duration_nanos {raw['duration_nanos']} is not a duration in ns")


def is_window(raw):
    """Of a part of a run: what was allocated in it, and what is in use at its end, whenever it was allocated."""
    return any("allocated from" in text(raw, comment) for comment in raw["comment"])


def is_inuse_view(raw):
    """A heap profile of what is in use: the alloc values are 0 all over, not just in a window of time; or of leaks."""
    if is_window(raw):
        return False
    types = [(text(raw, t["type"]), text(raw, t["unit"])) for t in raw["sample_type"]]
    if types[:1] == LEAK_TYPES[:1]:
        return True
    return types[:4] == HEAP_TYPES and not any(any(s["value"][:2]) for s in raw["sample"])


def check_functions(raw, bad):
    seen = set()
    for function in raw["function"]:
        key = tuple(function[f] for f in ("name", "system_name", "filename", "start_line"))
        if not text(raw, function["name"]):
            bad.append(f"function {function['id']} has no name")
        name = text(raw, function["name"])
        if OF_AN_ADDRESS.search(name) and function["system_name"]:
            bad.append(f"function {function['id']} has a system_name, but {name!r} is made up")
        if not MADE_UP.search(name) and not text(raw, function["system_name"]) and not implements(raw, function, name):
            bad.append(f"function {function['id']} has no system_name")
        if key in seen:
            bad.append(f"function {function['id']} {text(raw, function['name'])!r} is there twice")
        seen.add(key)


def at_hand(path):
    """Is there such a file? One on FUSE is left alone: its server may be a hostile program, which never answers."""
    mounts = {}
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            head, _, tail = line.partition(b" - ")
            mounts[os.fsdecode(re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), head.split()[4]))] = tail
    over = [folder for folder in mounts if os.path.commonpath([path, folder]) == folder] if path.startswith("/") else []
    return bool(over) and not mounts[max(over, key=len)].startswith(b"fuse") and os.path.isfile(path)


def implements(raw, function, name):
    """Is it called by the name of an IFUNC of its file, which is not that of its own code? Of a file that is gone it may be."""
    number = {location["mapping_id"] for location in raw["location"]
              if function["id"] in (line["function_id"] for line in location["line"])}
    paths = [text(raw, mapping["filename"]) for mapping in raw["mapping"] if mapping["id"] in number]
    return bool(paths) and all(not at_hand(path) or name in ifuncs(path) for path in paths)


def ifuncs(path):
    listed = subprocess.run(["readelf", "--wide", "--dyn-syms", path], check=False, capture_output=True, text=True)
    return set(re.findall(r" IFUNC .* (\w+)(?:@|$)", listed.stdout, re.M))


def unopenable(path):
    """What pprof does not try to find and open (its Mapping.Unsymbolizable)."""
    base = path.rsplit("/", 1)[-1]
    return base.startswith("[") or path == "//anon" or path.startswith("/memfd:")


def check_mappings(raw, bad, unwise):
    seen, paths = set(), {text(raw, mapping["filename"]) for mapping in raw["mapping"]}
    for mapping in raw["mapping"]:
        path, build_id = text(raw, mapping["filename"]), text(raw, mapping["build_id"])
        start, limit, offset = (mapping[k] for k in ("memory_start", "memory_limit", "file_offset"))
        where = f"mapping {mapping['id']} {path!r}"
        key = (start, limit, offset, path, build_id)
        if key in seen:
            bad.append(f"{where} is there twice")
        seen.add(key)
        if not path:
            bad.append(f"{where} has no file name")
        if start >= limit:
            bad.append(f"{where}: [{start:#x}, {limit:#x}) is empty")
        if build_id and not re.fullmatch("([0-9a-f]{2})+", build_id):
            bad.append(f"{where}: build-id {build_id!r} is not lower-case hex")
        folder, base = path.rsplit("/", 1) if "/" in path else ("", path)
        if folder and base.startswith("[") and f"{folder}/{base[1:-1]}" in paths:
            bad.append(f"{where} is a second one of a file that has its own")
        if path.startswith("/") and not unopenable(path):
            if start % PAGE or limit % PAGE or offset % PAGE:
                bad.append(f"{where} does not lie on pages: {start:#x} {limit:#x} {offset:#x}")
            check_base(path, build_id, start, offset, where, bad)
    if not raw["mapping"]:
        bad.append("there is no mapping")
        return
    check_main(raw, bad, unwise)


def check_main(raw, bad, unwise):
    path = text(raw, raw["mapping"][0]["filename"])
    if path.startswith("["):
        unwise.append(f"mapping 1 is {path!r}: a process without a binary?")
    elif path.startswith("/memfd:"):
        unwise.append(f"mapping 1 is {path!r}: pprof cannot open it")
    elif not path.startswith("/") or unopenable(path):
        bad.append(f"mapping 1 is {path!r}, not the main binary")
    elif not raw["mapping"][0]["build_id"]:
        unwise.append(f"mapping 1 {path!r} has no build-id")
    elif re.search(r"\.so(\.|$)", path) and len(raw["mapping"]) > 1:
        unwise.append(f"mapping 1 is {path!r}: a library?")


def check_base(path, build_id, start, offset, where, bad):
    """Where the very file is at hand: does the mapping lie as one of its segments does?"""
    try:
        segments, note = elf_segments(path)
    except (OSError, ValueError, struct.error):
        return
    if not build_id or note != build_id:
        return
    # a program may map any bytes of a file: what its segments do not cover has no base
    segments = [(vaddr, off) for vaddr, off, size, executable in segments
                if executable and off - off % PAGE <= offset < off + size]
    if segments and not any(start == vaddr - vaddr % PAGE and offset == off - off % PAGE for vaddr, off in segments):
        bad.append(f"{where}: start {start:#x} offset {offset:#x} is no executable segment of "
                   f"the file, pprof's base would not be 0")


def elf_segments(path):
    """[(p_vaddr, p_offset, p_filesz, is executable)] of the PT_LOADs, and the build-id; ELF64 only."""
    if not at_hand(path) or LYING.search(path):
        raise ValueError
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            raise ValueError
        phoff, phentsize, phnum = *struct.unpack_from("<Q", head, 32), *struct.unpack_from(
            "<HH", head, 54)
        segments, build_id = [], ""
        for i in range(phnum):
            file.seek(phoff + i * phentsize)
            kind, flags, off, vaddr, _, size = struct.unpack("<IIQQQQ", file.read(40))
            if kind == 1:
                segments.append((vaddr, off, size, flags & 1))
            if kind == 4 and size < 1 << 20:
                file.seek(off)
                build_id = build_id or gnu_build_id(file.read(size))
    return segments, build_id


def gnu_build_id(notes):
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name = notes[at + 12:at + 12 + name_size]
        at += 12 + (name_size + 3) // 4 * 4
        if name == b"GNU\0" and kind == 3:
            return notes[at:at + size].hex()
        at += (size + 3) // 4 * 4
    return ""


def check_locations(raw, bad):
    seen = set()
    for location in raw["location"]:
        where = f"location {location['id']}"
        lines = tuple((line["function_id"], line["line"]) for line in location["line"])
        key = (location["mapping_id"], location["address"], lines)
        if key in seen:
            bad.append(f"{where} is there twice")
        seen.add(key)
        if not lines:
            bad.append(f"{where} has no line")
        if any(line["line"] < 0 for line in location["line"]):
            bad.append(f"{where} has a negative line number")
        if not 1 <= location["mapping_id"] <= len(raw["mapping"]):
            bad.append(f"{where}: no mapping {location['mapping_id']}")
            continue
        mapping = raw["mapping"][location["mapping_id"] - 1]
        if not mapping["memory_start"] <= location["address"] < mapping["memory_limit"]:
            bad.append(f"{where}: {location['address']:#x} is not in its mapping "
                       f"{text(raw, mapping['filename'])!r}")


def check_flags(raw, bad):
    """The has_* flags are true: of functions, whatever their grade, all, of files, lines and inlines any."""
    inside = {}
    for location in raw["location"]:
        inside.setdefault(location["mapping_id"], []).append(location)
    for i, mapping in enumerate(raw["mapping"]):
        path = text(raw, mapping["filename"])
        where = f"mapping {mapping['id']} {path!r}"
        locations = inside.get(i + 1, [])
        functions = [raw["function"][line["function_id"] - 1]
                     for location in locations for line in location["line"]
                     if 1 <= line["function_id"] <= len(raw["function"])]
        if mapping["has_functions"] != all(location["line"] for location in locations):
            bad.append(f"{where}: has_functions is {mapping['has_functions']}, which is not "
                       f"whether each of its locations has a function")
        for flag, truth in (
                ("has_filenames", any(f["filename"] for f in functions)),
                ("has_line_numbers", any(l["line"] for loc in locations for l in loc["line"])),
                ("has_inline_frames", any(len(loc["line"]) > 1 for loc in locations))):
            if mapping[flag] != truth:
                bad.append(f"{where}: {flag} is {mapping[flag]}, in truth {truth}")
        if not unopenable(path) and not any(
                mapping[f] for f in ("has_functions", "has_filenames", "has_line_numbers")):
            bad.append(f"{where} has no has_* flag: pprof would open that path, and complain")


def check_samples(raw, bad):
    seen, inuse_view = set(), is_inuse_view(raw)
    if not raw["sample"] and not any(" = written 0" in text(raw, comment) for comment in raw["comment"]):
        bad.append("there is no sample, and nothing says so")
    for i, sample in enumerate(raw["sample"]):
        where = f"sample {i + 1}"
        values = sample["value"]
        labels = tuple(sorted((l["key"], l["str"], l["num"]) for l in sample["label"]))
        key = (tuple(sample["location_id"]), labels)
        if key in seen:
            bad.append(f"{where}: its stack and labels are those of an earlier one")
        seen.add(key)
        if not sample["location_id"]:
            bad.append(f"{where} has no location")
        if len(values) != len(raw["sample_type"]):
            bad.append(f"{where} has {len(values)} values for {len(raw['sample_type'])} types")
        if any(value < 0 for value in values):
            bad.append(f"{where} has a negative value: {values}")
        if not any(values):
            bad.append(f"{where} is all zero")
        check_values(raw, values, inuse_view, where, bad)
        check_labels(raw, sample, where, bad)


def check_values(raw, values, inuse_view, where, bad):
    if len(values) != len(raw["sample_type"]):
        return
    types = [text(raw, t["type"]) for t in raw["sample_type"]]
    value = dict(zip(types, values))
    if types == ["samples", "cpu"] and value["cpu"] != value["samples"] * raw["period"]:
        bad.append(f"{where}: cpu is not samples * period: {values}")
    for kind in ("alloc", "inuse"):
        objects, space = value.get(f"{kind}_objects"), value.get(f"{kind}_space")
        if bool(objects) != bool(space):
            bad.append(f"{where}: objects without bytes or bytes without objects: {values}")
        if value.get(f"{kind}_space_variance") and not space:
            bad.append(f"{where}: a variance of nothing: {values}")
    if inuse_view or is_window(raw):
        return
    if any(value[name] > value.get(name.replace("inuse", "alloc"), 0)
           for name in types if name.startswith("inuse")):
        bad.append(f"{where}: more in use than was allocated: {values}")


def check_labels(raw, sample, where, bad):
    keys = [text(raw, label["key"]) for label in sample["label"]]
    if len(set(keys)) != len(keys):
        bad.append(f"{where} has a label twice: {keys}")
    for needed in ("pid", "comm"):
        if needed not in keys:
            bad.append(f"{where} has no label {needed!r}")
    if ("tid" in keys) != ("thread" in keys):
        bad.append(f"{where} has one of the labels 'tid' and 'thread', not both")
    for key, label in zip(keys, sample["label"]):
        if key in NUMBER_LABELS:
            if label["str"] or label["num"] <= 0 or label["num_unit"]:
                bad.append(f"{where}: label {key!r} is not a plain positive number")
        elif key in STRING_LABELS:
            if not label["str"] or label["num"] or label["num_unit"]:
                bad.append(f"{where}: label {key!r} is not a plain string")
        else:
            bad.append(f"{where}: label {key!r} is none of pid, tid, comm, thread")


# The self-test -----------------------------------------------------------------------------------

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(message, kind="Profile"):
    out = bytearray()
    for number, (name, field_kind, repeated) in SCHEMA[kind].items():
        values = message.get(name)
        for value in values or [] if repeated else [values]:
            if value is None or (not repeated and value in (0, False)):
                continue
            if field_kind in SCHEMA:
                value = encode(value, field_kind)
            if isinstance(value, bytes):
                out += varint(number << 3 | BYTES) + varint(len(value)) + value
            else:
                out += varint(number << 3) + varint(int(value))
    return bytes(out)


def good_profile():
    strings = [b"", b"samples", b"count", b"cpu", b"nanoseconds", b"pid", b"comm", b"app",
               b"/nonexistent/bin/app", b"abcdef01", b"main", b"work(int)", b"_Z4worki",
               b"[kernel.kallsyms]", b"do_syscall_64", b"/nonexistent/lib/libx.so",
               b"libx.so+0x1010", b"cprof 0.1", b"tid", b"thread", b"worker"]
    index = {s: i for i, s in enumerate(strings)}

    def labels():
        return [{"key": index[b"pid"], "num": 42}, {"key": index[b"comm"], "str": index[b"app"]},
                {"key": index[b"tid"], "num": 43},
                {"key": index[b"thread"], "str": index[b"worker"]}]

    def function(number, name, system_name=b""):
        return {"id": number, "name": index[name], "system_name": index[system_name]}

    return {
        "string_table": strings,
        "sample_type": [{"type": 1, "unit": 2}, {"type": 3, "unit": 4}],
        "sample": [{"location_id": [3, 2, 1], "value": [2, 20], "label": labels()},
                   {"location_id": [4, 1], "value": [1, 10], "label": labels()}],
        "mapping": [
            {"id": 1, "memory_start": 0x1000, "memory_limit": 0x3000, "file_offset": 0x1000,
             "filename": index[b"/nonexistent/bin/app"], "build_id": 9, "has_functions": True},
            {"id": 2, "memory_start": 1 << 63, "memory_limit": (1 << 64) - 1,
             "filename": index[b"[kernel.kallsyms]"], "has_functions": True},
            {"id": 3, "memory_start": 0x1000, "memory_limit": 0x2000, "file_offset": 0x1000,
             "filename": index[b"/nonexistent/lib/libx.so"], "has_functions": True}],
        "location": [
            {"id": 1, "mapping_id": 1, "address": 0x1100, "line": [{"function_id": 1}]},
            {"id": 2, "mapping_id": 1, "address": 0x1200, "line": [{"function_id": 2}]},
            {"id": 3, "mapping_id": 2, "address": 0xffffffff81000010,
             "line": [{"function_id": 3}]},
            {"id": 4, "mapping_id": 3, "address": 0x1010, "line": [{"function_id": 4}]}],
        "function": [function(1, b"main", b"main"), function(2, b"work(int)", b"_Z4worki"),
                     function(3, b"do_syscall_64", b"do_syscall_64"),
                     function(4, b"libx.so+0x1010")],
        "time_nanos": time.time_ns() - 10**9, "duration_nanos": 10**9,
        "period_type": {"type": 3, "unit": 4}, "period": 10, "default_sample_type": 3,
        "comment": [index[b"cprof 0.1"]]}


def good_profiles():
    """(what, profile)"""
    guessed = good_profile()
    # all that is known of a stripped file is what a frame pointer led to: no symbol either
    guessed["string_table"][guessed["string_table"].index(b"libx.so+0x1010")] = b"libx.so+0x1010 [guessed]"
    return [("the good profile", good_profile()), ("only guessed frames in a file without symbols", guessed)]


def damages():
    """(what, a function that damages the good profile's dict)"""
    def put(*path):
        *where, key, value = path

        def damage(profile):
            for step in where:
                profile = profile[step]
            profile[key] = value
        return damage

    def of_a_file_at_hand(profile):
        profile["string_table"].append(os.fsencode(sys.executable))
        profile["mapping"][0]["filename"] = len(profile["string_table"]) - 1
        profile["function"][0]["system_name"] = 0

    def add(*path):
        *where, value = path

        def damage(profile):
            for step in where:
                profile = profile[step]
            profile.append(value(profile) if callable(value) else value)
        return damage

    return [
        ("first string not empty", put("string_table", 0, b"x")),
        ("no string table", put("string_table", [])),
        ("invalid UTF-8", put("string_table", 10, b"\xff\xfe")),
        ("surrogate in UTF-8", put("string_table", 10, b"\xed\xa0\x80")),
        ("string twice", put("string_table", 20, b"main")),
        ("string index too large", put("function", 0, "name", 999)),
        ("negative string index", put("function", 0, "name", -1)),
        ("no mapping", put("mapping", [])),
        ("mapping ids permuted", put("mapping", 0, "id", 2)),
        ("location id gap", put("location", 3, "id", 9)),
        ("location id 0", put("location", 0, "id", 0)),
        ("function id gap", put("function", 3, "id", 7)),
        ("function id twice", put("function", 1, "id", 1)),
        ("missing mapping", put("location", 0, "mapping_id", 9)),
        ("mapping id 0 in a location", put("location", 0, "mapping_id", 0)),
        ("missing function", put("location", 0, "line", 0, "function_id", 9)),
        ("missing location", put("sample", 0, "location_id", [9])),
        ("location without a line", put("location", 0, "line", [])),
        ("address outside its mapping", put("location", 0, "address", 0x3000)),
        ("same location twice", add("location", lambda l: {**l[0], "id": 5})),
        ("same function twice", add("function", lambda f: {**f[0], "id": 5})),
        ("same mapping twice", add("mapping", lambda m: {**m[0], "id": 4})),
        ("function without a name", put("function", 0, "name", 0)),
        ("function without a system_name", of_a_file_at_hand),
        ("empty stack", put("sample", 0, "location_id", [])),
        ("too few values", put("sample", 0, "value", [2])),
        ("negative value", put("sample", 0, "value", [-2, -20])),
        ("all-zero sample", put("sample", 0, "value", [0, 0])),
        ("cpu not samples * period", put("sample", 0, "value", [2, 21])),
        ("duplicate stack", add("sample", lambda s: dict(s[0]))),
        ("no sample", put("sample", [])),
        ("limit before start", put("mapping", 0, "memory_limit", 0x1000)),
        ("mapping off its page", put("mapping", 0, "memory_start", 0x1010)),
        ("upper-case build-id", put("string_table", 9, b"ABCDEF01")),
        ("main mapping is not a file", put("string_table", 8, b"//anon")),
        ("mapping without a path", put("mapping", 0, "filename", 0)),
        ("made-up name as a system_name", put("function", 3, "system_name", 16)),
        ("symbols without has_functions", put("mapping", 0, "has_functions", False)),
        ("made-up names without has_functions", put("mapping", 2, "has_functions", False)),
        ("mapping without locations and flags", add("mapping", lambda m: {**m[0], "id": 4, "build_id": 0,
                                                                          "has_functions": False})),
        ("a second mapping of a file", put("string_table", 15, b"/nonexistent/bin/[app]")),
        ("has_filenames without any", put("mapping", 0, "has_filenames", True)),
        ("has_line_numbers without any", put("mapping", 0, "has_line_numbers", True)),
        ("has_inline_frames without any", put("mapping", 0, "has_inline_frames", True)),
        ("line numbers without the flag", put("location", 0, "line", 0, "line", 7)),
        ("no period type", put("period_type", None)),
        ("empty period type", put("period_type", {"type": 0, "unit": 0})),
        ("period 0", put("period", 0)),
        ("time 0", put("time_nanos", 0)),
        ("time in microseconds", put("time_nanos", time.time_ns() // 1000)),
        ("time in the future", put("time_nanos", time.time_ns() + 3600 * 10**9)),
        ("negative duration", put("duration_nanos", -1)),
        ("wrong default type", put("default_sample_type", 1)),
        ("sample types swapped", put("sample_type", [{"type": 3, "unit": 4},
                                                     {"type": 1, "unit": 2}])),
        ("sample type with a dash", put("string_table", 1, b"sam-ples")),
        ("two equal sample types", put("sample_type", 0, {"type": 3, "unit": 4})),
        ("no comment", put("comment", [])),
        ("two comments", put("comment", [17, 17])),
        ("comment of two lines", put("string_table", 17, b"a\nb")),
        ("foreign label", add("sample", 0, "label", {"key": 2, "num": 1})),
        ("pid as a string", put("sample", 0, "label", 0, {"key": 5, "str": 7})),
        ("comm as a number", put("sample", 0, "label", 1, {"key": 6, "num": 7})),
        ("label without a value", put("sample", 0, "label", 1, {"key": 6})),
        ("no pid", lambda p: p["sample"][0]["label"].pop(0)),
        ("tid without thread", lambda p: p["sample"][0]["label"].pop()),
        ("label twice", lambda p: p["sample"][0]["label"].append({"key": 5, "num": 44})),
    ]


def heap_profile(types, values, default):
    """The good profile, as one of a heap."""
    profile = good_profile()
    strings = profile["string_table"]

    def string(word):
        if word.encode() not in strings:
            strings.append(word.encode())
        return strings.index(word.encode())

    profile["sample_type"] = [{"type": string(t), "unit": string(u)} for t, u in types]
    profile["period_type"] = {"type": string("space"), "unit": string("bytes")}
    profile["default_sample_type"] = string(default)
    for sample, row in zip(profile["sample"], values):
        sample["value"] = row
    if types[:4] == HEAP_TYPES and not any(any(row[:2]) for row in values):
        profile["duration_nanos"] = 0
    return profile


def heap_cases():
    """(what, is it good?, a heap profile)"""
    def case(what, good, types, *values, default="inuse_space", **fields):
        return what, good, {**heap_profile(types, values, default), **fields}

    variances = HEAP_TYPES + [ALLOC_VARIANCE, INUSE_VARIANCE]
    alloc = HEAP_TYPES[:2]
    return [
        case("all four types", True, HEAP_TYPES, [2, 20, 1, 10], [1, 10, 0, 0]),
        case("in use", True, HEAP_TYPES, [0, 0, 1, 10], [0, 0, 2, 20]),
        case("allocated", True, alloc, [2, 20], [1, 10], default="alloc_space"),
        case("with variances", True, variances, [2, 20, 1, 10, 50, 25], [1, 10, 0, 0, 25, 0]),
        case("allocated, with a variance", True, alloc + [ALLOC_VARIANCE], [2, 20, 50], [1, 10, 0],
             default="alloc_space"),
        case("leaks", True, LEAK_TYPES, [1000, 1, 10], [1, 1, 10], default="leak_score", duration_nanos=0),
        case("leaks, over a time", False, LEAK_TYPES, [1000, 1, 10], [1, 1, 10], default="leak_score",
             duration_nanos=10**9),
        case("more in use than allocated", False, HEAP_TYPES, [2, 20, 3, 30], [1, 10, 0, 0]),
        case("allocated in one sample only", False, HEAP_TYPES, [2, 20, 1, 10], [0, 0, 1, 10]),
        case("in use, over a time", False, HEAP_TYPES, [0, 0, 1, 10], [0, 0, 2, 20],
             duration_nanos=10**9),
        case("negative delta", False, alloc, [-2, -20], [1, 10], default="alloc_space"),
        case("bytes without objects", False, alloc, [0, 20], [1, 10], default="alloc_space"),
        case("default that is not there", False, alloc, [2, 20], [1, 10]),
        case("in-use types only", False, HEAP_TYPES[2:], [2, 20], [1, 10]),
        case("more variance in use than allocated", False, variances, [2, 20, 1, 10, 50, 51],
             [1, 10, 0, 0, 25, 0]),
        case("variance of nothing", False, variances, [2, 20, 1, 10, 50, 25], [1, 10, 0, 0, 25, 1]),
    ]


def byte_damages(good):
    """(what, the bytes of a damaged file)"""
    packed = gzip.compress(good)
    again = varint(9 << 3) + varint(time.time_ns())
    return [
        ("empty file", b""), ("plain protobuf", good), ("gzip twice", gzip.compress(packed)),
        ("truncated gzip", packed[:-9]), ("a byte after gzip", packed + b"\0"),
        ("two gzip members", packed + gzip.compress(b"")),
        ("gzip checksum", packed[:-8] + b"\0\0\0\0" + packed[-4:]),
        ("truncated protobuf", gzip.compress(good[:-3])),
        ("time_nanos twice", gzip.compress(good + again)),
        ("unknown field", gzip.compress(good + varint(99 << 3) + b"\1")),
        ("wrong wire type", gzip.compress(good + varint(12 << 3 | BYTES) + b"\1\1")),
        ("text", b"cpu profile\n"),
    ]


def self_test():
    failures = 0
    for what, profile in good_profiles():
        bad, unwise = check(gzip.compress(encode(profile)))
        if bad or unwise:
            print(f"FAIL {what}:", *bad, *unwise, sep="\n    ")
            failures += 1
    for what, good, profile in heap_cases():
        bad, unwise = check(gzip.compress(encode(profile)))
        if bool(bad or unwise) == good:
            print(f"FAIL heap, {what}:", *bad, *unwise or ["not caught"], sep="\n    ")
            failures += 1
    cases = list(byte_damages(encode(good_profile())))
    for what, damage in damages():
        profile = good_profile()
        damage(profile)
        cases.append((what, gzip.compress(encode(profile))))
    for what, data in cases:
        bad, _ = check(data)
        if bad:
            print(f"ok   {what}: {bad[0]}")
        else:
            print(f"FAIL {what}: not caught")
            failures += 1
    nr = len(cases) + len(heap_cases()) + len(good_profiles())
    print(f"{nr - failures} of {nr} right")
    return 1 if failures else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if not arguments:
        print(__doc__.split("\n\n", maxsplit=2)[1], file=sys.stderr)
        return 2
    status = 0
    for path in arguments:
        try:
            with open(path, "rb") as file:
                bad, unwise = check(file.read())
        except OSError as error:
            bad, unwise = [str(error)], []
        for line in unwise:
            print(f"{path}: warning: {line}", file=sys.stderr)
        for line in bad:
            print(f"{path}: {line}")
        status = 1 if bad else status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
