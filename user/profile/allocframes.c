// SPDX-License-Identifier: BSD-2-Clause
/*
 * Regexes on function names decide whose a function is (enum owner), once for each function;
 * stacks are then cut by the answers. Names are shortened first (profile/shortname.h), so that
 * template arguments of the program's do not stand in the way of a library's own name.
 *
 * A stack loses its frames from the leaf to the first one that is not a library's. Where that one
 * is a note, [truncated: ...], it stays whole: nothing is known of who allocated. A location that
 * loses only its innermost inlined lines is copied, since other stacks may have it in their
 * middle, where all of it belongs.
 */
#include "profile/allocframes.h"

#include <stdlib.h>
#include <string.h>

#include "profile/shortname.h"
#include "base/saferegex.h"

/*
 * The functions that are probed, and what calls nothing but them, also of widespread runtimes and
 * libraries: that all of a Python program's memory comes from _PyObject_Malloc() is no answer. pprof's
 * own list hides a program's `allocate` and all of Go's runtime, with the C code that a Go program
 * calls behind it. Of Rust __rust_alloc() and what it leads to.
 */
const char allocator_frames[] =
	"(__libc_|je_|tc_|mi_)?(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc"
	"|posix_memalign|valloc|pvalloc)|__posix_memalign"
	"|operator new(\\[\\])?"
	"|(std::|__gnu_cxx::)(__)?(new_)?allocator(_traits)?<.*>::allocate"
	"|std::(_Vector_base|_Deque_base|_Rb_tree|(__cxx11::)?_List_base"
	"|__detail::_Hashtable_alloc)<.*>::_M_(allocate|get_node|allocate_node_ptr"
	"|allocate_buckets|allocate_map|create_storage)"
	"|std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	"?>::_M_create"
	"|(_R[A-Za-z0-9_]*_|__rustc::)?__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)"
	"|alloc::alloc::(alloc|alloc_zeroed|realloc|exchange_malloc|Global::[a-z_]*)"
	"|<alloc::alloc::Global( as core::alloc::Allocator)?>::[a-z_]*"
	"|<std::alloc::System as core::alloc::global::GlobalAlloc>::[a-z_]*"
	/* CPython, PHP, Ruby, Perl; PostgreSQL, GLib, OpenSSL, SQLite; GNU's programs */
	"|_?Py(Object|Mem)_(Raw|Debug|DebugRaw)?(Malloc|Calloc|Realloc|Alloc)|pymalloc_(alloc|"
	"realloc)"
	"|_(safe_)?e(malloc|calloc|realloc2?)(_[a-z0-9]+)?|__zend_(malloc|calloc|realloc)"
	"|_safe_(malloc|realloc)"
	"|ruby_x(malloc|calloc|realloc)(2|0|_body|2_body)?|objspace_x(malloc0|calloc|realloc)"
	"|rb_gc_impl_(malloc|calloc|realloc)|Perl_safesys(malloc|calloc|realloc)"
	"|(re)?palloc(0|_extended|_huge|_aligned)?"
	"|MemoryContextAlloc(Zero|ZeroAligned|Extended|Huge|Aligned)?"
	"|(AllocSet|Generation|Slab|Bump)(Alloc(FromNewBlock|FromFreeList|Large|ChunkFromBlock)?|"
	"Realloc)"
	"|g_(try_)?(malloc0?|realloc)(_n)?|g_slice_alloc0?|g_aligned_alloc0?"
	"|CRYPTO_(malloc|zalloc|realloc|calloc|clear_realloc)(_array)?"
	"|sqlite3(Db|Mem|_)?(Malloc|MallocZero|MallocRaw|MallocRawNN|Realloc|malloc|malloc64|"
	"realloc"
	"|realloc64)"
	"|x(malloc|calloc|zalloc|realloc|nmalloc|nrealloc|2realloc|2nrealloc|reallocarray|"
	"charalloc)";

/*
 * How a name in Rust's newer mangling (v0), which other profilers may leave as it is, begins: up to the crate of the
 * function, which is the first one named.
 */
#define RUST_V0 "_R[A-Za-z]*(s[0-9A-Za-z]*_[A-Za-z]*)*C(s[0-9A-Za-z]*_)?"

/* u32, str: all other types have a path. */
#define RUST_PRIMITIVE "[a-z][a-z0-9]*"

