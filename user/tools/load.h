/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the profiles that a command line names, and prints one line with the reason if it cannot.
 */
#ifndef CPROF_TOOLS_LOAD_H
#define CPROF_TOOLS_LOAD_H

#include "cli/args.h"
#include "profile/model.h"

struct input_error;

/* Prints why a file cannot be read and where it is broken. Returns err. */
int load_fail(const char *path, int err, const struct input_error *error);
/* "-" is stdin. -errno (input/input.h), printed. The caller frees *profile. */
int load_profile(const char *path, struct profile **profile);
/*
 * Reads all of them, one after another, and merges them (profile/merge.h); a single profile stays as the file
 * has it. Their sample types are made the same (profile/align.h), with a warning if any is dropped.
 */
int load_merged(const struct arg_list *paths, struct profile **profile);

/*
 * The sample type to show, by name ("cpu", "inuse_space"; NULL: the profile's default, which is
 * default_type or else the last one), as its position; -EINVAL, printed with the names that exist.
 */
int load_sample_type(const struct profile *profile, const char *name, uint32_t *type);

/*
 * Says so if values of this sample type add up to more than int64_t holds: sums stick at its ends then, and are too
 * small.
 */
void load_warn_of_sums(const struct profile *profile, uint32_t type);

#endif
