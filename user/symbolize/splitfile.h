/* SPDX-License-Identifier: BSD-2-Clause */
/* Where files of split units (-gsplit-dwarf) may be: symbolize/splitnames.h says in which order. Nothing is opened here. */
#ifndef CPROF_SYMBOLIZE_SPLITFILE_H
#define CPROF_SYMBOLIZE_SPLITFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/debugfile.h"

/*
 * The i-th place of the package of the file with this key, which is a file's or that of its debug file. false: there are no
 * more. A path of "": this one does not exist.
 */
bool splitfile_package(const struct debugfiles *debugfiles, uint32_t key, size_t i,
		       struct debugfile_place *place);
/* The same of the .dwo file that file notes by its name, which counts from dir if it is relative. */
bool splitfile_dwo(const struct debugfiles *debugfiles, uint32_t file, const char *dir,
		   const char *name, size_t i, struct debugfile_place *place);

#endif
