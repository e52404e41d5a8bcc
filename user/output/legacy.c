// SPDX-License-Identifier: BSD-2-Clause
/*
 * One line for each record, that is for each stack and size, since readers scale a line by its
 * average size: lines of mixed sizes would be scaled wrongly. Values are held to what a signed
 * 64-bit reader can take. A stack of a CPU profile without any address gets the address 1: readers
 * refuse a line without.
 */
#include "output/legacy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/textout.h"
#include "profile/allocframes.h"

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

/* Of the sample type: how often, or that times the period. */
static uint64_t count_of(const struct profile *profile, uint32_t type, uint64_t nr_taken)
{
	const char *unit = strtab_get(&profile->strings, profile->types[type].unit);

	return bytes_of(nr_taken, strcmp(unit, "count") ? (uint64_t)profile->period : 1);
}

static void print_head_of_counts(struct text_out *out, const struct profile *profile, uint32_t type)
{
	char name[256];
	uint64_t nr_taken = 0;

	vec_for_each(&profile->records, record)
		nr_taken += record->nr_taken;
	text_escape(strtab_get(&profile->strings, profile->types[type].type), name, sizeof(name));
	text_out_print(out, "%s profile: total %" PRIu64 "\n", name,
		       count_of(profile, type, nr_taken));
}

void legacy_head(struct text_out *out, const struct profile *profile, uint32_t type)
{
	uint64_t nr_live = 0, live_bytes = 0, nr_taken = 0, taken_bytes = 0;

	if (!profile_is_heap(profile)) {
		print_head_of_counts(out, profile, type);
		return;
	}
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

void legacy_record(struct text_out *out, const struct profile *profile, uint32_t type,
		   const struct profile_record *record)
{
	bool is_heap = profile_is_heap(profile);
	bool bare = !is_heap; /* readers of counts want an address, whatever it is */

	if (is_heap)
		print_values(out, record->nr_live, bytes_of(record->nr_live, record->size_bytes),
			     record->nr_taken, bytes_of(record->nr_taken, record->size_bytes));
	else
		text_out_print(out, "%" PRIu64 " @", count_of(profile, type, record->nr_taken));
	for (uint32_t i = 0; i < record->nr_ips; i++) {
		if (record->call_ips[i])
			text_out_print(out, " 0x%" PRIx64, record->call_ips[i]);
		bare &= !record->call_ips[i];
	}
	text_out_print(out, bare ? " 0x1\n" : "\n");
}

void legacy_memory(struct text_out *out, const struct profile *profile)
{
	const char *end;

	if (!profile_is_heap(profile))
		return;
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

	text_out_print(out, profile_is_heap(profile) ? "\nMAPPED_LIBRARIES:\n"
						     : "\n--- Memory map: ---\n");
	vec_for_each(&profile->maps, map)
		text_out_print(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n",
			       map->start, map->limit, map->file_off,
			       text_escape(map->path, path, sizeof(path)));
}

int legacy_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	struct text_out out;

	text_out_open(&out, sink, ctx);
	legacy_head(&out, profile, type);
	vec_for_each(&profile->records, record)
		legacy_record(&out, profile, type, record);
	legacy_memory(&out, profile);
	print_maps(&out, profile);
	return text_out_close(&out);
}
