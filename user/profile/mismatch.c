// SPDX-License-Identifier: BSD-2-Clause
/* Types are printed as "cpu/nanoseconds", escaped: a profile may hold any text there. */
#include "profile/mismatch.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/algebra.h"

/* Appends a type. */
static void append_type(const struct profile *profile, const struct value_type *type, char *text,
			size_t text_bytes)
{
	size_t used = strlen(text);
	char name[128], unit[64];

	snprintf(text + used, text_bytes - used, "%s%s/%s", used ? " " : "",
		 text_escape(strtab_get(&profile->strings, type->type), name, sizeof(name)),
		 text_escape(strtab_get(&profile->strings, type->unit), unit, sizeof(unit)));
}

static void append_types(const struct profile *profile, char *text, size_t text_bytes)
{
	for (uint32_t i = 0; i < profile->nr_types; i++)
		append_type(profile, &profile->types[i], text, text_bytes);
}

const char *mismatch_describe(const struct profile *merged, const struct profile *added, char *text,
			      size_t text_bytes)
{
	char before[400] = "", now[400] = "";
	const char *what = "period type";

	if (!profile_same_types(merged, added)) {
		what = "list of sample types";
		append_types(merged, before, sizeof(before));
		append_types(added, now, sizeof(now));
	} else if (!profile_same_type(merged, &merged->period_type, added, &added->period_type)) {
		append_type(merged, &merged->period_type, before, sizeof(before));
		append_type(added, &added->period_type, now, sizeof(now));
	} else {
		return NULL;
	}
	snprintf(text, text_bytes, "its %s (%s) differs from that before (%s)", what, now, before);
	return text;
}
