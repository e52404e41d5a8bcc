// SPDX-License-Identifier: BSD-2-Clause
/*
 * One record of a ring: a header, a body for each type, and a trailer.
 *
 * With sample_id_all every record that is not a sample ends in a trailer of the fields that
 * sample_type asks for, here u32 pid, u32 tid, u64 time. Source: perf_event_open(2).
 */
#include "collect/sideband_state.h"

#include <string.h>
#include <sys/mman.h>

/* The bodies, as the kernel writes them behind struct perf_event_header. */
struct fork_body { /* and exit */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct lost_body {
	uint64_t id, lost;
};

struct ksymbol_body {
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[]; /* padded with NULs to 8 bytes */
};

/* A copy of the text in a record's body, which ends at limit at the latest. */
static const char *copy_text(struct sideband *sideband, const char *text, const void *limit)
{
	size_t len = strnlen(text, (const char *)limit - text);

	sideband->pending.text_bytes += len;
	return arena_strndup(&sideband->pending.arena, text, len);
}

static void copy_comm(char *to, const char *comm, const void *limit)
{
	size_t len = strnlen(comm, (const char *)limit - comm);

	memcpy(to, comm, len < COMM_BYTES ? len : COMM_BYTES - 1);
}

bool sideband_parse(struct sideband *sideband, const struct perf_event_header *header,
		    const void *end, struct task_event *event)
{
	const struct mmap2_body *map = (const void *)(header + 1);
	const struct fork_body *task = (const void *)(header + 1);
	const struct comm_body *comm = (const void *)(header + 1);
	const struct lost_body *lost = (const void *)(header + 1);
	const struct ksymbol_body *symbol = (const void *)(header + 1);

	event->tgid = task->pid; /* the bodies of tasks begin with it */
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		if (!(map->prot & PROT_EXEC))
			return false;
		event->kind = TASK_MAP;
		event->tid = map->tid;
		event->map = (struct map_event){
			.start = map->addr,
			.limit = map->addr + map->len,
			.file_off = map->pgoff,
			.dev_major = map->maj,
			.dev_minor = map->min,
			.inode = map->ino,
			.path = copy_text(sideband, map->filename, end),
		};
		return true;
	case PERF_RECORD_COMM:
		event->kind = header->misc & PERF_RECORD_MISC_COMM_EXEC ? TASK_EXEC : TASK_COMM;
		event->tid = comm->tid;
		copy_comm(event->comm, comm->comm, end);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		event->kind = header->type == PERF_RECORD_FORK ? TASK_FORK : TASK_EXIT;
		event->tid = task->tid;
		event->parent_tgid = task->ppid;
		/* A new thread has its creator's pid. */
		return header->type == PERF_RECORD_EXIT || task->pid != task->ppid;
	case PERF_RECORD_KSYMBOL:
		event->kind = symbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
				      ? KERNEL_CODE_WENT
				      : KERNEL_CODE_CAME;
		event->tgid = 0;
		event->code = (struct kernel_code){
			.start = symbol->addr,
			.limit = symbol->addr + symbol->len,
			.name = copy_text(sideband, symbol->name, end),
		};
		return symbol->len && event->code.start < event->code.limit;
	case PERF_RECORD_LOST:
		event->kind = TASK_LOST;
		event->tgid = 0;
		event->nr_lost = lost->lost;
		sideband->nr_lost += lost->lost;
		return true;
	default:
		return false;
	}
}

/*
 * At the record's end, but for a KSYMBOL: where several events of a CPU ask for these, each next record
 * has the size of the one before and a trailer more, and what is behind its own trailer was never written
 * (kernel/events/core.c: perf_event_ksymbol_output() adds to the header that they share).
 */
const struct sideband_trailer *sideband_trailer(const struct perf_event_header *header)
{
	const char *last = (const char *)header + header->size - sizeof(struct sideband_trailer);
	const struct ksymbol_body *symbol = (const void *)(header + 1);
	const char *behind;

	if (header->type != PERF_RECORD_KSYMBOL || last < symbol->name)
		return (const void *)last;
	behind = symbol->name + (strnlen(symbol->name, last - symbol->name) / 8 + 1) * 8;
	return (const void *)(behind < last ? behind : last);
}
