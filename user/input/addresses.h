/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a profile from stacks of bare addresses, which all the older formats have. Stacks are collected
 * while a file is read, and become samples and locations once its memory map is known.
 *
 *	struct addresses addresses = {.profile = profile};
 *	addresses_add(&addresses, stack, nr, values, 0);	any number of times
 *	err = addresses_finish(&addresses, &lines);
 *
 * Samples keep their order, and equal ones are not merged; locations are in the order in which samples
 * refer to them. Addresses outside all mappings belong to one mapping without a name.
 */
#ifndef CPROF_INPUT_ADDRESSES_H
#define CPROF_INPUT_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "input/lines.h"
#include "profile/model.h"

struct addresses {
	struct profile *profile; /* its sample types are set before the first stack is added */
	size_t max_items;
	vec_of(uint64_t) all; /* of all stacks, one after another */
	vec_of(struct address_stack {
		size_t first; /* in all; leaf first */
		size_t nr;
		int64_t *values; /* in the profile's arena */
		int64_t block_bytes;
	}) stacks;
	struct hash index; /* of locations, by address */
};

/*
 * Adds a stack, leaf first; addresses and values (nr_types of them) are copied. block_bytes, if it is
 * not 0, becomes a label "bytes". -EFBIG: more than max_items stacks, or sixteen times as many addresses.
 */
int addresses_add(struct addresses *addresses, const uint64_t *stack, size_t nr,
		  const int64_t *values, int64_t block_bytes);

/* Makes samples and locations without mappings, for formats whose "addresses" are other numbers. */
void addresses_make_samples(struct addresses *addresses);
/* The id of the location at address, after addresses_make_samples(); 0: there is none. */
uint32_t addresses_location(const struct addresses *addresses, uint64_t address);
/*
 * Makes samples, locations and mappings; the rest of lines is the memory map. -EFBIG: more
 * than max_items mappings.
 */
int addresses_finish(struct addresses *addresses, struct lines *lines);
/* Skips lines up to and including the heading of the memory map. */
void addresses_skip_to_map(struct lines *lines);
bool addresses_is_map_head(struct text line);
void addresses_release(struct addresses *addresses);

#endif
