// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf 1.1 knows perf uprobes only, and only by its own objects, which a process has that loaded them. So all links are made by
 * the system calls themselves. A multi or session link is in the layout of the kernel's include/uapi/linux/bpf.h (union
 * bpf_attr, link_create.uprobe_multi). A perf event has the program by a link, which carries a cookie (Linux 5.15), or by itself.
 */
#include "collect/uprobelink.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/smallfile.h"
#include "machine/multilink.h"

/* The kernel's kernel/events/core.c: config of an event of uprobes. */
#define PERF_AT_RETURN	     1u
#define PERF_SEMAPHORE_SHIFT 32

uint32_t uprobelink_perf_type(void)
{
	return smallfile_number("/sys/bus/event_source/devices/uprobe/type", 0);
}

static int make_multi(const struct uprobe_link *link, int program_fd, const char *path)
{
	struct multi_link attr = {
		.program_fd = program_fd,
		.attach_type = link->attach_type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)link->offsets,
		.ref_ctr_offsets = (uintptr_t)link->semaphores,
		.cookies = (uintptr_t)link->cookies,
		.nr = link->nr,
		.multi_flags = link->at_return ? FLAG_MULTI_AT_RETURN : 0,
		.pid = link->tgid,
	};
	int fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int open_event(const struct uprobe_link *link, uint32_t at, const char *path)
{
	struct perf_event_attr attr = {
		.type = link->perf_type,
		.size = sizeof(attr),
		.config = link->semaphores[at] << PERF_SEMAPHORE_SHIFT |
			  (link->at_return ? PERF_AT_RETURN : 0),
		.uprobe_path = (uintptr_t)path,
		.probe_offset = link->offsets[at],
	};
	int pid = link->tgid ? (int)link->tgid : -1;
	int fd = syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? 0 : -1, -1,
			 PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The program of an event, by a link that holds the event. */
static int link_program(int event_fd, int program_fd, uint64_t cookie)
{
	union bpf_attr attr = {.link_create = {.prog_fd = program_fd,
					       .target_fd = event_fd,
					       .attach_type = BPF_PERF_EVENT,
					       .perf_event = {.bpf_cookie = cookie}}};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int make_perf(const struct uprobe_link *link, uint32_t at, int program_fd, const char *path)
{
	int event_fd = open_event(link, at, path), fd = event_fd;

	if (event_fd < 0)
		return event_fd;
	if (link->has_cookies)
		fd = link_program(event_fd, program_fd, link->cookies[at]);
	else if (ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program_fd))
		fd = -errno;
	if (fd >= 0)
		ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0);
	if (fd != event_fd)
		close(event_fd);
	return fd;
}

int uprobelink_make(const struct uprobe_link *link, int program_fd, int file_fd, int *fds)
{
	uint32_t nr_links = link->perf_type ? link->nr : 1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	for (uint32_t i = 0; i < nr_links; i++) {
		fds[i] = link->perf_type ? make_perf(link, i, program_fd, path)
					 : make_multi(link, program_fd, path);
		if (fds[i] < 0) {
			int err = fds[i];

			while (i)
				close(fds[--i]);
			return err;
		}
	}
	return nr_links;
}
