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
#include "collect/linkstore.h"
#include "collect/probe.h"
#include "collect/session.h"

struct bpf_link;
struct bpf_program;
struct cprof_bpf;

enum uprobes_mode {
	UPROBES_PERF = 1, /* as session_limits.attach_mode */
	UPROBES_MULTI,
	UPROBES_SESSION
};

struct uprobes {
	enum uprobes_mode mode;
	bool has_cookies;
	bool is_inside; /* some targets sample by themselves */
	vec_of(struct bpf_link *) perf_links;
	struct linkstore store; /* of multi and session links */
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
/* See session_probe(). */
int uprobes_attach(struct uprobes *uprobes, const struct cprof_bpf *bpf,
		   const struct alloc_site *sites, size_t nr, int fd, uint32_t tgid);
/* The attach type of the programs that take samples; 0: they have none. */
uint32_t uprobes_attach_type(const struct uprobes *uprobes);
/* See session_max_files(). */
uint32_t uprobes_max_files(const struct uprobes *uprobes);
void uprobes_release(struct uprobes *uprobes);

#endif
