#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# NOT_SANITIZED: --inject needs a cprof whose C library is as the target's
"""cprof heap --inject: a running process gets the library that samples, and is as before when cprof has ended, however
that was."""
import os
import random
import signal
import socket
import subprocess
import time

import harness as h
import heaps
import injecting


@h.test
def exact_at_rate_1():
    target = injecting.busy(2)
    run = injecting.injected(target, "--rate", "1")
    assert injecting.left_slots(target.pid) > 0
    target.go()
    expected = target.says()
    ended = run.stop()
    heaps.exact(ended.profile(), expected)
    assert any("loading libcprof-heap.so" in line for line in ended.lines), ended.lines
    injecting.slots_are_as_before(target.pid)
    injecting.ends_well(target)


@h.test
def a_second_time():
    """The library is there already."""
    target = injecting.busy(4)
    for _ in range(200 if h.IS_LONG else 3):
        run = injecting.injected(target, "--rate", "4096", "--alloc")
        target.uses(0.05)
        assert any("allocate" in sample["stack"] for sample in run.stop().profile()["samples"])
        injecting.slots_are_as_before(target.pid)
    with open(f"/proc/{target.pid}/maps", encoding="utf-8") as file:
        assert sum(injecting.LIBRARY in line and " 00000000 " in line for line in file) == 1
    target.go()
    target.says()
    injecting.ends_well(target)


@h.test
def a_second_time_at_a_lower_rate():
    """What was left to a sample once in a terabyte is no distance to one at each block."""
    target = injecting.busy(1)
    for _ in range(4 if h.IS_LONG else 1):
        run = injecting.injected(target, "--rate", str(1 << 40), "--alloc", "--allow-empty")
        target.uses(0.05)
        run.stop()
        run = injecting.injected(target, "--rate", "1", "--alloc")
        target.uses(0.05)
        assert any("allocate" in sample["stack"] for sample in run.stop().profile()["samples"])
    target.go()
    target.says()
    injecting.ends_well(target)


@h.test
def cprof_is_killed():
    """At any moment, from its start to a while after its library is in use: the target goes on, and the injector leads its
    calls back."""
    target = injecting.busy(16)
    start = time.monotonic()
    injecting.injected(target, "--rate", "4096", "--allow-empty").stop()
    took = time.monotonic() - start
    for _ in range(200 if h.IS_LONG else 6):
        run = h.cprof("heap", "--inject", "--rate", "4096", "-p", target.pid)
        time.sleep(random.uniform(0.05, 1.2 * took))
        run.signal(signal.SIGKILL)
        run.process.wait()
        assert target.process.poll() is None
        time.sleep(random.uniform(0, 0.5))  # the injector of the last one may be at work
    injecting.slots_are_as_before(target.pid)
    target.go()
    target.says()
    injecting.ends_well(target)


