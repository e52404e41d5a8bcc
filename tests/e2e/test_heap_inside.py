#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap of commands that sample by themselves, as launched ones do where they can: what is inherited, and what is
probed from outside all the same; and programs that must not notice anything."""
import json
import os
import shutil
import subprocess
import time

import harness as h
import heaps
import test_heap_allocators

LIBRARY = os.path.join(h.BUILD, "libcprof-heap.so")
h.cases.clear()  # those of the allocators
build = test_heap_allocators.build


def launch(*command, rate=1, **more):
    run = h.cprof("heap", "--rate", rate, "--", *command, **more).wait()
    assert not run.closing.lost, run.closing.reasons
    return run


@h.test
def as_probes_do():
    """The same program at the same rate in both modes: each site's estimate is within theory, in either."""
    rate, size = 4096, {"site_a": 1024, "site_b": 16384, "site_c": 262144}
    for mode in ("inside", "probe"):
        run = h.cprof("heap", "--mode", mode, "--rate", rate, "--", h.workload("allocs"), "200", "now").wait()
        profile, expected = run.profile(), run.says()
        assert not run.closing.lost, run.closing.reasons
        for site, bytes_each in size.items():
            heaps.site_is(profile, site, "alloc", expected[site]["objects"], bytes_each, rate)
            heaps.site_is(profile, site, "inuse", expected[site]["live_objects"], bytes_each, rate)


@h.test
def nothing_but_samples_traps():
    """What is not sampled does not come to the kernel at all."""
    run = h.cprof("heap", "--rate", "65536", "--", h.workload("allocs"), "100", "now").wait()
    assert run.accounts.calls == run.accounts.taken < 2000, vars(run.accounts)
    assert run.accounts.unsampled == 0, vars(run.accounts)


@h.test
def children_of_a_shell():
    """By fork, exec and vfork; each that allocates has its own pid."""
    program = h.workload("allocs")
    run = launch("/bin/sh", "-c", f"{program} 5 now >/dev/null & {program} 5 now >/dev/null; wait; {program} 5 now")
    profile, expected = run.profile(), run.says()
    pids = {sample["labels"]["pid"] for sample in profile["samples"] if "site_a" in sample["stack"]}
    assert len(pids) == 3, pids
    for kind, key in heaps.ALL.items():
        assert h.by_function(profile, kind)["site_a"] == 3 * expected["site_a"][key], kind


@h.test
def new_and_delete():
    """Where an allocator has its own; those of a C++ library call malloc, and count once."""
    for preload in ("", test_heap_allocators.jemalloc()):
        run = launch(h.workload("newdelete"), env={"LD_PRELOAD": preload})
        expected = json.loads(run.out.splitlines()[1])
        for numbers in expected.values():
            numbers.update(live_objects=0, live_bytes=0)  # it frees all at its end
        heaps.exact(run.profile(), expected)


@h.test
def functions_of_python():
    """Walked at a sample, as at that of a probe, once they are known to be Python's: it begins when that is said."""
    folder = h.folder()
    script, begins = os.path.join(folder, "prog.py"), os.path.join(folder, "begins")
    with open(script, "w", encoding="utf-8") as file:
        file.write("import os, time\ndef hold():\n    return bytearray(40000)\n"
                   f"while not os.path.exists({begins!r}): time.sleep(0.01)\nheld = [hold() for _ in range(1000)]\n")
    run = h.cprof("heap", "--rate", 1, "--", "/usr/bin/python3", script)
    run.awaits(r"^cprof: process \d+: Python [\d.]+, whose functions are read")
    run.snapshot(1)  # it has done what it was at
    with open(begins, "w", encoding="utf-8"):
        pass
    run = run.wait()
    assert not run.closing.lost, run.closing.reasons
    profile = run.profile()
    found = [sample["values"]["alloc_space"] for sample in profile["samples"] if "prog.hold" in sample["stack"]]
    assert sum(found) >= 40_000_000, found


@h.test
def children_with_a_sanitizer():
    """Its runtime refuses to be the second library, and looks names up while it replaces the allocator."""
    for kind in ("address", "thread", "leak"):
        run = launch("/bin/sh", "-c", build("first", f"-fsanitize={kind}", "heap/first.c"))
        assert run.code == 0 and run.says(), (kind, run.lines)
        assert "first" in h.labels(run.profile(), "comm"), kind


