/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocs [PERCENT [now]]: sites that allocate exactly known counts and sizes, through every function
 * of the allocator, then free every second block. PERCENT scales the counts (100).
 *
 * Says {"ready": PID} and waits for a line on stdin; allocates; says for each site what a heap
 * profile at rate 1 must hold, {"site_a": {"objects": N, "bytes": N, "live_objects": N,
 * "live_bytes": N}, ...}; says {"done": PID}, and waits for another line before it exits. With `now`
 * it waits for nothing.
 *
 * A realloc that succeeds counts as an allocation of the new size and a free of the old block; one
 * that fails as nothing. What main and stdio allocate is not under a site_ function.
 */
#include <malloc.h>

#include "workload.h"

/* What stands against a site, and the blocks it holds. */
struct tally {
	const char *site;
	size_t objects, bytes;
	size_t live_objects, live_bytes;
	void **blocks;
	size_t *sizes;
	size_t nr_blocks;
};

static struct tally tallies[16];
static size_t nr_tallies;

/* volatile: a compiler that knows a size may leave the call out, or warn about a huge one. */
static volatile size_t size_of_a = 1024, size_of_b = 16384, size_of_c = 262144,
		       too_much = SIZE_MAX / 4;

static void took(struct tally *tally, void *block, size_t size)
{
	if (!block)
		abort();
	tally->objects++;
	tally->bytes += size;
	tally->blocks[tally->nr_blocks] = block;
	tally->sizes[tally->nr_blocks++] = size;
}

static void site_a(struct tally *tally)
{
	took(tally, malloc(size_of_a), size_of_a);
}

static void site_b(struct tally *tally)
{
	took(tally, calloc(16, size_of_b / 16), size_of_b);
}

static void site_c(struct tally *tally)
{
	took(tally, malloc(size_of_c), size_of_c);
}

/* Four allocations, of which the last one stays; the first is realloc's own. */
static void site_realloc(struct tally *tally)
{
	void *block = NULL;
	size_t size = 100;

	for (int i = 0; i < 4; i++, size *= 3) {
		void *grown = realloc(block, size);

		if (!grown)
			abort();
		block = grown;
		if (i < 3) {
			tally->objects++;
			tally->bytes += size;
		}
	}
	took(tally, block, size / 3);
}

/* The second call fails and leaves the block as it was. */
static void site_realloc_fails(struct tally *tally)
{
	void *block = malloc(333);

	if (realloc(block, too_much))
		abort();
	took(tally, block, 333);
}

static void site_reallocarray(struct tally *tally)
{
	took(tally, reallocarray(NULL, 7, 77), 7 * 77);
}

static void site_posix_memalign(struct tally *tally)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, 640) != 0)
		abort();
	took(tally, block, 640);
}

static void site_aligned_alloc(struct tally *tally)
{
	took(tally, aligned_alloc(128, 1280), 1280);
}

static void site_memalign(struct tally *tally)
{
	took(tally, memalign(256, 2560), 2560);
}

static void site_valloc(struct tally *tally)
{
	took(tally, valloc(5000), 5000);
}

static void site_pvalloc(struct tally *tally)
{
	took(tally, pvalloc(3000), 3000);
}

static void free_half(struct tally *tally)
{
	for (size_t i = 0; i < tally->nr_blocks; i++) {
		if (i % 2 == 0) {
			free(tally->blocks[i]);
			continue;
		}
		tally->live_objects++;
		tally->live_bytes += tally->sizes[i];
	}
}

static void run(const char *name, void (*site)(struct tally *), size_t nr)
{
	struct tally *tally = &tallies[nr_tallies++];

	tally->site = name;
	tally->blocks = calloc(nr, sizeof(void *));
	tally->sizes = calloc(nr, sizeof(size_t));
	if (!tally->blocks || !tally->sizes)
		abort();
	for (size_t i = 0; i < nr; i++)
		site(tally);
	free_half(tally);
}

static void say_what_to_expect(void)
{
	for (size_t i = 0; i < nr_tallies; i++) {
		const struct tally *t = &tallies[i];

		printf("%s\"%s\": {\"objects\": %zu, \"bytes\": %zu, \"live_objects\": %zu, "
		       "\"live_bytes\": %zu}",
		       i ? ", " : "{", t->site, t->objects, t->bytes, t->live_objects,
		       t->live_bytes);
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	double percent = number_arg(argc, argv, 1, 100);
	bool wait = argc < 3;

#define RUN(site, nr) run(#site, site, (size_t)((nr)*percent / 100))
	if (wait)
		wait_for_line("ready");
	RUN(site_a, 20000);
	RUN(site_b, 2000);
	RUN(site_c, 200);
	RUN(site_realloc, 400);
	RUN(site_realloc_fails, 400);
	RUN(site_reallocarray, 400);
	RUN(site_posix_memalign, 400);
	RUN(site_aligned_alloc, 400);
	RUN(site_memalign, 400);
	RUN(site_valloc, 400);
	RUN(site_pvalloc, 400);
	say_what_to_expect();
	if (wait)
		wait_for_line("done");
	return 0;
}
