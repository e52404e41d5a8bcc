// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the link exe, and the files status, cgroup and each thread's schedstat with bounded reads
 * (process/procfs.h). Time on the CPU is summed over threads, because the schedstat of a process is that of
 * its first thread alone. At most 1024 threads are read.
 */
#include "process/traits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "process/procfs.h"

#define STATUS_MAX_BYTES 65536
#define CGROUP_MAX_BYTES 65536 /* a dozen lines; a path has at most 4 KB */
#define THREADS_READ	 1024

int traits_exe(const char *proc_root, uint32_t tgid, char *path, size_t path_bytes)
{
	static const char deleted[] = " (deleted)";
	char link[PATH_MAX], target[PATH_MAX];
	size_t tail = sizeof(deleted) - 1;
	ssize_t len;

	if ((size_t)snprintf(link, sizeof(link), "%s/%u/exe", proc_root, tgid) >= sizeof(link))
		return -ENAMETOOLONG;
	len = readlinkat(AT_FDCWD, link, target, sizeof(target));
	if (len < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if ((size_t)len >= sizeof(target) || (size_t)len >= path_bytes)
		return -ENAMETOOLONG;
	if ((size_t)len > tail && !memcmp(target + len - tail, deleted, tail))
		len -= tail;
	memcpy(path, target, len);
	path[len] = '\0';
	return 0;
}

int traits_uid(const char *proc_root, uint32_t tgid, uint32_t *uid)
{
	return procfs_status_number(proc_root, tgid, "\nUid:", 1, uid); /* real, effective, ... */
}

/* Source: cgroups(7): lines of HIERARCHY:CONTROLLERS:PATH. */
int traits_cgroup(const char *proc_root, uint32_t tgid,
		  bool (*matches)(const void *ctx, const char *path), const void *ctx)
{
	char *text scoped(freep) = NULL, *rest, *line;
	size_t len;
	int err = procfs_read(proc_root, tgid, "cgroup", CGROUP_MAX_BYTES, &text, &len);

	if (err)
		return err;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (path && matches(ctx, path + 1))
			return 1;
	}
	return 0;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Source: Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting for one, how often. */
static bool add_schedstat(const char *proc_root, uint32_t tgid, const char *thread,
			  struct traits_time *sum)
{
	char *text scoped(freep) = NULL, file[300];
	uint64_t run_ns, wait_ns;
	size_t len;

	snprintf(file, sizeof(file), "task/%s/schedstat", thread);
	if (procfs_read(proc_root, tgid, file, 256, &text, &len) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &run_ns, &wait_ns) != 2)
		return false;
	sum->run_ns += run_ns;
	sum->wait_ns += wait_ns;
	return true;
}

/* Source: proc_pid_status(5). A thread leaves the CPU of its own will when it goes to sleep. */
static void add_status(const char *proc_root, uint32_t tgid, const char *thread,
		       struct traits_time *sum)
{
	static const char state[] = "\nState:\tR", sleeps[] = "\nvoluntary_ctxt_switches:";
	char *text scoped(freep) = NULL, file[300];
	const char *line;
	uint64_t nr;
	size_t len;

	snprintf(file, sizeof(file), "task/%s/status", thread);
	if (procfs_read(proc_root, tgid, file, STATUS_MAX_BYTES, &text, &len))
		return;
	sum->is_runnable |= strstr(text, state) != NULL;
	line = strstr(text, sleeps);
	if (line && sscanf(line + sizeof(sleeps) - 1, "%" SCNu64, &nr) == 1)
		sum->nr_sleeps += nr;
}

int traits_time(const char *proc_root, uint32_t tgid, struct traits_time *time)
{
	char *path scoped(freep) = xasprintf("%s/%u/task", proc_root, tgid);
	DIR *dir scoped(closedirp) = opendir(path);
	struct traits_time sum = {0};
	struct dirent *entry;
	int nr = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (nr < THREADS_READ && (entry = readdir(dir))) {
		if (*entry->d_name < '0' || *entry->d_name > '9' ||
		    !add_schedstat(proc_root, tgid, entry->d_name, &sum))
			continue;
		add_status(proc_root, tgid, entry->d_name, &sum);
		nr++;
	}
	if (!nr)
		return -ESRCH;
	*time = sum;
	return 0;
}
