// SPDX-License-Identifier: BSD-2-Clause
/*
 * Go is recognised by ELF sections, which its linker writes even into stripped binaries; the others by the base name of
 * a file that they map. Nothing of the target is run or asked.
 */
#include "heap/managed.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const struct managed go = {
	.what = "a Go program",
	.advice = "use its runtime's own heap profile: go tool pprof "
		  "http://HOST:PORT/debug/pprof/heap (with net/http/pprof in the program), or "
		  "runtime/pprof.WriteHeapProfile",
};

static const struct managed by_file[] = {
	{"libjvm.so", "a Java program",
	 "record its allocations with JFR (jcmd PID JFR.start settings=profile) or async-profiler "
	 "(asprof -e alloc PID)"},
	{"libcoreclr.so", "a .NET program",
	 "use dotnet-gcdump collect -p PID for its heap, and dotnet-trace collect --profile "
	 "gc-verbose "
	 "-p "
	 "PID for its allocations"},
	{"libnode.so", "a Node.js program", "run it with node --heap-prof, or node --inspect"},
	{"node", "a Node.js program", "run it with node --heap-prof, or node --inspect"},
	{"beam.smp", "an Erlang program", "use instrument:allocations() or recon_alloc in its VM"},
};

/* "libjvm.so" is the beginning of "libjvm.so.1", and "node" none of "nodemon". */
static bool begins(const char *name, const char *file)
{
	size_t len = strlen(file);

	return !strncmp(name, file, len) && (!name[len] || name[len] == '.');
}

const struct managed *managed_of(bool is_go, const char *path)
{
	const char *name = text_base_name(path);

	if (is_go)
		return &go;
	for (size_t i = 0; i < sizeof(by_file) / sizeof(by_file[0]); i++)
		if (begins(name, by_file[i].file))
			return &by_file[i];
	return NULL;
}
