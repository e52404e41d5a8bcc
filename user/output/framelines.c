// SPDX-License-Identifier: BSD-2-Clause
/* What follows the address depends on the frame alone. Its length is counted at once, its text made when it is used. */
#include "output/framelines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define NAME_BYTES    4096 /* of a name and of a file; longer ones are cut */
#define ADDRESS_BYTES (sizeof("#\t0x") - 1 + 16)

/* "\tparse\tapp.c:12\n" */
static int print_tail(const struct frame *frame, char *tail, size_t tail_bytes)
{
	const char *where = *frame->file ? frame->file : text_base_name(frame->mapping);
	char name[NAME_BYTES], file[NAME_BYTES], line[24] = "";

	text_escape(*frame->function ? frame->function : frame->name, name, sizeof(name));
	text_escape(where, file, sizeof(file));
	if (*frame->file && frame->line)
		snprintf(line, sizeof(line), ":%" PRId64, frame->line);
	return snprintf(tail, tail_bytes, "\t%s\t%s%s\n", name, file, line);
}

void framelines_init(struct framelines *lines, const struct frames *frames)
{
	const struct profile *profile = frames->profile;
	uint64_t *of_frame scoped(freep) = xcalloc(frames->nr, sizeof(*of_frame));

	*lines = (struct framelines){.frames = frames};
	lines->tails = xcalloc(frames->nr, sizeof(*lines->tails));
	lines->bytes = xcalloc(profile->locations.nr, sizeof(*lines->bytes));
	for (size_t i = 0; i < frames->nr; i++)
		of_frame[i] = ADDRESS_BYTES + print_tail(&frames->at[i], NULL, 0);
	for (size_t i = 0; i < profile->locations.nr; i++) {
		uint32_t nr;
		const uint32_t *ids = frames_of(frames, i + 1, &nr);

		while (nr-- > 0)
			lines->bytes[i] += of_frame[ids[nr]];
	}
}

void framelines_release(struct framelines *lines)
{
	for (size_t i = 0; i < lines->frames->nr; i++)
		free(lines->tails[i]);
	free(lines->tails);
	free(lines->bytes);
}

uint64_t framelines_bytes(const struct framelines *lines, uint32_t location)
{
	return lines->bytes[location - 1];
}

static const char *tail_of(struct framelines *lines, uint32_t frame)
{
	char tail[2 * NAME_BYTES + 32];

	if (!lines->tails[frame]) {
		print_tail(&lines->frames->at[frame], tail, sizeof(tail));
		lines->tails[frame] = xstrdup(tail);
	}
	return lines->tails[frame];
}

void framelines_put(struct framelines *lines, uint32_t location, uint64_t address,
		    struct text_out *out)
{
	char head[ADDRESS_BYTES + 1] = "#\t";
	uint32_t nr;
	const uint32_t *ids = frames_of(lines->frames, location, &nr);

	if (address)
		snprintf(head, sizeof(head), "#\t0x%" PRIx64, address);
	for (uint32_t i = 0; i < nr; i++) {
		const char *tail = tail_of(lines, ids[i]);

		text_out_write(out, head, strlen(head));
		text_out_write(out, tail, strlen(tail));
	}
}
