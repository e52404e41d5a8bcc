#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof convert, and -o of record and heap: each format by a reader of its own.

proto, legacy, text   go tool pprof
folded                what flamegraph.pl expects, by a few lines of Python; the real Firefox profiler
speedscope            the schema's rules; the real speedscope in Chromium
gecko                 the tables' rules; the real Firefox profiler, by its own command line
The last two come from npm into a folder that is thrown away; without npm or a network they are
skipped, and say so.
"""
import base64
import gzip
import json
import os
import posixpath
import re
import shutil
import subprocess
import time

import browser
import harness as h
from contract import by_function, by_leaf, load, loads
from madeup import madeup

SPEEDSCOPE, PROFILER_CLI = "speedscope@1.25.0", "@firefox-devtools/profiler-cli@0.10.0"


def cprof(*arguments, status=0, stdin=None, cwd=None):
    return h.run_cprof(*arguments, status=status, input=stdin, cwd=cwd, text=False)


def made(seed, **how):
    path = os.path.join(h.folder(), f"made{seed}.pb.gz")
    with open(path, "wb") as file:
        file.write(madeup(seed, **how))
    return path


def convert(path, suffix, *options):
    out = os.path.join(h.folder(), "out" + suffix)
    cprof("convert", path, "-o", out, *options)
    return out


def converted(path, suffix, *options):
    with open(convert(path, suffix, *options), encoding="utf-8", newline="\n") as file:
        return file.read()


def top(path, *options):
    """{name: (flat, cum)}, as cprof says."""
    said = json.loads(cprof("top", "--json", *options, path).stdout)
    return {row["name"]: (row["flat"], row["cum"]) for row in said["rows"]}


def npm(package):
    if not shutil.which("npm"):
        raise h.Skip(f"no npm, so no {package} to judge by")
    folder = h.folder()
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, package],
                          capture_output=True, timeout=h.HANGS, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise h.Skip(f"npm could not get {package}, which would judge this")
    return os.path.join(folder, "node_modules")


# pprof -------------------------------------------------------------------------------------------

@h.test
def proto_loses_nothing():
    """Again as pprof, gzip'ed or not, from a file or a pipe: the same to the last field."""
    oracle = os.path.join(h.folder(), "oracle")
    subprocess.run([os.path.join(h.ROOT, "tests/oracle/build.sh"), oracle], check=True, timeout=h.HANGS)
    for seed in range(1, 6):
        path = made(seed, negative=seed == 5)
        with open(path, "rb") as file:
            piped = cprof("convert", "-", "--to", "proto", stdin=file.read()).stdout
        plain, packed = convert(path, ".pb"), convert(path, ".pb.gz")
        with open(packed, "rb") as file:
            assert file.read() == piped
        with open(plain, "rb") as file:
            assert file.read() == gzip.decompress(piped)
        subprocess.run([oracle, "compare", path, packed, path, plain], check=True, timeout=h.HANGS)


def pprof_rows(path, *options):
    said = subprocess.run(h.pprof("-symbolize=none", "-top", "-nodefraction=0", *options, path),
                          capture_output=True, text=True, timeout=h.HANGS, check=True).stdout
    return re.findall(r"^ *(\S+) +\S+% +\S+% +(\S+) +\S+%  (.*)$", said, re.M)


