#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof top, peek and tree, beside what `go tool pprof` says of the same files.

What is known to differ, and how it is compared then:
  files           pprof has a row for each function of a file (its Aggregate leaves start_line in):
                  here a file is one row, so the flat values of a file's rows are added up
  [[libx.so]]     a mapping without a name of a path "[libx.so]" has one pair of brackets here
"""
import fcntl
import json
import os
import pty
import re
import subprocess
import tempfile
import threading

import harness as h
from contract import by_function, by_leaf, load
from madeup import madeup

ROW = re.compile(r"^ *(\S+) +(\S+%) +(\S+%) +(\S+) +(\S+%)  (.*)$")
ALL = ["-nodefraction=0", "-edgefraction=0"]
END_MARK = b"\0the command has ended\0"
CORPUS = next((folder for up in ("..", "../..") if os.path.isdir(
    folder := os.path.join(h.ROOT, up, "shared/corpus/pprof"))), "nowhere")


def cprof(*arguments, status=0, stdin=None):
    return h.run_cprof(*arguments, status=status, input=stdin, text=False).stdout.decode()


def pprof(*arguments):
    done = subprocess.run(h.pprof("-symbolize=none", *arguments),
                          capture_output=True, timeout=h.HANGS, check=False)
    assert not done.returncode, f"go tool pprof {arguments}: {done.stderr.decode()}"
    return done.stdout.decode()


def unescaped(text):
    """pprof prints what comes; cprof does not send it to a terminal."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f\u2028\u202a-\u202e]",
                  lambda m: "".join(f"\\x{byte:02x}" for byte in m[0].encode()), text)


def rows(text):
    return [m.groups() for m in map(ROW.match, unescaped(text).splitlines()) if m]


def made(seed, **how):
    path = os.path.join(h.folder(), f"made{seed}.pb.gz")
    with open(path, "wb") as file:
        file.write(madeup(seed, **how))
    return path


def go_profiles():
    """CPU and heap profiles of a Go program, by its own runtime."""
    folder = h.folder()
    subprocess.run(["go", "run", os.path.join(h.ROOT, "tests/e2e/workloads/profiles.go"), folder],
                   check=True, timeout=h.HANGS)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def same_top(path, ours=(), theirs=()):
    mine, others = rows(cprof("top", "-n", 0, *ours, path)), rows(pprof("-top", *ALL, *theirs, path))
    others = [(*row[:5], row[5].replace("[[", "[").replace("]]", "]")) for row in others]
    assert others or mine == others, (path, theirs)
    # What is printed alike may differ by less, and stand in another order.
    by_value = sorted((row[0], row[1], *row[3:]) for row in mine)
    assert by_value == sorted((row[0], row[1], *row[3:]) for row in others), \
        f"{path} {ours}: {set(mine) ^ set(others)}"
    assert [row[2] for row in mine] == [row[2] for row in others], f"{path} {ours}: sum%"
    return mine


@h.test
def of_many_comments_the_first():
    merged = os.path.join(h.folder(), "merged.pb.gz")
    cprof("merge", "-o", merged, *(made(seed, by=chr(ord("a") + seed % 26) * seed) for seed in range(1, 31)))
    assert len(load(merged)["comments"]) == 30
    head = cprof("top", merged)
    assert head.count("made up") == 10 and "and 20 more comments (cprof info)" in head, head
    assert cprof("info", merged).count("made up") == 30
    # Of those that differ in their numbers only there are two.
    cprof("merge", "-o", merged, *(made(seed) for seed in range(1, 31)))
    head = cprof("top", merged)
    assert "made up 1\n29 more comments like this: made up 1\n" in head and head.count("made up") == 2, head


@h.test
def rows_are_those_of_pprof():
    """Every granularity, made-up profiles: the same rows, values, shares and units."""
    for seed in range(1, 5):
        path = made(seed)
        same_top(path)
        same_top(path, ["--by", "line"], ["-lines"])
        same_top(path, ["--by", "address"], ["-addresses"])
    path = made(5, negative=True)
    same_top(path)
    same_top(path, ["--sample-type", "samples"], ["-sample_index=samples"])


