// SPDX-License-Identifier: BSD-2-Clause
/*
 * A back reference (Q) prints again what stands before it, with the back references in there. A type that refers to
 * another one k times multiplies its length by k, so n references multiply by at most 3^(n/3): 24 of them by 6,561. A Q
 * inside an identifier counts as well, which only refuses more.
 */
#include "object/dlang.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <string.h>

#define MAX_BYTES     (4u << 10)
#define MAX_BACK_REFS 24

static bool is_bounded(const char *name, size_t name_bytes)
{
	size_t nr = 0;

	for (size_t i = 0; i < name_bytes; i++)
		nr += name[i] == 'Q';
	return name_bytes <= MAX_BYTES && nr <= MAX_BACK_REFS;
}

char *dlang_name(const char *name, size_t name_bytes)
{
	if (strncmp(name, "_D", 2) != 0 ||
	    (!isdigit((unsigned char)name[2]) && strcmp(name, "_Dmain") != 0) ||
	    !is_bounded(name, name_bytes))
		return NULL;
	return dlang_demangle(name, 0);
}
