/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forkserver [WORKERS]: holds blocks, forks workers (12), one after another and each at work at once, and
 * waits for them. What each does, by the function that does it:
 *
 *	site_parent	300 x 128 bytes before the first fork, of which it keeps 200
 *	site_worker	40 x 256 bytes, of which 10 are freed; and before that 50 of the parent's blocks
 *			are, and one is reallocated: copies, which nobody sampled
 *	site_grown	that reallocation: 1 x 1000 bytes
 *	site_before	every third worker: 20 x 512 bytes, then exec; the others exit
 *	site_image	what it executes, this program again: 30 x 64 bytes, of which 10 are freed
 *	site_grandchild	every fourth worker forks once more: 5 x 2048 bytes
 *
 * Says {"ready": PID} and waits for a line (with a second argument it does not); then {"site_...":
 * {"objects": N, "bytes": N, "live_objects": N, "live_bytes": N}, ...}, where what is left at an exit is
 * live, and what an exec took away is not; and waits for another line.
 */
#include <string.h>
#include <sys/wait.h>

#include "workload.h"

#define NR_PARENT 300
#define NR_KEPT	  200

static char *blocks[NR_PARENT];
static void *volatile last; /* or the compiler leaves pairs of malloc and free out */

static void site_parent(void)
{
	for (int i = 0; i < NR_PARENT; i++)
		blocks[i] = malloc(128);
	for (int i = NR_KEPT; i < NR_PARENT; i++)
		free(blocks[i]);
}

static void site_grown(void)
{
	last = realloc(blocks[60], 1000);
}

static void site_worker(void)
{
	void *own[40];

	for (int i = 0; i < 50; i++)
		free(blocks[i]);
	for (int i = 0; i < 40; i++)
		own[i] = malloc(256);
	for (int i = 0; i < 10; i++)
		free(own[i]);
}

static void site_before(void)
{
	for (int i = 0; i < 20; i++)
		last = malloc(512);
}

static void site_image(void)
{
	for (int i = 0; i < 30; i++) {
		last = malloc(64);
		if (i < 10)
			free(last);
	}
}

static void site_grandchild(void)
{
	for (int i = 0; i < 5; i++)
		last = malloc(2048);
}

static void wait_for_children(void)
{
	int status;

	while (wait(&status) > 0)
		if (status)
			abort();
}

static void work(int i, const char *self)
{
	site_worker();
	site_grown();
	if (i % 4 == 0) {
		pid_t pid = fork();

		if (!pid) {
			site_grandchild();
			_exit(0);
		}
		wait_for_children();
	}
	if (i % 3)
		_exit(0);
	site_before();
	execl(self, self, "image", NULL);
	abort();
}

static void say(const char *before, const char *site, int objects, int live, int bytes)
{
	printf("%s\"%s\": {\"objects\": %d, \"bytes\": %d, \"live_objects\": %d, \"live_bytes\": "
	       "%d}",
	       before, site, objects, objects * bytes, live, live * bytes);
}

int main(int argc, char **argv)
{
	int nr = (int)number_arg(argc, argv, 1, 12);
	int nr_execs = (nr + 2) / 3, nr_exits = nr - nr_execs, nr_forks = (nr + 3) / 4;

	if (argc > 1 && !strcmp(argv[1], "image")) {
		site_image();
		_exit(0);
	}
	if (argc < 3)
		wait_for_line("ready");
	site_parent();
	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (!pid)
			work(i, argv[0]);
		if (pid < 0)
			abort();
	}
	wait_for_children();
	say("{", "site_parent", NR_PARENT, NR_KEPT, 128);
	say(", ", "site_worker", nr * 40, nr_exits * 30, 256);
	say(", ", "site_grown", nr, nr_exits, 1000);
	say(", ", "site_before", nr_execs * 20, 0, 512);
	say(", ", "site_image", nr_execs * 30, nr_execs * 20, 64);
	say(", ", "site_grandchild", nr_forks * 5, nr_forks * 5, 2048);
	printf("}\n");
	if (argc < 3)
		wait_for_line("done");
	return 0;
}
