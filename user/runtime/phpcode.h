/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name, file and first line of a PHP function, from copies of what it consists of.
 *
 * The copies are a target's: their lengths and contents may be any. What cannot be read of them is left out.
 */
#ifndef CPROF_RUNTIME_PHPCODE_H
#define CPROF_RUNTIME_PHPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/memorycopy.h"

#define PHPCODE_NAME_BYTES 512
#define PHPCODE_FILE_BYTES 1024

struct phpcode_copies {
	uint16_t version; /* 0x0802 is 8.2 */
	struct memory_copy function, name, class_name, file;
};

struct phpcode {
	char name
		[PHPCODE_NAME_BYTES]; /* "App\Service::run", "strlen", "index.php" for a file's own code; UTF-8 */
	char file[PHPCODE_FILE_BYTES]; /* "" for functions that are PHP's own */
	uint32_t start_line;	       /* 0: not known */
};

/* false: the function has no readable name. */
bool phpcode_read(const struct phpcode_copies *copies, struct phpcode *code);

#endif
