#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Merging, scaling and subtracting is what pprof's own package does, but for its bugs: each of those
has a case that shows what it does and what cprof does. Filters are judged by `go tool pprof`."""
import glob
import gzip
import json
import os

import harness as h
import contract

ORACLE = os.path.join(h.BUILD, "oracle", "oracle")
CORPUS = os.environ.get("CORPUS", os.path.join(h.ROOT, "..", "shared", "corpus"))
GENERATED = 200
MOST, LEAST = (1 << 63) - 1, -(1 << 63)


def run(*command, **options):
    return h.run(*command, **options).stdout


def family(nr, samples, seed=1):
    folder = h.folder()
    run(ORACLE, "family", seed, nr, folder, samples)
    return sorted(glob.glob(os.path.join(folder, "*")))


def check_same(judged, command, *arguments):
    """What the oracle's command makes of the arguments is what the cprof command made."""
    judge = os.path.join(h.folder(), "judge.pb.gz")
    run(ORACLE, command, judge, *arguments)
    run(ORACLE, "compare", judge, judged)


def made(command, *arguments):
    path = os.path.join(h.folder(), "cprof.pb.gz")
    run(h.CPROF, command, *arguments, "-o", path)
    return path


class Maker:
    """A profile by hand: Maker(("cpu", "nanoseconds")).add(["main", "f"], 5).write()"""

    def __init__(self, *types, **header):
        self.strings = [b""]
        self.raw = {"string_table": self.strings, "sample": [], "location": [], "function": [],
                    "mapping": [{"id": 1, "memory_start": 0x1000, "memory_limit": 0x9000,
                                 "filename": self.string("/bin/made"), "has_functions": True}],
                    "sample_type": [self.type(*t) for t in types],
                    "period_type": self.type("cpu", "nanoseconds"), "period": 1, **header}

    def string(self, s):
        if s.encode() not in self.strings:
            self.strings.append(s.encode())
        return self.strings.index(s.encode())

    def type(self, name, unit):
        return {"type": self.string(name), "unit": self.string(unit)}

    def location(self, name, column=0):
        """A location of its own; with a column, of two lines of which the inner one has it."""
        number = len(self.raw["location"]) + 1
        self.raw["function"].append({"id": number, "name": self.string(name)})
        lines = [{"function_id": number, "line": 1}]
        if column:
            lines = [{"function_id": number, "line": 1, "column": column}, {"function_id": number, "line": 2}]
        self.raw["location"].append({"id": number, "mapping_id": 1, "address": 0x1100, "line": lines})
        return number

    def add(self, stack, *values):
        """stack: names, the root first, or locations."""
        ids = [frame if isinstance(frame, int) else self.location(frame) for frame in reversed(stack)]
        self.raw["sample"].append({"location_id": ids, "value": list(values)})
        return self

    def write(self):
        path = os.path.join(h.folder(), "made.pb.gz")
        with open(path, "wb") as file:
            file.write(gzip.compress(contract.encode(self.raw)))
        return path


CPU = ("samples", "count"), ("cpu", "nanoseconds")


def rows(path):
    """[(stack, values)], the root first."""
    return [(sample["stack"][::-1], list(sample["values"].values())) for sample in
            contract.load(path)["samples"]]


@h.test
def merge_of_runs():
    paths = family(7, 3000)
    check_same(made("merge", *paths), "merge", *paths)


@h.test
def merge_of_what_is_merged():
    paths = family(4, 1000, 2)
    once = made("merge", *paths)
    assert run(ORACLE, "compare", once, made("merge", once)) == ""
    twice = made("merge", made("merge", *paths[:2]), made("merge", *paths[2:]))
    check_same(twice, "merge", *paths)


@h.test
def generated_profiles():
    """All fields at random. The oracle makes the numbers small first: pprof's sums wrap around."""
    generated, small = h.folder(), h.folder()
    run(ORACLE, "generate", 20261121, GENERATED, generated)
    for name in sorted(os.listdir(generated)):
        path = os.path.join(small, name)
        run(ORACLE, "scale", path, 2.0 ** -20, os.path.join(generated, name))
        check_same(made("merge", path), "compact", path)