@h.test
def another_cprof_injects_it():
    """The second one is refused with that reason, and the first one's slots stay; another process that takes
    a name which is open to everybody prevents nothing."""
    target = injecting.busy(1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(f"\0cprof-inject.{target.pid}")
        run = injecting.injected(target, "--rate", "1", "--alloc")
    slots = injecting.left_slots(target.pid)
    other = h.cprof("heap", "--inject", "-p", target.pid).wait()
    assert other.code == 4 and any("another cprof injects it" in line for line in other.lines), other.lines
    assert injecting.left_slots(target.pid) == slots > 0
    run.stop()
    injecting.slots_are_as_before(target.pid)
    target.go()
    target.says()
    injecting.ends_well(target)


@h.test
def refused():
    """With the reason, and the target goes on."""
    folder = h.folder()
    os.chmod(folder, 0o755)
    source = os.path.join(folder, "waits.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { for (;;) { free(malloc(10)); usleep(1000); } }\n")
    for compiler, words, reason in (("gcc", ["-static"], "it is static, or its C library is not the one"),
                                    ("musl-gcc", [], "its C library is not the one")):
        path = os.path.join(folder, f"waits-{compiler}")
        try:
            subprocess.run([compiler, *words, "-o", path, source], check=True)
        except FileNotFoundError:
            continue
        target = subprocess.Popen([path])
        h.running.append(target)
        run = h.cprof("heap", "--inject", "-p", target.pid).wait()
        assert run.code == 4 and any(reason in line for line in run.lines), (compiler, run.lines)
        assert target.poll() is None


STUB_LIBRARY = """
#include <stdlib.h>
typedef void free_fn(void *);
static free_fn *volatile function;
void in_library(int nr) {
	function = free;
	for (int i = 0; i < nr; i++) {
		void *volatile block = malloc(5000);
		function(block);
	}
}
"""
STUB_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
void in_library(int nr);
typedef void free_fn(void *);
static free_fn *volatile function;
void in_program(int nr) {
	function = free;
	for (int i = 0; i < nr; i++) {
		void *volatile block = malloc(1000);
		function(block);
	}
}
int main(void) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	in_library(1);
	puts("{}");
	getchar();
	in_program(300);
	in_library(700);
	puts("{}");
	getchar();
	return 0;
}
"""


@h.test
def libraries_of_a_program_that_is_not_position_independent():
    """It takes the address of free(), so a library's slot leads to the program's stub."""
    library = injecting.built("libstub.so", STUB_LIBRARY, "-shared", "-fPIC", "-fno-builtin")
    program = injecting.built("program", STUB_PROGRAM, "-no-pie", "-fno-pic", "-fno-builtin", "-Wl,--no-as-needed",
                              f"-Wl,-rpath,{os.path.dirname(library)}", "-Wl,-z,lazy", "-L" + os.path.dirname(library),
                              "-lstub")
    target = h.Workload(program)
    target.says()
    run = injecting.injected(target, "--rate", "1", "--alloc")
    target.go()
    target.says()
    profile = run.stop().profile()
    objects = h.by_function(profile, "alloc_objects")
    assert (objects.get("in_program"), objects.get("in_library")) == (300, 700), objects
    injecting.slots_are_as_before(target.pid)
    target.go()
    assert target.wait() == 0


OWN_ALLOCATOR = """
#include <stddef.h>
#include <string.h>
static char arena[1 << 20];
static size_t used;
void *malloc(size_t bytes) {
	void *block = arena + used;
	used += (bytes + 15) & -16ul;
	return block;
}
void free(void *block) {
	if ((char *)block < arena || (char *)block >= arena + sizeof(arena))
		__builtin_trap();
}
"""
DEEP_LIBRARY = """
#include <stdlib.h>
void *take(void) { return malloc(100); }
void give(void *block) { free(block); }
"""
DEEP_PROGRAM = """
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
static void wait_for_line(void) {
	struct pollfd line = {.fd = 0, .events = POLLIN};
	poll(&line, 1, -1);
	getchar();
}
int main(int argc, char **argv) {
	void *library = dlopen(argv[1], RTLD_LAZY | RTLD_DEEPBIND);
	void *(*take)(void) = (void *(*)(void))dlsym(library, "take");
	void (*give)(void *) = (void (*)(void *))dlsym(library, "give");
	void *block = NULL, *volatile own = NULL;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("{}");
	wait_for_line();
	if (argc > 2)
		block = take();
	own = malloc(100);
	puts("{}");
	wait_for_line();
	give(block ? block : take());
	free(own);
	return 0;
}
"""


@h.test
def a_library_with_an_allocator_of_its_own():
    """Nothing is resolved yet, and it calls its own allocator, not the process's: during the run and after it."""
    own = injecting.built("libown.so", OWN_ALLOCATOR, "-fno-builtin", "-shared", "-fPIC")
    library = injecting.built("libdeep.so", DEEP_LIBRARY, "-Wl,--no-as-needed", own, "-shared", "-fPIC", "-Wl,-z,lazy")
    program = injecting.built("deep", DEEP_PROGRAM)
    for words in ((), ("early",)):
        target = h.Workload(program, library, *words)
        target.says()
        run = injecting.injected(target, "--rate", "1", "--alloc")
        target.go()
        target.says()
        names = {name for sample in run.stop().profile()["samples"] for name in sample["stack"]}
        assert "main" in names and "take" not in names, names
        target.go()
        assert target.wait() == 0, words


