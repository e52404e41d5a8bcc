/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A setting that is a small file of one line, as those of the kernel below /proc/sys and /sys are.
 */
#ifndef CPROF_BASE_SMALLFILE_H
#define CPROF_BASE_SMALLFILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts the first line of a file, without its newline and cut to text_bytes - 1 bytes, in text. false: the file
 * cannot be read, and text is as it was.
 */
bool smallfile_line(const char *path, char *text, size_t text_bytes);
/* The decimal number that a file begins with; otherwise, if it cannot be read or begins with none. */
long smallfile_number(const char *path, long otherwise);

#endif
