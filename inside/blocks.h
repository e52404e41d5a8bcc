/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampled blocks that are alive: an exact set of addresses, and a filter before it that nearly every free is done
 * with. Without locks; any thread and any signal handler may use it at any time.
 */
#ifndef CPROF_INSIDE_BLOCKS_H
#define CPROF_INSIDE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define HEAP_FILTER_PLACES 65536

/*
 * How many blocks of the set lie in pages of this place: bits 12 to 27 of an address. 0 is always true. From 255 on
 * nobody counts any more, and it stays. entries.S reads it.
 */
extern uint8_t heap_filter[HEAP_FILTER_PLACES];

/* Enters a block. false: there is no memory for it. One that is in the set already stays so. */
bool blocks_add(const void *block);
/* Takes a block out. false: it is not there. */
bool blocks_take(const void *block);

#endif