# The resolver runs while the loader relocates the library, and calls what injecting would: with the loader's lock held,
# as another thread would not, so that the moment is certain.
RELOCATED_LIBRARY = """
#include <stdint.h>
#include <stdlib.h>
struct shared {
	int64_t (*redirect)(uint64_t rate_bytes, volatile int64_t *result);
	volatile int64_t result[3];
};
static int one(void) { return 1; }
static void *resolve(void) {
	struct shared *shared = (struct shared *)0x10000000;
	if (shared->redirect)
		shared->redirect(4096, shared->result);
	return one;
}
static int chosen(void) __attribute__((ifunc("resolve")));
int call(void) {
	void *volatile block = malloc(100);
	free(block);
	return chosen();
}
"""
RELOCATED_PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
struct shared {
	int64_t (*redirect)(uint64_t rate_bytes, volatile int64_t *result);
	volatile int64_t result[3];
};
int main(int argc, char **argv) {
	struct link_map *map = dlopen(argv[1], RTLD_NOW);
	int64_t (*redirect)(uint64_t, volatile int64_t *), first, second;
	struct shared *shared = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	void *library;
	volatile int64_t result[3];

	assert(argc == 3 && map);
	redirect = (void *)(map->l_addr + ((ElfW(Ehdr) *)map->l_addr)->e_entry);
	shared->redirect = redirect;
	library = dlopen(argv[2], RTLD_NOW);
	assert(library);
	first = shared->result[0];
	second = redirect(4096, result);
	assert(((int (*)(void))dlsym(library, "call"))() == 1);
	printf("{\"first\": %ld, \"second\": %ld, ", first, second);
	printf("\"after\": %ld}\n", redirect(0, result));
	assert(((int (*)(void))dlsym(library, "call"))() == 1);
	return 0;
}
"""


@h.test
def a_library_that_is_being_relocated():
    """Its slots are left alone until the loader is done with it."""
    library = injecting.built("librelocated.so", RELOCATED_LIBRARY, "-shared", "-fPIC", "-Wl,-z,now", "-Wl,-z,relro")
    program = injecting.built("relocated", RELOCATED_PROGRAM)
    target = h.Workload(program, os.path.join(h.BUILD, injecting.LIBRARY), library)
    counts = target.says()
    assert target.wait() == 0
    assert counts["second"] == counts["first"] + 2 and counts["first"] > 0 and counts["after"] == 0, counts


@h.test
def by_name():
    """That of one process; where several have it, they are listed."""
    name = f"named-{os.getpid()}"
    program = injecting.built(name, '#include <stdio.h>\n#include <poll.h>\n'
                              'int main(void) { puts("{}"); fflush(stdout); return poll(NULL, 0, -1); }\n')
    one, other = h.Workload(program), h.Workload(program)
    one.says(), other.says()
    run = h.cprof("heap", "--inject", "-p", name).wait()
    pids = sorted([one.pid, other.pid])
    said = f"--inject is for one process, and 2 have the name {name}: give -p one of {pids[0]}, {pids[1]}."
    assert run.code == 2 and any(said in line for line in run.lines), run.lines
    other.process.kill()
    other.process.wait()
    run = h.cprof("heap", "--inject", "--allow-empty", "-d", "0.1s", "-p", name).wait()
    assert run.code == 0 and any(f"into process {one.pid}," in line for line in run.lines), run.lines
    run = h.cprof("heap", "--inject", "-p", "nobody-has-it").wait()
    assert run.code == 2 and any("no process or executable has this name" in line for line in run.lines), run.lines


@h.test
def wrong_usage():
    for options in (["-a"], ["-p", "1,init"], ["--", "true"], ["-p", "1,2"], ["-p", "1", "--follow-fork"]):
        run = h.cprof("heap", "--inject", *options).wait()
        said = "already samples itself" if "--" in options else "--inject is for one process"
        assert run.code == 2 and said in "\n".join(run.lines), (options, run.lines)
    run = h.cprof("heap", "--inject", "--mode", "probe", "-p", "1").wait()
    assert run.code == 2 and "--mode probe cannot be combined" in "\n".join(run.lines), run.lines


ALLOCATORS = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"


@h.test
def new_and_delete_of_the_allocator():
    """jemalloc's and tcmalloc's operators do not come by malloc and free: each block is sampled once, and its end seen."""
    libraries = [path for path in ALLOCATORS if os.path.exists(path)]
    if not libraries:
        raise h.Skip("NOT RUN: neither jemalloc nor tcmalloc is installed (apt-get install libjemalloc2)")
    for library in ["", *libraries]:
        target = h.Workload("newdelete", env={"LD_PRELOAD": library})
        target.says()
        run = injecting.injected(target, "--rate", "1")
        target.go()
        expected = target.says()
        target.says()
        heaps.exact(run.stop().profile(), expected)
        injecting.slots_are_as_before(target.pid)
        target.go()
        assert target.wait() == 0, library


OWN_CALLS = r"""
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

