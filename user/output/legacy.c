// SPDX-License-Identifier: BSD-2-Clause
#include "output/legacy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/textout.h"

static uint64_t bytes_of(uint64_t nr, uint64_t size_bytes)
{
	uint64_t bytes;

	/* The readers' numbers are signed. */
	return __builtin_mul_overflow(nr, size_bytes, &bytes) || bytes > INT64_MAX ? INT64_MAX
										   : bytes;
}

static void print_values(struct text_out *out, uint64_t nr_live, uint64_t live_bytes,
			 uint64_t nr_taken, uint64_t taken_bytes)
{
	text_out_print(out, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "] @", nr_live,
		       live_bytes, nr_taken, taken_bytes);
}

void legacy_head(struct text_out *out, const struct profile *profile)
{
	uint64_t nr_live = 0, live_bytes = 0, nr_taken = 0, taken_bytes = 0;

	vec_for_each(&profile->records, record) {
		nr_live += record->nr_live;
		live_bytes += bytes_of(record->nr_live, record->size_bytes);
		nr_taken += record->nr_taken;
		taken_bytes += bytes_of(record->nr_taken, record->size_bytes);
	}
	text_out_print(out, "heap profile: ");
	print_values(out, nr_live, bytes_of(1, live_bytes), nr_taken, bytes_of(1, taken_bytes));
	text_out_print(out, " heap/%" PRId64 "\n", 2 * profile->period);
}

void legacy_record(struct text_out *out, const struct profile_record *record)
{
	print_values(out, record->nr_live, bytes_of(record->nr_live, record->size_bytes),
		     record->nr_taken, bytes_of(record->nr_taken, record->size_bytes));
	for (uint32_t i = 0; i < record->nr_ips; i++)
		if (record->call_ips[i])
			text_out_print(out, " 0x%" PRIx64, record->call_ips[i]);
	text_out_print(out, "\n");
}

void legacy_memory(struct text_out *out, const struct profile *profile)
{
	const char *end;

	text_out_print(out, "\n# memory of the process%s\n",
		       profile->memory ? "" : ": not known, it had ended");
	for (const char *line = profile->memory; line && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		text_out_print(out, "# %.*s\n", (int)(end - line), line);
	}
}

/* The form of /proc/PID/maps; device and inode are not kept, and no reader asks for them. */
static void print_maps(struct text_out *out, const struct profile *profile)
{
	char path[4096];

	text_out_print(out, "\nMAPPED_LIBRARIES:\n");
	vec_for_each(&profile->maps, map)
		text_out_print(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n",
			       map->start, map->limit, map->file_off,
			       text_escape(map->path, path, sizeof(path)));
}

int legacy_encode(const struct profile *profile, sink_fn sink, void *ctx)
{
	struct text_out out;

	text_out_open(&out, sink, ctx);
	legacy_head(&out, profile);
	vec_for_each(&profile->records, record)
		legacy_record(&out, record);
	legacy_memory(&out, profile);
	print_maps(&out, profile);
	return text_out_close(&out);
}
