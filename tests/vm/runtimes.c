// SPDX-License-Identifier: BSD-2-Clause
/*
 * Says what cprof finds of an interpreter in a file, for tests/vm/runtimes.sh, which compares the files of two architectures.
 *
 *	runtimes FILE	"RUNTIME VERSION LOOP_BYTES STATE LAYOUT"
 *
 * LOOP_BYTES: in how many bytes of code the loop is. STATE: from a symbol, where there is one. LAYOUT: all else that is told to BPF, as
 * hexadecimal digits, and must be the same on both; but for where pthread keys' values are, which is left out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "object/dynsym.h"
#include "runtime/loop.h"
#include "runtime/perl.h"
#include "runtime/php.h"
#include "runtime/python.h"
#include "runtime/ruby.h"
#include "runtime/v8.h"

static uint64_t bytes_of(const struct loop_piece pieces[LOOP_MAX_PIECES])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LOOP_MAX_PIECES; i++)
		sum += pieces[i].limit - pieces[i].start;
	return sum;
}

static uint64_t named_bytes(struct object *object, const char *name)
{
	struct loop_piece pieces[LOOP_MAX_PIECES] = {{0}};

	loop_find(object, name, pieces);
	return bytes_of(pieces);
}

/* From a variable of the file, or 0 if it does not have it. */
static long from(struct object *object, const char *name, uint64_t state)
{
	uint64_t at;

	return dynsym_variable(object_elf(object), name, &at) ? (long)(state - at) : 0;
}

static void say(const char *runtime, uint16_t version, uint64_t loop_bytes, long state,
		const void *layout, size_t len_bytes)
{
	printf("%s %u.%u %lu %+ld ", runtime, version >> 8, version & 0xff,
	       (unsigned long)loop_bytes, state);
	for (size_t i = 0; i < len_bytes; i++)
		printf("%02x", ((const uint8_t *)layout)[i]);
	printf("\n");
}

static void say_python(struct object *object, struct python_file *python)
{
	struct abi_python *layout = &python->layout;
	long state = from(object, "_PyRuntime", layout->state);

	layout->state = layout->code_type = layout->values_at = layout->more_values_at = 0;
	say("python", layout->version, bytes_of(python->loops), state, layout, sizeof(*layout));
}

static void say_perl(struct object *object, struct abi_perl *layout)
{
	long state = from(object, "PL_thr_key", layout->state);

	layout->state = layout->values_at = layout->more_values_at = 0;
	say("perl", layout->version, named_bytes(object, PERL_LOOP), state, layout,
	    sizeof(*layout));
}

static void say_php(struct object *object, struct abi_php *layout)
{
	long state = from(object, "executor_globals", layout->state);

	layout->state = 0;
	say("php", layout->version, named_bytes(object, "execute_ex"), state, layout,
	    sizeof(*layout));
}

static void say_ruby(struct ruby_file *ruby)
{
	bool has_state = ruby->layout.state;

	ruby->layout.state = 0;
	say("ruby", ruby->layout.version, bytes_of(ruby->loops.exec) + bytes_of(ruby->loops.core),
	    has_state, &ruby->layout, sizeof(ruby->layout));
}

static bool show(struct object *object)
{
	struct python_file python;
	struct ruby_file ruby;
	struct abi_perl perl;
	struct abi_php php;
	struct abi_v8 v8;

	if (python_find(object, &python))
		say_python(object, &python);
	else if (php_find(object, &php))
		say_php(object, &php);
	else if (perl_find(object, &perl))
		say_perl(object, &perl);
	else if (ruby_find(object, &ruby))
		say_ruby(&ruby);
	else if (v8_find(object, &v8))
		say("v8", v8.version, 0, 0, &v8, sizeof(v8));
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct objects *objects = objects_new();
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct object *object = fd < 0 ? NULL : objects_get(objects, 1, fd);
	bool is_known = object && show(object);

	if (!is_known)
		printf("none\n");
	objects_free(objects);
	return !is_known;
}
