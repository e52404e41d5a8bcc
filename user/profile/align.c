// SPDX-License-Identifier: BSD-2-Clause
/*
 * A plan first, then the change. The plan says for either profile which types stay, in which
 * order, and by what their values are multiplied; every reason to refuse is found while it is
 * made, so that both profiles are untouched on failure.
 *
 * Types are paired by name, first by first. Of two units the finer one is kept: all factors are 1
 * or more, and no value is rounded to 0 by the conversion. The period takes part in the same way,
 * but changes no sample.
 */
#include "profile/align.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "profile/algebra.h"
#include "profile/unit.h"

struct side {
	struct profile *profile;
	uint32_t order[PROFILE_MAX_TYPES];
	double factors[PROFILE_MAX_TYPES], period_factor;
};

static const char *text_of(const struct profile *profile, uint32_t string)
{
	return strtab_get(&profile->strings, string);
}

/* By what each side's values are to be multiplied: the coarser unit's, 1 for the other. */
static int find_factors(const char *unit_a, const char *unit_b, double *factor_a, double *factor_b)
{
	*factor_a = *factor_b = 1;
	if (unit_factor(unit_b, unit_a, factor_b))
		return -EINVAL;
	if (*factor_b >= 1)
		return 0;
	*factor_b = 1;
	return unit_factor(unit_a, unit_b, factor_a);
}

static int plan_types(struct side *a, struct side *b, uint32_t *nr)
{
	const struct profile *of_a = a->profile, *of_b = b->profile;

	for (uint32_t i = 0; i < of_a->nr_types; i++) {
		const struct value_type *type = &of_a->types[i];
		int k = profile_find_type(of_b, text_of(of_a, type->type));

		/* of several types with one name, only the first is paired, and once: there are no more pairs than types */
		if (k < 0 || profile_find_type(of_a, text_of(of_a, type->type)) != (int)i)
			continue;
		a->order[*nr] = i;
		b->order[*nr] = k;
		if (find_factors(text_of(of_a, type->unit), text_of(of_b, of_b->types[k].unit),
				 &a->factors[*nr], &b->factors[*nr]))
			return -EINVAL;
		++*nr;
	}
	return *nr ? 0 : -EINVAL;
}

static int plan_period(struct side *a, struct side *b)
{
	const struct value_type *of_a = &a->profile->period_type, *of_b = &b->profile->period_type;

	if (strcmp(text_of(a->profile, of_a->type), text_of(b->profile, of_b->type)))
		return -EINVAL;
	return find_factors(text_of(a->profile, of_a->unit), text_of(b->profile, of_b->unit),
			    &a->period_factor, &b->period_factor);
}

static bool is_all(const struct side *side, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (side->order[i] != i)
			return false;
	return nr == side->profile->nr_types;
}

/* The unit of the side that is not scaled is that of both. */
static void set_unit(struct side *a, struct value_type *type_a, double factor_a, struct side *b,
		     struct value_type *type_b)
{
	if (factor_a == 1)
		type_b->unit =
			strtab_intern(&b->profile->strings, text_of(a->profile, type_a->unit));
	else
		type_a->unit =
			strtab_intern(&a->profile->strings, text_of(b->profile, type_b->unit));
}

static void change(struct side *side, uint32_t nr)
{
	bool is_scaled = false;

	if (!is_all(side, nr))
		profile_pick_types(side->profile, side->order, nr);
	for (uint32_t i = 0; i < nr; i++)
		is_scaled |= side->factors[i] != 1;
	if (is_scaled)
		profile_scale_types(side->profile, side->factors);
	side->profile->period = profile_scaled(side->profile->period, side->period_factor);
}

int profile_align(struct profile *of_a, struct profile *of_b)
{
	struct side a = {.profile = of_a}, b = {.profile = of_b};
	uint32_t nr = 0;

	if (profile_same_types(of_a, of_b) &&
	    profile_same_type(of_a, &of_a->period_type, of_b, &of_b->period_type))
		return 0;
	if (plan_types(&a, &b, &nr) || plan_period(&a, &b))
		return -EINVAL;
	change(&a, nr);
	change(&b, nr);
	for (uint32_t i = 0; i < nr; i++)
		set_unit(&a, &of_a->types[i], a.factors[i], &b, &of_b->types[i]);
	set_unit(&a, &of_a->period_type, a.period_factor, &b, &of_b->period_type);
	return 0;
}
