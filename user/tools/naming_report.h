/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what came of naming profiles after the fact: numbers for each profile, and the files that were not used.
 */
#ifndef CPROF_TOOLS_NAMING_REPORT_H
#define CPROF_TOOLS_NAMING_REPORT_H

#include "profile/model.h"
#include "symbolize/profilenames.h"

/* A comment in the profile, if addresses were left out because time was up. */
void naming_report_note(struct profile *profile, const struct profilenames_counts *counts);
/* Prints the numbers of the profile that was read from path. */
void naming_report(const struct profile *profile, const char *path,
		   const struct profilenames_counts *counts);
/* Prints which files were there and not used, and why: the first of them, and how many others. */
void naming_report_files(const struct parser *parser, const struct localfiles *files,
			 const struct profilenames *names);

/* Says what became of downloads; fetcher may be NULL. */
void naming_report_fetched(const struct fetcher *fetcher);

#endif
