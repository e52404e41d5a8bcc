// SPDX-License-Identifier: BSD-2-Clause
/*
 * A mangled name is a small program. Each back reference (S_, S1_, T_, T0_) stands for what came before
 * it, so 250 bytes that each time name the pair of what came before print 140 MB, and each further ten
 * bytes double it. Names of real programs do so, too: of a few hundred bytes of nested containers come
 * megabytes. Four bounds:
 *
 *	output	the demangler hands over what it prints piece by piece; at 64 KiB a long jump ends it
 *	time	some work prints nothing: a pack expansion looks for its pack in all that came before, and a
 *		conversion operator's arguments are parsed twice at each level. So such a name has a thread of
 *		its own, which is cancelled after a tenth of a second of CPU time. That is safe since the
 *		demangler allocates nothing and holds no lock; after MAX_CANCELLED such names no more are tried
 *	stack	the demangler nests as deep as the name does, and its arrays are on the stack; the thread has
 *		room for the worst name (P repeated 64 Ki times takes 20 MB). One array's size is a product,
 *		of the templates and of the references to parameters in it: that is bounded from the name
 *	input	64 KiB
 *
 * Most names need no thread: what one could print is bounded from the name, as each back reference at most
 * doubles it, and each pack expansion (Dp, sp) at most multiplies it by its length. libstdc++'s
 * __cxa_demangle() has no such bounds, and refuses everything above 1 KiB.
 */
#include "object/itanium.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

#define MAX_DOUBLINGS	  19
#define SMALL_BYTES	  1024 /* what the demangler nests to in any thread */
#define STACK_BYTES	  (256u << 20)
#define ARRAY_BYTES	  (64u << 20) /* of the stack, for the array that is a product */
#define ARRAY_ENTRY_BYTES 64	      /* 16, and each of two factors may be counted twice */
#define MAX_CPU_NS	  (NSEC_PER_SEC / 10)
#define LOOK_AGAIN_NS	  (NSEC_PER_SEC / 50)
#define MAX_CANCELLED	  50

/* How many names took too long, in all threads. */
static unsigned int nr_cancelled;

struct job {
	const char *name;
	int options;
	char *out; /* of ITANIUM_MAX_BYTES + 1 */
	size_t nr;
	bool done;
	jmp_buf full;
};

static void take_piece(const char *piece, size_t len, void *ctx)
{
	struct job *job = ctx;
	size_t room = ITANIUM_MAX_BYTES - job->nr;

	memcpy(job->out + job->nr, piece, len < room ? len : room);
	job->nr += len < room ? len : room;
	if (len > room)
		longjmp(job->full, 1);
}

static void demangle_job(struct job *job)
{
	if (setjmp(job->full))
		job->done = true;
	else
		job->done = cplus_demangle_v3_callback(job->name, job->options, take_piece, job);
	job->out[job->nr] = '\0';
}

static void *run_job(void *ctx)
{
	int before;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	demangle_job(ctx);
	pthread_setcanceltype(before, &before);
	return ctx;
}

static bool took_too_long(pthread_t thread)
{
	struct timespec cpu;
	clockid_t clock;

	return !pthread_getcpuclockid(thread, &clock) && !clock_gettime(clock, &cpu) &&
	       cpu.tv_sec * NSEC_PER_SEC + cpu.tv_nsec > MAX_CPU_NS;
}

/* false: it was cancelled. */
static bool join_in_time(pthread_t thread)
{
	void *result = NULL;
	bool cancelled = false;

	for (;;) {
		uint64_t ns = clock_monotonic_ns() + LOOK_AGAIN_NS;
		struct timespec until = {.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};

		if (!pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &until))
			return result != PTHREAD_CANCELED;
		if (cancelled || !took_too_long(thread))
			continue;
		pthread_cancel(thread);
		cancelled = true;
		__atomic_add_fetch(&nr_cancelled, 1, __ATOMIC_RELAXED);
	}
}

static bool has_no_threads;

void itanium_without_threads(void)
{
	has_no_threads = true;
}

static void run_in_thread(struct job *job)
{
	pthread_t thread;

	if (has_no_threads) {
		demangle_job(job);
		return;
	}
	if (__atomic_load_n(&nr_cancelled, __ATOMIC_RELAXED) < MAX_CANCELLED &&
	    !thread_start_with_room(&thread, STACK_BYTES, run_job, job) && !join_in_time(thread))
		job->done = false;
}

/* A bound of what it could print, from the name. */
static bool is_harmless(const char *name, size_t len)
{
	size_t doublings = 0, log2_len = 1;
	bool in_reference = false; /* in a run of digits and capitals that has an S or a T */

	while (len >> log2_len)
		log2_len++;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if ((c == 'D' || c == 's') && i + 1 < len && name[i + 1] == 'p')
			doublings += log2_len;
		if (c == '_' && in_reference)
			doublings++;
		in_reference = c == 'S' || c == 'T' || (in_reference && (isdigit(c) || isupper(c)));
	}
	return doublings <= MAX_DOUBLINGS;
}

/* The array that has an entry for each template and each reference to a template's parameter. */
static bool has_small_array(const char *name, size_t len)
{
	uint64_t templates = 0, references = 0;

	for (size_t i = 0; i < len; i++) {
		templates += name[i] == 'I';
		references += (name[i] == 'R' || name[i] == 'O') && i + 1 < len &&
			      (name[i + 1] == 'T' || name[i + 1] == 'S');
	}
	return (templates + 1) * (references + 1) < ARRAY_BYTES / ARRAY_ENTRY_BYTES;
}

char *itanium_demangle(const char *name, size_t len)
{
	struct job job = {.name = name, .options = DMGL_PARAMS | DMGL_ANSI};
	char *result = NULL;

	if (len < 2 || len > ITANIUM_MAX_BYTES || memcmp(name, "_Z", 2))
		return NULL;
	job.out = xmalloc(ITANIUM_MAX_BYTES + 1);
	if (len <= SMALL_BYTES && is_harmless(name, len)) {
		demangle_job(&job);
	} else if (has_small_array(name, len)) {
		job.options |= DMGL_NO_RECURSE_LIMIT;
		run_in_thread(&job);
	}
	if (job.done)
		result = xstrdup(job.out);
	free(job.out);
	return result;
}