@h.test
def selections_are_those_of_pprof():
    path = made(11)
    for ours, theirs in ((["--cum"], ["-cum"]),
                         (["--focus", "parse|alloc"], ["-focus=parse|alloc"]),
                         (["--ignore", "libc", "--hide", "^x$"], ["-ignore=libc", "-hide=^x$"]),
                         (["--show", "main|run|e.c"], ["-show=main|run|e.c"]),
                         (["--show-from", "std::map"], ["-show_from=std::map"]),
                         (["--tag-focus", "comm=nginx"], ["-tagfocus=comm=nginx"]),
                         (["--tag", "nginx", "--tag-ignore", "pid=7:7"], ["-tagfocus=nginx", "-tagignore=pid=7:7"]),
                         (["--unit", "us"], ["-unit=us"])):
        same_top(path, ours, theirs)


@h.test
def real_profiles():
    """Go's own CPU and heap profiles, the corpus of pprof, and a run of cprof."""
    run = h.cprof("record", "-F", "499", "--", h.workload("hot"), "1").wait()
    paths = [*go_profiles(), run.output]
    assert len(paths) == 4, paths
    for name in ("cppbench.heap", "gobench.heap", "cppbench.cpu", "go.crc32.cpu"):
        if not os.path.exists(os.path.join(CORPUS, name)):
            print(f"# {name} is not here: skipped")
            continue
        paths.append(os.path.join(h.folder(), name + ".pb.gz"))
        pprof("-proto", "-output", paths[-1], os.path.join(CORPUS, name))
    for path in paths:
        assert same_top(path)
    same_top(paths[0], ["--by", "line"], ["-lines"])


@h.test
def files_are_one_row_each():
    path = made(21)
    mine = json.loads(cprof("top", "--json", "--by", "file", path))
    theirs = {}
    for flat, _, _, _, _, name in rows(pprof("-top", "-files", *ALL, "-unit=ns", path)):
        name = re.sub(r" \((partial-)?inline\)$", "", name).replace("[[", "[").replace("]]", "]")
        theirs[name] = theirs.get(name, 0) + int(re.match(r"\d+", flat)[0])
    ours = {unescaped(row["name"]): row["flat"] for row in mine["rows"]}
    assert ours == theirs, (ours, theirs)
    assert {name for name in ours if "/b.c" in name} == {"/usr/src/b.c"}


@h.test
def json_is_exact():
    """Raw values, against the sums that the tests' own decoder makes."""
    run = h.cprof("record", "-F", "499", "--", h.workload("hot"), "1").wait()
    profile = load(run.output)
    for kind in profile["types"]:
        said = json.loads(cprof("top", "--json", "--sample-type", kind, run.output))
        assert {row["name"]: row["cum"] for row in said["rows"]} == by_function(profile, kind)
        assert {row["name"]: row["flat"] for row in said["rows"] if row["flat"]} == by_leaf(profile, kind)
        assert said["type"] == kind and said["total"] == sum(by_leaf(profile, kind).values())


def blocks(text):
    """What peek says of each function, without the head and sum%."""
    parts = re.split(r"^-+\+-+$", unescaped(text), flags=re.M)[2:]
    return sorted(re.sub(r" (\S+%) (\S+%) +(\S+) (\S+%) +\|", r" \1 \3 \4 |", part).replace("[[", "[").replace("]]", "]")
                  for part in parts if part.strip())


@h.test
def peek_is_that_of_pprof():
    for seed in (31, 32):
        path = made(seed)
        mine, theirs = blocks(cprof("peek", "main|parse|libc", path)), blocks(pprof("-peek", "main|parse|libc", path))
        assert mine and mine == theirs, "\n".join(sorted(set(mine) ^ set(theirs)))
    assert not cprof("peek", "no such function", path, status=3)
    said = json.loads(cprof("peek", "--json", "^main$", path))
    assert [row["name"] for row in said["rows"]] == ["main"] and said["rows"][0]["callers"]


def paths_of(profile, kind):
    """{(root, ..., frame): [self, total]} of a profile whose locations all have names."""
    sums = {}
    for sample in profile["samples"]:
        value, stack = sample["values"][kind], tuple(reversed(sample["stack"]))
        for depth in range(1, len(stack) + 1) if value else ():
            sums.setdefault(stack[:depth], [0, 0])[1] += value
        if value and stack:
            sums[stack][0] += value
    return sums