@h.test
def scaled():
    path, = family(1, 2000, 3)
    whole = made("merge", path)
    for factor in (2.5, -1, 0.5, 1e-3, 1e-8, 0):
        judge = os.path.join(h.folder(), "scaled.pb.gz")
        run(ORACLE, "scale", judge, factor, whole)
        check_same(made("merge", "--scale", factor, whole), "compact", judge)


@h.test
def differences():
    paths = family(6, 1500, 4)
    for base, head in zip(paths[::2], paths[1::2]):
        check_same(made("diff", base, head), "diff", base, head)
    nothing = contract.load(made("diff", paths[0], paths[0]))
    assert not nothing["samples"] and len(nothing["mappings"]) == 1, nothing["mappings"]


@h.test
def normalized():
    base, head = family(2, 1500, 5)
    scaled_head = os.path.join(h.folder(), "normalized.pb.gz")
    run(ORACLE, "normalize", scaled_head, base, head)
    check_same(made("diff", "--normalize", base, head), "diff", base, scaled_head)


@h.test
def diff_base():
    """The label by which pprof knows the base: its report is the one it makes itself of the two."""
    base, head = family(2, 1500, 6)
    marked = made("diff", "--diff-base", base, head)
    wanted = run(*h.pprof("-top", "-nodecount=20", f"-diff_base={base}", head))
    shown = run(*h.pprof("-top", "-nodecount=20", marked))
    assert shown.splitlines()[-20:] == wanted.splitlines()[-20:], shown + wanted


@h.test
def go_runtime_profiles():
    folders = [h.folder(), h.folder()]
    for folder in folders:
        run(os.path.join(h.BUILD, "oracle", "producer"), cwd=folder)
    for name in ("cpu", "heap", "allocs", "mutex", "block", "goroutine"):
        base, head = (os.path.join(folder, name) for folder in folders)
        check_same(made("merge", base, head), "merge", base, head)
        check_same(made("diff", base, head), "diff", base, head)


@h.test
def corpus():
    paths = [path for path in glob.glob(os.path.join(CORPUS, "pprof", "*")) if not path.endswith(".string")]
    if not paths:
        raise h.Skip(f"no corpus in {CORPUS}")
    for path in paths:
        read = made("merge", path)  # what is read of older formats is test_legacy_oracle.py's affair
        check_same(made("merge", read), "compact", read)
        check_same(made("merge", path, path), "merge", read, read)


# What is not copied ------------------------------------------------------------------------------

@h.test
def a_type_that_is_not_scaled_keeps_its_samples():
    """ScaleN forgets that a value whose factor is 1 is a value: "5 0" is lost."""
    base = Maker(*CPU).add(["a"], 5, 0).add(["b"], 0, 10).write()
    head = Maker(*CPU).add(["a"], 5, 0).add(["b"], 0, 5).write()
    lost = os.path.join(h.folder(), "normalized.pb.gz")
    run(ORACLE, "normalize", lost, base, head)
    assert rows(lost) == [(["b"], [0, 10])], rows(lost)
    assert rows(made("diff", "--normalize", base, head)) == []  # they are the same then
    difference = os.path.join(h.folder(), "difference.pb.gz")
    run(ORACLE, "diff", difference, base, lost)
    assert rows(difference) == [(["a"], [-5, 0])], rows(difference)


@h.test
def the_time_of_no_time():
    early, none = Maker(*CPU, time_nanos=100).add(["a"], 1, 1), Maker(*CPU).add(["a"], 1, 1)
    for paths in ([early.write(), none.write()], [none.write(), early.write()]):
        judge = os.path.join(h.folder(), "judge.pb.gz")
        run(ORACLE, "merge", judge, *paths)
        assert contract.load(made("merge", *paths))["time_ns"] == 100
        first = contract.load(paths[0])["time_ns"]
        assert contract.load(judge)["time_ns"] == (0 if first else 100)  # it depends on the order


