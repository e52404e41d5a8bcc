/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches heap probes, by the best attach mode that the kernel supports:
 *
 *	UPROBES_SESSION	Linux 6.13: entry and return in one; only sampled calls trap at their return
 *	UPROBES_MULTI	Linux 6.10: many sites behind one link, attached and detached together
 *	UPROBES_PERF	a perf event for each site, entry and return; slow to detach
 */
#ifndef CPROF_COLLECT_UPROBES_H
#define CPROF_COLLECT_UPROBES_H

#include "base/vec.h"
#include "collect/attacher.h"
#include "collect/linkstore.h"
#include "collect/probe.h"
#include "collect/session.h"

struct bpf_program;
struct cprof_bpf;

enum uprobes_mode {
	UPROBES_PERF = 1, /* as session_limits.attach_mode */
	UPROBES_MULTI,
	UPROBES_SESSION
};

/* A file that is being probed. */
struct uprobes_job {
	bool is_open; /* there is one */
	bool is_late; /* the attacher has not answered yet */
	int fd;	      /* of the file */
	uint32_t tgid;
	size_t at;		      /* attachments that are done */
	struct linkstore_mark before; /* of the store */
	uint32_t nr_held;	      /* with this file's, by the attacher */
	size_t nr;
	struct alloc_site sites[ALLOC_MAX_SITES];
};

struct uprobes {
	enum uprobes_mode mode;
	bool has_cookies;
	bool is_inside; /* some targets sample by themselves */
	uint32_t perf_type;
	struct attacher *attacher; /* borrowed; NULL: this process attaches, and may be held */
	uint32_t nr_held;	   /* links that the attacher keeps */
	bool has_lost;		   /* some of them went with an attacher that was killed */
	struct linkstore store;	   /* of the others */
	struct uprobes_job job;
};

/*
 * Chooses the attach mode: the best one that features allow, up to at_most. is_inside: some targets sample by themselves.
 * Called before bpf is loaded and after configure_bpf(), because the programs are loaded for one mode. bpf is borrowed for
 * the call.
 */
void uprobes_init(struct uprobes *uprobes, const struct kernel_features *features,
		  enum uprobes_mode at_most, bool is_inside, struct cprof_bpf *bpf);
/* Whether the attach mode uses program; one that it does not use need not be loaded. */
bool uprobes_needs(const struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct bpf_program *program);
/* See session_probe() and session_probe_more(). */
int uprobes_go_on(struct uprobes *uprobes, const struct cprof_bpf *bpf);
int uprobes_attach(struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct alloc_site *sites, size_t nr, int fd, uint32_t tgid);
/* The attach type of the programs that take samples; 0: they have none. */
uint32_t uprobes_attach_type(const struct uprobes *uprobes);
/* See session_max_files(). */
uint32_t uprobes_max_files(const struct uprobes *uprobes);
/* Detaches everything. -EINPROGRESS: the kernel has not done it yet; others: the attacher was killed, and all is detached. */
int uprobes_release(struct uprobes *uprobes);

#endif