@h.test
def tree_adds_up():
    run = h.cprof("record", "-F", "499", "--", h.workload("hot"), "1").wait()
    expected, found, path = paths_of(load(run.output), "cpu"), {}, []
    for row in json.loads(cprof("tree", "--json", run.output))["rows"]:
        path[row["depth"]:] = [row["name"]]
        assert tuple(path) not in found
        found[tuple(path)] = [row["self"], row["total"]]
    assert found == expected
    text = cprof("tree", "--min-share", "5%", run.output)
    assert re.search(r"^ +\S+ +\S+% +\S+ +\S+%  +hot_a$", text, re.M), text
    assert "branches are cut off" in cprof("tree", "--min-share", "20%", made(25))
    assert "hot_a" not in cprof("tree", "--depth", 1, run.output)


@h.test
def tree_of_a_difference():
    """What grew and what shrank cancel in their callers, which are shown all the same."""
    with tempfile.TemporaryDirectory() as folder:
        base, head, change = (f"{folder}/{name}" for name in ("base.folded", "head.folded", "change.pb.gz"))
        for path, stacks in ((base, "main;load;parse;old 900\nmain;run 1000\nmain;load 5\n"),
                             (head, "main;load;parse;new 900\nmain;run 1003\nmain;load 5\n")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(stacks)
        cprof("diff", "-o", change, base, head)
        text = cprof("tree", change)
    rows = {name: (total, self, len(indent))
            for total, self, indent, name in re.findall(r"^ +(-?\d+) +\S+% +(-?\d+) +\S+%(  +)(\w+)$", text, re.M)}
    # parse has all that changed in load, so that it stands right below it; run's 3 of 1,803 are too little
    assert rows == {"main": ("3", "0", 2), "load": ("0", "0", 4), "parse": ("0", "0", 4), "new": ("900", "900", 6),
                    "old": ("-900", "-900", 6)}, text


@h.test
def labels_are_rows():
    """--by pid and its kind: the values of pprof's -tagroot, and in tree its roots."""
    for seed in range(81, 84):
        path = made(seed)
        values = {"pid": {"7", "8"}, "comm": {"nginx", "php"}}
        for key, by in (("pid", "pid"), ("comm", "comm"), ("pid", "tag=pid"), ("comm", "tag=comm")):
            theirs = {row[5]: row[3:5] for row in rows(pprof("-top", *ALL, f"-tagroot={key}", path))
                      if row[5] in values[key]}
            mine = {row[5]: row for row in rows(cprof("top", "--by", by, path))}
            assert {name: row[3:5] for name, row in mine.items()} == theirs, (mine, theirs)
            assert all(row[:2] == row[3:5] for row in mine.values()), mine  # flat is cum
            said = json.loads(cprof("top", "--json", "--by", by, path))
            assert said["by"] == by and sum(row["flat"] for row in said["rows"]) == said["total"]
            tree = json.loads(cprof("tree", "--json", "--by", by, path))["rows"]
            assert ({row["name"]: row["total"] for row in tree if not row["depth"]}
                    == {row["name"]: row["flat"] for row in said["rows"]})
            # below each of them stands what -tagfocus shows of it
            inner, below = None, {}
            for row in tree:
                inner = row["name"] if not row["depth"] else inner
                if row["depth"]:
                    below.setdefault(inner, []).append((row["depth"] - 1, row["name"], row["total"]))
            for value, expected in below.items():
                tag = f"{key}={value}:{value}" if key == "pid" else f"{key}={value}"
                alone = json.loads(cprof("tree", "--json", "--tag", tag, path))["rows"]
                assert [(row["depth"], row["name"], row["total"]) for row in alone] == expected, (seed, tag)
    change = json.loads(cprof("diff", "--json", "--by", "comm", made(81), made(82)))["rows"]
    assert {row["name"] for row in change} == {"nginx", "php"}


@h.test
def threads_are_rows():
    """What `record -t` labels, against the tests' own decoder; a numeric label, of Go's heap."""
    run = h.cprof("record", "-t", "-F", "499", "--", h.workload("threads"), "1").wait()
    expected = {}
    for sample in load(run.output)["samples"]:
        thread = sample["labels"]["thread"]
        expected[thread] = expected.get(thread, 0) + sample["values"]["cpu"]
    said = json.loads(cprof("top", "--json", "--by", "thread", run.output))
    assert {row["name"]: row["flat"] for row in said["rows"]} == expected
    heap = next(path for path in go_profiles() if "heap" in path)
    sizes = json.loads(cprof("top", "--json", "--by", "tag=bytes", heap))["rows"]
    assert sizes and all(row["name"].isdigit() for row in sizes), sizes


def told(*arguments):
    """What it says on stderr, and shows all the same."""
    done = h.run_cprof(*arguments)
    assert done.stdout
    return done.stderr


@h.test
def what_is_not_in_the_profile():
    """Rows by something that it does not have: one line, and what is there."""
    folded = os.path.join(h.folder(), "p.folded")
    with open(folded, "w", encoding="utf-8") as file:
        file.write("main;f 3\n")
    for by, words in (("line", "no line numbers: build with -g"), ("file", "no source files"),
                      ("mapping", "no mappings"), ("address", "no addresses")):
        for command in ("top", "tree"):
            assert words in told(command, "--by", by, folded)
            assert told(command, "--by", by, folded).count("\n") == 1
            assert not told(command, "--by", by, made(91))
    assert not told("top", folded)
    for by, words in (("thread", r"no sample has a label 'thread'; use one of comm, pid \(record it with cprof record -t"),
                      ("tag=request", "no sample has a label 'request'; use one of comm, pid"),
                      ("tag=", "--by tag=: not one of"), ("tags", "--by tags: not one of")):
        done = h.run_cprof("top", "--by", by, made(92), status=None)
        assert done.returncode == 2 and not done.stdout and re.search(words, done.stderr), done
    done = h.run_cprof("top", "--by", "pid", folded, status=None)
    assert done.returncode == 2 and "the profile has no labels" in done.stderr, done


@h.test
def an_interpreter_hides_the_program():
    shown = h.cprof("record", "-F", "499", "--", "/usr/bin/python3", "-c", "sum(i * i for i in range(5000000))").wait()
    assert not told("top", shown.output)
    run = h.cprof("record", "-F", "499", "--no-perl", "--", "perl", "-e", "for (1..1e7) { $x += $_ * $_ }").wait()
    for command in (["top"], ["tree"], ["flame", "-o", "-"]):
        said = told(*command, run.output)
        assert said.count("\n") == 1 and "the Perl interpreter (Perl_runops_standard)" in said, said
    assert not told("top", "--json", run.output)
    assert not told("top", made(93))


LONG = {"std::vector<std::pair<int, Foo<Bar> >, std::allocator<int> >::push_back(int const&)": "std::vector<>::push_back",
        "void std::sort<int*>(int*, int*)": "std::sort<>",
        "A::operator<<(int)": "A::operator<<",
        "(anonymous namespace)::f(int)": "(anonymous namespace)::f",
        "main::{lambda(int)#1}::operator()(int) const": "main::{lambda#1}::operator()",
        "<alloc::vec::Vec<T> as core::ops::Drop>::drop": "<alloc::vec::Vec<> as core::ops::Drop>::drop",
        "odd<(name": "odd<(name"}


@h.test
def long_names_are_short_on_a_terminal():
    path = os.path.join(h.folder(), "long.folded")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"main;{name} {i}\n" for i, name in enumerate(LONG, 1))
    empty = os.path.join(h.folder(), "empty.folded")
    with open(empty, "w", encoding="utf-8") as file:
        file.write("main 1\n")

    for command in (["top", path], ["tree", path], ["peek", "::", path], ["diff", empty, path]):
        on_terminal = on_a_terminal(*command, NO_COLOR="1").decode().replace("\r", "")
        whole = on_a_terminal(*command, "--full-names", NO_COLOR="1").decode().replace("\r", "")
        assert whole == cprof(*command), command
        for name, short in LONG.items():
            if command[0] == "peek" and "::" not in name:
                continue
            assert re.search(rf"[ |]{re.escape(short)}( \(new\))?$", on_terminal, re.M), (command, short, on_terminal)
            assert name == short or name not in on_terminal
            assert name in whole
    # nothing else is short: not what scripts read, not a label's value
    assert set(LONG) <= {row["name"] for row in json.loads(on_a_terminal("top", "--json", path))["rows"]}
    labelled = os.path.join(h.folder(), "labelled.pb.gz")
    with open(labelled, "wb") as file:
        file.write(madeup(1, comms=["worker(1)", "pool<2>"]))
    for command in ("top", "tree"):
        text = on_a_terminal(command, "--by", "comm", labelled, NO_COLOR="1").decode()
        assert "  worker(1)" in text and "  pool<2>" in text, text


