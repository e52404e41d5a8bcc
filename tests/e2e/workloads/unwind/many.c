/* CFLAGS: -O2 -fomit-frame-pointer -ldl */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	many SECONDS LIBRARY...
 *
 * Calls work() of one library after the other, for 5 ms of CPU time each. It says a line when
 * it begins with that.
 */
#include <dlfcn.h>

#include "stacks.h"

typedef void (*work_fn)(void);

int main(int argc, char **argv)
{
	work_fn *works = calloc((size_t)argc, sizeof(*works));
	int nr = 0;

	for (int i = 2; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		works[nr] = library ? (work_fn)dlsym(library, "work") : NULL;
		if (!works[nr++])
			return 1;
	}
	printf("{}\n");
	fflush(stdout);
	for (int i = 0; cpu_seconds() < number_arg(argc, argv, 1, 1); i = (i + 1) % nr)
		for (double end = cpu_seconds() + 0.005; cpu_seconds() < end;)
			works[i]();
	return 0;
}