@h.test
def heap_as_text():
    """Of a profile that knows only scaled values: pprof finds the same sums, and the same mappings."""
    run = h.cprof("heap", "--rate", "4096", "--", h.workload("allocs")).wait()
    for suffix in (".heap", ".txt"):
        for kind in ("inuse_space", "alloc_objects"):
            text = convert(run.output, suffix)
            # By mapping, which is all that the text tells.
            mine = json.loads(cprof("top", "--json", "--by", "mapping", "--sample-type", kind, run.output).stdout)
            total = sum(row["flat"] for row in mine["rows"])
            raw = subprocess.run(h.pprof("-symbolize=none", "-raw", text),
                                 capture_output=True, text=True, timeout=h.HANGS, check=True).stdout
            types = re.search(r"^Samples:\n(.*)$", raw, re.M)[1].split()
            column = [t.split("/")[0] for t in types].index(kind)
            values = [list(map(int, line.split(":")[0].split()))
                      for line in re.findall(r"^ +[\d ]+:[ \d]*$", raw, re.M)]
            assert sum(v[column] for v in values) == total, (kind, total)
            for row in mine["rows"] if suffix == ".heap" else []:
                assert row["name"] in raw, row["name"]
    with open(text, encoding="utf-8") as file:
        assert re.search(r"^#\t0x[0-9a-f]+\tsite_a\t.*allocs\.c:\d+$|^#\t0x[0-9a-f]+\tsite_a\tallocs$",
                         file.read(), re.M)


def text_shape(text):
    """Lines of numbers with their frames' addresses and names, up to what follows; the numbers' order."""
    body = text.split("\n\n")[0].split("\n")
    values = [tuple(map(int, re.match(r"(\d+): (\d+) \[(\d+): (\d+)\] @", line).groups()))
              for line in body[1:] if re.match(r"\d", line)]
    return body, values


def text_stacks(body):
    """{stack: values} of such lines, added up where a stack has several. A stack is its addresses within their pages, and of each
    frame that, the function and the file."""
    records, sums = [], {}
    for line in filter(None, body[1:]):
        if not line.startswith("#"):
            values, addresses = line.split(" @")
            frames = []
            records.append((map(int, re.findall(r"\d+", values)), [int(address, 16) % 4096 for address in addresses.split()], frames))
            continue
        _, address, function, where = line.split("\t")
        frames.append((address and int(address, 16) % 4096, function, posixpath.normpath(where)))
    for values, stack, frames in records:
        known = sums.setdefault((tuple(stack), tuple(frames)), [0] * 4)
        known[:] = [a + b for a, b in zip(known, values)]
    return sums


@h.test
def text_as_the_recorder_writes_it():
    """Where nothing is scaled (rate 1) the two have the same stacks, with the same names and numbers, in the same order. These
    are the only differences: the recorder has a line for each size, where a profile has one sample of a stack; its addresses
    are the process's instead of the files'; its files are as the compiler wrote them, with their dots; and the head's kind."""
    folder = h.folder()
    files = [os.path.join(folder, name) for name in ("a.pb.gz", "a.txt")]
    h.cprof("heap", "--rate", "1", "-o", files[0], "-o", files[1], "--", h.workload("allocs"), output=files[0]).wait()
    with open(files[1], encoding="utf-8") as file:
        recorded = file.read()
    body, values = text_shape(converted(files[0], ".txt", "--all-frames"))
    theirs, their_values = text_shape(recorded)
    assert values == sorted(values, key=lambda v: (-v[1], -v[3], -v[0], -v[2])), values[:9]
    assert [(v[1], v[3]) for v in their_values] == sorted(((v[1], v[3]) for v in their_values), reverse=True)
    shape = re.compile(r"\d+: \d+ \[\d+: \d+\] @( 0x[0-9a-f]+)+$|#\t(0x[0-9a-f]+)?\t\S.*\t\S+$")
    for lines in (body, theirs):
        wrong = [line for line in lines[1:] if line and not shape.match(line)]
        assert not wrong, wrong[:5]
    assert theirs[0].endswith(" @ heap/2") and theirs[0].replace("heap/2", "heapprofile") == body[0], (theirs[0], body[0])
    stacks, their_stacks = text_stacks(body), text_stacks(theirs)
    assert len(stacks) == len(values) > 20, (len(stacks), len(values))
    assert stacks == their_stacks, [(k, stacks.get(k), their_stacks.get(k)) for k in {**stacks, **their_stacks}
                                    if stacks.get(k) != their_stacks.get(k)][:3]


