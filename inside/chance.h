/* SPDX-License-Identifier: BSD-2-Clause */
/* Random distances between samples, and what a sample stands for. Nothing here allocates, locks, or changes errno. */
#ifndef CPROF_INSIDE_CHANCE_H
#define CPROF_INSIDE_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* A thread's source of random numbers. Zeroed: not seeded. */
struct chance {
	uint64_t state, process; /* process: a number of the one that it was seeded in */
};

/* Was it seeded, and in this process? */
bool chance_is_seeded(const struct chance *chance);
/* Seeds it, each time in another way, and in each process. */
void chance_seed(struct chance *chance);
/*
 * Bytes up to the next sample, at least 1, exponentially distributed with mean rate and rounded up: the sample is
 * within s bytes with probability 1 - e^(-s/rate), for each whole s. 0 if rate is 1 or less: each block is sampled.
 */
uint64_t chance_distance(struct chance *chance, uint64_t rate_bytes);
/* The bytes that a sampled block of size bytes stands for: size / (1 - e^(-size/rate)), rounded; at least 1. */
uint64_t chance_weight(uint64_t size, uint64_t rate_bytes);

#endif
