// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the readers of older formats share: stacks of hexadecimal addresses, the errors that are
 * the same for all, and drop_frames patterns. The patterns are those that pprof's reader gives
 * such files, word for word, so that a file read by either tool is the same profile, but for names that stand in comments
 * (legacy_names.c).
 */
#include "input/legacy.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct legacy legacy_begin(const struct source *source, struct profile *profile,
			   struct input_error *error)
{
	return (struct legacy){
		.lines = input_lines(source),
		.whole = input_lines(source),
		.names = source->limits->names,
		.addresses = {.profile = profile, .max_items = source->limits->max_items},
		.error = error};
}

void legacy_release(struct legacy *legacy)
{
	addresses_release(&legacy->addresses);
	vec_release(&legacy->stack);
	vec_release(&legacy->stack_lines);
}

struct text legacy_stack_part(struct text text)
{
	size_t nr = 0;

	while (nr < text.len && memchr(" x0123456789abcdef", text.at[nr], 18))
		nr++;
	return (struct text){text.at, nr};
}

static bool is_small_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

int legacy_take_stack(struct legacy *legacy, struct text text, size_t nr_exact)
{
	const char *zero;

	while ((zero = text_find(text, "0x"))) {
		struct text rest = {zero, text.at + text.len - zero}, number = {zero, 2};
		uint64_t address;

		while (number.len < rest.len && is_small_hex(rest.at[number.len]))
			number.len++;
		text = (struct text){zero + number.len, rest.len - number.len};
		if (number.len == 2)
			continue; /* no number at all */
		if (!text_take_hex(&number, &address))
			return input_fail_line(legacy->error, -EBADMSG, legacy->lines.nr,
					       "an address has more than 64 bits");
		if (legacy->stack.nr >= nr_exact)
			address--;
		vec_push(&legacy->stack, address);
	}
	return 0;
}

static int too_many(struct legacy *legacy, uint64_t line)
{
	return input_fail_line(legacy->error, -EFBIG, line,
			       "too many stacks, addresses or mappings");
}

int legacy_add(struct legacy *legacy, const int64_t *values, int64_t block_bytes)
{
	if (addresses_add(&legacy->addresses, legacy->stack.at, legacy->stack.nr, values,
			  block_bytes))
		return too_many(legacy, legacy->lines.nr);
	vec_push(&legacy->stack_lines, legacy->lines.nr);
	return 0;
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

int legacy_finish(struct legacy *legacy, enum legacy_kind kind)
{
	if (legacy->names)
		legacy_cut_nameless(legacy);
	if (addresses_finish(&legacy->addresses, &legacy->lines))
		return too_many(legacy, 0);
	if (legacy->names && legacy_take_names(legacy))
		return too_many(legacy, 0);
	legacy_drop_frames(legacy->addresses.profile, kind);
	return 0;
}

void legacy_drop_double_leaf(struct profile *profile)
{
	vec_for_each(&profile->samples, sample) {
		uint32_t *ids = (uint32_t *)sample->locations; /* in our arena */

		if (sample->nr_locations < 2 ||
		    profile->locations.at[ids[0] - 1].address !=
			    profile->locations.at[ids[1] - 1].address + 1)
			continue;
		memmove(ids + 1, ids + 2, (sample->nr_locations - 2) * sizeof(*ids));
		sample->nr_locations--;
	}
}
