// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first thread's stack is the mapping [stack]. That of another one is a mapping with the C library's data of the thread, where
 * fs points to, at its end, and a guard page below it: the C library's, or the JVM's. Coroutines have none of these, as
 * do threads whose stack the program has made itself, and made without a guard page.
 *
 * The lock is found by the C library's own description for debuggers (nptl_db). It describes the list of the stacks that the program has
 * made. The lists of all other ones are beside it, and the lock comes behind them: if those of this process look otherwise, the lock is
 * not known.
 */
#include "inject/ownstack.h"

#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "inject/places.h"
#include "inject/sigframe.h"

/* Of struct rtld_global, from the list of the stacks of the program on. */
struct stack_lists {
	uint64_t user[2], cache[2]; /* each next, previous */
	uint64_t cache_bytes, in_flight;
	uint32_t lock;
};

#define MAX_CACHE_BYTES (1ull << 40)

struct stack_search {
	uint64_t sp, fs;
	uint64_t guard_limit; /* where the last mapping without any access ends */
	uint64_t start;	      /* of the stack; 0: it was not found */
	uint64_t limit;
	bool is_first; /* [stack] */
};

static void find_stack(void *ctx, const struct map_line *line)
{
	struct stack_search *search = ctx;
	bool has_fs = search->fs >= line->start && search->fs < line->limit;

	if (!strncmp(line->access, "---", 3))
		search->guard_limit = line->limit;
	if (search->sp < line->start || search->sp >= line->limit || line->access[1] != 'w')
		return;
	search->is_first = line->is_stack;
	if (!line->is_stack &&
	    (!has_fs || search->fs <= search->sp || search->guard_limit != line->start))
		return;
	search->start = line->start;
	search->limit = line->is_stack ? line->limit : search->fs;
}

bool ownstack_is_given(pid_t pid, pid_t tid, const struct user_regs_struct *regs)
{
	struct stack_search search = {.sp = regs->rsp, .fs = regs->fs_base};

	if (tid == pid) /* the kernel maps more of [stack] when it is touched */
		ptrace(PTRACE_PEEKDATA, tid, regs->rsp - SIGFRAME_ROOM_BYTES, NULL);
	if (places_maps(pid, find_stack, &search) || !search.start ||
	    search.is_first != (tid == pid))
		return false;
	return regs->rsp - search.start >= SIGFRAME_ROOM_BYTES &&
	       !sigframe_is_above(tid, regs->rsp, search.limit);
}

/* Are these the links of a list, here? */
static bool is_list(const uint64_t *links)
{
	uint64_t next[2], previous[2];

	return places_read(getpid(), links[0], next, sizeof(next)) == sizeof(next) &&
	       places_read(getpid(), links[1], previous, sizeof(previous)) == sizeof(previous) &&
	       next[1] == (uintptr_t)links && previous[0] == (uintptr_t)links;
}

uint64_t ownstack_lock(pid_t pid)
{
	/* Bits, elements, and the offset of a field. */
	const uint32_t *field = places_own_function("_thread_db_rtld_global__dl_stack_user");
	const char *global = places_own_function("_rtld_global");
	const struct stack_lists *lists;
	uint64_t address = 0;

	if (!field || !global || field[0] != 8 * sizeof(lists->user))
		return 0;
	lists = (const void *)(global + field[2]);
	if (!is_list(lists->user) || !is_list(lists->cache) || lists->in_flight || lists->lock ||
	    lists->cache_bytes > MAX_CACHE_BYTES || lists->cache_bytes % 4096)
		return 0;
	places_address(pid, &lists->lock, &address);
	return address;
}