@h.test
def a_command_that_is_not_there():
    run = h.cprof("heap", "--", "/nonexistent/program").wait()
    assert run.code != 0 and not any("probed from outside" in line for line in run.lines), run.lines


@h.test
def static_commands_are_probed():
    run = launch(build("first", "-static", "heap/first.c"))
    heaps.exact(run.profile(), run.says())
    assert any("is static" in line and "probed from outside" in line for line in run.lines), run.lines


@h.test
def a_link_to_a_program_beside_its_library():
    """$ORIGIN is the folder of the program, not of the link, as of /usr/bin/java."""
    library = build("libtoy.so", "-shared", "-fPIC", "-Wl,-soname,libtoy.so", "heap/toyalloc.c")
    program = build("first", "heap/first.c", library, "-Wl,-rpath,$ORIGIN/" + os.path.relpath(os.path.dirname(library), h.folder()))
    assert subprocess.run([program], stdout=subprocess.DEVNULL, check=False).returncode == 0
    link = os.path.join(h.folder(), "sub", "link")
    os.mkdir(os.path.dirname(link))
    os.symlink(program, link)
    run = launch(link)
    assert not any("probed from outside" in line for line in run.lines), run.lines
    assert run.code == 0 and run.says(), run.lines


@h.test
def runtimes_with_a_heap_of_their_own():
    """Are told by a file that they map, which nobody examines."""
    library = build("libjvm.so", "-shared", "-fPIC", "-Wl,-soname,libjvm.so", "heap/toyalloc.c")
    run = launch(build("first", "heap/first.c", library, "-Wl,-rpath," + os.path.dirname(library)))
    assert not any("probed from outside" in line for line in run.lines), run.lines
    assert any("the target is a Java program" in line for line in run.lines), run.lines
    # What it maps is read after it has ended.
    late = f"(sleep 0.3; kill -INT $PPID; kill -CONT $PPID) & kill -STOP $PPID; exec {build('first', 'heap/first.c', library, '-Wl,-rpath,' + os.path.dirname(library))}"
    run = launch("sh", "-c", late)
    assert any("the target is a Java program" in line for line in run.lines), run.lines


@h.test
def children_without_the_library_are_probed():
    """A moment after they start: so one that allocates later, in a shell that waits."""
    target = build("late", "heap/late.c")
    run = launch("/bin/sh", "-c", f"env -u LD_PRELOAD {target}")
    found = h.by_function(run.profile(), "alloc_objects").get("site_late", 0)
    assert found == 100, found
    mappings = {(sample["frames"][0]["mapping"] or {}).get("path", "") for sample in run.profile()["samples"]
                if "site_late" in sample["stack"]}
    assert LIBRARY not in mappings, mappings


@h.test
def musl():
    """Its loader reads LD_PRELOAD, too, and its malloc is in the loader."""
    run = launch(build("first", "heap/first.c", compiler="musl-gcc"))
    heaps.exact(run.profile(), run.says())


def each_call_counts_once(program, **more):
    """Also those that the allocator makes in terms of others."""
    rate = 4096
    run = launch(program, rate=rate, **more)
    expected = run.says()
    heaps.estimated(run.profile(), expected, expected.pop("size"), rate)


@h.test
def functions_of_musl_that_call_others():
    """Its calloc calls malloc as a program does."""
    each_call_counts_once(build("within", "heap/within.c", compiler="musl-gcc"))


@h.test
def functions_of_allocators_that_call_others():
    """None of glibc's does; those of one that is preloaded may."""
    each_call_counts_once(build("within", "heap/within.c"))
    each_call_counts_once(build("within", "heap/within.c"), env={"LD_PRELOAD": build(
        "libwithin.so", "-shared", "-fPIC", "heap/withinalloc.c")})


@h.test
def signals_threads_and_libraries():
    """Handlers that allocate, threads, blocks that others free, before main, fork, vfork, dlopen."""
    run = launch(build("storm", "heap/storm.c", "-pthread", "-ldl"))
    heaps.exact(run.profile(), run.says())


