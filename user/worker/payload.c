// SPDX-License-Identifier: BSD-2-Clause
/* Payloads are one block each, which is kept for the next reply. */
#include "worker/payload.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "sandbox/message.h"

void payload_append(struct payload *payload, const void *bytes, size_t len_bytes)
{
	vec_reserve(payload, len_bytes);
	if (len_bytes)
		memcpy(payload->at + payload->nr, bytes, len_bytes);
	payload->nr += len_bytes;
}

int payload_append_table(struct payload *payload, const struct unwind_table *table,
			 size_t max_bytes)
{
	struct message_table about = {
		.e_machine = table->arch->e_machine,
		.start = table->start,
		.nr_pages = table->nr_pages,
		.nr_rows = table->nr_rows,
		.nr_extended = table->nr_extended,
		.tracks_extra = table->tracks_extra,
		.truncated = table->truncated,
		.nr_extended_dropped = table->nr_extended_dropped,
		.nr_fdes = table->stats.nr_fdes,
	};

	if (!table->nr_pages)
		return -ENODATA;
	if (sizeof(about) + unwind_table_bytes(table) > max_bytes)
		return -EFBIG;
	payload_append(payload, &about, sizeof(about));
	payload_append(payload, table->pages,
		       ((size_t)table->nr_pages + 1) * sizeof(*table->pages));
	payload_append(payload, table->rows, (size_t)table->nr_rows * sizeof(*table->rows));
	payload_append(payload, table->extended,
		       (size_t)table->nr_extended * sizeof(*table->extended));
	return 0;
}
