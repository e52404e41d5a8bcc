// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file's relocations (R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT) say where its slots are, and for which names. Those of a
 * file that has any slot leading to another allocator, or that defines malloc, are left alone: such a file has an allocator
 * of its own (RTLD_DEEPBIND, a local scope), and what one gives out the other must not free.
 *
 * Slots are in memory that the loader may have made read-only after relocation (RELRO): it is made writable for the moment.
 * Other threads may call through a slot at any time: it is written by a single store, and either value is right.
 *
 * Rejected: changing the allocator's first instructions, which another thread may be executing.
 */
#include "inside/redirect.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inside/next.h"
#include "inside/sampler.h"

#define MAX_SLOTS  16384
#define PAGE_BYTES 4096ul

/* The functions of entries.S: by these names, because the allocator's own lead to the process's allocator. */
void own_malloc(void), own_calloc(void), own_realloc(void), own_free(void), own_reallocarray(void);
void own_posix_memalign(void), own_aligned_alloc(void), own_memalign(void), own_valloc(void);
void own_pvalloc(void);

static struct function {
	const char *name;
	void *own;
	void **next_of; /* where entries.S jumps; NULL: it does not */
	void *next;	/* what slots lead to, as long as nobody changes them */
	void *stub; /* the program's own, where slots of libraries lead to that instead; NULL: there is none */
} functions[] = {
	{"malloc", own_malloc, (void **)&next_malloc, NULL, NULL},
	{"calloc", own_calloc, (void **)&next_calloc, NULL, NULL},
	{"realloc", own_realloc, (void **)&next_realloc, NULL, NULL},
	{"free", own_free, (void **)&next_free, NULL, NULL},
	{"cfree", own_free, NULL, NULL, NULL},
	{"reallocarray", own_reallocarray, NULL, NULL, NULL},
	{"posix_memalign", own_posix_memalign, (void **)&next_posix_memalign, NULL, NULL},
	{"aligned_alloc", own_aligned_alloc, (void **)&next_aligned_alloc, NULL, NULL},
	{"memalign", own_memalign, (void **)&next_memalign, NULL, NULL},
	{"valloc", own_valloc, (void **)&next_valloc, NULL, NULL},
	{"pvalloc", own_pvalloc, (void **)&next_pvalloc, NULL, NULL},
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Weak: musl has none, and such a process is not injected. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

/* What slots held. */
static struct saved {
	void **slot;
	void *before;
} saved[MAX_SLOTS];
static size_t nr_saved;
static int64_t nr_redirected;

/* A mapped file. */
struct file {
	uintptr_t base, begin, end; /* begin, end: of its segments */
	uintptr_t relro, relro_end;
	const ElfW(Rela) * tables[2];
	size_t nr[2];
	const ElfW(Sym) * symbols;
	const char *names;
};

/* glibc has made an address of it, musl has not. */
static uintptr_t address_of(const struct file *file, uintptr_t value)
{
	return value < file->base ? file->base + value : value;
}

static void read_dynamic(struct file *file, const ElfW(Dyn) * entry)
{
	for (; entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_JMPREL:
			file->tables[0] = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			file->nr[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			file->tables[1] = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			file->nr[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_SYMTAB:
			file->symbols = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			file->names = (const void *)address_of(file, entry->d_un.d_ptr);
			break;
		}
}

/* false: it has no slots, or is one whose slots are left alone: this library, and the loader. */
static bool read_file(const struct dl_phdr_info *info, struct file *file)
{
	const ElfW(Dyn) *dynamic = NULL;

	*file = (struct file){.base = info->dlpi_addr, .begin = UINTPTR_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const void *)at;
		if (segment->p_type == PT_GNU_RELRO) {
			file->relro = at & -PAGE_BYTES;
			file->relro_end = (at + segment->p_memsz) & -PAGE_BYTES;
		}
		if (segment->p_type != PT_LOAD)
			continue;
		file->begin = at < file->begin ? at : file->begin;
		file->end = at + segment->p_memsz > file->end ? at + segment->p_memsz : file->end;
	}
	if (!dynamic || info->dlpi_addr == getauxval(AT_BASE) ||
	    ((uintptr_t)heap_redirect >= file->begin && (uintptr_t)heap_redirect < file->end))
		return false;
	read_dynamic(file, dynamic);
	return file->symbols && file->names;
}

static void write_slot(const struct file *file, void **slot, void *value)
{
	uintptr_t page = (uintptr_t)slot & -PAGE_BYTES;
	bool is_relro = page >= file->relro && page < file->relro_end;

	if (is_relro && mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (is_relro)
		mprotect((void *)page, PAGE_BYTES, PROT_READ);
}

static const struct function *function_named(const char *name)
{
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

typedef bool slot_fn(const struct file *file, const struct function *function, void **slot);

/* Calls fn for each slot of a function, until it returns false. Does the file define none of them? */
static bool each_slot(const struct file *file, slot_fn *fn)
{
	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < file->nr[i]; j++) {
			const ElfW(Rela) *rela = &file->tables[i][j];
			uint32_t type = ELF64_R_TYPE(rela->r_info);
			const struct function *function;

			if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
				continue;
			function = function_named(file->names +
						  file->symbols[ELF64_R_SYM(rela->r_info)].st_name);
			if (function && function->next &&
			    !fn(file, function, (void **)(file->base + rela->r_offset)))
				return false;
		}
	return true;
}

static bool is_lazy(const struct file *file, const void *value)
{
	return (uintptr_t)value >= file->begin && (uintptr_t)value < file->end;
}

/* Does it lead where those of the whole process do? */
static bool is_usual(const struct file *file, const struct function *function, void **slot)
{
	return *slot == function->own || *slot == function->next || is_lazy(file, *slot) ||
	       (function->stub && *slot == function->stub);
}

/* The C library's own calls: what it defines is next. */
static bool defines_next(const struct file *file)
{
	return (uintptr_t)next_malloc >= file->begin && (uintptr_t)next_malloc < file->end;
}

static bool redirect_slot(const struct file *file, const struct function *function, void **slot)
{
	if (*slot == function->own || nr_saved == MAX_SLOTS)
		return true;
	if (is_lazy(file, *slot) && *slot != function->next && defines_next(file))
		return true;
	if (function->stub && *slot == function->stub)
		return true; /* which goes through the program's slot */
	saved[nr_saved++] = (struct saved){slot, *slot};
	write_slot(file, slot, function->own);
	return true;
}

static bool count_slot(const struct file *file, const struct function *function, void **slot)
{
	(void)file;
	nr_redirected += *slot == function->own;
	return true;
}

/* The latest entry, should a file have been mapped where another was. */
static bool restore_slot(const struct file *file, const struct function *function, void **slot)
{
	if (*slot != function->own)
		return true;
	for (size_t i = nr_saved; i--;)
		if (saved[i].slot == slot) {
			write_slot(file, slot, saved[i].before);
			return true;
		}
	write_slot(file, slot, function->next);
	return true;
}

static int redirect_file(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct file file;

	(void)bytes;
	(void)ctx;
	if (!read_file(info, &file))
		return 0;
	if (each_slot(&file, is_usual))
		each_slot(&file, redirect_slot);
	each_slot(&file, count_slot);
	return 0;
}

static int restore_file(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct file file;

	(void)bytes;
	(void)ctx;
	if (!read_file(info, &file))
		return 0;
	each_slot(&file, restore_slot);
	each_slot(&file, count_slot);
	return 0;
}

/* The first one is the program. */
static int find_program(struct dl_phdr_info *info, size_t bytes, void *program)
{
	(void)bytes;
	read_file(info, program);
	return 1;
}

static int find_allocator(struct dl_phdr_info *info, size_t bytes, void *is_there)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)bytes;
	*(bool *)is_there |= strstr(slash ? slash : info->dlpi_name, "malloc") != NULL;
	return 0;
}

/*
 * What the process's own calls of a function lead to. A program that is not position-independent and takes a function's
 * address gives the address of its own stub out, which jumps through a slot: then the C library has the function, unless
 * there is another allocator. NULL: nothing, or that is not known.
 */
static void *find_function(const struct file *program, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) *symbol = NULL;
	bool has_allocator = false;
	Dl_info info;

	if (!found || !is_lazy(program, found))
		return found;
	dl_iterate_phdr(find_allocator, &has_allocator);
	if (has_allocator || !dladdr1 || !dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || symbol->st_shndx != SHN_UNDEF)
		return NULL;
	return dlsym(RTLD_NEXT, name);
}

