// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads each file into memory whole, with a limit on its size, and parses the copy: the kernel makes such a
 * file as it is read, so that a second read may see another state. Only maps may be large, and is read a line
 * at a time.
 *
 * The comm is found by the last ')' of the line, since it may hold parentheses and blanks itself. Fields of
 * status are found by the newline before them: the kernel escapes newlines in the name.
 */
#include "process/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"

#define STAT_MAX_BYTES	 4096
#define STATUS_MAX_BYTES 65536	    /* Groups: may hold thousands */
#define FLAG_EXITING	 0x00000004 /* PF_EXITING, include/linux/sched.h */
#define FLAG_KTHREAD	 0x00200000 /* PF_KTHREAD */
/* A thread that ended is gone at once, but for the first one: the next look finds a live one. */
#define THREADS_TRIED 64

/* Under /proc/PID a missing file means a missing process. */
static int proc_error(int err)
{
	return err == ENOENT ? -ESRCH : -err;
}

static int open_file(const char *proc_root, uint32_t tgid, const char *file)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%u/%s", proc_root, tgid, file) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? proc_error(errno) : fd;
}

int procfs_read(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		char **text, size_t *len_bytes)
{
	int fd scoped(closep) = open_file(proc_root, tgid, file);
	char *buf scoped(freep) = NULL;
	size_t len = 0, cap = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	for (;;) {
		if (len + 1 >= cap) { /* room for one byte more than max_bytes, and the NUL */
			cap = cap ? cap * 2 : 4096;
			cap = cap > max_bytes + 2 ? max_bytes + 2 : cap;
			buf = xreallocarray(buf, cap, 1);
		}
		n = read(fd, buf + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return proc_error(errno);
		if (!n)
			break;
		len += n;
		if (len > max_bytes)
			return -EFBIG;
	}
	buf[len] = '\0';
	*text = buf;
	*len_bytes = len;
	buf = NULL;
	return 0;
}

int procfs_each_line(const char *proc_root, uint32_t tgid, const char *file, size_t max_bytes,
		     procfs_line_fn fn, void *ctx)
{
	FILE *stream scoped(fclosep) = NULL;
	char *line scoped(freep) = NULL;
	size_t cap = 0, len_bytes = 0;
	ssize_t len;
	int fd = open_file(proc_root, tgid, file);

	if (fd < 0)
		return fd;
	stream = fdopen(fd, "re");
	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	while ((len = getline(&line, &cap, stream)) > 0) {
		len_bytes += len;
		if (len_bytes > max_bytes)
			return -EFBIG;
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		fn(ctx, line);
	}
	return ferror(stream) ? proc_error(errno) : 0;
}

/* Source: proc_pid_stat(5); fields 3 to 22 follow the comm. */
static int parse_stat(const char *text, struct proc_stat *stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	struct proc_stat found = {0};
	uint64_t start_ns, suspended_ns = clock_suspended_ns(), user_ticks, system_ticks;
	unsigned int flags;
	long hz = sysconf(_SC_CLK_TCK);
	size_t len;

	if (!open || !close || close < open)
		return -EINVAL;
	if (sscanf(close + 1,
		   " %c %" SCNu32 " %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %" SCNu32 " %*d %" SCNu64,
		   &found.state, &found.parent_tgid, &flags, &user_ticks, &system_ticks,
		   &found.nr_threads, &found.start_ticks) != 7)
		return -EINVAL;
	found.cpu_ticks = user_ticks + system_ticks;
	len = close - open - 1;
	if (len >= sizeof(found.comm)) /* kernel workers have longer ones */
		len = sizeof(found.comm) - 1;
	memcpy(found.comm, open + 1, len);
	found.is_kernel_thread = flags & FLAG_KTHREAD;
	found.is_exiting = flags & FLAG_EXITING;
	start_ns = found.start_ticks * (NSEC_PER_SEC / (hz > 0 ? hz : 100));
	found.start_ns = start_ns > suspended_ns ? start_ns - suspended_ns : 1;
	*stat = found;
	return 0;
}

static int read_stat(const char *proc_root, uint32_t tgid, const char *file, struct proc_stat *stat)
{
	char *text scoped(freep) = NULL;
	size_t len;
	int err = procfs_read(proc_root, tgid, file, STAT_MAX_BYTES, &text, &len);

	return text ? parse_stat(text, stat) : err;
}

int procfs_stat(const char *proc_root, uint32_t tgid, struct proc_stat *stat)
{
	return read_stat(proc_root, tgid, "stat", stat);
}

int procfs_status_number(const char *proc_root, uint32_t id, const char *key, size_t column,
			 uint32_t *number)
{
	char *text scoped(freep) = NULL;
	const char *line;
	char *end;
	unsigned long found = 0;
	size_t len;
	int err = procfs_read(proc_root, id, "status", STATUS_MAX_BYTES, &text, &len);

	if (!text)
		return err;
	line = strstr(text, key);
	if (!line)
		return -EINVAL;
	line += strlen(key);
	for (size_t i = 0; i <= column; i++, line = end) {
		line += strspn(line, " \t");
		found = strtoul(line, &end, 10);
		if (*line < '0' || *line > '9' || found > UINT32_MAX)
			return -EINVAL;
	}
	*number = found;
	return 0;
}

int procfs_tgid_of(const char *proc_root, uint32_t id, uint32_t *tgid)
{
	uint32_t found;
	int err = procfs_status_number(proc_root, id, "\nTgid:", 0, &found);

	if (err)
		return err;
	if (!found)
		return -EINVAL;
	*tgid = found;
	return 0;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* 0: the name is not a task's. */
static uint32_t task_id(const char *name)
{
	unsigned long id;
	char *end;

	if (*name < '1' || *name > '9')
		return 0;
	id = strtoul(name, &end, 10);
	return *end || id > INT32_MAX ? 0 : id;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int procfs_list(const char *proc_root, uint32_t **tgids, size_t *nr)
{
	DIR *dir scoped(closedirp) = opendir(proc_root);
	vec_of(uint32_t) found = {0};
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint32_t id = task_id(entry->d_name);

		if (id)
			vec_push(&found, id);
	}
	if (found.nr)
		qsort(found.at, found.nr, sizeof(*found.at), by_id);
	*tgids = found.at;
	*nr = found.nr;
	return 0;
}

int procfs_live_thread(const char *proc_root, uint32_t tgid, uint32_t *tid)
{
	char *path scoped(freep) = xasprintf("%s/%u/task", proc_root, tgid);
	DIR *dir scoped(closedirp) = opendir(path);
	struct dirent *entry;
	int nr_tried = 0;

	if (!dir)
		return proc_error(errno);
	while (nr_tried < THREADS_TRIED && (entry = readdir(dir))) {
		uint32_t id = task_id(entry->d_name);
		struct proc_stat stat;
		char file[64];

		if (!id)
			continue;
		nr_tried++;
		snprintf(file, sizeof(file), "task/%u/stat", id);
		if (read_stat(proc_root, tgid, file, &stat) || strchr("ZX", stat.state))
			continue;
		*tid = id;
		return 0;
	}
	return -ESRCH;
}

static bool is_about_memory(const char *line)
{
	static const char *const names[] = {"Vm", "Rss", "Hugetlb", "Threads"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

int procfs_memory(const char *proc_root, uint32_t tgid, char **text)
{
	char *status scoped(freep) = NULL, *rest, *line, *lines = xstrdup("");
	bool has_memory = false;
	size_t len_bytes;
	int err = procfs_read(proc_root, tgid, "status", 65536, &status, &len_bytes);

	for (rest = err ? NULL : status; (line = strsep(&rest, "\n"));) {
		char *value = strchr(line, ':'), *more;

		if (!value || !is_about_memory(line))
			continue;
		*value++ = '\0';
		more = xasprintf("%s%s = %s\n", lines, line, value + strspn(value, " \t"));
		free(lines);
		lines = more;
		has_memory |= !strcmp(line, "VmRSS");
	}
	/* A zombie has a status, but no memory. */
	if (err || !has_memory) {
		free(lines);
		return err ? err : -ESRCH;
	}
	*text = lines;
	return 0;
}
