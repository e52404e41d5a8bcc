/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * within: calls every function of the allocator, each from a site of its own, NR times for blocks of SIZE bytes. An
 * allocator may make some of these calls in terms of others: musl's calloc calls malloc. Says, last, what each site has allocated.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define NR	  3000
#define SIZE	  4096
#define ALIGNMENT 64

#define SITE(name, make)                                  \
	static void *__attribute__((noinline)) name(void) \
	{                                                 \
		void *block = NULL;                       \
                                                          \
		make;                                     \
		*(char *volatile *)&block = block;        \
		return block;                             \
	}

SITE(site_malloc, block = malloc(SIZE))
SITE(site_calloc, block = calloc(SIZE / 4, 4))
SITE(site_realloc, block = realloc(NULL, SIZE))
SITE(site_posix_memalign, if (posix_memalign(&block, ALIGNMENT, SIZE)) abort())
SITE(site_aligned_alloc, block = aligned_alloc(ALIGNMENT, SIZE))
SITE(site_memalign, block = memalign(ALIGNMENT, SIZE))

static const struct {
	const char *name;
	void *(*make)(void);
} sites[] = {
	{"site_malloc", site_malloc},
	{"site_calloc", site_calloc},
	{"site_realloc", site_realloc},
	{"site_posix_memalign", site_posix_memalign},
	{"site_aligned_alloc", site_aligned_alloc},
	{"site_memalign", site_memalign},
};

#define NR_SITES (sizeof(sites) / sizeof(sites[0]))

int main(void)
{
	for (int i = 0; i < NR; i++)
		for (size_t j = 0; j < NR_SITES; j++)
			free(sites[j].make());
	printf("{\"size\": %d", SIZE);
	for (size_t j = 0; j < NR_SITES; j++)
		printf(", \"%s\": %d", sites[j].name, NR);
	printf("}\n");
	return 0;
}