PLUGIN_HOST = """
#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;
	return run ? run() : 1;
}
"""
PLUGIN = """
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>
struct alignas(256) Wide { char bytes[768]; };
template <class T> __attribute__((noinline)) T *make(int nr) { return new T[nr]; }
extern "C" int run(void) {
	int wrong = 0;
	for (int i = 0; i < 100; i++) {
		std::vector<int> *v = new std::vector<int>(1000);
		char *text = new (std::nothrow) char[5000];
		Wide *wide = make<Wide>(1);
		wrong += !text || (uintptr_t)wide % 256;
		delete v;
		delete[] text;
		delete[] wide;
	}
	volatile size_t huge = 1ull << 46;
	char *volatile none;
	try { /* the handlers of a C++ library that only this file sees */
		none = new char[huge];
		wrong++;
	} catch (const std::bad_alloc &) {
	}
	none = new (std::nothrow) char[huge];
	wrong += none != nullptr;
	std::printf("{\\"wrong\\": %d}\\n", wrong);
	return wrong;
}
"""


def compiled(compiler, name, source, *options):
    path = os.path.join(h.folder(), name)
    subprocess.run([compiler, "-O1", "-w", "-pthread", *options, "-", "-o", path, "-lm"], input=source, text=True, check=True)
    return path


@h.test
def libraries_with_a_cpp_library_of_their_own():
    """A C program loads one: operators new and delete are looked for where only that file sees them."""
    host = compiled("gcc", "host", PLUGIN_HOST, "-x", "c")
    plugin = compiled("g++", "plugin.so", PLUGIN, "-x", "c++", "-shared", "-fPIC")
    run = launch(host, plugin)
    assert run.code == 0 and run.says() == {"wrong": 0}
    profile, counts = run.profile(), {}
    for sample in profile["samples"]:
        if "run" in sample["stack"]:
            each = sample["values"]["alloc_space"] // max(sample["values"]["alloc_objects"], 1)
            counts[each] = counts.get(each, 0) + sample["values"]["alloc_objects"]
            assert each not in (5000, 768, 4000) or not sample["values"]["inuse_objects"], sample
    assert (counts.get(5000), counts.get(768), counts.get(4000)) == (100, 100, 100), counts


OWN_OPERATORS = """
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
static int made, deleted;
void *operator new(std::size_t size) {
	made++;
	return static_cast<char *>(malloc(size + 16)) + 16;
}
void operator delete(void *block) noexcept {
	deleted += block != nullptr;
	if (block)
		free(static_cast<char *>(block) - 16);
}
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
extern "C" int run(void) {
	for (int i = 0; i < 100; i++) { /* those that it does not have call those that it has, also from the C++ library */
		int *volatile one = new int(1), *volatile many = new int[100];
		char *volatile safe = new (std::nothrow) char[100];
		std::string *volatile text = new std::string(100, 'x');
		text->append(std::to_string(i)).append(1000, 'y');
		delete one;
		delete[] many;
		delete[] safe;
		delete text;
	}
	std::printf("{\\"made\\": %d, \\"deleted\\": %d}\\n", made, deleted);
	return 0;
}
"""


@h.test
def libraries_with_operators_of_their_own():
    """They keep them, as without the library."""
    host = compiled("gcc", "host", PLUGIN_HOST, "-x", "c")
    plugin = compiled("g++", "plugin.so", OWN_OPERATORS, "-x", "c++", "-shared", "-fPIC")
    plain = json.loads(subprocess.run([host, plugin], capture_output=True, check=True).stdout)
    run = launch(host, plugin)
    assert run.code == 0 and run.says() == plain and plain["made"] == plain["deleted"] > 500, (run.says(), plain)
    counts = [sample["values"]["alloc_objects"] for sample in run.profile()["samples"] if "run" in sample["stack"]]
    assert sum(counts) >= plain["made"], (counts, plain)


@h.test
def a_constructor_that_waits_for_a_thread():
    """While it does, the loader's lock is held: what the thread calls for the first time must not need it."""
    host = compiled("gcc", "host", PLUGIN_HOST, "-x", "c")
    for call in "void *p; posix_memalign(&p, 64, 100); free(p);", "delete[] new int[10];":
        plugin = compiled("g++", "plugin.so", f"""
            #include <cstdio>
            #include <cstdlib>
            #include <pthread.h>
            static void *work(void *) {{ {call} return nullptr; }}
            static struct Pool {{
                Pool() {{ pthread_t t; pthread_create(&t, nullptr, work, nullptr); pthread_join(t, nullptr); }}
            }} pool;
            extern "C" int run() {{ std::puts("{{}}"); return 0; }}""", "-x", "c++", "-shared", "-fPIC", "-O0")
        run = launch(host, plugin)
        assert run.code == 0 and run.says() == {}


