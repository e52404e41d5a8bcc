// SPDX-License-Identifier: BSD-2-Clause
/* How many ticks there should have been: files that read as events do. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/attach.h"

static void add_event(struct sampler *sampler, uint64_t count, uint64_t enabled_ns)
{
	uint64_t values[] = {count, enabled_ns};
	int fd = memfd_create("event", MFD_CLOEXEC);

	assert_int_equal(write(fd, values, sizeof(values)), sizeof(values));
	lseek(fd, 0, SEEK_SET);
	vec_push(&sampler->events.fds, fd);
}

/* The kernel throttled the second for three quarters of the time: ticks are missing there, and its count stood still. */
static void a_throttled_event_should_have_ticked(void **state)
{
	struct sampler sampler = {.period_ns = 1000, .nr_before = 7};

	(void)state;
	add_event(&sampler, 20000, 20000);
	add_event(&sampler, 5000, 20000);
	assert_int_equal(sampler_expected(&sampler), 7 + 20 + 20);
	sampler_release(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_throttled_event_should_have_ticked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
