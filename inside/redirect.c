// SPDX-License-Identifier: BSD-2-Clause
/*
 * The slots of a file that has any slot leading to another allocator are left alone: it has an allocator of its own
 * (RTLD_DEEPBIND, a local scope), and what one gives out the other must not free. Slots that are not resolved yet
 * (lazy) lead nowhere, and only the loader knows where they will. Where some file defines another malloc than the
 * process's and the C library's, they are left alone in all files that need it, and in those that these need.
 * Rejected: asking dlsym() for each file, whose handle takes a dlopen(), which may run constructors.
 *
 * Rejected: changing the allocator's first instructions, which another thread may be executing.
 *
 * Other threads come here by the slots, so all that they need is stored before: the functions that come next, the rate. What they load
 * first they load behind a fence (next.c, sampler.c), because on arm64 a jump to what was loaded orders no later load.
 */
#include "inside/redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inside/nested.h"
#include "inside/next.h"
#include "inside/sampler.h"
#include "inside/slots.h"

#define MAX_SLOTS     16384
#define MAX_OTHERS    1024
#define MAX_FUNCTIONS 64 /* with C++'s operators and jemalloc's own */

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
} functions[MAX_FUNCTIONS] = {
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

#define NR_NAMED 11 /* the standard functions, which stand above */

static size_t nr_functions =
	NR_NAMED; /* the operators that are the allocator's own come after those */

/* Weak: musl has none, and such a process is not injected. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

static struct saved_slot saved[MAX_SLOTS];
static size_t nr_saved, nr_kept;
static int64_t nr_redirected;

/*
 * While dl_iterate_phdr() has its lock: the names of files that another allocator may serve, in their memory. has_all: so
 * many that any may be one.
 */
static const char *others[MAX_OTHERS];
static size_t nr_others;
static bool has_all;

/* NULL: it is none of the allocator's, or the process has none of this name. */
static const struct function *function_named(const char *name)
{
	for (size_t i = 0; i < nr_functions; i++)
		if (functions[i].next && !strcmp(functions[i].name, name))
			return &functions[i];
	return NULL;
}

/* Lazy: it leads to what resolves it, in the file itself. */
static bool is_usual(const struct mapped_file *file, const struct function *function, void **slot)
{
	return *slot == function->own || *slot == function->next || mapped_file_has(file, *slot) ||
	       (function->stub && *slot == function->stub);
}

static bool is_operator(const struct function *function)
{
	return function - functions >= NR_NAMED;
}

/* Does it lead where those of the whole process do, if to the allocator? An operator of another file calls what does. */
static bool check_slot(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	return !function || is_operator(function) || is_usual(file, function, slot);
}

/* Its operators call malloc and free, so that blocks of theirs and of the allocator's own are the same. */
static bool is_cpp_library(const struct mapped_file *file)
{
	const char *name = mapped_file_name(file);

	return !strncmp(name, "libstdc++", 9) || !strncmp(name, "libc++", 6);
}

/* An operator that is not the allocator's, or, not resolved yet, may be the file's own. */
static bool is_other_operator(const struct mapped_file *file, const struct function *function,
			      void **slot)
{
	if (!is_operator(function))
		return false;
	return !is_usual(file, function, slot) ||
	       (*slot != function->next && *slot != function->own && !is_cpp_library(file) &&
		mapped_file_defines(file, function->name));
}

/* The C library's own calls: what it defines is next. */
static bool defines_next(const struct mapped_file *file)
{
	return mapped_file_has(file, (const void *)next_malloc);
}

static bool is_lazy(const struct mapped_file *file, const struct function *function, void **slot)
{
	return mapped_file_has(file, *slot) && *slot != function->next &&
	       (!function->stub || *slot != function->stub);
}

/* false: there is such a slot. */
static bool find_lazy(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	return !function || !is_lazy(file, function, slot);
}

static bool redirect_slot(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	if (!function || *slot == function->own || nr_saved == MAX_SLOTS)
		return true;
	if (is_other_operator(file, function, slot) ||
	    (is_lazy(file, function, slot) && defines_next(file)))
		return true;
	if (function->stub && *slot == function->stub)
		return true; /* which goes through the program's slot */
	saved[nr_saved++] = (struct saved_slot){slot, *slot};
	mapped_file_write(file, slot, function->own);
	return true;
}

/* Puts the entry of a slot that is still redirected to the front: they come in the order in which they were entered. */
static bool keep_slot(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	(void)file;
	if (!function || *slot != function->own)
		return true;
	for (size_t i = nr_kept; i < nr_saved; i++)
		if (saved[i].slot == slot) {
			struct saved_slot kept = saved[i];

			saved[i] = saved[nr_kept];
			saved[nr_kept++] = kept;
			break;
		}
	return true;
}

static bool count_slot(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	(void)file;
	nr_redirected += function && *slot == function->own;
	return true;
}

static bool restore_slot(const struct mapped_file *file, const char *name, void **slot)
{
	const struct function *function = function_named(name);

	if (!function || *slot != function->own)
		return true;
	for (size_t i = nr_saved; i--;)
		if (saved[i].slot == slot) {
			mapped_file_write(file, slot, saved[i].before);
			return true;
		}
	mapped_file_write(file, slot, function->next);
	return true;
}

static bool is_other(const char *name)
{
	for (size_t i = 0; !has_all && i < nr_others; i++)
		if (!strcmp(others[i], name))
			return true;
	return has_all;
}

static bool is_not_other(const char *name)
{
	return !is_other(name);
}

static bool is_c_library(const char *name)
{
	return !strcmp(name, "libc.so.6");
}

/* Always true: for all that a file needs. */
static bool add_other(const char *name)
{
	if (nr_others == MAX_OTHERS)
		has_all = true;
	else if (!is_other(name) && !is_c_library(name))
		others[nr_others++] = name;
	return true;
}

/* Does it define another allocator than the process's? The C library does, where that is not its own. */
static int add_definer(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	static const char *const names[] = {"malloc", "free"};
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (!mapped_file_read(info, &file) || !*file.path)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct function *function = function_named(names[i]);
		const void *found = mapped_file_defines(&file, names[i]);

		if (found && function && found != function->next)
			add_other(mapped_file_name(&file));
	}
	return 0;
}

