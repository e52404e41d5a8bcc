#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap on allocators that are not the C library's: linked in, a library, preloaded, opened late,
with new and delete of their own. At rate 1, from the first allocation on, every count is exact."""
import functools
import os
import re
import shutil
import subprocess

import harness as h
import heaps

SOURCES = os.path.join(h.ROOT, "tests", "e2e", "workloads")
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
INSIDE = os.path.join(h.BUILD, "libcprof-heap.so")
RUNS = 3 if h.IS_LONG else 1  # the window that is not there would be hit by some, of all cases


@functools.cache
def build(name, *words, compiler="gcc"):
    """A program or library in a folder of its own, for all cases."""
    if not shutil.which(compiler):
        raise h.Skip(f"NOT RUN: {compiler} is not installed")
    folder = h.kept_folder()
    os.chmod(folder, 0o755)
    path = os.path.join(folder, name)
    sources = [os.path.join(SOURCES, word) if word.endswith((".c", ".cc")) else word for word in words]
    # -fno-builtin: a malloc is not to be turned into something else
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer",
                    "-fno-builtin", "-o", path, *sources], check=True)
    return path


def toy_library():
    return build("libtoy.so", "-shared", "-fPIC", "heap/toyalloc.c")


def jemalloc():
    if not os.path.exists(JEMALLOC):
        raise h.Skip("NOT RUN: jemalloc is not installed (apt-get install libjemalloc2)")
    return JEMALLOC


def launch(*command, of=None, **more):
    """All counts are right, each time; the allocator is `of` that file."""
    for _ in range(RUNS):
        run = h.cprof("heap", "--rate", "1", "--all-frames", "--", *command, **more).wait()
        profile = run.profile()
        heaps.exact(profile, run.says())
        assert not run.closing.lost, run.closing.reasons
        leaves = {(sample["frames"][0]["mapping"] or {}).get("path", "") for sample in profile["samples"]
                  if "site_in_main" in sample["stack"]}
        # Sampled inside, it is cprof's library that was called, but for an allocator of the executable's own.
        seen = INSIDE if h.HEAP_MODE != "probe" and of and ".so" in of else of
        assert not of or leaves == {seen}, leaves


@h.test
def linked_in():
    path = build("first", "heap/first.c", "heap/toyalloc.c")
    launch(path, of=path)


@h.test
def static():
    launch(build("first", "-static", "heap/first.c"))
    path = build("first", "-static", "heap/first.c", "heap/toyalloc.c")
    launch(path, of=path)


@h.test
def static_with_musl():
    launch(build("first", "-static", "heap/first.c", compiler="musl-gcc"))


@h.test
def a_library():
    library = toy_library()
    launch(build("first", "heap/first.c", library, f"-Wl,-rpath,{os.path.dirname(library)}"), of=library)


@h.test
def a_library_by_its_search_path():
    library = toy_library()
    program = build("first", "heap/first.c", "-L" + os.path.dirname(library), "-ltoy")
    launch(program, of=library, env={"LD_LIBRARY_PATH": os.path.dirname(library)})


@h.test
def preloaded():
    library = toy_library()
    launch(build("first", "heap/first.c"), of=library, env={"LD_PRELOAD": library})


@h.test
def a_script():
    """What its first line names is what runs; found on the PATH."""
    program, folder = build("first", "heap/first.c", "heap/toyalloc.c"), h.folder()
    os.chmod(folder, 0o755)
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as file:
        file.write(f"#! {program} -x\n")
    os.chmod(file.name, 0o755)
    launch("script", of=program, env={"PATH": f"{folder}:{os.environ['PATH']}"})


@h.test
def with_jemalloc():
    launch(build("first", "heap/first.c", jemalloc()), of=os.path.realpath(JEMALLOC))


@h.test
def new_and_delete_of_jemalloc():
    """It does not come by malloc, and keeps sizes to itself."""
    for preload in (jemalloc(), ""):
        ended, expected = heaps.measure(h.Workload("newdelete", env={"LD_PRELOAD": preload}), "--rate", "1",
                                        "--all-frames")
        profile = ended.profile()
        heaps.exact(profile, expected)
        new = {sample["stack"][0] for sample in profile["samples"] if "site_new(int)" in sample["stack"]
               and "std::vector" not in " ".join(sample["stack"])}
        assert not preload or all("operator new" in name for name in new), new


@h.test
def wrapped():
    """A call is sampled once, however many functions it goes through: a second chance would make 37 % more."""
    program = build("wrapalloc", "heap/wrapalloc.c")
    for rate in (1, 1000):
        ended, expected = heaps.measure(h.Workload(program), "--rate", rate)
        heaps.estimated(ended.profile(), expected, 1000, rate)


@h.test
def opened_late():
    """It is probed a moment after it was mapped: the workload gives that moment."""
    library = toy_library()
    target = h.Workload(build("dlopens", "heap/dlopens.c"), library)
    run = heaps.watch(target, "--rate", "1")
    target.says()  # open
    run.awaits(f"^cprof: probing .* of {re.escape(library)}")
    target.go()
    expected = target.says()
    target.says()
    heaps.exact(run.stop().profile(), expected)
    target.go()
    assert target.wait() == 0


h.main()
