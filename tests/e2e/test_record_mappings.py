#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A file's segment is one mapping, with its build-id, whether its code has names or not; and what was named by its
address can have its name later."""
import contextlib
import os
import re
import shutil
import subprocess

import harness as h
import judges

LIBRARY = """
static __attribute__((noinline)) unsigned hidden(unsigned x) { for (int i = 0; i < 100000; i++) x = x * 7 + i; return x; }
unsigned shown(unsigned x) { x = hidden(x); __asm__ volatile("" : "+r"(x)); return x; }
"""
PROGRAM = """
#include <time.h>
unsigned shown(unsigned x);
int main(void) { unsigned x = 1; while (clock() < CLOCKS_PER_SEC * 6 / 10) x = shown(x); return x == 7; }
"""
FILE = "libsecret.so.6"


class Secret:
    """A program with a library that was stripped: hidden() has no symbol, shown(), which calls it, has."""

    def __init__(self):
        folder = h.folder()
        self.library, self.whole = (os.path.join(folder, part, FILE) for part in ("lib", "whole"))
        self.program = os.path.join(folder, "app")
        self.build_id = os.urandom(20).hex()
        for path in (self.library, self.whole):
            os.makedirs(os.path.dirname(path))
        self.compile(LIBRARY, self.whole, "-g1", "-shared", "-fPIC", f"-Wl,--build-id=0x{self.build_id}")
        subprocess.run(["strip", "-o", self.library, self.whole], check=True)
        self.compile(PROGRAM, self.program, self.library)
        listed = subprocess.run(["nm", self.whole], capture_output=True, text=True, check=True).stdout
        self.made_up = f"{FILE}+{int(re.search(r'([0-9a-f]+) t hidden', listed)[1], 16):#x}"

    @staticmethod
    def compile(text, path, *more):
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-x", "c", "-", "-o", path, "-x", "none", *more],
                       input=text, text=True, check=True)

    def record(self):
        return h.cprof("record", "-F", "999", "--no-kernel", "--no-lines", "--", self.program).wait()

    @contextlib.contextmanager
    def debug_file(self):
        """The names of the library, where a package would install them."""
        folder = os.path.join("/usr/lib/debug/.build-id", self.build_id[:2])
        path = os.path.join(folder, self.build_id[2:] + ".debug")
        os.makedirs(folder, exist_ok=True)
        try:
            subprocess.run(["objcopy", "--only-keep-debug", self.whole, path], check=True)
            yield
        finally:
            os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(folder)


MODULE = """
unsigned work(unsigned x);
__attribute__((noinline)) unsigned INNER(unsigned x) { for (int i = 0; i < 100000; i++) x = x * 7 + i; return x; }
unsigned work(unsigned x) { x = INNER(x); __asm__ volatile("" : "+r"(x)); return x; }
"""
MODULES = """
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
static unsigned x = 1;
/* Loads a module, works in it for some time of the CPU, and unloads it. */
static inline __attribute__((always_inline)) void use(const char *path)
{
	void *module = dlopen(path, RTLD_NOW);
	unsigned (*work)(unsigned) = module ? (unsigned (*)(unsigned))dlsym(module, "work") : (abort(), NULL);
	for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
		x = work(x);
	if (dlclose(module) || dlopen(path, RTLD_NOW | RTLD_NOLOAD))
		abort();
}
__attribute__((noinline)) void with_alpha(const char *path) { use(path); __asm__ volatile(""); }
__attribute__((noinline)) void with_beta(const char *path) { use(path); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	for (; argc; x++) {
		with_alpha(argv[1]);
		with_beta(argv[2]);
	}
	return x == 7;
}
"""


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def pprof(path, *options, **env):
    """What pprof prints, with nothing on stderr."""
    folder = os.path.dirname(path)
    return judges.silent(judges.pprof(*options, path), path,
                         env={"HOME": folder, **os.environ, "PPROF_TMPDIR": folder, "PPROF_BINARY_PATH": "", **env})


def folded(*arguments):
    return h.run_cprof("convert", "--format", "folded", *arguments).stdout


@h.test
def a_file_is_one_mapping():
    """Named and unnamed code of a library, and of libc; pprof is silent, finds all by file, and can name the rest."""
    secret = Secret()
    run = secret.record()
    profile = run.profile()
    frames = [frame for sample in profile["samples"] for frame in sample["frames"]]
    assert {"shown", secret.made_up} <= {frame["name"] for frame in frames}, run.lines
    for frame in frames:
        assert (frame["system_name"] == "") == ("+0x" in frame["name"] or frame["name"].startswith("[")), frame
    libc = next(m["path"] for m in profile["mappings"] if m["path"].endswith("/libc.so.6"))
    for path, build_id in ((secret.library, secret.build_id), (libc, build_id_of(libc))):
        base = os.path.basename(path)
        own = [mapping for mapping in profile["mappings"] if base in mapping["path"]]
        assert len(own) == 1 and (own[0]["path"], own[0]["build_id"]) == (path, build_id), own
        assert own[0]["has_functions"], own
        held = sum(sample["values"]["samples"] for sample in profile["samples"]
                   if any(frame["mapping"]["path"] == path for frame in sample["frames"]))
        top = pprof(run.output, "-sample_index=samples", "-nodefraction=0", "-nodecount=9999", "-top",
                    f"-focus=/{re.escape(base)}$")
        assert re.search(rf"^Showing nodes accounting for {held}, ", top, re.M), (held, top)
    assert secret.made_up in pprof(run.output, "-top")
    shutil.copy(secret.whole, secret.library)  # its symbols are there by now
    forced = subprocess.run(judges.pprof("-symbolize=local:force", "-top", run.output), check=True, capture_output=True,
                            text=True, env={**os.environ, "PPROF_BINARY_PATH": ""}).stdout
    assert re.search(" hidden$", forced, re.M) and secret.made_up not in forced, forced
    os.rename(os.path.dirname(secret.library), os.path.dirname(secret.library) + ".gone")
    os.rename(secret.program, secret.program + ".gone")
    assert secret.made_up in pprof(run.output, "-top")
    assert secret.made_up in pprof(run.output, "-top", run.output)


@h.test
def a_made_up_name_gets_better():
    """Where the binary has a debug file by now, of the same build-id."""
    secret = Secret()
    run = secret.record()
    assert secret.made_up in folded(run.output) and "hidden" not in folded(run.output)
    with secret.debug_file():
        assert "shown;hidden" in folded(run.output) and secret.made_up not in folded(run.output)
        assert secret.made_up in folded("--no-symbolize", run.output)
        top = h.run_cprof("top", run.output).stdout
        assert re.search(r" hidden( \[.*\])?$", top, re.M) and secret.made_up not in top, top
        path = os.path.join(h.folder(), "better.pb.gz")
        h.run_cprof("convert", run.output, "-o", path, text=False)
        better = judges.judge(path)
        raw = {frame["system_name"] for sample in better["samples"] for frame in sample["frames"]
               if frame["name"] == "hidden"}
        assert raw == {"hidden"}, raw
        # A profile that had the name from the first: the two merge into one.
        named = secret.record()
        merged = os.path.join(h.folder(), "merged.pb.gz")
        h.run_cprof("convert", run.output, named.output, "-o", merged, text=False)
        with open(merged, "rb") as file:
            broken, _ = judges.contract.check(file.read())
        assert not [line for line in broken if "twice" in line or "earlier" in line], broken
        # Another build at the path: its names are not this one's.
        Secret.compile(LIBRARY, secret.library, "-shared", "-fPIC", f"-Wl,--build-id=0x{os.urandom(20).hex()}")
        assert secret.made_up in folded(run.output), folded(run.output)


def modules_of(profile):
    """By the function of the program that loaded it, what its module is called in the samples: (file, function)."""
    found = {"with_alpha": set(), "with_beta": set()}
    for sample in profile["samples"]:
        names = [frame["name"] for frame in sample["frames"]]
        user, = set(names) & found.keys() or [None]
        if user:
            found[user] |= {(os.path.basename(frame["mapping"]["path"]), frame["name"])
                            for frame in sample["frames"] if os.path.basename(frame["mapping"]["path"]).startswith("lib")
                            and not os.path.basename(frame["mapping"]["path"]).startswith("libc.")}
    return found


# What gcc puts into every module; the loader calls it when it opens and closes one.
ON_CLOSE = "_init", "frame_dummy", "register_tm_clones", "__do_global_dtors_aux", "deregister_tm_clones", "_fini"


@h.test
def a_module_that_is_unloaded_and_loaded_again():
    """Each at the place of the other, in every file of a run: the caller says which one it was, and whose frame it must be."""
    folder = h.folder()
    paths = [os.path.join(folder, f"lib{name}.so") for name in ("alpha", "beta")]
    for path, name in zip(paths, ("alpha", "beta")):
        Secret.compile(MODULE, path, "-shared", "-fPIC", f"-DINNER={name}", f"-Wl,--build-id=0x{os.urandom(20).hex()}")
    program = os.path.join(folder, "app")
    Secret.compile(MODULES, program)
    target = h.Workload(program, *paths)
    run = h.cprof("record", "-F", "999", "--no-kernel", "--interval", "500ms", "--allow-empty", "-p", target.pid)
    run.attached()
    for nr in (2, 4):
        target.uses(0.3)
        run.writes_files(nr)
    profiles = run.stop().windows()
    seen = {"with_alpha": 0, "with_beta": 0}
    for profile in profiles:
        for user, names in modules_of(profile).items():
            own = user.removeprefix("with_")
            assert names <= {(f"lib{own}.so", name) for name in (own, "work", *ON_CLOSE)}, (user, names)
            seen[user] += (f"lib{own}.so", own) in names
    assert min(seen.values()) >= 2, (seen, len(profiles))


h.main()
