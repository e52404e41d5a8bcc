// SPDX-License-Identifier: BSD-2-Clause
#include "input/legacy.h"

#include <errno.h>
#include <string.h>

struct lines legacy_lines(const struct source *source)
{
	const char *text = (const char *)source->bytes;

	return (struct lines){.at = text, .end = text + source->len};
}

struct text legacy_first_line(const struct source *source)
{
	struct lines lines = legacy_lines(source);
	struct text line = {NULL, 0};

	while (lines_next(&lines, &line))
		if (!text_is_comment(line))
			return line;
	return (struct text){NULL, 0};
}

bool legacy_take_stack(struct text text, size_t nr_exact, legacy_stack *stack)
{
	const char *zero;
	uint64_t address;

	while ((zero = text_find(text, "0x"))) {
		struct text rest = {zero, text.at + text.len - zero};
		bool taken = text_take_hex(&rest, &address);

		if (!taken && (rest.len == 2 || !strchr("0123456789abcdefABCDEF", rest.at[2]))) {
			rest.at += 2, rest.len -= 2; /* no number at all */
			text = rest;
			continue;
		}
		if (!taken)
			return false;
		if (stack->nr >= nr_exact)
			address--;
		vec_push(stack, address);
		text = rest;
	}
	return true;
}

int legacy_too_many(struct input_error *error, int err, uint64_t line)
{
	return input_fail_line(error, err, line, "more stacks, addresses or mappings than allowed");
}

void legacy_drop_frames(struct profile *profile, enum legacy_kind kind)
{
	static const char *const patterns[] = {
		[LEGACY_CPU] = "ProfileData::(Add|prof_handler)|CpuProfiler::prof_handler|"
			       "__pthread_sighandler|__restore(_rt)?",
		[LEGACY_HEAP] = "(tc_|__libc_|malloc_zone_)?(malloc|calloc|realloc|free|cfree|"
				"valloc|pvalloc|memalign|posix_memalign)|do_(malloc.*|memalign)|"
				"tc_(new|delete).*|tcmalloc::.*|operator new(\\[\\])?|"
				"DoSampledAllocation|_M_allocate|"
				"__gnu_cxx::new_allocator::allocate|runtime\\..*",
		[LEGACY_CONTENTION] = "(base::)?(RecordLock|SubmitMutex|SubmitSpinLock)"
				      "ProfileData.*|(base::)?(Mutex|SpinLock)(Lock|Holder)?::.*",
	};

	profile->drop_frames = profile_string(profile, patterns[kind]);
	if (kind == LEGACY_HEAP)
		profile->keep_frames =
			profile_string(profile, "runtime\\.(panic|reflectcall|call[0-9]*)");
}

void legacy_drop_double_leaf(struct addresses *addresses)
{
	vec_for_each(&addresses->stacks, stack) {
		uint64_t *at = addresses->all.at + stack->first;

		if (stack->nr < 2 || at[0] != at[1] + 1)
			continue;
		memmove(at + 1, at + 2, (stack->nr - 2) * sizeof(*at));
		stack->nr--;
	}
}