/* On short names (shortname.h). */
static const char libraries[] =
	"^((std|__gnu_cxx)::"
	"|(alloc|hashbrown|core)::(alloc|borrow|boxed|cell|clone|collections|convert|default|ffi"
	"|fmt|hash|iter|map|mem|option|ptr|raw|raw_vec|rc|result|set|slice|str|string|sync|table"
	"|vec)::"
	/* <A as B>::f, if both are the library's, or A is a type parameter or primitive; <A>::f */
	"|<[&*]?(mut |const )?(\\[?([A-Z][0-9]?|" RUST_PRIMITIVE
	")\\]?|(std|alloc|hashbrown|core)::[^ ]*) as (std|alloc|hashbrown|core)::"
	"|<((std|alloc|hashbrown|core)::[^ ]*|\\[?" RUST_PRIMITIVE "\\]?)>::"
	"|" RUST_V0 "(5alloc|9hashbrown|4core|3std)[0-9]"
	"|lib(stdc\\+\\+|c\\+\\+|c\\+\\+abi)\\.so[.0-9]*\\+0x)"; /* a function without a name */

/* The program's own code may be inlined there: what calls back, and what a program specializes. */
static const char callers[] =
	"^std::(__[a-z0-9]+::|ranges::)*(for_each|transform|generate|accumulate|reduce|invoke|apply"
	"|visit|call_once|async|__invoke|__apply|__do_visit|__visit|__transform|__for_each"
	"|_Function_handler|_Bind|thread::_|__future_base::|packaged_task"
	"|_Mem_fn|(unary_|binary_)?function<>::operator|(hash|less|equal_to|formatter)<>::)"
	"|^<?core::(iter::adapters|ops::function)::"
	"|^<?((std|core)::(rt|panicking|panic|sys|sys_common)::|std::thread::local::)"
	"|^" RUST_V0 "(4core(4iter8adapters|3ops8function)"
	"|3std(2rt|9panicking|5panic|3sys|10sys_common|6thread))";

/* What holds something of the program's, and does not call it, whatever the arguments name. */
static const char holders[] =
	"^std::(__[a-z0-9]+::|_[VA0-9]+::)*(function<>::function|_Function_base::|thread::thread"
	"|(__)?(shared|unique)_(ptr|count)|(make|allocate)_(shared|unique)|_Sp_|_Rb_tree|_Hashtable"
	"|_Map_base|_Insert|vector|_Vector_base|deque|_Deque_base|list|_List_base|forward_list"
	"|(unordered_)?(multi)?(map|set)<>|priority_queue|queue|stack|optional|any|variant|tuple|"
	"pair)";

enum owner {
	OWNER_PROGRAM,
	OWNER_LIBRARY, /* or an allocator */
	OWNER_NOBODY,  /* [truncated: ...] */
};

struct regexes {
	regex_t allocators, libraries, callers, holders;
};

static void regexes_compile(struct regexes *regexes)
{
	char *whole scoped(freep) = xasprintf("^(%s)$", allocator_frames);

	if (saferegex_compile(whole, &regexes->allocators) ||
	    saferegex_compile(libraries, &regexes->libraries) ||
	    saferegex_compile(callers, &regexes->callers) ||
	    saferegex_compile(holders, &regexes->holders))
		abort(); /* what stands above is wrong */
}

static void regexes_release(struct regexes *regexes)
{
	regfree(&regexes->allocators);
	regfree(&regexes->libraries);
	regfree(&regexes->callers);
	regfree(&regexes->holders);
}

static bool has_lambda(const char *name)
{
	return strstr(name, "lambda") || strstr(name, "::$_");
}

/*
 * A C++ program may have a namespace core of its own; but then its functions have argument lists, and
 * Rust's do not.
 */
static bool is_of_program(const char *name, const char *shortened)
{
	const char *arguments = strrchr(name, ')');

	if (!strncmp(shortened, "std::", 5) || !strncmp(shortened, "__gnu_cxx::", 11))
		return false;
	return arguments && !strpbrk(arguments, ":>");
}

static enum owner owner_of(const struct regexes *regexes, const char *name)
{
	char *shortened scoped(freep) = NULL;
	size_t len;

