// SPDX-License-Identifier: BSD-2-Clause
/*
 * cpu-clock is a timer, not a hardware counter: it works in every virtual machine, and a fixed
 * sample_period makes every tick stand for the same time. (With a frequency the kernel would adapt
 * the period, and ticks would have to be weighted.)
 */
#include "collect/attach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"

int perf_open_on_cpu(struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int perf_fds_find(const struct perf_fds *fds, int cpu)
{
	for (size_t i = 0; i < fds->cpus.nr; i++)
		if (fds->cpus.at[i] == cpu)
			return i;
	return -1;
}

int perf_open_on_cpus(struct perf_event_attr *attr, const char *what, struct perf_fds *fds)
{
	int nr_cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int fd = perf_open_on_cpu(attr, cpu);

		if (fd == -ENODEV)
			continue;
		if (fd == -EMFILE)
			return fail(
				fd,
				"cannot open a %s event on CPU %d: too many open files; raise the "
				"limit (ulimit -n).",
				what, cpu);
		if (fd < 0)
			return fail(fd, "cannot open a %s event on CPU %d", what, cpu);
		vec_push(&fds->fds, fd);
		vec_push(&fds->cpus, cpu);
	}
	return fds->fds.nr ? 0 : fail(-ENODEV, "cannot open a %s event on any CPU", what);
}

void perf_fds_release(struct perf_fds *fds)
{
	vec_for_each(&fds->fds, fd)
		close(*fd);
	vec_release(&fds->fds);
	vec_release(&fds->cpus);
}

static struct perf_event_attr tick_of(uint64_t period_ns)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};
}

int sampler_open(struct sampler *sampler, uint32_t frequency_hz, int prog_fd)
{
	struct perf_event_attr attr = tick_of(NSEC_PER_SEC / frequency_hz);
	int err = perf_open_on_cpus(&attr, "cpu-clock", &sampler->events);

	sampler->period_ns = attr.sample_period;
	sampler->prog_fd = prog_fd;
	if (err)
		return err;
	vec_for_each(&sampler->events.fds, fd)
		if (ioctl(*fd, PERF_EVENT_IOC_SET_BPF, prog_fd) < 0)
			return fail(
				-errno,
				"cannot attach the BPF program sample_cpu to a cpu-clock event");
	return 0;
}

int sampler_enable(struct sampler *sampler)
{
	vec_for_each(&sampler->events.fds, fd)
		if (ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return fail(-errno, "cannot enable a cpu-clock event");
	return 0;
}

void sampler_disable(struct sampler *sampler)
{
	vec_for_each(&sampler->events.fds, fd)
		ioctl(*fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* By how long it was enabled: its count, which is in ns too, stands still while the kernel throttles it. */
static uint64_t expected_of(const struct sampler *sampler, int fd)
{
	struct {
		uint64_t count, enabled_ns;
	} values;

	return read(fd, &values, sizeof(values)) == sizeof(values)
		       ? values.enabled_ns / sampler->period_ns
		       : 0;
}

int sampler_reopen(struct sampler *sampler, int cpu)
{
	struct perf_event_attr attr = tick_of(sampler->period_ns);
	int at = perf_fds_find(&sampler->events, cpu), fd = perf_open_on_cpu(&attr, cpu);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, sampler->prog_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	if (at < 0) {
		vec_push(&sampler->events.fds, fd);
		vec_push(&sampler->events.cpus, cpu);
		return 0;
	}
	sampler->nr_before += expected_of(sampler, sampler->events.fds.at[at]);
	close(sampler->events.fds.at[at]);
	sampler->events.fds.at[at] = fd;
	return 0;
}

uint64_t sampler_expected(const struct sampler *sampler)
{
	uint64_t total = sampler->nr_before;

	vec_for_each(&sampler->events.fds, fd)
		total += expected_of(sampler, *fd);
	return total;
}

void sampler_release(struct sampler *sampler)
{
	perf_fds_release(&sampler->events);
}
