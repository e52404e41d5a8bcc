// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sample types are found by their names and units, since profiles of other tools are compared as well:
 * what a heap profile's objects, bytes and variances are called follows from the type that is compared
 * ("inuse_space": "inuse_objects", "inuse_space_variance"); in any other profile the first type counted
 * in "count" is the number of samples. Without any, a value over the period is.
 */
#include "gate/amount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/algebra.h"
#include "profile/scale.h"

static const char *string(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

/* The type whose name is that of `type` with its last word, "_objects" say, replaced by another. */
static int find_sibling(const struct profile *profile, const char *type, const char *word)
{
	const char *last = strrchr(type, '_');
	char *name scoped(freep) = NULL;

	if (!last)
		return -1;
	name = xasprintf("%.*s%s", (int)(last - type), type, word);
	return profile_find_type(profile, name);
}

static bool is_heap(const struct profile *profile)
{
	return !strcmp(string(profile, profile->period_type.type), "space") &&
	       !strcmp(string(profile, profile->period_type.unit), "bytes");
}

struct sampling amount_sampling(const struct profile *profile, uint32_t type)
{
	const char *name = string(profile, profile->types[type].type);
	const char *unit = string(profile, profile->types[type].unit);
	char *variance scoped(freep) = xasprintf("%s_variance", name);
	struct sampling sampling = {.value = type,
				    .variance = -1,
				    .objects = -1,
				    .bytes = -1,
				    .count = -1,
				    .weight = 1};

	if (is_heap(profile)) {
		sampling.variance = profile_find_type(profile, variance);
		sampling.objects = find_sibling(profile, name, "_objects");
		sampling.bytes = find_sibling(profile, name, "_space");
		sampling.rate_bytes = profile->period > 1 ? profile->period : 1;
		return sampling;
	}
	for (uint32_t i = 0; i < profile->nr_types && sampling.count < 0; i++)
		if (!strcmp(string(profile, profile->types[i].unit), "count"))
			sampling.count = i;
	if (!strcmp(unit, "count"))
		sampling.count = type;
	else if (profile->period > 0 && !strcmp(string(profile, profile->period_type.unit), unit))
		sampling.weight = profile->period;
	return sampling;
}

/* (1 - p) / p of each object, times the square of what one stands for. */
static struct amount heap_amount(const struct sampling *sampling, const int64_t *values)
{
	struct amount amount = {.value = values[sampling->value]};
	double objects = sampling->objects >= 0 ? values[sampling->objects] : 0;
	double bytes = sampling->bytes >= 0 ? values[sampling->bytes] : 0, p, each;

	/* sums are rounded toward zero: a large object that was seen once may be 0 objects */
	objects = objects > 0 ? objects : bytes > 0;
	p = scale_heap_probability(objects > 0 ? (uint64_t)fabs(bytes / objects) : 0,
				   sampling->rate_bytes);
	each = objects > 0 ? amount.value / objects : 0;
	amount.nr_samples = objects * p;
	amount.variance = sampling->variance >= 0 ? fmax(0, values[sampling->variance])
						  : objects * (1 - p) / p * each * each;
	return amount;
}

struct amount amount_of(const struct sampling *sampling, const int64_t *values)
{
	struct amount amount = {.value = values[sampling->value]};

	if (sampling->rate_bytes)
		return heap_amount(sampling, values);
	if (sampling->count >= 0) {
		amount.nr_samples = fmax(0, values[sampling->count]);
		if (amount.nr_samples > 0)
			amount.variance = amount.value * amount.value / amount.nr_samples;
		return amount;
	}
	amount.nr_samples = amount.value / sampling->weight;
	amount.variance = amount.value * sampling->weight;
	return amount;
}
