// SPDX-License-Identifier: BSD-2-Clause
/*
 * Addresses come by unit, so a unit is new where its id is not that of the address before. Its texts are copied when it
 * is: they are borrowed for the call only.
 */
#include "worker/splits.h"

#include <string.h>

#include "base/vec.h"
#include "sandbox/message.h"

struct splits {
	uint32_t unit_of[MESSAGE_MAX_NAMES];
	vec_of(struct message_split) units;
	vec_of(char) texts;
};

/* Its length; 0: it is too long to be sent. */
static uint32_t append_text(struct splits *splits, const char *text)
{
	size_t len = strnlen(text, MESSAGE_SPLIT_BYTES);

	if (len == MESSAGE_SPLIT_BYTES)
		return 0;
	for (size_t i = 0; i < len; i++)
		vec_push(&splits->texts, text[i]);
	return (uint32_t)len;
}

static void add(void *ctx, size_t i, uint64_t dwo_id, const char *name, const char *dir)
{
	struct splits *splits = ctx;
	struct message_split unit = {.dwo_id = dwo_id};

	if (!splits->units.nr || splits->units.at[splits->units.nr - 1].dwo_id != dwo_id) {
		unit.name_bytes = append_text(splits, name);
		unit.dir_bytes = append_text(splits, dir);
		vec_push(&splits->units, unit);
	}
	splits->unit_of[i] = (uint32_t)splits->units.nr;
}

void splits_answer(struct lines *lines, struct object *object, const uint64_t *elf_addrs, size_t nr,
		   struct payload *payload)
{
	struct splits splits = {0};
	struct message_splits about;

	lines_splits(lines, object, elf_addrs, nr, add, &splits);
	about = (struct message_splits){.nr_units = (uint32_t)splits.units.nr};
	payload_append(payload, &about, sizeof(about));
	payload_append(payload, splits.unit_of, nr * sizeof(*splits.unit_of));
	payload_append(payload, splits.units.at, splits.units.nr * sizeof(*splits.units.at));
	payload_append(payload, splits.texts.at, splits.texts.nr);
	vec_release(&splits.units);
	vec_release(&splits.texts);
}
