// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both views are a few steps of the profile algebra: in use, values of allocations are set to 0; a
 * delta is first, multiplied by -1, merged with second, of which the two allocation types are
 * kept. What takes care is the check that the columns are what they seem, and the times.
 */
#include "profile/heapview.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/algebra.h"
#include "profile/merge.h"

#define NR_HEAP_TYPES  4
#define NR_ALLOC_TYPES 2

static const char *const heap_types[NR_HEAP_TYPES] = {"alloc_objects", "alloc_space",
						      "inuse_objects", "inuse_space"};

static bool is_variance(const char *type)
{
	static const char suffix[] = "_variance";
	size_t len = strlen(type);

	return len >= sizeof(suffix) && !strcmp(type + len - (sizeof(suffix) - 1), suffix);
}

int heapview_check(const struct profile *profile, char why[HEAPVIEW_WHY_BYTES])
{
	if (profile->nr_types < NR_HEAP_TYPES) {
		snprintf(why, HEAPVIEW_WHY_BYTES, "no heap profile: %u sample types, not %d",
			 profile->nr_types, NR_HEAP_TYPES);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		const char *type = strtab_get(&profile->strings, profile->types[i].type);
		char shown[64];

		if (i < NR_HEAP_TYPES ? !strcmp(type, heap_types[i]) : is_variance(type))
			continue;
		snprintf(why, HEAPVIEW_WHY_BYTES,
			 "no heap profile: sample type %u is '%s', not '%s'", i + 1,
			 text_escape(type, shown, sizeof(shown)),
			 i < NR_HEAP_TYPES ? heap_types[i] : "a variance");
		return -EINVAL;
	}
	return 0;
}

void heapview_inuse(struct profile *profile)
{
	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < profile->nr_types; i++)
			if (i < NR_ALLOC_TYPES || i == NR_HEAP_TYPES) /* alloc_space_variance */
				sample->values[i] = 0;
	profile->duration_ns = 0;
	profile_drop_zero_samples(profile);
}

/* When it was taken: snapshots of one run begin at one time, and last longer and longer. */
static int64_t taken_ns(const struct profile *profile)
{
	return (int64_t)((uint64_t)profile->time_ns + (uint64_t)profile->duration_ns);
}

int heapview_delta(const struct profile *first, const struct profile *second,
		   struct profile **delta, char why[HEAPVIEW_WHY_BYTES])
{
	const bool keep[PROFILE_MAX_TYPES] = {true, true};
	struct merger *merger;
	const char *reason = NULL;
	struct profile *made;
	int err;

	if (taken_ns(first) > taken_ns(second)) {
		snprintf(why, HEAPVIEW_WHY_BYTES, "the first one is the later one");
		return -EINVAL;
	}
	merger = merger_new();
	err = merger_add_scaled(merger, first, -1, &reason);
	if (!err)
		err = merger_add(merger, second, &reason);
	if (err) {
		snprintf(why, HEAPVIEW_WHY_BYTES, "%s", reason);
		merger_free(merger);
		return err;
	}
	made = merger_finish(merger);
	profile_keep_types(made, keep);
	made->default_type = profile_string(made, heap_types[1]);
	made->time_ns = taken_ns(first);
	made->duration_ns = (int64_t)((uint64_t)taken_ns(second) - (uint64_t)taken_ns(first));
	*delta = made;
	return 0;
}
