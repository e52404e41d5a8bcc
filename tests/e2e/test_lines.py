#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Source files, lines and inlined functions, in the profile and as `go tool pprof` shows them."""
import html
import itertools
import os
import re
import subprocess

import dwarfjudge as d
import harness as h
import symbolizing
import unwinding as u

SOURCE = os.path.join(u.SOURCES, "inlined.go")
with open(SOURCE, encoding="utf-8") as _file:
    TEXT = _file.read().splitlines()
CHAIN = ["main.leaf", "main.middle", "main.outer", "main.main"]


def line_of(name):
    return next(i + 1 for i, text in enumerate(TEXT) if text.endswith(f"// {name.removeprefix('main.')}'s line"))


def declaration(name):
    return next(i + 1 for i, text in enumerate(TEXT) if text.startswith(f"func {name.removeprefix('main.')}("))


def go_version(program):
    version = subprocess.run(["go", "version", program], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, version.split("go1.")[-1].split()[0].split("."))) if "go1." in version else ()


def pprof(path, *arguments):
    """What `go tool pprof` prints; it has nothing to complain about."""
    done = subprocess.run(h.pprof(*arguments, path), capture_output=True, text=True, check=True,
                          env={**os.environ, "PPROF_BINARY_PATH": ""})
    assert done.stderr == "", done.stderr
    return done.stdout


def assert_chain(samples, is_file, has_start):
    """Wherever leaf was sampled, its callers are there, each at the line of its call."""
    inside = u.holding({"samples": samples}, "main.leaf")
    assert u.count(inside) > 0.3 * u.count(samples), h.by_function({"samples": samples}, "samples")
    for sample in inside:
        frames = [frame for frame in sample["frames"] if frame["name"].startswith("main.")]
        # while outer has not saved its frame pointer yet, its caller is not seen
        assert [frame["name"] for frame in frames] in (CHAIN, CHAIN[:3]), sample["stack"]
        # the runtime may have interrupted it, to let another goroutine run
        below = list(itertools.dropwhile(lambda name: name.startswith("runtime."), sample["stack"]))
        assert below[:3] == CHAIN[:3] and len({frame["address"] for frame in frames[:3]}) == 1, frames
        for frame in frames:
            assert frame["system_name"] == frame["name"], frame
            assert is_file(frame["file"]), frame
            assert frame["line"] == line_of(frame["name"]), frame
            assert frame["start_line"] == (declaration(frame["name"]) if has_start else 0), frame


def assert_flags(profile, program, has_lines, has_inlines):
    mapping = next(mapping for mapping in profile["mappings"] if mapping["path"] == program)
    flags = [mapping[f"has_{what}"] for what in ("functions", "filenames", "line_numbers", "inline_frames")]
    assert flags == [True, has_lines, has_lines, has_inlines], mapping


@h.test
def go_lines_and_inlined_calls():
    """Of a stripped program, too; the judges see the source lines."""
    program = u.build_go("inlined", "-ldflags=-s -w")
    run = u.record(program, 0.4, hz=1249)
    profile = run.profile()
    assert_chain(profile["samples"], SOURCE.__eq__, go_version(program) >= (20,))
    assert_flags(profile, program, True, True)
    listed = pprof(run.output, "-list", r"main\.outer$")
    assert SOURCE in listed, listed
    assert any(text.split()[:2] != [".", "."] and text.endswith("// outer's line") for text in listed.splitlines()), listed
    top = pprof(run.output, "-top")
    assert "main.leaf (inline)" in top and "main.outer (inline)" not in top, top
    traces = pprof(run.output, "-lines", "-traces")
    assert f"main.leaf {SOURCE}:{line_of('main.leaf')}" in traces, traces[:2000]
    os.rename(program, program + ".gone")  # nobody needs it any more
    assert "main.leaf (inline)" in pprof(run.output, "-top")
    os.rename(program + ".gone", program)


@h.test
def go_trimmed_paths():
    """Files as the compiler noted them."""
    program = u.build_go("inlined", "-trimpath", "-buildmode=pie")
    profile = u.record(program, 0.4, hz=1249).profile()
    assert_chain(profile["samples"], lambda file: file.endswith("/inlined.go") and not os.path.isabs(file),
                 go_version(program) >= (20,))