@h.test
def counts_as_text():
    """What is no heap profile: the format of Go's goroutine profile, one type."""
    path = made(7)
    out = convert(path, ".txt", "--sample-type", "samples")
    rows = pprof_rows(out)
    total = sum(sample["values"]["samples"] for sample in load(path)["samples"])
    assert sum(int(row[0]) for row in rows) == total
    with open(out, encoding="utf-8") as file:
        text = file.read()
    assert text.startswith(f"samples profile: total {total}\n"), text[:99]
    values = [int(line.split()[0]) for line in text.splitlines() if re.match(r"\d+ @", line)]
    assert sum(values) == total and values == sorted(values, reverse=True), values[:9]


# Folded ------------------------------------------------------------------------------------------

def folded_sums(text):
    """{name: (flat, cum)} of folded stacks."""
    sums = {}
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        if re.match(r"# cprof: \w+/\w+ 0$", line):
            continue
        names = stack.split(";")
        for name in set(names):
            flat, cum = sums.get(name, (0, 0))
            sums[name] = flat + int(value) * (name == names[-1]), cum + int(value)
    return sums


def fold_name(name):
    return re.sub(r"[\x00-\x1f\x7f;]", lambda m: f"\\x{ord(m[0]):02x}", name)


@h.test
def folded_stacks():
    for seed in range(1, 9):
        path = made(seed, negative=seed > 6)
        text = converted(path, ".folded")
        lines = text.split("\n")[:-1]  # not splitlines(): a name may hold U+2028
        assert len(lines) == len({line.rsplit(" ", 1)[0] for line in lines})
        ours = folded_sums("\n".join(line.replace("\u2028", "?") for line in lines))
        profile = load(path)
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sum(
            s["values"]["samples"] for s in profile["samples"])
        ours.pop("[no stack]", None)
        expected = {fold_name(name).replace("\u2028", "?"): both for name, both in top(path, "--sample-type", "samples").items()}
        assert {n: v for n, v in ours.items() if any(v)} == expected, seed
        assert converted(path, ".txt", "--to", "folded") == text
        if seed <= 6:  # what is read back and written again stays
            assert converted(convert(path, ".folded"), ".folded") == text
    cprof("convert", path, "-o", "/dev/null/x.folded", status=2)


