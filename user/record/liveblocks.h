/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many sampled blocks a heap run follows at most, and a warning before there are more: what comes then is not in use
 * as far as the profile knows.
 */
#ifndef CPROF_RECORD_LIVEBLOCKS_H
#define CPROF_RECORD_LIVEBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"
#include "options.h"

struct liveblocks {
	uint32_t most;
	bool has_warned;
};

/*
 * The number for a run: what --max-blocks asks for, or, with --rate 1, four million; less if the memory that is available
 * now does not allow that, which is said. 0: the default of the session.
 */
uint32_t liveblocks_choose(const struct options *options);
/* Warns once when the map is nearly full. tally: of now. most: of session_max_blocks(). */
void liveblocks_look(struct liveblocks *blocks, const struct tally *tally);

#endif
