/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that processes map (process/files.h), as what names code finds them (symbolize/codefiles.h): debug files
 * beside them are those below the root of a process.
 */
#ifndef CPROF_RECORD_PROCESSFILES_H
#define CPROF_RECORD_PROCESSFILES_H

#include "process/files.h"
#include "symbolize/codefiles.h"

/* Borrows files. */
struct codefiles processfiles(struct files *files);

#endif
