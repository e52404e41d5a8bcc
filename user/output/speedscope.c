// SPDX-License-Identifier: BSD-2-Clause
/*
 * Written in one pass for each sample type, straight from the profile: stacks are lists of
 * positions in the shared frames, and weights a second list in the same order. A difference is
 * refused, because speedscope does not open a file with a negative weight.
 */
#include "output/speedscope.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "profile/algebra.h"
#include "profile/frames.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static const char *string_of(const struct profile *profile, uint32_t id)
{
	return strtab_get(&profile->strings, id);
}

/* The main binary. */
static const char *title_of(const struct profile *profile)
{
	return text_base_name(string_of(profile, profile->mappings.at[0].path));
}

/* The schema knows these units, and "none". */
static const char *unit_of(const struct profile *profile, uint32_t type)
{
	static const char *const units[] = {"bytes", "nanoseconds", "microseconds", "milliseconds",
					    "seconds"};
	const char *unit = string_of(profile, profile->types[type].unit);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i]))
			return units[i];
	return "none";
}

static void put_frames(struct json *json, const struct frames *frames)
{
	json_key(json, "shared"), json_object(json);
	json_key(json, "frames"), json_array(json);
	vec_for_each(frames, frame) {
		json_object(json);
		json_key(json, "name");
		json_string(json, *frame->function ? frame->function : frame->name);
		if (*frame->file)
			json_key(json, "file"), json_string(json, frame->file);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void put_stack(struct json *json, const struct frames *frames,
		      const struct profile_sample *sample)
{
	json_array(json);
	for (uint32_t i = sample->nr_locations; i-- > 0;) {
		uint32_t nr;
		const uint32_t *ids = frames_of(frames, sample->locations[i], &nr);

		while (nr-- > 0)
			json_uint(json, ids[nr]);
	}
	json_end(json);
}

static void put_type(struct json *json, const struct frames *frames, uint32_t type)
{
	const struct profile *profile = frames->profile;
	int64_t total = 0;

	json_object(json);
	json_key(json, "type"), json_string(json, "sampled");
	json_key(json, "name"), json_string(json, string_of(profile, profile->types[type].type));
	json_key(json, "unit"), json_string(json, unit_of(profile, type));
	json_key(json, "samples"), json_array(json);
	vec_for_each(&profile->samples, sample)
		if (sample->values[type])
			put_stack(json, frames, sample);
	json_end(json);
	json_key(json, "weights"), json_array(json);
	vec_for_each(&profile->samples, sample) {
		if (!sample->values[type])
			continue;
		json_int(json, sample->values[type]);
		total = profile_sum(total, sample->values[type]);
	}
	json_end(json);
	json_key(json, "startValue"), json_int(json, 0);
	json_key(json, "endValue"), json_int(json, total);
	json_end(json);
}

int speedscope_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct frames frames;
	struct json json;

	if (profile_has_negative(profile))
		return -EDOM;
	frames_make(profile, FRAME_BY_FUNCTION_FILE, &frames);
	json_begin(&json, sink, ctx);
	json_object(&json);
	json_key(&json, "$schema"), json_string(&json, SCHEMA);
	json_key(&json, "exporter"), json_string(&json, "cprof " CPROF_VERSION);
	if (profile->mappings.nr)
		json_key(&json, "name"), json_string(&json, title_of(profile));
	json_key(&json, "activeProfileIndex"), json_uint(&json, type);
	put_frames(&json, &frames);
	json_key(&json, "profiles"), json_array(&json);
	for (uint32_t i = 0; i < profile->nr_types; i++)
		put_type(&json, &frames, i);
	json_end(&json);
	json_end(&json);
	frames_release(&frames);
	return json_finish(&json);
}
