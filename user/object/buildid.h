/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GNU build-id in the notes of an ELF file.
 *
 * Anybody may have written the notes: every size in them is checked against their length.
 */
#ifndef CPROF_OBJECT_BUILDID_H
#define CPROF_OBJECT_BUILDID_H

#include <stdbool.h>
#include <stddef.h>

#define BUILD_ID_MAX_BYTES 64 /* a longer one is ignored */
#define BUILD_ID_HEX_BYTES (2 * BUILD_ID_MAX_BYTES + 1)

/*
 * Puts the first build-id of a note section or segment into hex, in lower case and terminated. false: there is
 * none before the notes end or are damaged, and hex is as it was.
 */
bool buildid_of_notes(const char *notes, size_t len_bytes, char hex[BUILD_ID_HEX_BYTES]);

#endif
