#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runtimes whose functions are not read, themselves: a line says so of each that is here, once. Others are forged, by what they export."""
import glob
import os
import shutil

import harness as h

NOT_VISIBLE = "its own functions are not visible"
# They use a second of CPU time, and forged ones half of it, however fast they are: there is time to look into their files.
LUA = "local x = 0 repeat for i = 1, 1e6 do x = x + i % 7 end until os.clock() > 1"
ERLANG = "F = fun G(0) -> ok; G(N) -> G(N - 1) end, F(1000000), halt()."
OLD_PYTHON = "import os\nwhile sum(os.times()[:2]) < 1:\n    for i in range(10000): pass"
VERSION = "import sys, sysconfig; print('%d %d %d' % (sys.version_info[:2] + (sysconfig.get_config_var('Py_GIL_DISABLED') or 0,)))"
NEWEST_PYTHON = (3, 14)


def said(*command):
    """What is said of a command's functions."""
    return [line for line in h.cprof("record", "--", *command).wait().lines if NOT_VISIBLE in line]


def assert_said(kind, *command):
    if not shutil.which(command[0]):
        raise h.Skip(f"no {command[0]}")
    lines = said(*command)
    print(f"# {lines}", flush=True)
    assert len(lines) == 1 and f"): {kind} process" in lines[0], lines


@h.test
def lua():
    assert_said("a Lua", "lua", "-e", LUA)


@h.test
def luajit():
    assert_said("a Lua", "luajit", "-e", LUA)


@h.test
def erlang():
    assert_said("an Erlang", "erl", "-noshell", "-eval", ERLANG)


@h.test
def python_of_another_version():
    """Those before 3.8, those that are too new and those without a GIL have one, those that are read have none."""
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")) + glob.glob("/usr/bin/python3"))
    if not found:
        raise h.Skip("neither /usr/bin/python3 nor pyenv's")
    for path in found if h.IS_LONG else sorted({found[0], found[-1]}):
        *version, has_no_gil = map(int, h.run(path, "-c", VERSION).stdout.split())
        is_read = (3, 8) <= tuple(version) <= NEWEST_PYTHON and not has_no_gil
        lines = said(path, "-c", OLD_PYTHON)
        print(f"# {path}: {lines}", flush=True)
        assert len(lines) == (not is_read) and all("): a Python process (" in line for line in lines), (path, lines)


SPIN = "#include <time.h>\nvolatile long sink;\nint {run}(void) {{ do for (long i = 0; i < 1000000; i++) sink += i; " \
    "while (clock() < CLOCKS_PER_SEC / 2); return 0; }}\n"
MAIN = "int {run}(void);\nint main(void) {{ return {run}(); }}\n"
FREE_THREADED = "int _PyRuntime = 1, PyCode_Type = 1;\nint _PyEval_EvalFrameDefault(void) { return 0; }\n" \
    "int _Py_MergeZeroLocalRefcount(void) { return 0; }\n"


def build(folder, name, text, *options):
    source = os.path.join(folder, f"{name}.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    h.run("gcc", "-O1", *options, "-o", os.path.join(folder, name), source, f"-Wl,-rpath,{folder}", cwd=folder)
    return os.path.join(folder, name)


def programs(run, more=""):
    """One that has the function itself, and one whose library has it."""
    folder = h.folder()
    whole = build(folder, "whole", SPIN.format(run=run) + more + MAIN.format(run=run), "-rdynamic")
    build(folder, "libforged.so", SPIN.format(run=run) + more, "-shared", "-fPIC")
    folder_of_library = f"-L{folder}"
    return whole, build(folder, "main", MAIN.format(run=run), "-Wl,--no-as-needed", folder_of_library, "-l:libforged.so")


@h.test
def forged_runtimes():
    """By what they export: an interpreter's program has the line, one that embeds a library has it where that can only be a program's."""
    for run, more, kind, of_library in (("mono_main", "", "a Mono", 0), ("erl_start", "", "an Erlang", 0), ("luaL_newstate", "", "a Lua", 0),
                                        ("coreclr_execute_assembly", "", "a .NET", 1),
                                        ("Py_BytesMain", FREE_THREADED, "a Python", 1), ("_Py_UnixMain", "", "a Python", 1)):
        whole, main = programs(run, more)
        for program, nr in ((whole, 1), (main, of_library)):
            lines = said(program)
            assert len(lines) == nr and all(f"): {kind} process" in line for line in lines), (run, program, lines)


h.main()
