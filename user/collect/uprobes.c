// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf 1.1 knows perf uprobes only. A multi or session link is made by the system call itself, in
 * the layout of the kernel's include/uapi/linux/bpf.h (union bpf_attr, link_create.uprobe_multi), and
 * lives as long as its descriptor. Programs for such links are marked before they are loaded.
 *
 * Every link costs a wait for the kernel's grace periods when it goes (80 ms), so it has as many sites
 * as can share a program: with sessions an object has two links, one of them for its frees. And links
 * go to a store that detaches all of them together (linkstore.h).
 *
 * Frees are attached first: a block that is sampled and freed in between would look alive for ever.
 * Returns go before entries: a call in between is then missed whole, not left open.
 */
#include "collect/uprobes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/log.h"
#include "cprof_abi.h"
#include "machine/multilink.h"

#include "cprof.skel.h"

/* A set of shapes, a bit for each. */
#define SHAPE(shape) (1u << SHAPE_##shape)
#define ALLOCATIONS  (SHAPE(FREE) - 1)
_Static_assert(SHAPE_FREE > SHAPE_POSIX_MEMALIGN, "free is the last shape");

static const char *const mode_texts[] = {
	[UPROBES_PERF] = "perf uprobes",
	[UPROBES_MULTI] = "multi-uprobe links",
	[UPROBES_SESSION] = "uprobe sessions",
};

static const enum abi_allocator allocators[] = {
	[SHAPE_MALLOC] = ABI_ALLOCATOR_MALLOC,
	[SHAPE_CALLOC] = ABI_ALLOCATOR_CALLOC,
	[SHAPE_REALLOC] = ABI_ALLOCATOR_REALLOC,
	[SHAPE_REALLOCARRAY] = ABI_ALLOCATOR_REALLOCARRAY,
	[SHAPE_MEMALIGN] = ABI_ALLOCATOR_MEMALIGN,
	[SHAPE_POSIX_MEMALIGN] = ABI_ALLOCATOR_POSIX_MEMALIGN,
	[SHAPE_FREE] = ABI_ALLOCATOR_FREE,
	/* of these nothing is asked */
	[SHAPE_SAMPLED] = ABI_ALLOCATOR_MALLOC,
	[SHAPE_SAMPLED_FREE] = ABI_ALLOCATOR_FREE,
	[SHAPE_MOVED] = ABI_ALLOCATOR_FREE,
};

/* What is attached, in this order: a program, to which shapes, and at which end. */
struct attachment {
	const struct bpf_program *program;
	unsigned int shapes;
	bool at_return;
};

#define MAX_PAIRS	8
#define MAX_INSIDE	3
#define MAX_ATTACHMENTS (MAX_INSIDE + MAX_PAIRS)

/* Frees first, as ever. */
static size_t list_inside(const struct cprof_bpf *bpf, struct attachment list[MAX_INSIDE])
{
	list[0] = (struct attachment){bpf->progs.on_sampled_free, SHAPE(SAMPLED_FREE), false};
	list[1] = (struct attachment){bpf->progs.on_moved, SHAPE(MOVED), false};
	list[2] = (struct attachment){bpf->progs.on_sampled, SHAPE(SAMPLED), false};
	return MAX_INSIDE;
}

static size_t list_attachments(const struct uprobes *uprobes, const struct cprof_bpf *bpf,
			       struct attachment *list)
{
	enum uprobes_mode mode = uprobes->mode;
	size_t nr = uprobes->is_inside ? list_inside(bpf, list) : 0;
	const struct attachment session[] = {
		{bpf->progs.enter_free, SHAPE(FREE), false},
		{bpf->progs.on_call, ALLOCATIONS, false},
	};
	const struct attachment pairs[] = {
		{bpf->progs.enter_free, SHAPE(FREE), false},
		{bpf->progs.leave_call, ALLOCATIONS, true},
		{bpf->progs.enter_realloc, SHAPE(REALLOC), false},
		{bpf->progs.enter_reallocarray, SHAPE(REALLOCARRAY), false},
		{bpf->progs.enter_malloc, SHAPE(MALLOC), false},
		{bpf->progs.enter_calloc, SHAPE(CALLOC), false},
		{bpf->progs.enter_memalign, SHAPE(MEMALIGN), false},
		{bpf->progs.enter_posix_memalign, SHAPE(POSIX_MEMALIGN), false},
	};
	const struct attachment *chosen = mode == UPROBES_SESSION ? session : pairs;
	size_t bytes = mode == UPROBES_SESSION ? sizeof(session) : sizeof(pairs);

	_Static_assert(sizeof(pairs) == MAX_PAIRS * sizeof(*pairs), "one for each");
	memcpy(list + nr, chosen, bytes);
	return nr + bytes / sizeof(*chosen);
}

bool uprobes_needs(const struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct bpf_program *program)
{
	struct attachment list[MAX_ATTACHMENTS];
	size_t nr = list_attachments(uprobes, bpf, list);

	for (size_t i = 0; i < nr; i++)
		if (list[i].program == program)
			return true;
	return false;
}

/* They share the programs that walk the stacks of runtimes, and so are attached in the same way. */
static bool takes_samples(const struct cprof_bpf *bpf, const struct bpf_program *program)
{
	return program == bpf->progs.on_call || program == bpf->progs.on_sampled;
}

void uprobes_init(struct uprobes *uprobes, const struct kernel_features *features,
		  enum uprobes_mode at_most, bool is_inside, struct cprof_bpf *bpf)
{
	struct abi_config *config = (struct abi_config *)&bpf->rodata->config;
	struct bpf_program *program;

