// SPDX-License-Identifier: BSD-2-Clause
/*
 * One table of units, smallest first, with pprof's aliases. A unit that the table does not know is
 * a family of its own: it is shown as it is and converted only into itself.
 */
#include "profile/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum family {
	FAMILY_SIZE,
	FAMILY_TIME
};

/* Smallest first within a family. A plural "s" is taken off before the aliases are compared. */
static const struct unit {
	enum family family;
	const char *name;
	double factor;
	const char *aliases[3];
} units[] = {
	{FAMILY_SIZE, "B", 1, {"b", "byte"}},
	{FAMILY_SIZE, "kB", 1ull << 10, {"kb", "kbyte", "kilobyte"}},
	{FAMILY_SIZE, "MB", 1ull << 20, {"mb", "mbyte", "megabyte"}},
	{FAMILY_SIZE, "GB", 1ull << 30, {"gb", "gbyte", "gigabyte"}},
	{FAMILY_SIZE, "TB", 1ull << 40, {"tb", "tbyte", "terabyte"}},
	{FAMILY_SIZE, "PB", 1ull << 50, {"pb", "pbyte", "petabyte"}},
	{FAMILY_TIME, "ns", 1, {"ns", "nanosecond"}},
	{FAMILY_TIME, "us", 1e3, {"us", "\xce\xbcs", "microsecond"}},
	{FAMILY_TIME, "ms", 1e6, {"ms", "millisecond"}},
	{FAMILY_TIME, "s", 1e9, {"s", "sec", "second"}},
	{FAMILY_TIME, "hrs", 3600e9, {"hour", "hr"}},
};

#define NR_UNITS (sizeof(units) / sizeof(units[0]))

/* What a value of 0 is shown in. */
static const struct unit *default_unit(enum family family)
{
	return family == FAMILY_SIZE ? &units[0] : &units[9];
}

static const struct unit *find_unit(const char *text)
{
	size_t len = strlen(text);

	if (len > 2 && (text[len - 1] | 0x20) == 's')
		len--;
	for (size_t i = 0; i < NR_UNITS; i++)
		for (size_t j = 0; j < 3 && units[i].aliases[j]; j++)
			if (strlen(units[i].aliases[j]) == len &&
			    !strncasecmp(units[i].aliases[j], text, len))
				return &units[i];
	return NULL;
}

/* The largest unit in which the magnitude is 1 or more. */
static const struct unit *best_unit(double base_value, enum family family)
{
	const struct unit *best = NULL;

	for (size_t i = 0; i < NR_UNITS; i++)
		if (units[i].family == family && base_value / units[i].factor >= 1)
			best = &units[i];
	return best ? best : default_unit(family);
}

char *unit_text(int64_t value, const char *from, const char *to, char out[UNIT_TEXT_BYTES])
{
	const struct unit *source = find_unit(from), *target;
	double shown = value;
	const char *name = "";
	char *zeros;

	if (source) {
		target = strcmp(to, "auto") ? find_unit(to) : NULL;
		if (target && target->family != source->family)
			target = default_unit(source->family);
		if (!target)
			target = best_unit(fabs(shown) * source->factor, source->family);
		shown = shown * source->factor / target->factor;
		name = target->name;
	} else if (strcmp(to, "auto") && strcmp(to, "count") && strcmp(to, "sample") &&
		   strcmp(to, "unit")) {
		name = to;
	}
	snprintf(out, UNIT_TEXT_BYTES, "%.2f", shown);
	zeros = strstr(out, ".00");
	if (zeros)
		*zeros = '\0';
	if (!strcmp(out, "0") || !strcmp(out, "-0"))
		return strcpy(out, "0");
	snprintf(out + strlen(out), UNIT_TEXT_BYTES - strlen(out), "%s", name);
	return out;
}

const char *unit_for(int64_t smallest, int64_t largest, const char *from)
{
	const struct unit *source = find_unit(from), *least, *most;
	double small = fabs((double)smallest), large = fabs((double)largest);

	if (!source)
		return from;
	if (small == 0)
		small = large;
	small *= source->factor;
	large *= source->factor;
	least = best_unit(small, source->family);
	most = best_unit(large, source->family);
	if (least != most && small * 100 < large)
		least = best_unit(small * 100, source->family); /* it will be 0.01 or more */
	return least->name;
}

int unit_check(const char *from, const char *to)
{
	const struct unit *source = find_unit(from), *target = find_unit(to);

	if (!strcmp(to, "auto") || !strcmp(to, from))
		return 0;
	return source && target && source->family == target->family ? 0 : -EINVAL;
}

int unit_factor(const char *from, const char *to, double *factor)
{
	const struct unit *source = find_unit(from), *target = find_unit(to);

	if (source && target && source->family == target->family)
		*factor = source->factor / target->factor;
	else if (!strcmp(from, to))
		*factor = 1;
	else
		return -EINVAL;
	return 0;
}

char *unit_share(int64_t part, int64_t whole, char out[UNIT_TEXT_BYTES])
{
	double share = whole ? fabs((double)part / (double)whole) * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		snprintf(out, UNIT_TEXT_BYTES, "  100%%");
	else
		snprintf(out, UNIT_TEXT_BYTES, share >= 1 ? "%5.2f%%" : "%5.2g%%", share);
	return out;
}