@h.test
def folded_units():
    """Counts of samples unless something else is asked for, and what it is then survives the way back."""
    path = made(3)
    for options, kind, unit in ((), "samples", "count"), (("--sample-type", "cpu"), "cpu", "nanoseconds"):
        folded = convert(path, ".folded", *options)
        with open(folded, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")[:-1]
        marks = [line for line in lines if line.startswith("# cprof")]
        assert marks == ([] if kind == "samples" else ["# cprof: cpu/nanoseconds 0"]), marks
        assert lines.index(marks[0]) == len(lines) - 1 if marks else True  # the first line is a stack
        back = load(convert(folded, ".pb.gz"))
        assert (back["types"], back["units"]) == ([kind], [unit]), (back["types"], back["units"])
        assert sum(s["values"][kind] for s in back["samples"]) == sum(
            s["values"][kind] for s in load(path)["samples"])
        assert converted(folded, ".folded", "--to", "folded") == "\n".join(lines) + "\n"


@h.test
def folded_units_of_a_heap():
    folder = h.folder()
    main, folded = os.path.join(folder, "a.pb.gz"), os.path.join(folder, "a.folded")
    h.cprof("heap", "--rate", "1", "-o", main, "-o", folded, "--", h.workload("allocs"), output=main).wait()
    with open(folded, encoding="utf-8") as file:
        assert file.read().endswith("\n# cprof: inuse_space/bytes 0\n")
    assert "Type: inuse_space" in cprof("top", folded).stdout.decode()
    assert "# cprof: inuse_objects/count 0" in converted(main, ".folded", "--sample-type", "inuse_objects")


# speedscope --------------------------------------------------------------------------------------

def speedscope_sums(document, kind):
    frames = document["shared"]["frames"]
    profile = next(p for p in document["profiles"] if p["name"] == kind)
    assert profile["type"] == "sampled" and profile["startValue"] == 0
    assert len(profile["samples"]) == len(profile["weights"])
    assert profile["endValue"] == sum(profile["weights"]) and min(profile["weights"], default=1) > 0
    sums = {}
    for stack, weight in zip(profile["samples"], profile["weights"]):
        for name in {frames[i]["name"] for i in stack}:
            flat, cum = sums.get(name, (0, 0))
            sums[name] = flat + weight * (name == frames[stack[-1]]["name"]), cum + weight
    return sums


@h.test
def speedscope_json():
    for seed in range(1, 6):
        path = made(seed)
        document = json.loads(converted(path, ".speedscope.json"))
        assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        assert all(set(f) <= {"name", "file", "line", "col"} and f["name"] for f in document["shared"]["frames"])
        assert [p["unit"] for p in document["profiles"]] == ["none", "nanoseconds"]
        assert document["activeProfileIndex"] == 1
        for kind in ("samples", "cpu"):
            assert speedscope_sums(document, kind) == top(path, "--sample-type", kind), (seed, kind)
    said = cprof("convert", made(6, negative=True), "-o", os.path.join(h.folder(), "x.speedscope.json"), status=2)
    assert b"negative" in said.stderr and said.stderr.count(b"\n") == 1


def shown_ms(text):
    """Speedscope's "240.48ms" or "1.24s"."""
    return float(text[:-2]) if text.endswith("ms") else float(text.rstrip("s")) * 1000


@h.test
def speedscope_itself():
    """The page, given our file as its own command line does it: totals in its sandwich view."""
    if not browser.path():
        raise h.Skip("no Chromium to run speedscope in")
    release = os.path.join(npm(SPEEDSCOPE), "speedscope/dist/release")
    run = h.cprof("record", "-F", "499", "--", h.workload("hot"), "2").wait()
    with open(convert(run.output, ".speedscope.json"), "rb") as file:
        text = base64.b64encode(file.read()).decode()
    script = os.path.join(h.folder(), "profile.js")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"speedscope.loadFileFromBase64('x.speedscope.json', '{text}')")
    with browser.Page(f"file://{release}/index.html#localProfilePath={script}&view=sandwich") as page:
        end = time.monotonic() + h.HANGS
        while "Symbol Name" not in (said := page.js("document.body.innerText")) and time.monotonic() < end:
            time.sleep(0.2)
    assert "(2/2)" in said and "cpu" in said, said
    words = said.split("\n")
    for name in ("hot_a", "hot_b", "main"):
        flat, cum = (value / 1e6 for value in top(run.output)[name])
        # 240.48ms (62%) 238.00ms (61%) hot_a (hot.c:20); main is not the end of __libc_start_main, nor a folder
        shown = re.split(rf"(?<![\w/]){name}(?![\w/])", " ".join(words))[0].split()[-4:]
        assert abs(shown_ms(shown[0]) - cum) < 0.01 * cum + 0.01, (name, shown, cum)
        assert name == "main" or abs(shown_ms(shown[2]) - flat) < 0.01 * flat + 0.01, (name, shown, flat)


# The Firefox profiler ----------------------------------------------------------------------------

def check_table(table, **kinds):
    """Columns of one length; kinds: the table that a column's numbers are rows of, by its length."""
    length = table["length"]
    for name, column in table.items():
        assert name == "length" or len(column) == length, (name, len(column), length)
    for name, limit in kinds.items():
        assert all(v is None or -1 <= v < limit for v in table[name]), name


def check_gecko(document):
    shared, strings = document["shared"], len(document["shared"]["stringArray"])
    check_table(shared["funcTable"], name=strings, source=shared["sources"]["length"],
                resource=shared["resourceTable"]["length"])
    check_table(shared["sources"], filename=strings)
    check_table(shared["frameTable"], func=shared["funcTable"]["length"],
                category=len(document["meta"]["categories"]))
    check_table(shared["stackTable"], frame=shared["frameTable"]["length"])
    assert all(p is None or p < i for i, p in enumerate(shared["stackTable"]["prefix"]))
    check_table(shared["resourceTable"], lib=len(document["libs"]), name=strings)
    check_table(shared["nativeSymbols"])
    for thread in document["threads"]:
        samples = thread["samples"]
        assert {len(samples[c]) for c in ("stack", "time", "weight")} == {samples["length"]}
        assert all(s is None or s < shared["stackTable"]["length"] for s in samples["stack"])
        assert samples["time"] == sorted(samples["time"])
        assert re.fullmatch(r"\d+", thread["pid"]) and isinstance(thread["tid"], str)


