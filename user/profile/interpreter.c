// SPDX-License-Identifier: BSD-2-Clause
/*
 * For each language two regexes on function names: its interpreter loop, and functions of the
 * program that a JIT or a trampoline makes visible. A sample hides the program if its stack has a
 * loop and no such function of the same language.
 *
 * By the names of functions, not by that of the binary: interpreters are embedded in other
 * programs, and statically linked. All languages are counted in one pass over the samples, one bit
 * each.
 */
#include "profile/interpreter.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/magnitude.h"
#include "base/saferegex.h"

#define ENOUGH 0.5

/*
 * On whole names of functions; shown is what names the program's own, NULL: nothing does. mapping begins that of functions which cprof
 * read from the interpreter's own stack ("[python 3.11]"), NULL: it reads none.
 */
static const struct language {
	const char *name, *mapping, *loop, *shown, *advice;
} languages[] = {
	{"Python", "[python ", "_?PyEval_EvalFrame(Default|Ex)([.].*)?|_TAIL_CALL_[A-Z_]*",
	 "py::.*", "cprof reads CPython 3.8 to 3.14; for others use py-spy"},
	{"JavaScript", "[v8 ", "Builtins_InterpreterEntryTrampoline",
	 "(LazyCompile|Function|Script|Eval|RegExp|JS):.*",
	 "cprof reads Node.js 18 to 24; for others use node --cpu-prof"},
	{"Ruby", "[ruby ", "(rb_)?vm_exec(_core)?([.].*)?", NULL,
	 "cprof reads Ruby 3.1, 3.3 and 3.4; for others use rbspy"},
	{"PHP", "[php ", "execute_ex([.].*)?", NULL,
	 "cprof reads PHP 7.4 to 8.4 without threads; for others use phpspy"},
	{"Perl", "[perl ", "Perl_runops_(standard|debug)", NULL,
	 "cprof reads Perl 5.32, 5.36, 5.40 and 5.42 built for threads; for others use perl "
	 "-d:NYTProf"},
	{"Lua", NULL, "luaV_execute([.].*)?", NULL, "use a hook of debug.sethook()"},
	/* the name in old profiles of cprof, and in those of others; methods are java.util.HashMap.get */
	{"Java", NULL, "Interpreter",
	 "[A-Za-z_$][A-Za-z0-9_$]*([./][A-Za-z_$<][A-Za-z0-9_$>]*)+|L[^ ]*;::.*",
	 "cprof shows interpreted methods, too: record again"},
};

#define NR_LANGUAGES (sizeof(languages) / sizeof(languages[0]))

/* What a function, or a stack, is: a bit for each language. */
struct role {
	uint8_t loops; /* it is, or has, the loop */
	uint8_t shown; /* it is, or has, a function of the program */
};
_Static_assert(NR_LANGUAGES <= 8, "a bit for each language");

struct search {
	const struct profile *profile;
	struct role *roles;	       /* of functions, by id */
	uint32_t loops[NR_LANGUAGES];  /* a function that was found; 0: none */
	uint64_t hidden[NR_LANGUAGES]; /* magnitudes */
};

static void compile_whole(const char *pattern, regex_t *regex)
{
	char *whole scoped(freep) = xasprintf("^(%s)$", pattern);

	if (saferegex_compile(whole, regex))
		abort(); /* the table above is wrong */
}

static void find_language(struct search *search, size_t i)
{
	const struct profile *profile = search->profile;
	regex_t loop, shown;

	compile_whole(languages[i].loop, &loop);
	compile_whole(languages[i].shown ? languages[i].shown : "", &shown);
	for (size_t id = 1; id <= profile->functions.nr; id++) {
		const char *name =
			strtab_get(&profile->strings, profile->functions.at[id - 1].name);
		size_t len = strlen(name);

		if (!len)
			continue;
		if (saferegex_matches(&loop, name, len)) {
			search->roles[id].loops |= 1u << i;
			search->loops[i] = id;
		} else if (saferegex_matches(&shown, name, len)) {
			search->roles[id].shown |= 1u << i;
		}
	}
	regfree(&loop);
	regfree(&shown);
}

/* A bit for the language whose functions cprof read into the mapping of a location; 0: none. */
static uint8_t shown_by_mapping(const struct profile *profile,
				const struct profile_location *location)
{
	const char *path = location->mapping
				   ? strtab_get(&profile->strings,
						profile->mappings.at[location->mapping - 1].path)
				   : "";

	for (size_t i = 0; i < NR_LANGUAGES; i++)
		if (languages[i].mapping &&
		    !strncmp(path, languages[i].mapping, strlen(languages[i].mapping)))
			return 1u << i;
	return 0;
}

bool interpreter_shows(const struct profile *profile, const struct profile_location *location)
{
	return shown_by_mapping(profile, location);
}

static struct role role_of_stack(const struct search *search, const struct profile_sample *sample)
{
	struct role role = {0};

	for (uint32_t i = 0; i < sample->nr_locations; i++) {
		const struct profile_location *location =
			&search->profile->locations.at[sample->locations[i] - 1];

		role.shown |= shown_by_mapping(search->profile, location);
		for (uint32_t k = 0; k < location->nr_lines; k++) {
			role.loops |= search->roles[location->lines[k].function].loops;
			role.shown |= search->roles[location->lines[k].function].shown;
		}
	}
	return role;
}

static uint64_t add_up(struct search *search, uint32_t type)
{
	uint64_t total = 0;

	vec_for_each(&search->profile->samples, sample) {
		uint64_t value = magnitude_of(sample->values[type]);
		struct role role = role_of_stack(search, sample);

		if (__builtin_add_overflow(total, value, &total))
			return 0; /* no share can be computed */
		for (size_t i = 0; i < NR_LANGUAGES; i++)
			if (role.loops & ~role.shown & 1u << i)
				search->hidden[i] += value;
	}
	return total;
}

bool interpreter_hides(const struct profile *profile, uint32_t type,
		       struct interpreter *interpreter)
{
	struct role *roles scoped(freep) = xcalloc(profile->functions.nr + 1, sizeof(*roles));
	struct search search = {.profile = profile, .roles = roles};
	size_t most = 0;
	uint64_t total;

	for (size_t i = 0; i < NR_LANGUAGES; i++)
		find_language(&search, i);
	total = add_up(&search, type);
	for (size_t i = 1; i < NR_LANGUAGES; i++)
		if (search.hidden[i] > search.hidden[most])
			most = i;
	if (!total || (double)search.hidden[most] < ENOUGH * (double)total)
		return false;
	*interpreter = (struct interpreter){
		.language = languages[most].name,
		.loop = strtab_get(&profile->strings,
				   profile->functions.at[search.loops[most] - 1].name),
		.advice = languages[most].advice,
		.share = (double)search.hidden[most] / (double)total,
	};
	return true;
}