	*uprobes = (struct uprobes){
		.mode = features->uprobe_session ? UPROBES_SESSION
			: features->uprobe_multi ? UPROBES_MULTI
						 : UPROBES_PERF,
		.has_cookies = features->attach_cookie,
		.is_inside = is_inside,
	};
	if (uprobes->mode > at_most)
		uprobes->mode = at_most;
	if (uprobes->mode != UPROBES_PERF)
		linkstore_open(&uprobes->store);
	config->has_sessions = uprobes->mode == UPROBES_SESSION;
	detail("heap probes: %s", mode_texts[uprobes->mode]);
	bpf_object__for_each_program(program, bpf->obj)
	{
		if (uprobes->mode == UPROBES_PERF || !uprobes_needs(uprobes, bpf, program))
			continue;
		bpf_program__set_expected_attach_type(
			program,
			takes_samples(bpf, program) ? uprobes_attach_type(uprobes) : ATTACH_MULTI);
	}
}

/* The sites of an attachment. */
struct site_list {
	uint64_t offsets[ALLOC_MAX_SITES], cookies[ALLOC_MAX_SITES], semaphores[ALLOC_MAX_SITES];
	uint32_t nr;
};

static struct site_list list_sites(const struct alloc_site *sites, size_t nr, unsigned int shapes)
{
	struct site_list list = {.nr = 0};

	for (size_t i = 0; i < nr && list.nr < ALLOC_MAX_SITES; i++) {
		if (!(shapes & 1u << sites[i].shape))
			continue;
		list.offsets[list.nr] = sites[i].file_off;
		list.semaphores[list.nr] = sites[i].semaphore_off;
		list.cookies[list.nr++] = ABI_SITE(allocators[sites[i].shape], sites[i].is_leaf);
	}
	return list;
}

/* What one file has been given so far; kept or detached together. */
struct attached {
	int multi_fds[MAX_ATTACHMENTS];
	size_t nr_multi;
	size_t nr_perf; /* how many perf_links there were before */
};

static int attach_multi(const struct attachment *attachment, const char *path,
			const struct site_list *sites, uint32_t tgid, struct attached *attached)
{
	struct multi_link attr = {
		.program_fd = bpf_program__fd(attachment->program),
		.attach_type = bpf_program__expected_attach_type(attachment->program),
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)sites->offsets,
		.ref_ctr_offsets = (uintptr_t)sites->semaphores,
		.cookies = (uintptr_t)sites->cookies,
		.nr = sites->nr,
		.multi_flags = attachment->at_return ? FLAG_MULTI_AT_RETURN : 0,
		.pid = tgid,
	};
	int fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return -errno;
	attached->multi_fds[attached->nr_multi++] = fd;
	return 0;
}

static int attach_perf(struct uprobes *uprobes, const struct attachment *attachment,
		       const char *path, const struct site_list *sites, uint32_t tgid)
{
	for (uint32_t i = 0; i < sites->nr; i++) {
		struct bpf_uprobe_opts opts = {
			.sz = sizeof(opts),
			.retprobe = attachment->at_return,
			.ref_ctr_offset = sites->semaphores[i],
			.bpf_cookie = uprobes->has_cookies ? sites->cookies[i] : 0};
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			attachment->program, tgid ? (int)tgid : -1, path, sites->offsets[i], &opts);

		if (!link)
			return -errno;
		vec_push(&uprobes->perf_links, link);
	}
	return 0;
}

/* A file is probed whole or not at all: one with its frees alone would cost its users for nothing. */
static void settle(struct uprobes *uprobes, const struct attached *attached, int err)
{
	for (size_t i = 0; i < attached->nr_multi; i++)
		if (err)
			linkstore_drop(&uprobes->store, attached->multi_fds[i]);
		else
			linkstore_keep(&uprobes->store, attached->multi_fds[i]);
	while (err && uprobes->perf_links.nr > attached->nr_perf)
		bpf_link__destroy(uprobes->perf_links.at[--uprobes->perf_links.nr]);
}

int uprobes_attach(struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct alloc_site *sites, size_t nr, int fd, uint32_t tgid)
{
	struct attachment list[MAX_ATTACHMENTS];
	size_t nr_attachments = list_attachments(uprobes, bpf, list);
	struct attached attached = {.nr_perf = uprobes->perf_links.nr};
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; !err && i < nr_attachments; i++) {
		struct site_list chosen = list_sites(sites, nr, list[i].shapes);

		if (!chosen.nr)
			continue;
		err = uprobes->mode == UPROBES_PERF
			      ? attach_perf(uprobes, &list[i], path, &chosen, tgid)
			      : attach_multi(&list[i], path, &chosen, tgid, &attached);
	}
	settle(uprobes, &attached, err);
	return err;
}

uint32_t uprobes_attach_type(const struct uprobes *uprobes)
{
	if (uprobes->mode == UPROBES_PERF)
		return 0;
	return uprobes->mode == UPROBES_SESSION ? ATTACH_SESSION : ATTACH_MULTI;
}

/* Files that can be detached again in a few seconds. */
uint32_t uprobes_max_files(const struct uprobes *uprobes)
{
	if (uprobes->mode == UPROBES_PERF)
		return 16;
	return linkstore_is_bulk(&uprobes->store) ? 1024 : 32;
}

void uprobes_release(struct uprobes *uprobes)
{
	linkstore_release(&uprobes->store);
	vec_for_each(&uprobes->perf_links, link)
		bpf_link__destroy(*link);
	vec_release(&uprobes->perf_links);
}
