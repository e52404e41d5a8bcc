/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peaks [STEPS [now]]: holds most for a moment only. Three sites allocate and free at random in STEPS (20000) steps; then
 * site_spike allocates many blocks and frees them at once; then site_after holds less than that.
 *
 * Says {"ready": PID} and waits for a line on stdin; says what each site held at the peak, {"site_small": {"live_objects": N,
 * "live_bytes": N}, ...}; says {"done": PID}, and waits for another line before it exits. With `now` it waits for
 * nothing.
 */
#include "workload.h"

#define SLOTS	   600
#define SPIKE	   400
#define SPIKE_SIZE 60000

enum site {
	SMALL,
	GROWN,
	LARGE,
	SPIKED,
	AFTER,
	NR_SITES
};

static const char *const names[NR_SITES] = {"site_small", "site_grown", "site_large", "site_spike",
					    "site_after"};
static struct {
	size_t objects, bytes;
} held[NR_SITES], at_peak[NR_SITES];
static size_t total, most;

/* An allocation of site, of so many bytes more: is it the peak? */
static void took(enum site site, size_t size)
{
	held[site].objects++;
	held[site].bytes += size;
	total += size;
	if (total <= most)
		return;
	most = total;
	for (int i = 0; i < NR_SITES; i++)
		at_peak[i] = held[i];
}

static void gave(enum site site, size_t size)
{
	held[site].objects--;
	held[site].bytes -= size;
	total -= size;
}

static struct slot {
	void *block;
	size_t size;
	enum site site;
} slots[SLOTS];
static void *spike[SPIKE];

static __attribute__((noinline)) void *site_small(size_t size)
{
	void *block = malloc(size);

	took(SMALL, size);
	return block;
}

/* Of which the last size stays. */
static __attribute__((noinline)) void *site_grown(size_t size)
{
	void *block = malloc(size / 2);

	took(GROWN, size / 2);
	block = realloc(block, size);
	gave(GROWN, size / 2);
	took(GROWN, size);
	return block;
}

static __attribute__((noinline)) void *site_large(size_t size)
{
	void *block = calloc(1, size * 10);

	took(LARGE, size * 10);
	return block;
}

static __attribute__((noinline)) void site_spike(void)
{
	for (int i = 0; i < SPIKE; i++) {
		spike[i] = malloc(SPIKE_SIZE);
		took(SPIKED, SPIKE_SIZE);
	}
	for (int i = 0; i < SPIKE; i++) {
		free(spike[i]);
		gave(SPIKED, SPIKE_SIZE);
	}
}

static __attribute__((noinline)) void *site_after(size_t size)
{
	void *block = malloc(size);

	took(AFTER, size);
	return block;
}

static void step(void)
{
	struct slot *slot = &slots[rand() % SLOTS];
	size_t size = 2 + rand() % 1000 * 2;

	if (slot->block) {
		free(slot->block);
		gave(slot->site, slot->size);
		slot->block = NULL;
		return;
	}
	slot->site = rand() % 3;
	slot->size = slot->site == LARGE ? size * 10 : size;
	slot->block = slot->site == SMALL   ? site_small(size)
		      : slot->site == GROWN ? site_grown(size)
					    : site_large(size);
}

int main(int argc, char **argv)
{
	int nr_steps = (int)number_arg(argc, argv, 1, 20000);
	bool wait = argc < 3;

	if (wait)
		wait_for_line("ready");
	for (int i = 0; i < nr_steps; i++)
		step();
	site_spike();
	for (int i = 0; i < nr_steps; i++)
		step();
	for (int i = 0; i < 10; i++)
		slots[0].block = site_after(SPIKE_SIZE);
	printf("{");
	for (int i = 0; i < NR_SITES; i++)
		printf("%s\"%s\": {\"live_objects\": %zu, \"live_bytes\": %zu}", i ? ", " : "",
		       names[i], at_peak[i].objects, at_peak[i].bytes);
	printf("}\n");
	if (wait)
		wait_for_line("done");
	return 0;
}