/* RTLD_NEXT by itself would say what comes after a library that was opened last. Returns 0, or what heap_redirect() does. */
static int find_functions(void)
{
	void *found[NR_FUNCTIONS];
	struct file program;

	if (dlsym(RTLD_DEFAULT, "malloc") == (void *)own_malloc)
		return REDIRECT_NEEDLESS;
	dl_iterate_phdr(find_program, &program);
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		found[i] = find_function(&program, functions[i].name);
		if (!found[i] && dlsym(RTLD_DEFAULT, functions[i].name))
			return REDIRECT_OWN_ALLOCATOR;
	}
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		void *first = dlsym(RTLD_DEFAULT, functions[i].name);

		functions[i].stub = first != found[i] ? first : NULL;
		functions[i].next = found[i];
		if (found[i] && functions[i].next_of)
			__atomic_store_n(functions[i].next_of, found[i], __ATOMIC_RELEASE);
	}
	dlerror();
	return 0;
}

/*
 * Who makes a call: 0: nobody does. One who does, and makes another, was taken out of the first one, as that faulted. It may
 * hold the loader's lock, for which calls of others would wait for ever: they are refused.
 */
static bool enter(pid_t *owner)
{
	pid_t nobody = 0, tid = syscall(SYS_gettid);

	return __atomic_compare_exchange_n(owner, &nobody, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED) ||
	       nobody == tid;
}

/* errno is the thread's own, who knows nothing of this call. */
int64_t heap_redirect(uint64_t rate_bytes, volatile int64_t *result)
{
	static pid_t owner;
	int64_t nr;
	int err = errno;

	if (!enter(&owner))
		return *result = REDIRECT_BUSY;
	nr_redirected = find_functions();
	if (nr_redirected) {
		/* nothing is changed */
	} else if (rate_bytes) {
		sample_at(rate_bytes);
		dl_iterate_phdr(redirect_file, NULL);
	} else {
		dl_iterate_phdr(restore_file, NULL);
		nr_saved = 0;
	}
	nr = nr_redirected;
	__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
	errno = err;
	return *result = nr;
}