def gecko_sums(document):
    shared, sums = document["shared"], {}
    func_name = [shared["stringArray"][i] for i in shared["funcTable"]["name"]]
    for thread in document["threads"]:
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            names = []
            while stack is not None:
                names.append(func_name[shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]])
                stack = shared["stackTable"]["prefix"][stack]
            for name in set(names):
                flat, cum = sums.get(name, (0, 0))
                sums[name] = flat + weight * (name == names[0]), cum + weight
    return sums


@h.test
def gecko_json():
    for seed in range(1, 6):
        path = made(seed, negative=seed == 5)
        document = json.loads(converted(path, ".gecko.json", "--sample-type", "samples"))
        check_gecko(document)
        sums = {name: both for name, both in gecko_sums(document).items() if any(both)}
        assert sums == top(path, "--sample-type", "samples"), seed
        assert {t["pid"] for t in document["threads"]} <= {"7", "8"}
        assert {t["name"] for t in document["threads"]} <= {"nginx", "php"}
        ids = {lib["path"]: (lib["breakpadId"], lib["codeId"]) for lib in document["libs"]}
        assert all(b == c[6:8].upper() + c[4:6].upper() + c[2:4].upper() + c[0:2].upper() + c[10:12].upper()
                   + c[8:10].upper() + c[14:16].upper() + c[12:14].upper() + c[16:32].upper() + "0"
                   for b, c in ids.values()), ids


