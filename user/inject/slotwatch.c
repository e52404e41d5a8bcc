// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the table says is the other process's word: addresses in its own memory, which are read and compared, and used for nothing
 * else.
 */
#include "inject/slotwatch.h"

#include <string.h>
#include <sys/uio.h>

#include "inject/places.h"

#define BATCH 512

/* In inside/redirect.h: struct saved_slot. */
struct entry {
	uint64_t slot, before;
};

/* Reads those from the one of this number on, a batch of them. Returns how many that are. */
static size_t read_words(pid_t pid, const struct slotwatch *watch, size_t from, uint64_t *words)
{
	size_t nr = watch->nr - from < BATCH ? watch->nr - from : BATCH, done = 0;
	struct iovec remote[BATCH], local;

	memset(words, 0, nr * sizeof(*words));
	for (size_t i = 0; i < nr; i++)
		remote[i] = (struct iovec){(void *)watch->slots[from + i], sizeof(*words)};
	while (done < nr) { /* it ends before a word that cannot be read */
		ssize_t got;

		local = (struct iovec){words + done, (nr - done) * sizeof(*words)};
		got = process_vm_readv(pid, &local, 1, remote + done, nr - done, 0);
		done += (got > 0 ? got / sizeof(*words) : 0) + 1;
	}
	return nr;
}

void slotwatch_begin(struct slotwatch *watch, pid_t pid, uint64_t table, uint64_t nr)
{
	static struct entry entries[SLOTWATCH_MAX];
	size_t bytes = (nr < SLOTWATCH_MAX ? nr : SLOTWATCH_MAX) * sizeof(*entries);
	ssize_t got = bytes ? places_read(pid, table, entries, bytes) : 0;

	watch->nr = got > 0 ? got / sizeof(*entries) : 0;
	for (size_t i = 0; i < watch->nr; i++)
		watch->slots[i] = entries[i].slot;
	for (size_t i = 0; i < watch->nr; i += BATCH)
		read_words(pid, watch, i, &watch->words[i]);
}

bool slotwatch_has_changed(const struct slotwatch *watch, pid_t pid)
{
	uint64_t words[BATCH];

	for (size_t i = 0; i < watch->nr; i += BATCH) {
		size_t nr = read_words(pid, watch, i, words);

		if (memcmp(words, &watch->words[i], nr * sizeof(*words)))
			return true;
	}
	return false;
}
