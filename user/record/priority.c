// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/thread-self/schedstat says how long the thread has run, and how long it could have run and had to wait. The setting
 * is of the thread, so its state is in one place here, as that of record/resources.c.
 */
#include "record/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#define RAISED -20
/* cprof is starved if within LOOK_EVERY_NS it waited MOST_WAITING times as long as it ran. */
#define LOOK_EVERY_NS NSEC_PER_SEC
#define MOST_WAITING  8

struct cpu_time {
	uint64_t ran_ns, waited_ns;
};

static int given;     /* nice value */
static bool may_rise; /* it is not the user's wish that it be low */
static bool is_raised, was_refused;
static void (*share)(void *ctx, int nice); /* NULL: none */
static void *share_ctx;
static struct cpu_time looked; /* at the last look */

static bool read_cpu_time(struct cpu_time *now)
{
	int fd scoped(closep) = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
	       sscanf(text, "%" SCNu64 " %" SCNu64, &now->ran_ns, &now->waited_ns) == 2;
}

static bool set_nice(int nice)
{
	if (setpriority(PRIO_PROCESS, 0, nice))
		return false;
	if (share)
		share(share_ctx, nice);
	return true;
}

static bool raise_it(void)
{
	is_raised = is_raised || set_nice(RAISED);
	return is_raised;
}

void priority_share(void (*fn)(void *ctx, int nice), void *ctx)
{
	share = fn;
	share_ctx = ctx;
}

/* Since the last look, which was long enough ago to tell; *waited_ns: how long it waited. */
static bool is_starved(uint64_t *waited_ns)
{
	struct cpu_time now;
	uint64_t ran_ns;

	if (!read_cpu_time(&now))
		return false;
	ran_ns = now.ran_ns - looked.ran_ns;
	*waited_ns = now.waited_ns - looked.waited_ns;
	if (ran_ns + *waited_ns < LOOK_EVERY_NS)
		return false;
	looked = now;
	return *waited_ns > MOST_WAITING * ran_ns;
}

void priority_begin(void)
{
	errno = 0;
	given = getpriority(PRIO_PROCESS, 0);
	may_rise = !errno && given <= 0;
	read_cpu_time(&looked);
	if (may_rise)
		raise_it();
}

void priority_settle(void)
{
	uint64_t waited_ns;

	if (!is_raised || is_starved(&waited_ns))
		return;
	set_nice(given);
	is_raised = false;
}

void priority_look(void)
{
	uint64_t waited_ns;

	if (!may_rise || is_raised || was_refused || !is_starved(&waited_ns))
		return;
	if (raise_it()) {
		detail("waited %.1f s for a CPU: nice %d from now on", waited_ns / 1e9, RAISED);
		return;
	}
	was_refused = true;
	warn("cprof has waited %.1f s for a CPU: with CAP_SYS_NICE it would raise its priority "
	     "above that of other processes",
	     waited_ns / 1e9);
}

void priority_restore(void)
{
	if (is_raised)
		setpriority(PRIO_PROCESS, 0, given);
}