void *mallocx(size_t size, int flags), *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags), sdallocx(void *block, size_t size, int flags);
static void *volatile blocks[100];

static void site_known(void)
{
	for (int i = 0; i < 100; i++)
		blocks[i] = mallocx(1000, 0);
	for (int i = 0; i < 100; i++)
		blocks[i] = rallocx(blocks[i], 5000, 0);
	for (int i = 0; i < 30; i++)
		dallocx(blocks[i], 0);
	for (int i = 30; i < 60; i++)
		sdallocx(blocks[i], 5000, 0);
}

int main(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	setvbuf(stdout, NULL, _IOLBF, 0);
	dallocx(mallocx(1, 0), 0);
	puts("{}");
	poll(&line, 1, -1);
	getchar();
	site_known();
	puts("{\"site_known\": {\"objects\": 200, \"bytes\": 600000, \"live_objects\": 40, \"live_bytes\": 200000}}");
	poll(&line, 1, -1);
	getchar();
	return 0;
}
"""


@h.test
def jemalloc_s_own_functions():
    """mallocx, rallocx, dallocx, sdallocx."""
    library = ALLOCATORS[0]
    if not os.path.exists(library):
        raise h.Skip("NOT RUN: jemalloc is not installed (apt-get install libjemalloc2)")
    target = h.Workload(injecting.built("own-calls", OWN_CALLS, "-Wl,--no-as-needed", "-Wl," + library))
    target.says()
    run = injecting.injected(target, "--rate", "1")
    target.go()
    expected = target.says()
    heaps.exact(run.stop().profile(), expected)
    injecting.slots_are_as_before(target.pid)
    target.go()
    assert target.wait() == 0


SPEED = r"""
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long used_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of many short rounds the one that was disturbed least. */
static long best_ns(void)
{
	long best = 1L << 60;

	for (int i = 0; i < 300; i++) {
		long start = used_ns(), took;

		for (int j = 0; j < 2000; j++) {
			void *volatile block = malloc(100);

			free(block);
		}
		took = used_ns() - start;
		best = took < best ? took : best;
	}
	return best;
}

static void __attribute__((noinline)) site_known(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(5000);

		free(block);
	}
}

