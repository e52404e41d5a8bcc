/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dlopens LIBRARY: {"ready": PID}, a line; opens LIBRARY, an allocator, {"open": PID}, a line; allocates
 * 70 x 300 bytes from it and frees 20 of them, says what a heap profile at rate 1 holds of these,
 * {"done": PID}, and waits for another line.
 */
#include <dlfcn.h>

#include "../workload.h"

static void *(*allocate)(size_t size);
static void (*release)(void *block);

static void site_of_library(void)
{
	void *blocks[70];

	for (int i = 0; i < 70; i++)
		blocks[i] = allocate(300);
	for (int i = 0; i < 20; i++)
		release(blocks[i]);
}

int main(int argc, char **argv)
{
	void *library;

	wait_for_line("ready");
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library)
		return 1;
	*(void **)&allocate = dlsym(library, "malloc");
	*(void **)&release = dlsym(library, "free");
	wait_for_line("open");
	site_of_library();
	printf("{\"site_of_library\": {\"objects\": 70, \"bytes\": 21000, \"live_objects\": 50, "
	       "\"live_bytes\": 15000}}\n");
	wait_for_line("done");
	return 0;
}