static int add_needing(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (mapped_file_read(info, &file) && *file.path &&
	    !mapped_file_each_needed(&file, is_not_other))
		add_other(mapped_file_name(&file));
	return 0;
}

static int add_needed(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (mapped_file_read(info, &file) && *file.path && is_other(mapped_file_name(&file)))
		mapped_file_each_needed(&file, add_other);
	return 0;
}

typedef int phdr_fn(struct dl_phdr_info *info, size_t bytes, void *ctx);

/* Until there are no more. */
static void add_all(phdr_fn *fn)
{
	size_t nr;

	do {
		nr = nr_others;
		dl_iterate_phdr(fn, NULL);
	} while (nr_others > nr && !has_all);
}

/* The program's own lazy slots lead to the process's allocator. */
static bool has_usual_scope(const struct mapped_file *file)
{
	return !*file->path || !is_other(mapped_file_name(file)) ||
	       mapped_file_each_slot(file, find_lazy);
}

static int redirect_file(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (!mapped_file_read(info, &file))
		return 0;
	if (mapped_file_is_relocated(&file) && mapped_file_each_slot(&file, check_slot) &&
	    has_usual_scope(&file))
		mapped_file_each_slot(&file, redirect_slot);
	mapped_file_each_slot(&file, count_slot);
	return 0;
}

static int keep_slots_of(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (mapped_file_read(info, &file))
		mapped_file_each_slot(&file, keep_slot);
	return 0;
}

/* Forgets the slots of files that are gone, and of those that were mapped again, in the same place even. */
static void keep_slots(void)
{
	nr_kept = 0;
	dl_iterate_phdr(keep_slots_of, NULL);
	nr_saved = nr_kept;
}

