/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects the part of the profiles that a reading command shows: the filter options that all of them
 * share, and one call that turns operands into the profile to show.
 *
 *	struct selection selection = {0};
 *	const struct arg_row rows[] = {
 *		{"cum", 'c', ARG_FLAG, NULL, "sort by cum", &options.cum},
 *		SELECTION_ROWS(&selection),
 *	};
 *	...args_parse()...
 *	err = selection_load(&selection, &args.operand, &profile, &type);
 *
 * Regexes are POSIX extended, unanchored, and look at a frame's function, file and mapping.
 */
#ifndef CPROF_TOOLS_SELECTION_H
#define CPROF_TOOLS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"
#include "cli/args.h"

struct selection {
	/* as on the command line; NULL: not given */
	const char *sample_type, *focus, *ignore, *hide, *show, *show_from, *tag_focus, *tag_ignore;
	bool all_frames;   /* keep the frames that the profile's drop_frames names */
	bool no_symbolize; /* do not name unnamed locations */
	/* Filled by selection_apply(): 100 %, the total of the type before any filter. */
	int64_t total;
};

/* clang-format off */
#define SELECTION_ROWS(selection)                                                                  \
	ARG_GROUP("Selection"),                                                                    \
	{"sample-type", 0, ARG_TEXT, "NAME",                                                       \
	 "use this sample type: cpu, inuse_space ... (default: the "                              \
	 "profile's default)",                                                                     \
	 &(selection)->sample_type},                                                               \
	{"focus", 0, ARG_REGEX, "REGEX",                                                            \
	 "keep only stacks with a matching frame (function, file or "                             \
	 "mapping)", &(selection)->focus},                                                         \
	{"ignore", 0, ARG_REGEX, "REGEX", "drop stacks with a matching frame", &(selection)->ignore}, \
	{"hide", 0, ARG_REGEX, "REGEX", "remove matching frames from stacks", &(selection)->hide},  \
	{"show", 0, ARG_REGEX, "REGEX", "remove all frames but matching ones from stacks", &(selection)->show}, \
	{"show-from", 0, ARG_REGEX, "REGEX", "begin stacks at the outermost matching frame",        \
	 &(selection)->show_from},                                                                 \
	{"tag-focus", 0, ARG_TEXT, "TAG",                                                          \
	 "keep only samples with a matching label: comm=nginx", &(selection)->tag_focus},          \
	{"tag", 0, ARG_TEXT, "TAG", "same as --tag-focus", &(selection)->tag_focus},               \
	{"tag-ignore", 0, ARG_TEXT, "TAG", "drop samples with a matching label",                   \
	 &(selection)->tag_ignore},                                                                \
	{"all-frames", 0, ARG_FLAG, NULL, "keep the frames that the profile says to drop",         \
	 &(selection)->all_frames}
/* An option of commands that show names but do not compare. */
#define SYMBOLIZE_ROW(selection)                                                                   \
	{"no-symbolize", 0, ARG_FLAG, NULL,                                                        \
	 "do not name unnamed locations from local binaries", &(selection)->no_symbolize}
/* clang-format on */

/*
 * Reads the paths ("-": stdin), merges several, names unnamed locations from local binaries
 * (tools/localnames.h), and applies the selection. -errno, printed, outputs untouched. The caller frees *profile.
 * *type is the position of the sample type.
 */
int selection_load(struct selection *selection, const struct arg_list *paths,
		   struct profile **profile, uint32_t *type);

/*
 * The second half of selection_load(), for a loaded profile: drop_frames, total, filters. -EINVAL, printed: a
 * regex does not compile, or the sample type does not exist; profile may be changed.
 */
int selection_apply(struct selection *selection, struct profile *profile, uint32_t *type);

/*
 * A message for a heap profile whose memory was all freed: why this sample type is empty, and which one is not.
 * NULL: this one is not empty, or all are.
 */
const char *selection_hint(const struct selection *selection, const struct profile *profile,
			   uint32_t type);

#endif