@h.test
def c_lines_and_inlined_calls():
    """From DWARF; a judge sees the source, and a stripped program has its names alone."""
    program, source = u.build("inlined"), os.path.join(u.SOURCES, "inlined.c")
    run = u.record(program, 0.4, hz=1249)
    profile = run.profile()
    assert_flags(profile, program, True, True)
    with open(source, encoding="utf-8") as file:
        lines = {match[1]: i + 1 for i, text in enumerate(file)
                 if (match := re.search(r"/\* (\w+)'s line \*/", text))}
    inside = u.holding(profile, "leaf")
    assert u.count(inside) > 0.2 * u.count(profile["samples"]), h.by_function(profile, "samples")
    for sample in inside:
        frames = sample["frames"][:4]
        assert [frame["name"] for frame in frames] == ["leaf", "middle", "outer", "main"], sample["stack"]
        assert [(frame["file"], frame["line"]) for frame in frames] == [(source, lines[frame["name"]])
                                                                        for frame in frames], frames
    assert any(text.split()[:2] != [".", "."] and text.endswith("/* outer's line */")
               for text in pprof(run.output, "-list", "^outer$").splitlines())
    assert "leaf (inline)" in pprof(run.output, "-top")
    stripped = os.path.join(h.folder(), "inlined")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    profile = u.record(stripped, 0.4, hz=1249).profile()
    assert not u.holding(profile, "leaf")
    assert not [frame for sample in profile["samples"] for frame in sample["frames"]
                if frame["mapping"]["path"].endswith("/inlined") and frame["line"]]


def weblisted(path, function):
    """The lines of source that -weblist shows of a function as having samples, without HTML."""
    page = os.path.join(h.folder(), "page.html")
    done = h.run(*h.pprof("-weblist", function, "-output", page, path), env={**os.environ, "PPROF_BINARY_PATH": ""})
    assert done.stderr == f"Generating report in {page}\n", done.stderr
    with open(page, encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"<span class=line> *\d+</span> <span class=livesrc> +(\S+) +(\S+) +(.*?) *</span>", text)
    return [html.unescape(source).strip() for flat, cum, source in rows if (flat, cum) != (".", ".")]


@h.test
def source_in_weblist():
    """Of a Go and a C program: the hot line of what was inlined into a function, and -list has the line of the call.
    (Go's own pprof finds no source of functions that gcc has cloned or placed out of order: these have neither.)"""
    program = u.build_go("inlined")
    run = u.record(program, 0.4, hz=1249)
    shown = weblisted(run.output, r"main\.outer$")
    assert TEXT[line_of("main.leaf") - 1].strip() in shown, shown
    program = symbolizing.Program("-fno-reorder-functions")
    output = program.record()
    shown = weblisted(output, "^leaf$")
    assert "x = x * 1103515245u + 12345u;" in shown, shown
    listed = pprof(output, "-list", "^leaf$").splitlines()
    assert any(text.split()[:2] != [".", "."] and "twist(x" in text for text in listed), listed


@h.test
def compressed_debug_information():
    """By zlib and zstd; llvm-symbolizer judges by the file as it was before."""
    program = d.build()
    known = subprocess.run(["objcopy", "--help"], capture_output=True, text=True, check=True).stdout
    built_with = h.run_cprof("doctor", status=None).stdout
    for method in "zlib", "zstd":
        if method == "zstd" and ("zstd" not in known or "built without libzstd" in built_with):
            raise h.Skip("objcopy or cprof was built without zstd")
        packed = os.path.join(h.folder(), "twofold")
        d.run("objcopy", f"--compress-debug-sections={method}", program, packed)
        sections = subprocess.run(["readelf", "-tW", packed], capture_output=True, text=True, check=True).stdout
        assert f"{method.upper()}, " in sections, sections
        d.assert_same(d.record(packed), program)


@h.test
def without_lines():
    """--no-lines: names alone; what is inlined counts for the function that it is in."""
    program = u.build_go("inlined")
    run = h.cprof("record", "-F", 1249, "--no-kernel", "--no-lines", "--", program, 0.4).wait()
    profile = run.profile()
    assert not u.holding(profile, "main.leaf")
    assert u.count(u.holding(profile, "main.outer")) > 0.9 * u.count(profile["samples"])
    assert {(frame["file"], frame["line"], frame["start_line"]) for sample in profile["samples"]
            for frame in sample["frames"]} == {("", 0, 0)}
    assert_flags(profile, program, False, False)


@h.test
def without_inlined_functions():
    """--no-inlines: the function that the code is in, at the line of its call."""
    program = u.build_go("inlined", "-ldflags=-s -w")
    run = h.cprof("record", "-F", 1249, "--no-kernel", "--no-inlines", "--", program, 0.4).wait()
    profile = run.profile()
    assert not u.holding(profile, "main.leaf")
    inside = u.holding(profile, "main.outer")
    assert u.count(inside) > 0.9 * u.count(profile["samples"])
    lines = {sample["frames"][0]["line"] for sample in inside if sample["stack"][0] == "main.outer"}
    assert line_of("main.outer") in lines and line_of("main.leaf") not in lines, lines
    assert_flags(profile, program, True, False)


if __name__ == "__main__":
    h.main()
