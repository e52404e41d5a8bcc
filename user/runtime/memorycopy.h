/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of the beginning of an object in a target's memory, as BPF sent it: as much as there is.
 *
 * Its length and its content may be any.
 */
#ifndef CPROF_RUNTIME_MEMORYCOPY_H
#define CPROF_RUNTIME_MEMORYCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_copy {
	const uint8_t *bytes; /* borrowed */
	size_t len_bytes;
};

/* Copies the len_bytes at offset at to *to. false: the copy does not have all of them, and *to is untouched. */
bool memory_copy_get(const struct memory_copy *copy, size_t at, void *to, size_t len_bytes);

#endif