@h.test
def limits():
    """30 rows for people, all for scripts; so many if that is said, 0: all."""
    with tempfile.TemporaryDirectory() as folder:
        base, head = f"{folder}/base.folded", f"{folder}/head.folded"
        for path, factor in ((base, 1), (head, 3)):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"f{i} {i * factor}\n" for i in range(1, 51))
        for command in (["top", base], ["diff", base, head]):
            for limit, for_people, for_scripts in (([], 30, 50), (["-n", "7"], 7, 7), (["-n", "0"], 50, 50)):
                text = cprof(*command, *limit)
                assert len(re.findall(r" f\d+$", text, re.M)) == for_people, text
                assert f"Showing {for_people} of 50 rows" in text
                assert len(json.loads(cprof(*command, *limit, "--json"))["rows"]) == for_scripts


@h.test
def names_do_not_reach_the_terminal():
    for seed in range(41, 45):
        for command in (["top", "-n", "0"], ["tree", "--min-share", "0"], ["peek", "."]):
            said = cprof(*command, made(seed))
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", said), said


def on_a_terminal(*arguments, **env):
    """What it says where stdout is a terminal. The kernel may drop what is still on its way when the last writer
    closes a pseudoterminal: so this process keeps it open, and writes a mark when the command has ended."""
    reader, terminal = pty.openpty()
    process = subprocess.Popen([h.CPROF, *arguments], stdout=terminal, env={**os.environ, **env})
    codes = []

    def mark_the_end():
        codes.append(process.wait())
        os.write(terminal, END_MARK)

    waiter = threading.Thread(target=mark_the_end)
    waiter.start()
    said = b""
    while not said.endswith(END_MARK):
        said += os.read(reader, 65536)
    waiter.join()
    os.close(terminal)
    os.close(reader)
    assert codes == [0], codes
    return said.removesuffix(END_MARK)


