// SPDX-License-Identifier: BSD-2-Clause
/*
 * Perl exports its variables for extensions. PL_thr_key is there if it was built for threads: the pthread key by which a thread
 * finds its interpreter. Where fields are inside of structures was taken from the headers of each version; they are the same in all
 * of these but for two, and operations are numbered anew where there are new ones. The version is in the text of $^V, which is a
 * constant of the file.
 */
#include "runtime/perl.h"

#include <ctype.h>
#include <string.h>

#include "object/dynsym.h"
#include "runtime/pthreadkeys.h"

static const struct abi_perl layouts[] = {
	{.version = 0x0520,
	 .statement_at = 224,
	 .sort_type = 167,
	 .call_type = 184,
	 .return_type = 205},
	{.version = 0x0524,
	 .statement_at = 208,
	 .sort_type = 167,
	 .call_type = 184,
	 .return_type = 205,
	 .has_long_classes = true},
	{.version = 0x0528,
	 .statement_at = 208,
	 .sort_type = 170,
	 .call_type = 187,
	 .return_type = 208,
	 .has_long_classes = true},
	{.version = 0x052a,
	 .statement_at = 208,
	 .sort_type = 171,
	 .call_type = 191,
	 .return_type = 212,
	 .has_long_classes = true},
};

bool perl_layout(uint16_t version, struct abi_perl *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		return true;
	}
	return false;
}

/* Parts "36.0" and a NUL. 0: it is something else. */
static uint16_t parse_version(const char *text, const char *limit)
{
	uint16_t minor = 0;

	while (text < limit && isdigit((unsigned char)*text) && minor < 100)
		minor = minor * 10 + (*text++ - '0');
	if (text == limit || *text++ != '.' || text == limit || !isdigit((unsigned char)*text))
		return 0;
	while (text < limit && isdigit((unsigned char)*text))
		text++;
	return text < limit && !*text && minor < 100 ? 0x0500 | minor : 0;
}

/* The version that all texts such as "v5.36.0" in the file's constants have. 0: there is none, or they differ. */
static uint16_t version_of(const struct elf_file *elf)
{
	static const char before[] = "\0v5.";
	const size_t len = sizeof(before) - 1;
	struct elf_section section;
	const char *at, *limit;
	uint16_t found = 0, version;

	if (!elf_file_section(elf, ".rodata", &section) || !section.bytes)
		return 0;
	at = (const char *)section.bytes;
	limit = at + section.len_bytes;
	while ((at = memmem(at, limit - at, before, len))) {
		at += len;
		version = parse_version(at, limit);
		if (version && found && version != found)
			return 0;
		if (version)
			found = version;
	}
	return found;
}

bool perl_find(struct object *object, struct abi_perl *layout)
{
	const struct elf_file *elf = object_elf(object);
	struct pthread_keys keys = pthread_keys_of(elf_file_arch(elf));
	uint64_t key, loop;

	if (!dynsym_variable(elf, "PL_thr_key", &key) || !dynsym_function(elf, PERL_LOOP, &loop) ||
	    !perl_layout(version_of(elf), layout))
		return false;
	layout->state = key;
	layout->values_at = keys.values_at;
	layout->more_values_at = keys.more_values_at;
	return true;
}
