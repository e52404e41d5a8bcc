// SPDX-License-Identifier: BSD-2-Clause
/* A worker has few objects, and most of their tables find no function: a list of those that do will do. */
#include "worker/addrnames.h"

#include "sandbox/message.h"

#define MOST_STARTS (4u << 20) /* of 8 bytes */

static const struct codestarts *starts_of(const struct addrnames *names,
					  const struct object *object)
{
	static const struct codestarts none;

	vec_for_each(&names->all, known)
		if (known->object == object)
			return &known->at;
	return &none;
}

void addrnames_keep(struct addrnames *names, const struct object *object, struct codestarts *starts)
{
	size_t nr = starts->at.nr;

	if (!nr || starts_of(names, object)->at.nr || names->nr_starts + nr > MOST_STARTS)
		return;
	names->nr_starts += nr;
	vec_push(&names->all, (struct addrnames_starts){object, *starts});
	*starts = (struct codestarts){0};
}

/* Its names are not mangled; symbols are there only where nobody has stripped them. */
static bool find_go_name(struct object *object, uint64_t elf_addr, struct names_symbol *found)
{
	uint64_t start;
	const char *name = gopclntab_find(object_gopclntab(object), elf_addr, &start);

	if (!name || !*name)
		return false;
	*found = (struct names_symbol){MESSAGE_NAME_SYMBOL, .raw = name, .display = name};
	return true;
}

/* A symbol without a size ends where another function begins, at the latest. */
static bool find_symbol(struct object *object, const struct codestarts *starts, uint64_t elf_addr,
			struct names_symbol *found)
{
	struct symbol symbol;

	if (!symtab_find(object_symtab(object), elf_addr, &symbol) || !*symbol.name ||
	    (symbol.is_guessed && codestarts_divide(starts, symbol.elf_addr, elf_addr)))
		return false;
	*found = (struct names_symbol){MESSAGE_NAME_SYMBOL, .raw = symbol.name};
	return true;
}

void addrnames_find(const struct addrnames *names, struct object *object, uint64_t elf_addr,
		    struct names_symbol *found)
{
	const struct codestarts *starts = starts_of(names, object);

	if (find_go_name(object, elf_addr, found) || find_symbol(object, starts, elf_addr, found))
		return;
	if (functab_find(object_functab(object), elf_addr, &found->start) ||
	    codestarts_find(starts, elf_addr, &found->start))
		found->kind = MESSAGE_NAME_START;
}

void addrnames_forget(struct addrnames *names)
{
	vec_for_each(&names->all, known)
		codestarts_release(&known->at);
	names->all.nr = names->nr_starts = 0;
}

void addrnames_release(struct addrnames *names)
{
	addrnames_forget(names);
	vec_release(&names->all);
}
