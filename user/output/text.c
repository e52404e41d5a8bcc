// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records are sorted by pointers to them, largest first, and each line is followed by one line for
 * each frame. Frames beyond the addresses (notes such as [truncated: ...]) have no address.
 */
#include "output/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output/legacy.h"

static int compare(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_records(const void *a, const void *b)
{
	const struct profile_record *p = *(struct profile_record *const *)a;
	const struct profile_record *q = *(struct profile_record *const *)b;
	int order = compare((double)p->nr_live * (double)p->size_bytes,
			    (double)q->nr_live * (double)q->size_bytes);

	if (!order)
		order = compare((double)p->nr_taken * (double)p->size_bytes,
				(double)q->nr_taken * (double)q->size_bytes);
	if (!order)
		order = compare((double)p->nr_taken, (double)q->nr_taken);
	return order ? order : compare((double)(uintptr_t)q, (double)(uintptr_t)p);
}

/* "app.c:12", or the file of the mapping where there are no lines. */
static void print_where(struct text_out *out, const struct profile *profile,
			const struct profile_location *location, const struct profile_line *line)
{
	const struct profile_function *function = &profile->functions.at[line->function - 1];
	uint32_t file = function->path ? function->path
				       : profile->mappings.at[location->mapping - 1].path;
	const char *path = strtab_get(&profile->strings, file), *slash = strrchr(path, '/');
	char safe[1024];

	if (function->path)
		text_out_print(out, "\t%s:%" PRId64 "\n", text_escape(path, safe, sizeof(safe)),
			       line->line);
	else
		text_out_print(out, "\t%s\n",
			       text_escape(slash ? slash + 1 : path, safe, sizeof(safe)));
}

static void print_frame(struct text_out *out, const struct profile *profile,
			const struct profile_record *record, uint32_t frame)
{
	const struct profile_location *location =
		&profile->locations.at[record->locations[frame] - 1];
	char name[4096], address[32] = "";

	if (frame < record->nr_ips && record->call_ips[frame])
		snprintf(address, sizeof(address), "0x%" PRIx64, record->call_ips[frame] - 1);
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		const struct profile_line *line = &location->lines[i];
		uint32_t string = profile->functions.at[line->function - 1].name;

		text_out_print(
			out, "#\t%s\t%s", address,
			text_escape(strtab_get(&profile->strings, string), name, sizeof(name)));
		print_where(out, profile, location, line);
	}
}

int text_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx)
{
	size_t nr = profile->records.nr;
	const struct profile_record **sorted scoped(freep) = xcalloc(nr, sizeof(*sorted));
	struct text_out out;

	for (size_t i = 0; i < nr; i++)
		sorted[i] = &profile->records.at[i];
	if (nr)
		qsort(sorted, nr, sizeof(*sorted), compare_records);
	text_out_open(&out, sink, ctx);
	legacy_head(&out, profile, type);
	for (size_t i = 0; i < nr; i++) {
		legacy_record(&out, profile, type, sorted[i]);
		for (uint32_t frame = 0; frame < sorted[i]->nr_locations; frame++)
			print_frame(&out, profile, sorted[i], frame);
	}
	legacy_memory(&out, profile);
	return text_out_close(&out);
}
