/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in memory, in the shape of profile.proto: interned strings, mappings, functions, locations
 * and samples. Ids are 1..N in the order of their arrays, 0 is none. Strings are ids of the profile's
 * own string table, 0 is "".
 *
 * Items are interned: adding an equal mapping, function or location returns the id of the existing one. Samples
 * with the same stack and labels are one sample, with their values added. A profile that was read from a file
 * (input/) keeps the duplicates of the file, in its order; profile/merge.h interns them. Code that only reads a
 * profile (the encoders in output/) uses the arrays directly. No I/O, no printing.
 *
 * Source: proto/profile.proto.
 */
#ifndef CPROF_PROFILE_MODEL_H
#define CPROF_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"

#define PROFILE_MAX_TYPES 32 /* known writers have at most 8 */

struct value_type {
	uint32_t type, unit; /* strings: "cpu", "nanoseconds" */
};

struct profile_mapping {
	uint64_t start, limit, file_off; /* addresses of locations lie in [start, limit) */
	uint32_t path, build_id;	 /* strings */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_function {
	uint32_t name, system_name, path; /* strings: demangled, raw, source file */
	int64_t start_line;		  /* 0: unknown */
};

struct profile_line {
	uint32_t function;    /* id */
	int64_t line, column; /* 0: unknown */
};

struct profile_location {
	uint32_t mapping; /* id */
	uint64_t address;
	const struct profile_line *lines; /* in the arena; innermost (inlined) first */
	uint32_t nr_lines;
	bool is_folded; /* its code stands for several identical functions */
};

/* A label has a string or a number. num_unit 0 means that num is unitless. */
struct profile_label {
	uint32_t key, str, num_unit; /* strings */
	int64_t num;
};

struct profile_sample {
	const uint32_t *locations;	    /* ids, leaf first; in the arena */
	const struct profile_label *labels; /* in the arena */
	int64_t *values;		    /* one for each sample type; in the arena */
	uint32_t nr_locations, nr_labels;
};

/* The unscaled source of a heap profile's samples: what was sampled of one stack and size. */
struct profile_record {
	const uint64_t *
		call_ips; /* runtime addresses, leaf first, each past the start of its call; 0: interpreted, or elided */
	const uint32_t
		*locations; /* ids: of the call_ips, then of notes such as [truncated: ...] */
	uint32_t nr_ips, nr_locations; /* both arrays are in the arena */
	uint64_t size_bytes, nr_taken, nr_live;
};

/* An executable mapping as it was in the process; call_ips are addresses in it. */
struct profile_map {
	uint64_t start, limit, file_off;
	const char *path; /* in the arena */
};

struct profile {
	uint64_t serial; /* differs for each profile of this process, for caches */
	struct arena arena;
	struct strtab strings;
	vec_of(struct profile_mapping) mappings;   /* id - 1 */
	vec_of(struct profile_function) functions; /* id - 1 */
	vec_of(struct profile_location) locations; /* id - 1 */
	vec_of(struct profile_sample) samples;
	struct value_type types[PROFILE_MAX_TYPES], period_type;
	uint32_t nr_types;
	uint32_t default_type; /* string: the sample type shown first; 0: the last one */
	int64_t period;
	int64_t time_ns;	   /* CLOCK_REALTIME at the start */
	int64_t duration_ns;	   /* 0 for a snapshot */
	vec_of(uint32_t) comments; /* strings */
	/* Strings: regular expressions on names of frames to leave out (but for those to keep), a URL. */
	uint32_t drop_frames, keep_frames, doc_url;
	/* Only if a format that has unscaled values requested them: output/legacy.h. */
	vec_of(struct profile_record) records;
	vec_of(struct profile_map) maps;
	const char *memory; /* lines "VmRSS = 5120 kB"; NULL: not known. In the arena */
	struct hash mapping_index, function_index, location_index, sample_index; /* private */
};

/* An empty profile with a new serial; never NULL. The caller frees it. */
struct profile *profile_new(void);
/* Frees it with its arena. NULL is fine. */
void profile_free(struct profile *profile);

/* The id of s in the profile's string table; s is made valid UTF-8 first (base/text.h). */
uint32_t profile_string(struct profile *profile, const char *s);

/* Appends a sample type, before the first sample is added. There is room for PROFILE_MAX_TYPES. */
void profile_add_type(struct profile *profile, const char *type, const char *unit);
/* Sets the period type and the period, which is in `unit`. */
void profile_set_period(struct profile *profile, const char *type, const char *unit,
			int64_t period);

/*
 * Each returns the id of the equal existing one, or of the new one. All arguments are copied. Mappings that differ
 * in has_* flags only are equal; the flags of the existing one are kept.
 */
uint32_t profile_mapping_id(struct profile *profile, const struct profile_mapping *mapping);
uint32_t profile_function_id(struct profile *profile, const struct profile_function *function);
uint32_t profile_location_id(struct profile *profile, const struct profile_location *location);

/*
 * Adds values (nr_types of them; NULL: all 0) to the sample with this stack and these labels. All
 * arguments are copied. Sums saturate at the limits of int64_t. Returns the
 * position of the sample.
 */
size_t profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/* a + b; saturates at the limits of int64_t. */
int64_t profile_sum(int64_t a, int64_t b);

/*
 * Moves the mapping with this id to the front: readers take mapping 1 for the main binary. Ids of
 * mappings change, in the locations too; no other ids do.
 */
void profile_set_main_mapping(struct profile *profile, uint32_t id);

/* Whether all its values are 0. */
bool profile_is_zero(const struct profile *profile, const struct profile_sample *sample);
/* Drops samples whose values are all 0; readers drop or reject them. Returns their number. */
size_t profile_drop_zero_samples(struct profile *profile);

/*
 * To call before or after samples or locations are changed in place. Forgets which items are interned: items added
 * later may be duplicates, until profile_compact() (merge.h) interns them.
 */
void profile_forget_interned(struct profile *profile);

#endif
