// SPDX-License-Identifier: BSD-2-Clause
/*
 * Objects are found by key in a hash index, and own the ELF file, its symbols and its function starts.
 * Whatever fails to open is kept as an empty object, so that it is tried once and not for each address.
 *
 * The vdso is read from this process's own mapping: it is in no file, and the kernel maps the same one into
 * every 64-bit process.
 */
#include "object/object.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

#define PAGE_BYTES 4096ull

struct object {
	uint32_t key;
	int error;
	struct elf_file *elf;
	struct symtab *symtab;	 /* NULL until asked for */
	struct functab *functab; /* the same */
	struct gopclntab *gopclntab;
	bool has_read_gopclntab;
};

struct objects {
	vec_of(struct object *) all; /* pointers, since callers hold them */
	struct hash by_key;	     /* to positions in all */
	struct object *vdso;
};

struct objects *objects_new(void)
{
	return xcalloc(1, sizeof(struct objects));
}

static void object_free(struct object *object)
{
	if (!object)
		return;
	symtab_free(object->symtab);
	functab_free(object->functab);
	gopclntab_free(object->gopclntab);
	elf_file_close(object->elf);
	free(object);
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	vec_for_each(&objects->all, object)
		object_free(*object);
	vec_release(&objects->all);
	hash_release(&objects->by_key);
	object_free(objects->vdso);
	free(objects);
}

static bool same_key(const void *ctx, uint32_t value, const void *key)
{
	const struct objects *objects = ctx;

	return objects->all.at[value]->key == *(const uint32_t *)key;
}

struct object *objects_known(const struct objects *objects, uint32_t key)
{
	uint32_t found = hash_find(&objects->by_key, hash_u64(key), same_key, objects, &key);

	return found == HASH_NONE ? NULL : objects->all.at[found];
}

/* Those of an object without a descriptor are empty. */
static void forget_tables(struct object *object)
{
	symtab_free(object->symtab);
	functab_free(object->functab);
	gopclntab_free(object->gopclntab);
	object->symtab = NULL;
	object->functab = NULL;
	object->gopclntab = NULL;
	object->has_read_gopclntab = false;
}

static void use_descriptor(struct object *object, int fd)
{
	if (object->elf) {
		elf_file_attach(object->elf, fd);
	} else if (object->error == -EBADF) {
		forget_tables(object);
		object->error = elf_file_open(fd, &object->elf);
	}
}

struct object *objects_get(struct objects *objects, uint32_t key, int fd)
{
	struct object *object = objects_known(objects, key);

	if (!object) {
		object = xcalloc(1, sizeof(*object));
		object->key = key;
		object->error = -EBADF;
		hash_insert(&objects->by_key, hash_u64(key), objects->all.nr);
		vec_push(&objects->all, object);
	}
	if (fd >= 0)
		use_descriptor(object, fd);
	return object;
}

void objects_let_go(struct objects *objects, uint32_t key)
{
	struct object *object = objects_known(objects, key);

	if (object && object->elf)
		elf_file_detach(object->elf);
}

/*
 * The kernel says where its vdso begins, not how long it is. It is an ELF file that is mapped
 * whole, sections and all, so it ends with the page that the last thing in its headers ends in.
 */
static size_t vdso_len(const char *image)
{
	Elf64_Ehdr header;
	uint64_t end;

	memcpy(&header, image, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr phdr;

		memcpy(&phdr, image + header.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_LOAD && phdr.p_offset + phdr.p_filesz > end)
			end = phdr.p_offset + phdr.p_filesz;
	}
	return (end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

struct object *objects_vdso(struct objects *objects)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct object *object;

	if (objects->vdso)
		return objects->vdso;
	object = xcalloc(1, sizeof(*object));
	object->error = image ? elf_file_open_memory(image, vdso_len(image), &object->elf)
			      : -ENOEXEC;
	objects->vdso = object;
	return object;
}

int object_error(const struct object *object)
{
	return object->error;
}

const char *object_build_id(const struct object *object)
{
	return object->elf ? elf_file_build_id(object->elf) : "";
}

const struct elf_file *object_elf(const struct object *object)
{
	return object->elf;
}

bool object_needs_file(const struct object *object)
{
	if (object->error == -EBADF)
		return true;
	return object->elf && !elf_file_is_attached(object->elf) &&
	       (!object->symtab || !object->functab || !object->has_read_gopclntab);
}

const struct symtab *object_symtab(struct object *object)
{
	if (!object->symtab)
		object->symtab = symtab_new(object->elf);
	return object->symtab;
}

const struct functab *object_functab(struct object *object)
{
	if (!object->functab)
		object->functab = functab_new(object->elf);
	return object->functab;
}

const struct gopclntab *object_gopclntab(struct object *object)
{
	if (!object->has_read_gopclntab)
		object->gopclntab = gopclntab_new(object->elf);
	object->has_read_gopclntab = true;
	return object->gopclntab;
}
