/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The labels of samples as small numbers: each sample has one set, its value for each key. There are far fewer
 * sets than samples (one per thread, for example).
 *
 *	struct labelsets sets = {.type = type};
 *	labelsets_add(&sets, profile);		each, head before base
 *	labelsets_make(&sets);
 *	... sets.keys, sets.nr_sets, labelsets_value(&sets, set, key), sets.set_of.at[sample] ...
 *	labelsets_release(&sets);
 *
 * A key is kept only if samples differ in its value. All sizes are limited: the LABELSET_MAX_VALUES heaviest values
 * of each key are kept, the others are "(other)"; if there are too many sets or keys, the keys with the most values
 * are dropped.
 *
 * If a sample has a key several times, the first value counts. No I/O, no printing.
 */
#ifndef CPROF_PROFILE_LABELSET_H
#define CPROF_PROFILE_LABELSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/model.h"

#define LABELSET_MAX_KEYS   8
#define LABELSET_MAX_VALUES 200
#define LABELSET_MAX_SETS   10000

struct labelset_value {
	const char *text; /* "worker-1", "4242", "4kB" */
	double weight;	  /* the magnitudes of its samples */
	uint32_t
		shown; /* 1, 2, ... the heaviest first; LABELSET_MAX_VALUES + 1: among the others */
};

struct labelset_key {
	const char *name;
	vec_of(struct labelset_value) values; /* in the order they were met */
	vec_of(uint32_t) order; /* position of value 1, 2, ...: those that are shown */
	bool has_other;
	size_t nr_samples; /* that have it */
	uint32_t met;	   /* private: its number among all keys that were met */
};

struct labelsets {
	uint32_t type; /* the sample type whose values are the weights; set by the caller */
	vec_of(struct labelset_key) keys; /* after labelsets_make(): those that are kept */
	size_t nr_sets;
	vec_of(uint32_t) sets;	 /* private: nr_keys for each */
	vec_of(uint32_t) set_of; /* of each sample, in the order they were added */
	bool is_cut;		 /* keys were dropped by the limits */
	/* private */
	vec_of(uint64_t) pairs; /* of each sample, met key << 32 | met value */
	vec_of(size_t) starts;	/* of each sample in pairs; one more at the end */
	struct strtab texts;
	struct hash index;
};

/* Adds the labels of all samples, in their order. Keeps nothing of the profile. */
void labelsets_add(struct labelsets *sets, const struct profile *profile);
/* Chooses keys and values, and makes the sets. Call it once, after the last labelsets_add(). */
void labelsets_make(struct labelsets *sets);
/* Frees its content, not the struct itself. */
void labelsets_release(struct labelsets *sets);

/* 0: it has no such label; 1 to the number of those shown; one more: "(other)". */
uint32_t labelsets_value(const struct labelsets *sets, size_t set, size_t key);

/* Drops the key with the most values: fewer sets. False: there is none. */
bool labelsets_reduce(struct labelsets *sets);

#endif