int main(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		printf("{\"ns\": %ld}\n", best_ns());
		poll(&line, 1, -1);
		if (getchar() != '\n')
			return 0;
		site_known();
	}
}
"""


@h.test
def all_are_killed():
    """cprof and its injector: the library stays in use, with nobody to listen. The target is nearly as fast as before, though each
    block was sampled; the next cprof has each block again, and restores the slots."""
    target = h.Workload(injecting.built("speed", SPEED))
    bare = target.says()["ns"]
    for _ in range(2):
        run = injecting.injected(target, "--rate", "1")
        for pid in [*h.children(run.pid), run.pid]:
            os.kill(pid, signal.SIGKILL)
        run.process.wait()
        assert injecting.left_slots(target.pid) > 0
        end, idle = time.monotonic() + h.HANGS, None
        while idle is None or idle >= 1.7 * bare:  # the kernel takes the probes away in its own time, and others slow this machine down
            assert time.monotonic() < end, (idle, bare)
            target.go()
            idle = target.says()["ns"]
        print(f"# {bare / 2000:.1f} ns for malloc and free, {idle / 2000:.1f} ns with an idle library", flush=True)
    run = injecting.injected(target, "--rate", "1")
    target.go()
    target.says()
    heaps.exact(run.stop().profile(), {"site_known": {"objects": 100, "bytes": 500000, "live_objects": 0, "live_bytes": 0}})
    injecting.slots_are_as_before(target.pid)
    target.process.stdin.close()
    assert target.wait() == 0


PLUGIN = """
#include <stdlib.h>
void plug(void) {
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(1000);
		free(block);
	}
}
"""
RELOADS = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *begin, *end; /* of the plugin */

static int find(struct dl_phdr_info *info, size_t bytes, void *base)
{
	if (info->dlpi_addr != (uintptr_t)base)
		return 0;
	begin = base;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = begin + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	end = (char *)(((uintptr_t)end + 4095) & -4096ul);
	return 1;
}

static struct link_map *load(const char *path)
{
	struct link_map *map = dlopen(path, RTLD_NOW);

	assert(map);
	return map;
}

static void wait_for_line(void)
{
	struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

	poll(&line, 1, -1);
	getchar();
}

int main(int argc, char **argv)
{
	struct link_map *plugin = load(argv[1]);
	void *base = (void *)plugin->l_addr;
	char *copy, *foreign;

	setvbuf(stdout, NULL, _IOLBF, 0);
	free(malloc(1));
	dl_iterate_phdr(find, base);
	copy = mmap(NULL, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	puts("{}");
	wait_for_line();
	for (int i = 0; i < 3; i++) {
		dlclose(plugin);
		plugin = load(argv[1]);
	}
	printf("{\"is_same\": %d}\n", (void *)plugin->l_addr == base);
	wait_for_line();
	((void (*)(void))dlsym(plugin, "plug"))();
	memcpy(copy, begin, end - begin); /* with what it has in its slots */
	dlclose(plugin);
	foreign = mmap(begin, end - begin, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert(foreign == begin);
	memcpy(foreign, copy, end - begin);
	puts("{}");
	wait_for_line();
	printf("{\"changed\": %d}\n", memcmp(foreign, copy, end - begin) != 0);
	return 0;
}
"""


@h.test
def a_plugin_that_is_reloaded():
    """In the same place: it is redirected again, within about a second. Where one was that is gone, whatever is there stays as it is."""
    plugin = injecting.built("plugin.so", PLUGIN, "-shared", "-fPIC", "-fno-builtin")
    target = h.Workload(injecting.built("reloads", RELOADS), plugin)
    target.says()
    run = injecting.injected(target, "--rate", "1", "--alloc")
    time.sleep(3)  # the looks that follow the start are over
    slots = injecting.left_slots(target.pid)
    target.go()
    if not target.says()["is_same"]:
        raise h.Skip("the loader took another place")
    end = time.monotonic() + h.HANGS
    while injecting.left_slots(target.pid) < slots:
        assert time.monotonic() < end, f"{injecting.left_slots(target.pid)} slots, not {slots}"
        time.sleep(0.1)
    target.go()
    target.says()
    objects = h.by_function(run.stop().profile(), "alloc_objects")
    assert objects.get("plug") == 100, objects
    injecting.slots_are_as_before(target.pid)
    target.go()
    assert target.says() == {"changed": 0}
    assert target.wait() == 0


h.main()