@h.test
def the_floating_point_state_is_the_programs():
    """It looks at the flags, and then has made errors of them."""
    program = compiled("gcc", "flags", """
        #include <fenv.h>
        #include <stdio.h>
        #include <stdlib.h>
        int main(void) {
            int raised = 0;
            feclearexcept(FE_ALL_EXCEPT);
            for (int i = 0; i < 100000; i++) {
                free(malloc(100));
                raised += fetestexcept(FE_ALL_EXCEPT) != 0;
                feclearexcept(FE_ALL_EXCEPT);
            }
            feenableexcept(FE_INEXACT | FE_UNDERFLOW | FE_DIVBYZERO | FE_INVALID);
            for (int i = 0; i < 100000; i++)
                free(malloc(100));
            fedisableexcept(FE_ALL_EXCEPT);
            printf("{\\"raised\\": %d}\\n", raised);
        }""", "-x", "c", "-fno-builtin")
    run = launch(program, rate=4096)
    assert run.code == 0 and run.says() == {"raised": 0}
    assert run.accounts.taken > 1000


def unharmed(*command):
    """Same output, same exit code, with the library and without; nobody listens, and at rate 1 somebody does."""
    if not shutil.which(command[0]):
        raise h.Skip(f"NOT RUN: {command[0]} is not installed")
    plain = subprocess.run(command, capture_output=True, timeout=h.HANGS, check=False)
    loaded = subprocess.run(command, capture_output=True, timeout=h.HANGS, check=False,
                            env={**os.environ, "LD_PRELOAD": LIBRARY})
    assert (plain.returncode, plain.stdout, plain.stderr) == (loaded.returncode, loaded.stdout, loaded.stderr), command
    run = h.cprof("heap", "--allow-empty", "--rate", "65536", "--", *command).wait()
    assert (run.code, run.out) == (plain.returncode, plain.stdout.decode()), command


@h.test
def who_may_not_read_the_processors_clock():
    """It kills a process that has forbidden itself to, as those do that replay what was recorded."""
    program = compiled("gcc", "clockless", """
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/prctl.h>
        int main(void) {
            if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
                return 1;
            for (int i = 0; i < 10000; i++)
                free(malloc(100));
            puts("{}");
        }""", "-x", "c", "-fno-builtin")
    for rate in (1, 4096):
        run = launch(program, rate=rate)
        assert run.code == 0 and run.says() == {}, (rate, run.lines)
        assert run.accounts.taken > 100, vars(run.accounts)


@h.test
def at_a_rate_of_one_without_a_profiler():
    """Nobody listens: an allocation takes the same path at each rate. It once took eight times as many instructions.

    A neighbour's heap -a does listen, for as long as it runs: the least of some runs is without one."""
    least = {}
    for _ in range(40):
        for rate in (1, 1 << 40):
            done = subprocess.run([h.workload("stepped")], env={**os.environ, "LD_PRELOAD": LIBRARY, "CPROF_HEAP_RATE": str(rate)},
                                  capture_output=True, text=True, check=True)
            least[rate] = min(json.loads(done.stdout)["instructions"], least.get(rate, 1 << 62))
        if least[1] == least[1 << 40]:
            return
        time.sleep(0.5)
    assert least[1] == least[1 << 40], least


@h.test
def programs_do_not_notice():
    source = os.path.join(h.ROOT, "inside", "chance.c")
    for command in (["python3", "-c", "print(sorted(str(i) for i in range(20000))[-1])"],
                    ["git", "-C", h.ROOT, "ls-tree", "-r", "-l", "HEAD"],
                    ["gcc", "-O2", "-S", "-o-", "-std=gnu11", "-D_GNU_SOURCE", f"-I{h.ROOT}", source],
                    ["bash", "-c", "for i in 1 2 3; do echo $(seq $i | sort -r); done; exit 7"],
                    ["java", "-XX:+UseSerialGC", "-XshowSettings:none", "-version"],
                    ["perl", "-e", "print join(',', map { $_ * 2 } 1 .. 1000); exit 3"],
                    ["sqlite3", ":memory:", "select hex(zeroblob(1000));"]):
        if shutil.which(command[0]):
            unharmed(*command)


h.main()
