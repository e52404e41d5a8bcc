/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads folded stacks, the text that flamegraph.pl and similar tools read:
 *
 *	main;work;operator new(unsigned long) 12
 *
 * One stack per line, root first, its frames separated by ';', then a space and a whole number. The values
 * are samples/count, or what a comment such as "# cprof: inuse_space/bytes 0" says. A frame without a name is
 * "[unknown]".
 *
 * Source: FlameGraph's README.
 */
#ifndef CPROF_INPUT_FOLDED_H
#define CPROF_INPUT_FOLDED_H

#include "input/reader.h"

/* A reader as in input/reader.h. Detects any line that ends in a whole number: try it after all other formats. */
bool folded_detect(const struct source *source);
int folded_read(const struct source *source, struct profile *profile, struct input_error *error);

#endif
