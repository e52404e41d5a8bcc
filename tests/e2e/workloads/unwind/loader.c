/* CFLAGS: -O2 -fomit-frame-pointer -ldl */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Spins in before_load() for argv[2] seconds of CPU time, then loads the library of argv[1] and spins as long
 * in it, and in callback(), which the library calls.
 */
#include <dlfcn.h>

#include "stacks.h"

FRAME static void before_load(void)
{
	WORK(5);
}

FRAME static void callback(unsigned int times)
{
	SPIN(times);
}

FRAME static int load_and_work(const char *path, double until)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*work)(void (*)(unsigned int)) = NULL;

	if (library)
		*(void **)&work = dlsym(library, "plugin_work");
	if (!work)
		return 1;
	while (cpu_seconds() < until)
		work(callback);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = number_arg(argc, argv, 2, 1);

	if (argc < 2)
		return 2;
	while (cpu_seconds() < seconds)
		before_load();
	if (load_and_work(argv[1], 2 * seconds))
		return 1;
	NOT_LAST();
	return 0;
}
