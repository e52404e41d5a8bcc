/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the leaks that builder_find_leaks() found, the most suspicious first. */
#ifndef CPROF_RECORD_LEAKREPORT_H
#define CPROF_RECORD_LEAKREPORT_H

#include "profile/bound.h"
#include "record/builder.h"

/* Says so if there are none, and if not all stacks were judged. */
void leakreport_say_none(struct builder *builder);
/* Those that are in profile: of VIEW_LEAKS, the one that was built last. Says whose they are if there are several processes. */
void leakreport_say(struct builder *builder, const struct profile *profile, enum bound bound);

#endif
