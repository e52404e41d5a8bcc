/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's enums, as libbpf finds them in its BTF. */
#ifndef CPROF_TESTS_BTF_VALUES_H
#define CPROF_TESTS_BTF_VALUES_H

#include <stdbool.h>
#include <string.h>

#include <bpf/btf.h>

/* Whether the enum has a value of this name. */
static inline bool btf_has_value(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *found = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (int i = 0; found && i < btf_vlen(found); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(found)[i].name_off), name))
			return true;
	return false;
}

#endif