/* Called once: the files stay as they are until it returns. */
static int redirect_all(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	(void)info;
	(void)bytes;
	(void)ctx;
	keep_slots();
	nr_others = 0;
	has_all = false;
	dl_iterate_phdr(add_definer, NULL);
	if (nr_others) {
		add_all(add_needing);
		add_all(add_needed);
	}
	dl_iterate_phdr(redirect_file, NULL);
	return 1;
}

static int restore_file(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct mapped_file file;

	(void)bytes;
	(void)ctx;
	if (!mapped_file_read(info, &file))
		return 0;
	mapped_file_each_slot(&file, restore_slot);
	mapped_file_each_slot(&file, count_slot);
	return 0;
}

/* The first one is the program. */
static int find_program(struct dl_phdr_info *info, size_t bytes, void *program)
{
	(void)bytes;
	mapped_file_read(info, program);
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
static void *find_function(const struct mapped_file *program, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) *symbol = NULL;
	bool has_allocator = false;
	Dl_info info;

	if (!found || !mapped_file_has(program, found))
		return found;
	dl_iterate_phdr(find_allocator, &has_allocator);
	if (has_allocator || !dladdr1 || !dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !symbol || symbol->st_shndx != SHN_UNDEF)
		return NULL;
	return dlsym(RTLD_NEXT, name);
}

/*
 * Those of the process that are in one file with its malloc: jemalloc's, tcmalloc's, which do not come by malloc. Those of a C++
 * library do, and are left to it.
 */
static void find_operators(void)
{
	nr_functions = NR_NAMED;
	for (struct operator* each = __start_heap_operators; each < __stop_heap_operators; each++) {
		void *found = dlsym(RTLD_DEFAULT, each->name);
		Dl_info its, of_malloc;

		if (!found || nr_functions == MAX_FUNCTIONS || !dladdr(found, &its) ||
		    !dladdr((const void *)next_malloc, &of_malloc) ||
		    its.dli_fbase != of_malloc.dli_fbase)
			continue;
		operator_lead_to(each, found);
		functions[nr_functions++] =
			(struct function){each->name, each->own, NULL, found, NULL};
	}
}

/* RTLD_NEXT by itself would say what comes after a library that was opened last. Returns 0, or what heap_redirect() does. */
static int find_functions(void)
{
	void *found[NR_NAMED];
	struct mapped_file program;

	if (dlsym(RTLD_DEFAULT, "malloc") == (void *)own_malloc)
		return REDIRECT_NEEDLESS;
	dl_iterate_phdr(find_program, &program);
	for (size_t i = 0; i < NR_NAMED; i++) {
		found[i] = find_function(&program, functions[i].name);
		if (!found[i] && dlsym(RTLD_DEFAULT, functions[i].name))
			return REDIRECT_OWN_ALLOCATOR;
	}
	for (size_t i = 0; i < NR_NAMED; i++) {
		void *first = dlsym(RTLD_DEFAULT, functions[i].name);

		functions[i].stub = first != found[i] ? first : NULL;
		functions[i].next = found[i];
		if (found[i] && functions[i].next_of)
			__atomic_store_n(functions[i].next_of, found[i], __ATOMIC_RELEASE);
	}
	find_operators();
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
int64_t heap_redirect(uint64_t rate_bytes, volatile struct redirect_result *result)
{
	static pid_t owner;
	int64_t nr;
	int err = errno;

	if (!enter(&owner))
		return result->nr = REDIRECT_BUSY;
	nr_redirected = find_functions();
	if (nr_redirected) {
		/* nothing is changed */
	} else if (rate_bytes) {
		sample_at(rate_bytes);
		dl_iterate_phdr(redirect_all, NULL);
		nested_hold();
	} else {
		dl_iterate_phdr(restore_file, NULL);
		nr_saved = 0;
	}
	nr = nr_redirected;
	result->slots = saved;
	result->nr_slots = nr_saved;
	__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
	errno = err;
	return result->nr = nr;
}