	if (*name == '[')
		return OWNER_NOBODY;
	shortened = short_name(name);
	len = strlen(shortened);
	if (saferegex_matches(&regexes->allocators, name, strcspn(name, "(")) ||
	    saferegex_matches(&regexes->allocators, shortened, len))
		return OWNER_LIBRARY;
	if (!saferegex_matches(&regexes->libraries, shortened, len) ||
	    is_of_program(name, shortened) ||
	    saferegex_matches(&regexes->callers, shortened, len) ||
	    (has_lambda(name) && !saferegex_matches(&regexes->holders, shortened, len)))
		return OWNER_PROGRAM;
	return OWNER_LIBRARY;
}

/* While stacks are cut. All by id. */
struct cutting {
	struct profile *profile;
	enum owner *owners; /* of functions */
	uint32_t *cut;	    /* of locations: the one without its library's lines; 0: not made yet */
};

static enum owner owner_of_line(const struct cutting *cutting, const struct profile_line *line)
{
	return line->function ? cutting->owners[line->function] : OWNER_PROGRAM;
}

/* How many of its innermost lines are a library's. */
static uint32_t nr_library_lines(const struct cutting *cutting,
				 const struct profile_location *location)
{
	uint32_t nr = 0;

	while (nr < location->nr_lines &&
	       owner_of_line(cutting, &location->lines[nr]) == OWNER_LIBRARY)
		nr++;
	return nr;
}

/*
 * The location without its nr innermost lines: one of its own, since it may be in the middle of other
 * stacks.
 */
static uint32_t cut_location(struct cutting *cutting, uint32_t id, uint32_t nr)
{
	struct profile *profile = cutting->profile;
	struct profile_location location = profile->locations.at[id - 1];

	if (!nr)
		return id;
	if (!cutting->cut[id]) {
		location.lines += nr;
		location.nr_lines -= nr;
		vec_push(&profile->locations, location);
		cutting->cut[id] = profile->locations.nr;
	}
	return cutting->cut[id];
}

static void cut_stack(struct cutting *cutting, struct profile_sample *sample)
{
	struct profile *profile = cutting->profile;
	const struct profile_location *location = NULL;
	uint32_t first = 0, nr = 0, nr_left, *locations;

	for (; first < sample->nr_locations; first++) {
		location = &profile->locations.at[sample->locations[first] - 1];
		nr = nr_library_lines(cutting, location);
		if (!location->nr_lines || nr < location->nr_lines)
			break;
	}
	if (first == sample->nr_locations || (!first && !nr) ||
	    (location->nr_lines && owner_of_line(cutting, &location->lines[nr]) == OWNER_NOBODY))
		return;
	nr_left = sample->nr_locations - first;
	locations = arena_alloc(&profile->arena, nr_left * sizeof(*locations));
	memcpy(locations, sample->locations + first, nr_left * sizeof(*locations));
	locations[0] = cut_location(cutting, locations[0], nr);
	sample->locations = locations;
	sample->nr_locations = nr_left;
}

bool profile_is_heap(const struct profile *profile)
{
	const struct strtab *strings = &profile->strings;

	for (uint32_t i = 0; i < profile->nr_types; i++) {
		const char *type = strtab_get(strings, profile->types[i].type);

		if (!strcmp(type, "inuse_space") || !strcmp(type, "alloc_space"))
			return true;
	}
	return !strcmp(strtab_get(strings, profile->period_type.type), "space");
}

void profile_cut_allocators(struct profile *profile)
{
	struct regexes regexes;
	enum owner *owners scoped(freep) = xcalloc(profile->functions.nr + 1, sizeof(*owners));
	uint32_t *cut scoped(freep) = xcalloc(profile->locations.nr + 1, sizeof(*cut));
	struct cutting cutting = {profile, owners, cut};

	regexes_compile(&regexes);
	for (size_t i = 0; i < profile->functions.nr; i++) {
		const struct profile_function *function = &profile->functions.at[i];
		uint32_t name = function->name ? function->name : function->system_name;
		const char *text = strtab_get(&profile->strings, name);

		owners[i + 1] = *text ? owner_of(&regexes, text) : OWNER_PROGRAM;
	}
	regexes_release(&regexes);
	vec_for_each(&profile->samples, sample)
		cut_stack(&cutting, sample);
	profile_forget_interned(profile);
}
