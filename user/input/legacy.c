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

/*
 * The profilers' own frames, by the names that pprof hides: a profile that was read here and one that
 * was read there are the same, and merge.
 */
static const char cpu_handlers[] =
	"ProfileData::Add|ProfileData::prof_handler|CpuProfiler::prof_handler"
	"|__pthread_sighandler|__restore";
static const char allocators[] =
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign"
	"|pvalloc|valloc|realloc|tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc"
	"|tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|tc_valloc|tc_realloc"
	"|tc_new|tc_delete|tc_newarray|tc_deletearray|tc_new_nothrow"
	"|tc_newarray_nothrow|malloc_zone_malloc|malloc_zone_calloc"
	"|malloc_zone_valloc|malloc_zone_realloc|malloc_zone_memalign"
	"|malloc_zone_free|runtime\\..*|BaseArena::.*|(::)?do_malloc_no_errno"
	"|(::)?do_malloc_pages|(::)?do_malloc|DoSampledAllocation"
	"|MallocedMemBlock::MallocedMemBlock|_M_allocate|__builtin_(vec_)?delete"
	"|__builtin_(vec_)?new|__gnu_cxx::new_allocator::allocate|__libc_malloc"
	"|__malloc_alloc_template::allocate|allocate|cpp_alloc"
	"|operator new(\\[\\])?|simple_alloc::allocate";
static const char kept_by_allocators[] =
	"runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";
static const char lock_functions[] =
	"RecordLockProfileData|(base::)?RecordLockProfileData.*"
	"|(base::)?SubmitMutexProfileData.*|(base::)?SubmitSpinLockProfileData.*"
	"|(base::Mutex::)?AwaitCommon.*|(base::Mutex::)?Unlock.*"
	"|(base::Mutex::)?UnlockSlow.*|(base::Mutex::)?ReaderUnlock.*"
	"|(base::MutexLock::)?~MutexLock.*|(Mutex::)?AwaitCommon.*"
	"|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*|(Mutex::)?ReaderUnlock.*"
	"|(MutexLock::)?~MutexLock.*|(SpinLock::)?Unlock.*"
	"|(SpinLock::)?SlowUnlock.*|(SpinLockHolder::)?~SpinLockHolder.*";

void legacy_drop_frames(struct profile *profile, enum legacy_kind kind)
{
	static const char *const patterns[] = {
		[LEGACY_CPU] = cpu_handlers,
		[LEGACY_HEAP] = allocators,
		[LEGACY_CONTENTION] = lock_functions,
	};

	profile->drop_frames = profile_string(profile, patterns[kind]);
	if (kind == LEGACY_HEAP)
		profile->keep_frames = profile_string(profile, kept_by_allocators);
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
