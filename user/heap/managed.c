// SPDX-License-Identifier: BSD-2-Clause
/*
 * Go is recognised by ELF sections, which its linker writes even into stripped binaries; the others by the base name of
 * a file that they map. Nothing of the target is run or asked.
 */
#include "heap/managed.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define OBJECTS "its objects"
#define NODE	"run it with node --heap-prof, or node --inspect"
#define SMALL	"its objects of up to 512 bytes"

static const struct managed go = {
	.what = "a Go program",
	.objects = OBJECTS,
	.advice = "use its runtime's own heap profile: go tool pprof "
		  "http://HOST:PORT/debug/pprof/heap (with net/http/pprof in the program), or "
		  "runtime/pprof.WriteHeapProfile",
};

static const struct managed by_file[] = {
	{.file = "libjvm.so",
	 .what = "a Java program",
	 .objects = OBJECTS,
	 .advice = "record its allocations with JFR (jcmd PID JFR.start settings=profile) or "
		   "async-profiler (asprof -e alloc PID)"},
	{.file = "libcoreclr.so",
	 .what = "a .NET program",
	 .objects = OBJECTS,
	 .advice = "use dotnet-gcdump collect -p PID for its heap, and dotnet-trace collect "
		   "--profile gc-verbose -p PID for its allocations"},
	{.file = "libnode.so", .what = "a Node.js program", .objects = OBJECTS, .advice = NODE},
	{.file = "node", .what = "a Node.js program", .objects = OBJECTS, .advice = NODE},
	{.file = "beam.smp",
	 .what = "an Erlang program",
	 .objects = OBJECTS,
	 .advice = "use instrument:allocations() or recon_alloc in its VM"},
	{.file = "python",
	 .what = "a Python program",
	 .objects = SMALL,
	 .setting = "PYTHONMALLOC=malloc"},
	{.file = "libpython",
	 .what = "a Python program",
	 .objects = SMALL,
	 .setting = "PYTHONMALLOC=malloc"},
	{.file = "php", .what = "a PHP program", .objects = OBJECTS, .setting = "USE_ZEND_ALLOC=0"},
	{.file = "libphp",
	 .what = "a PHP program",
	 .objects = OBJECTS,
	 .setting = "USE_ZEND_ALLOC=0"},
};

/* "libjvm.so" is the beginning of "libjvm.so.1", and "php" of "php8.2" and "php-fpm8.2"; "node" is none of "nodemon". */
static bool begins(const char *name, const char *file)
{
	size_t len = strlen(file);

	return !strncmp(name, file, len) && !isalpha((unsigned char)name[len]) && name[len] != '_';
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

char *managed_words(const struct managed *managed, char *out, size_t out_bytes)
{
	if (managed->setting)
		snprintf(out, out_bytes, "%s only if it was started with %s in its environment",
			 managed->objects, managed->setting);
	else
		snprintf(out, out_bytes, "none of %s: %s", managed->objects, managed->advice);
	return out;
}
