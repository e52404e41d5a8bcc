#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runtimes that are known and whose functions are not read: a line says so, once, and only then."""
import os
import re
import shutil
import subprocess

import harness as h
import unwinding as u

SOURCE = """
#include <time.h>
%s
volatile long sink;
int main(void)
{
	do
		for (long i = 0; i < 1000000; i++)
			sink += i;
	while (clock() < CLOCKS_PER_SEC / 2);
	return 0;
}
"""
NOT_VISIBLE = "its own functions are not visible"


def forged(name, what):
    """A program of this name that exports what a runtime does."""
    folder = h.folder()
    with open(os.path.join(folder, "forged.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE % what)
    subprocess.run(["gcc", "-O1", "-rdynamic", "-o", name, "forged.c"], check=True, cwd=folder)
    return os.path.join(folder, name)


def said(*command):
    """What is said of a command's functions."""
    return [line for line in h.cprof("record", "--", *command).wait().lines if NOT_VISIBLE in line]


@h.test
def each_has_its_line():
    for name, what, kind in (("ruby", "int ruby_run_node(void *n) { return !n; }", "a Ruby process"),
                             ("electron", "const int v8dbg_SmiShiftSize = 0, v8dbg_TaggedSize = 4;",
                              "a V8 process whose pointers are compressed"),
                             ("perl", "int perl_run(void *p) { return !p; }", "a Perl process")):
        lines = said(forged(name, what))
        assert len(lines) == 1 and re.match(rf"cprof: \d+ [(]{name}[)]: {kind}.*{NOT_VISIBLE}$", lines[0]), lines


@h.test
def others_have_none():
    """Nor has a library that they share with others: its name alone is none."""
    assert not said(forged("plain", ""))
    assert not said(forged("editor", "int ruby_init(void) { return 0; } int perl_parse(void) { return 0; }"))


@h.test
def in_a_library():
    """What a program runs may be in a library; one that others embed is none of a program's."""
    for run, kind in (("ruby_run_node", "Ruby"), ("perl_run", "Perl")):
        folder = h.folder()
        with open(os.path.join(folder, "runtime.c"), "w", encoding="utf-8") as file:
            file.write(f"#include <time.h>\nvolatile long sink;\nint {run}(void *n) {{ do for (long i = 0; i < 1000000; i++) sink += i; "
                       "while (clock() < CLOCKS_PER_SEC / 2); return !n; }\n"
                       f"int call(void) {{ return {run}(0); }}\n")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "libforged.so", "runtime.c"], check=True, cwd=folder)
        for name, called, nr in (("program", f"{run}(0)", 1), ("editor", "call()", 0)):
            with open(os.path.join(folder, f"{name}.c"), "w", encoding="utf-8") as file:
                file.write(f"int {run}(void *), call(void);\nint main(void) {{ return {called}; }}\n")
            subprocess.run(["gcc", "-o", name, f"{name}.c", "-L.", "-lforged", f"-Wl,-rpath,{folder}"], check=True, cwd=folder)
            lines = said(os.path.join(folder, name))
            assert len(lines) == nr and all(f"a {kind} process; " in line for line in lines), lines


@h.test
def perl_itself():
    if not shutil.which("perl"):
        raise h.Skip("no perl")
    assert len(said("perl", "-e", "$x += $_ * $_ for 1 .. 3e6")) == (0 if u.reads_perl(["perl"]) else 1)


h.main()