@h.test
def sums_stick():
    path = Maker(*CPU).add(["a"], MOST, LEAST).write()
    judge = os.path.join(h.folder(), "judge.pb.gz")
    run(ORACLE, "merge", judge, path, path)
    assert [values for _, values in rows(judge)] == [[-2, 0]], rows(judge)
    assert rows(made("merge", path, path)) == [(["a"], [MOST, LEAST])]
    assert rows(made("merge", "--scale", -1, path)) == [(["a"], [LEAST + 1, MOST])]


@h.test
def sums_that_stick_say_so():
    """Whatever adds values up: one line that names the sample type; without an overflow, none."""
    large = Maker(*CPU).add(["a"], 1, MOST - 5).add(["b"], 1, 7).write()
    fits = Maker(*CPU).add(["a"], 1, MOST - 8).add(["b"], 1, 7).write()
    half = Maker(*CPU).add(["a"], 1, MOST // 2 + 2).write()
    said = f"cprof: {CPU[1][0]}: values add up to more than 2^63 - 1: larger sums are shown as 2^63 - 1"
    out = os.path.join(h.folder(), "out.pb.gz")
    for arguments in (("top",), ("tree",), ("peek", "a"), ("info",), ("flame", "-o", out + ".html"),
                      ("convert", "-o", out + ".folded"), ("merge", "-o", out), ("diff", fits), ("top", half)):
        for path, expected in ((large, 1), (fits, 0)):
            if half in arguments:
                path, expected = (half, 1) if expected else (Maker(*CPU).add(["a"], 1, 1).write(), 0)
            done = h.run_cprof(*arguments, path)
            assert done.stderr.splitlines().count(said) == expected, (arguments, expected, done.stderr)


@h.test
def columns_of_inlined_lines():
    maker = Maker(*CPU)
    first, second = maker.location("a", 7), maker.location("a", 8)
    path = maker.add([first], 1, 1).add([second], 1, 1).write()
    judge = os.path.join(h.folder(), "judge.pb.gz")
    run(ORACLE, "compact", judge, path)
    assert len(rows(judge)) == 1 and len(rows(made("merge", path))) == 2


# The commands ------------------------------------------------------------------------------------

@h.test
def other_order_and_units():
    """As the command line of pprof does it, too."""
    first = Maker(("samples", "count"), ("cpu", "milliseconds"), ("wall", "seconds")).add(["a"], 1, 2, 3).write()
    second = Maker(("cpu", "nanoseconds"), ("samples", "count")).add(["a"], 5, 7).write()
    judge, path = os.path.join(h.folder(), "judge.pb.gz"), os.path.join(h.folder(), "cprof.pb.gz")
    run(*h.pprof("-proto", f"-output={judge}", first, second))
    done = h.run_cprof("merge", first, second, "-o", path)
    assert "dropped" in done.stderr, done.stderr
    assert rows(path) == rows(judge) == [(["a"], [8, 2000005])], rows(path)
    assert contract.load(path)["units"] == contract.load(judge)["units"]


@h.test
def types_labels_and_stamps():
    path, = family(1, 500, 7)
    kept = contract.load(made("merge", "--keep-type", "cpu", path))
    assert kept["types"] == ["cpu"]
    assert kept["types"] == contract.load(made("merge", "--drop-type", "samples", path))["types"]
    before = h.time.time_ns()
    stamp = contract.load(made("merge", "--restamp", path))["time_ns"]
    assert before <= stamp <= h.time.time_ns(), (before, stamp)
    folder = os.path.join(h.folder(), "parts")
    run(h.CPROF, "merge", path, "--split", "comm", "-o", folder)
    parts = sorted(os.listdir(folder))
    assert parts == [f"comm.worker-{i}.pb.gz" for i in range(4)], parts
    check_same(made("merge", *(os.path.join(folder, part) for part in parts)), "merge",
               *(os.path.join(folder, part) for part in parts))
    wholes = [contract.total(contract.load(p), "cpu") for p in [path] + [os.path.join(folder, part) for part in parts]]
    assert wholes[0] == sum(wholes[1:]), wholes
    done = h.run_cprof("merge", path, "--split", "nobody", "-o", os.path.join(h.folder(), "one"))
    assert "no sample has a label 'nobody'" in done.stderr, done


@h.test
def through_pipes():
    path, = family(1, 500, 8)
    with open(path, "rb") as file:
        done = h.run_cprof("merge", "-", stdin=file, text=False)
    assert done.stdout == h.run_cprof("merge", path, "-o", "-", text=False).stdout
    copy = os.path.join(h.folder(), "copy.pb.gz")
    with open(copy, "wb") as file:
        file.write(done.stdout)
    check_same(copy, "compact", path)


@h.test
def table_of_differences():
    base = Maker(*CPU).add(["main", "same"], 1, 10).add(["main", "less"], 4, 40).add(["main", "gone"], 2, 20).write()
    head = Maker(*CPU).add(["main", "same"], 1, 10).add(["main", "less"], 1, 10).add(["main", "new"], 9, 90).write()
    table = json.loads(run(h.CPROF, "diff", "--json", base, head))
    assert (table["type"], table["total"]["base"], table["total"]["head"]) == ("cpu", 70, 110), table
    names = [(row["name"], row["status"], row["flat"]["difference"], row["cum"]["difference"]) for row in table["rows"]]
    assert names == [("new", "new", 90, 90), ("less", "changed", -30, -30), ("gone", "gone", -20, -20),
                     ("main", "changed", 0, 40)], names
    assert [row["name"] for row in json.loads(run(h.CPROF, "diff", "--json", "--cum", base, head))["rows"]] == \
        ["new", "main", "less", "gone"]
    shares = json.loads(run(h.CPROF, "diff", "--json", "--normalize", "--limit", 1, base, head))
    assert shares["total"]["head"] in (69, 70, 71) and len(shares["rows"]) == 1, shares
    text = run(h.CPROF, "diff", base, head)
    assert "new (new)" in text and "gone (gone)" in text and "same" not in text, text


@h.test
def filters():
    """A profile that pprof filtered is shown as the same that cprof filters itself."""
    path, = family(1, 3000, 9)
    for option, text in (("focus", "function_1[0-9]"), ("ignore", "module3"), ("hide", "part[12]::"),
                         ("show", "module(1|2|36)"), ("show_from", "function_[0-9][0-9][0-9]\\("),
                         ("tagfocus", "comm=worker-[12]"), ("tagfocus", "bytes=1kb:16kb"),
                         ("tagignore", "worker-3"), ("tagfocus", ":512b"), ("tagfocus", "pid=1002"),
                         ("focus", "libpart2"), ("hide", "libpart2")):
        judge = os.path.join(h.folder(), "judge.pb.gz")
        run(*h.pprof("-proto", f"-output={judge}", f"-{option}={text}", path))
        own = "--" + option.replace("_", "-").replace("tag", "tag-")
        tables = [json.loads(run(h.CPROF, "top", "--json", "--limit", 0, *arguments))["rows"]
                  for arguments in ([judge], [own, text, path])]
        found, wanted = ({row["name"]: (row["flat"], row["cum"]) for row in table} for table in reversed(tables))
        assert wanted and found == wanted, (option, text, len(wanted), len(found))


@h.test
def wrong_use():
    path = Maker(*CPU).add(["a"], 1, 1).write()
    other = Maker(("objects", "count")).add(["a"], 1).write()
    out = os.path.join(h.folder(), "out.pb.gz")
    for arguments, word in ((["merge"], "FILE"), (["merge", path, other, "-o", out], "sample types"),
                            (["merge", path, "/nonexistent", "-o", out], "No such file"),
                            (["merge", path, "--keep-type", "x", "-o", out], "no sample type 'x'"),
                            (["merge", path, "--drop-type", "cpu", "--drop-type", "samples", "-o", out], "leave no sample type"),
                            (["merge", path, "--split", "comm"], "-o FOLDER"),
                            (["diff", path], "two profiles"), (["diff", path, other], "in common"),
                            (["diff", path, path, "--diff-base"], "-o"),
                            (["diff", path, path, "--by", "x"], "--by x")):
        done = h.run_cprof(*arguments, status=None)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and word in done.stderr, done
        assert not done.stdout and not os.path.exists(out), done


h.main()