def in_firefox(path):
    """What the Firefox profiler says of the functions in a file that its importer has read."""
    cli = os.path.join(npm(PROFILER_CLI), "@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    env = {**os.environ, "HOME": h.folder()}

    def ask(*arguments):
        return subprocess.run(["node", cli, *arguments], capture_output=True, text=True, timeout=h.HANGS,
                              env=env, check=False)

    try:
        loaded = ask("load", path)
        if "SyntaxError" in loaded.stderr:
            raise h.Skip(f"node is too old for {PROFILER_CLI}")
        end = time.monotonic() + h.HANGS
        said = ask("thread", "functions", "--json", "--limit", "1000")
        while not said.stdout.startswith("{"):  # it may take its time to start
            assert time.monotonic() < end, f"{loaded.stderr}{said.stderr}"
            time.sleep(0.5)
            said = ask("thread", "functions", "--json", "--limit", "1000")
        return json.loads(said.stdout)
    finally:
        ask("stop", "--all")


@h.test
def the_firefox_profiler_itself():
    # The kernel has a getrusage(), too, which is another function for the profiler.
    run = h.cprof("record", "-F", "499", "--no-kernel", "--", h.workload("hot"), "2").wait()
    functions = in_firefox(convert(run.output, ".gecko.json"))
    assert functions["weightType"] == "tracing-ms"
    theirs = {f["name"]: (f["selfSamples"], f["totalSamples"]) for f in functions["functions"]}
    for name, (flat, cum) in top(run.output).items():
        assert abs(theirs[name][0] - flat / 1e6) < 1e-6 and abs(theirs[name][1] - cum / 1e6) < 1e-6, name


@h.test
def folded_stacks_in_the_firefox_profiler():
    """Its importer makes a sample of each count, and dies of a profile's nanoseconds: what convert writes by default of a CPU
    profile has as many samples there as were taken."""
    run = h.cprof("record", "-F", "499", "--no-kernel", "--", h.workload("hot"), "1").wait()
    profile = run.profile()
    functions = in_firefox(convert(run.output, ".folded"))
    assert functions["weightType"] == "samples", functions["weightType"]
    theirs = {f["name"]: (f["selfSamples"], f["totalSamples"]) for f in functions["functions"]}
    assert sum(flat for flat, _ in theirs.values()) == h.total(profile, "samples") > 0, theirs
    assert theirs == top(run.output, "--sample-type", "samples"), theirs


# Of a run ----------------------------------------------------------------------------------------

@h.test
def several_outputs_of_a_run():
    folder = h.folder()

    def at(name):
        return os.path.join(folder, name)

    names = ["p.pb.gz", "p.folded", "p.speedscope.json", "p.gecko.json", "p.html", "p.svg", "q.pb"]
    outputs = [word for name in names for word in ("-o", at(name))]
    run = h.cprof("record", "-F", "499", *outputs, "--", h.workload("hot"), "1", output=at("p.pb.gz")).wait()
    assert sorted(os.listdir(folder)) == sorted(names), os.listdir(folder)
    profile = load(at("p.pb.gz"))
    with open(at("q.pb"), "rb") as file:
        assert loads(gzip.compress(file.read()))["samples"] == profile["samples"]
    with open(at("p.folded"), encoding="utf-8") as file:
        sums = folded_sums(file.read())
    assert {name: cum for name, (_, cum) in sums.items()} == by_function(profile, "samples")
    with open(at("p.speedscope.json"), encoding="utf-8") as file:
        assert speedscope_sums(json.load(file), "samples") == sums
    with open(at("p.html"), encoding="utf-8") as file:
        assert "hot_a" in file.read()
    assert len(run.matches(h.ALSO_WROTE)) == 6
    assert [m[1] for m in run.matches(h.NEXT)] == [at("p.pb.gz")]


@h.test
def outputs_of_a_heap_run():
    """Views and formats: words stand before each -o's own suffix."""
    folder = h.folder()
    main, other = os.path.join(folder, "a.pb.gz"), os.path.join(folder, "b.folded")
    h.cprof("heap", "--rate", "1", "--views", "-o", main, "-o", other, "--", h.workload("allocs"), output=main).wait()
    assert sorted(os.listdir(folder)) == ["a.alloc.pb.gz", "a.inuse.pb.gz", "a.pb.gz", "b.alloc.folded",
                                          "b.folded", "b.inuse.folded"], os.listdir(folder)
    with open(other, encoding="utf-8") as file:
        sums = folded_sums(file.read())
    # the allocators are left out: what was theirs is their callers'
    assert sums == top(main, "--sample-type", "inuse_space", "-n", "0") and "malloc" not in sums, sums
    assert sum(flat for flat, _ in sums.values()) == sum(by_leaf(load(main), "inuse_space").values())


@h.test
def what_cannot_be_written():
    path, folder = made(71), h.folder()
    for arguments in (["convert"], ["convert", path, "-o", folder + "/x.foo"], ["convert", path, "--to", "pdf"],
                      ["convert", path, "-o", "/nonexistent/x.pb"], ["convert", "/nonexistent", "-o", folder + "/x.pb"],
                      ["record", "-o", folder + "/a.pb", "-o", folder, "--", "true"],
                      ["record", "-o", folder + "/a.pb", "-o", folder + "/a.pb", "--", "true"],
                      ["record", "-o", folder + "/a.pb", "-o", "/nonexistent/x.html", "--", "true"]):
        said = cprof(*arguments, status=2, cwd=folder).stderr
        assert said.count(b"\n") == 1 and said.startswith(b"cprof: "), (arguments, said)
    assert not os.listdir(folder)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = h.run_cprof("convert", path, "-o", "-", status=None, stdout=full, stderr=subprocess.PIPE, text=False)
    assert done.returncode == 2, done


@h.test
def a_filter_takes_all_of_it_away():
    """What was filtered out is in no table of the file either."""
    path = made(72)
    out = convert(path, ".pb", "--focus", "^main$", "--hide", "evil")
    with open(out, "rb") as file:
        data = file.read()
    assert b"evil" not in data and b"main" in data
    assert top(out) == top(path, "--focus", "^main$", "--hide", "evil")


h.main()
