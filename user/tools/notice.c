// SPDX-License-Identifier: BSD-2-Clause
/*
 * A notice looks until it finds the first line, file, mapping or address in a sample: in a profile
 * that has them that is at once.
 */
#include "tools/notice.h"

#include <stdbool.h>

#include "base/log.h"
#include "profile/interpreter.h"

void notice_interpreter(const struct profile *profile, uint32_t type)
{
	struct interpreter found;

	if (interpreter_hides(profile, type, &found))
		warn("%.0f%% of the profile is in or below the %s interpreter (%s), which hides "
		     "the program's own functions: %s",
		     100 * found.share, found.language, found.loop, found.advice);
}

static bool line_has(const struct profile *profile, const struct profile_line *line,
		     enum frame_by by)
{
	if (by == FRAME_BY_LINE)
		return line->line;
	return line->function && profile->functions.at[line->function - 1].path;
}

static bool location_has(const struct profile *profile, const struct profile_location *location,
			 enum frame_by by)
{
	if (by == FRAME_BY_ADDRESS)
		return location->address;
	if (by == FRAME_BY_MAPPING)
		return location->mapping && profile->mappings.at[location->mapping - 1].path;
	for (uint32_t i = 0; i < location->nr_lines; i++)
		if (line_has(profile, &location->lines[i], by))
			return true;
	return false;
}

void notice_missing(const struct profile *profile, enum frame_by by)
{
	static const char *const texts[] = {
		[FRAME_BY_LINE] = "line numbers: build with -g, or install the debug symbols of "
				  "the program, and record again",
		[FRAME_BY_FILE] = "source files: build with -g, or install the debug symbols of "
				  "the program, and record again",
		[FRAME_BY_MAPPING] = "mappings: its format does not have them",
		[FRAME_BY_ADDRESS] = "addresses: its format does not have them",
	};

	if (by == FRAME_BY_FUNCTION || by == FRAME_BY_FUNCTION_FILE || !profile->samples.nr)
		return;
	vec_for_each(&profile->samples, sample)
		for (uint32_t i = 0; i < sample->nr_locations; i++)
			if (location_has(profile, &profile->locations.at[sample->locations[i] - 1],
					 by))
				return;
	warn("the profile has no %s", texts[by]);
}