@h.test
def colours_are_for_terminals():
    os.environ.pop("NO_COLOR", None)
    path = made(51)
    assert b"\033[" in on_a_terminal("top", path)
    assert b"\033[" not in on_a_terminal("top", path, NO_COLOR="1")
    assert "\033[" not in cprof("top", path)


@h.test
def pipes():
    """Stdin, several files, a reader that goes away, a full disk."""
    path = made(61)
    with open(path, "rb") as file:
        data = file.read()
    assert cprof("top", "-", stdin=data) == cprof("top", path)
    one, two = (json.loads(cprof("top", "--json", *files)) for files in ([path], [path, path]))
    assert two["total"] == 2 * one["total"]
    assert [(r["name"], 2 * r["flat"]) for r in one["rows"]] == [(r["name"], r["flat"]) for r in two["rows"]]
    large = subprocess.Popen([h.CPROF, "tree", "--min-share", "0", *[path] * 8],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fcntl.fcntl(large.stdout, fcntl.F_SETPIPE_SZ, 4096)
    large.stdout.close()
    assert large.stderr.read() == b""
    large.stderr.close()
    large.wait()
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = h.run_cprof("top", path, status=None, stdout=full, stderr=subprocess.PIPE, text=False)
    assert done.returncode == 2 and b"No space" in done.stderr, done


@h.test
def what_cannot_be_shown():
    """One line, exit code 2."""
    path = made(71)
    for arguments in (["top"], ["top", "/nonexistent"], ["top", "--by", "moon", path],
                      ["top", "--focus", "(", path], ["top", "--tag", "[", path],
                      ["top", "--unit", "MB", path], ["top", "--sample-type", "wall", path],
                      ["top", "-n", "many", path], ["tree", "--min-share", "-1", path],
                      ["peek", "main"], ["peek", "(", path], ["top", os.devnull]):
        done = h.run_cprof(*arguments, status=None, cwd=h.folder())
        assert done.returncode == 2 and not done.stdout, (arguments, done)
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("cprof: "), done.stderr


h.main()
