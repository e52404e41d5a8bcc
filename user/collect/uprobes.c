// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every link costs a wait for the kernel's grace periods when it goes (80 ms), so it has as many sites
 * as can share a program: with sessions an object has two links, one of them for its frees. And links
 * go to a store that detaches all of them together (linkstore.h), or stay with the attacher.
 *
 * Frees are attached first: a block that is sampled and freed in between would look alive for ever.
 * Returns go before entries: a call in between is then missed whole, not left open.
 */
#include "collect/uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/alloc.h"
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
	if (uprobes->mode == UPROBES_PERF)
		uprobes->perf_type = uprobelink_perf_type();
	else
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

static struct uprobe_link link_of(const struct uprobes *uprobes,
				  const struct attachment *attachment)
{
	const struct uprobes_job *job = &uprobes->job;
	bool is_perf = uprobes->mode == UPROBES_PERF;
	struct uprobe_link link = {
		.perf_type = is_perf ? uprobes->perf_type : 0,
		.attach_type = bpf_program__expected_attach_type(attachment->program),
		.at_return = attachment->at_return,
		.has_cookies = uprobes->has_cookies,
		.tgid = job->tgid,
		.is_held = !linkstore_is_bulk(&uprobes->store),
		.held = uprobes->nr_held,
	};

	for (size_t i = 0; i < job->nr && link.nr < ALLOC_MAX_SITES; i++) {
		const struct alloc_site *site = &job->sites[i];

		if (!(attachment->shapes & 1u << site->shape))
			continue;
		link.offsets[link.nr] = site->file_off;
		link.semaphores[link.nr] = site->semaphore_off;
		link.cookies[link.nr++] = ABI_SITE(allocators[site->shape], site->is_leaf);
	}
	return link;
}

/* Without an attacher (--no-sandbox). */
static int make_here(struct uprobes *uprobes, const struct uprobe_link *link, int program_fd)
{
	int fds[ALLOC_MAX_SITES];
	int nr = uprobelink_make(link, program_fd, uprobes->job.fd, fds);

	for (int i = 0; i < nr; i++)
		linkstore_keep(&uprobes->store, fds[i]);
	return nr < 0 ? nr : 0;
}

/* At once: it must not go with this process, if that is killed. */
static int take_link(struct uprobes *uprobes, int err, int link_fd)
{
	if (!err && link_fd >= 0)
		linkstore_keep(&uprobes->store, link_fd);
	return err;
}

static int make_link(struct uprobes *uprobes, const struct uprobe_link *link,
		     const struct bpf_program *program)
{
	struct uprobes_job *job = &uprobes->job;
	int program_fd = bpf_program__fd(program), link_fd = -1, err;

	if (!link->nr)
		return 0;
	if (uprobes->mode == UPROBES_PERF && !link->perf_type)
		return -ENODEV;
	if (!uprobes->attacher)
		return make_here(uprobes, link, program_fd);
	err = attacher_link(uprobes->attacher, link, program_fd, job->fd, &link_fd, &job->nr_held);
	return take_link(uprobes, err, link_fd);
}

static int take_late(struct uprobes *uprobes)
{
	int link_fd = -1;
	int err = attacher_late(uprobes->attacher, &link_fd, &uprobes->job.nr_held);

	return take_link(uprobes, err, link_fd);
}

/* A file is probed whole or not at all: one with its frees alone would cost its users for nothing. */
static void settle(struct uprobes *uprobes, int err)
{
	struct uprobes_job *job = &uprobes->job;

	if (err) {
		linkstore_drop_since(&uprobes->store, job->before);
	} else {
		/* A new attacher does not have what the one before kept. */
		uprobes->has_lost |= uprobes->nr_held && job->nr_held <= uprobes->nr_held;
		uprobes->nr_held = job->nr_held;
	}
	closep(&job->fd);
	job->is_open = job->is_late = false;
}

int uprobes_go_on(struct uprobes *uprobes, const struct cprof_bpf *bpf)
{
	struct attachment list[MAX_ATTACHMENTS];
	size_t nr_attachments = list_attachments(uprobes, bpf, list);
	struct uprobes_job *job = &uprobes->job;
	int err = 0;

	while (job->is_open && !err && job->at < nr_attachments) {
		const struct uprobe_link link = link_of(uprobes, &list[job->at]);

		err = job->is_late ? take_late(uprobes) : -EAGAIN;
		if (err == -EAGAIN)
			err = make_link(uprobes, &link, list[job->at].program);
		job->is_late = err == -EINPROGRESS;
		if (job->is_late)
			return err;
		job->at += !err;
	}
	if (job->is_open)
		settle(uprobes, err);
	return err;
}

int uprobes_attach(struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct alloc_site *sites, size_t nr, int fd, uint32_t tgid)
{
	struct uprobes_job *job = &uprobes->job;
	int copy = uprobes_go_on(uprobes, bpf) == -EINPROGRESS ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (job->is_open || copy < 0)
		return job->is_open ? -EBUSY : -errno;
	*job = (struct uprobes_job){.is_open = true,
				    .fd = copy,
				    .nr = nr < ALLOC_MAX_SITES ? nr : ALLOC_MAX_SITES,
				    .tgid = tgid,
				    .before = linkstore_mark(&uprobes->store),
				    .nr_held = uprobes->nr_held};
	memcpy(job->sites, sites, job->nr * sizeof(*sites));
	return uprobes_go_on(uprobes, bpf);
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

/* What is under way is left alone: the attacher ends when the kernel lets it. */
static void abandon(struct uprobes *uprobes)
{
	int link_fd;

	attacher_hang_up(uprobes->attacher, &link_fd);
	take_link(uprobes, 0, link_fd);
	settle(uprobes, -EINTR);
	uprobes->nr_held = 0; /* it ends with them */
}

int uprobes_release(struct uprobes *uprobes)
{
	int err = uprobes->job.is_open ? -EINPROGRESS : 0;

	if (err)
		abandon(uprobes);
	if (uprobes->attacher && uprobes->nr_held)
		err = attacher_drop(uprobes->attacher);
	if (!err && uprobes->has_lost)
		err = -EPIPE;
	uprobes->has_lost = false;
	uprobes->nr_held = 0;
	linkstore_release(&uprobes->store);
	return err;
}
