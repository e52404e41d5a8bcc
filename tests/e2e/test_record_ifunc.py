#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The implementations of IFUNCs in a stripped library have the IFUNCs' names, from the GOT of the process that runs them;
only in that process, and only where they are."""
import os
import subprocess

import harness as h

# Two IFUNCs whose implementations are not exported: one is called through a slot for its symbol, the other one, by a hidden
# name, through a slot that the linker made for the resolver itself. turn() is exported, busy() has no name anywhere.
LIBRARY = """
static volatile unsigned sink;
#define LOOP(x) for (int i = 0; i < 100000; i++) sink += (unsigned)i * x
__attribute__((noipa)) static void sum_here(void) { LOOP(3); }
__attribute__((noipa)) static void mix_here(void) { LOOP(5); }
__attribute__((noipa)) static void busy(void) { LOOP(7); }
static void (*pick_sum(void))(void) { return sum_here; }
static void (*pick_mix(void))(void) { return mix_here; }
void fast_sum(void) __attribute__((ifunc("pick_sum")));
void fast_mix(void) __attribute__((ifunc("pick_mix")));
void __mix(void) __attribute__((ifunc("pick_mix")));
void hidden_mix(void) __attribute__((visibility("hidden"), alias("fast_mix")));
void turn(void) { fast_sum(); hidden_mix(); busy(); }
"""

# "lie": where the slots are that hold the address of fast_sum's implementation, it writes that of the next function.
PROGRAM = """
#include <string.h>
#include <unistd.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
void turn(void);
void fast_mix(void);
void fast_sum(void);
static int lie(struct dl_phdr_info *info, size_t size, void *to)
{
	void *(*volatile find)(void *, const char *) = dlsym;
	char *sum = find(RTLD_DEFAULT, "fast_sum"), *mix = find(RTLD_DEFAULT, "fast_mix");
	if (!strstr(info->dlpi_name, "libfast"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		char *start = (char *)info->dlpi_addr + segment->p_vaddr, *page = (char *)((unsigned long)start & ~4095ul);
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
			continue;
		if (mprotect(page, start + segment->p_memsz - page, PROT_READ | PROT_WRITE))
			return 1;
		for (char **slot = (char **)start; (char *)(slot + 1) <= start + segment->p_filesz; slot++)
			*slot = *slot == sum ? mix : *slot == mix ? mix + 1 : *slot;
	}
	return 2;
}
int main(int argc, char **argv)
{
	turn();
	if (argc > 1 && dl_iterate_phdr(lie, NULL) != 2)
		return 1;
	puts("{}");
	fflush(stdout);
	if (argc > 1)
		for (;;)
			fast_sum();
	for (;;)
		turn();
}
"""


def build(*flags):
    """A program and its stripped library."""
    where = h.folder()
    for name, text in (("library.c", LIBRARY), ("program.c", PROGRAM)):
        with open(os.path.join(where, name), "w", encoding="utf-8") as file:
            file.write(text)
    library, program = os.path.join(where, "libfast.so"), os.path.join(where, "program")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", *flags, "-o", library, os.path.join(where, "library.c")], check=True)
    full = os.path.join(where, "full.so")
    os.link(library, full)
    subprocess.run(["strip", "-o", library + ".stripped", library], check=True)
    os.rename(library + ".stripped", library)
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-o", program, os.path.join(where, "program.c"), library,
                    f"-Wl,-rpath,{where}"], check=True)
    symbols = subprocess.run(["nm", full], check=True, capture_output=True, text=True).stdout.splitlines()
    return program, {line.split()[2]: int(line.split()[0], 16) for line in symbols if len(line.split()) == 3}


def watch(*targets, options=()):
    """The run of a recording that lasts until each of them has used CPU time; they live longer than it does."""
    for target in targets:
        target.says()
    run = h.cprof("record", "-F", "999", "--no-kernel", *options, "-p", ",".join(str(target.pid) for target in targets))
    run.attached()
    for target in targets:
        target.uses(0.4)
    return run.stop()


def functions(profile, pid=None):
    """Of the library's leaf frames, in all processes or one: (name, system name) -> samples."""
    found = {}
    for sample in profile["samples"]:
        leaf = sample["frames"][0]
        if pid in (None, sample["labels"]["pid"]) and "libfast.so" in leaf["mapping"]["path"]:
            key = leaf["name"], leaf["system_name"]
            found[key] = found.get(key, 0) + sample["values"]["samples"]
    return found


def at(address):
    return f"libfast.so+0x{address:x}"


def own(found):
    """Without turn(), which is exported, and the stubs between."""
    return {key: count for key, count in found.items() if key[0] != "turn" and "plt" not in key[0]}


@h.test
def named_as_their_ifuncs():
    """Bound lazily and at once, with and without the sandbox. What is no implementation keeps the name by its beginning. The
    file has none of these names, so none is a system name."""
    for flags, options in ((("-Wl,-z,lazy",), ()), (("-Wl,-z,now",), ()), (("-Wl,-z,now",), ("--no-sandbox",))):
        program, addresses = build(*flags)
        found = own(functions(watch(h.Workload(program), options=options).profile()))
        expected = {("fast_sum", ""), ("fast_mix", ""), (at(addresses["busy"]), "")}
        named = {key for key in found if "+0x" not in key[0]}
        assert expected <= set(found) and named <= expected, (flags, options, found)


@h.test
def a_process_names_its_own_code_alone():
    """One that writes other addresses into its slots changes no names in another one, and an address within a function is not
    one that begins there."""
    program, addresses = build("-Wl,-z,now")
    honest, liar = h.Workload(program), h.Workload(program, "lie")
    profile = watch(honest, liar).profile()
    of_honest, of_liar = (own(functions(profile, target.pid)) for target in (honest, liar))
    assert ("fast_sum", "") in of_honest, of_honest
    assert ("fast_mix", "") in of_honest, of_honest
    assert (at(addresses["sum_here"]), "") in of_liar, of_liar
    assert not [key for key in of_liar if key[0].startswith("fast_")], of_liar


@h.test
def symbols_come_first():
    """Where the library has symbols, or a debug file, an implementation has its own name."""
    program, _ = build("-Wl,-z,now")
    where = os.path.dirname(program)
    os.rename(os.path.join(where, "full.so"), os.path.join(where, "libfast.so"))
    found = own(functions(watch(h.Workload(program)).profile()))
    names = {key[0] for key in found}
    assert {"sum_here", "mix_here", "busy"} <= names and not {"fast_sum", "fast_mix"} & names, found


h.main()
