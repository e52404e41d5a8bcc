/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comments of a profile that many files were merged into. Each file has some of its own, such as "3 of 10 addresses were
 * not looked up"; `go tool pprof` prints all of them before every answer.
 */
#ifndef CPROF_PROFILE_COMMENTS_H
#define CPROF_PROFILE_COMMENTS_H

#include "profile/model.h"

/* Whether a comment says how many others there were: the same text twice is of twice as many. */
bool profile_comment_is_folded(const char *comment);

/* So many comments that differ in their numbers only are left alone. */
#define COMMENTS_MOST_ALIKE 4

/*
 * Of comments that differ in their numbers only, and are more than COMMENTS_MOST_ALIKE, the first stays, and behind it one that
 * says how many more there were; of what an earlier merge has folded that number counts. Those that begin with "cprof " stay, whatever they are: the accounts of runs stand there.
 */
void profile_fold_comments(struct profile *profile);

#endif
