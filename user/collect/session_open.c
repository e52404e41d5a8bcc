// SPDX-License-Identifier: BSD-2-Clause
/*
 * All BPF programs are in one object, so that they share maps; a run loads only those that its source needs, since
 * each takes the verifier's time. Everything is attached while `stopped` in BPF's memory is set, and programs
 * return at once: so no probe counts before the others are in place, and a stop takes effect immediately.
 *
 * The event ring and the side-band wake one epoll descriptor, so a run waits for one thing however many CPUs there are.
 */
#include "collect/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "base/log.h"
#include "collect/attach.h"
#include "collect/configure.h"
#include "collect/userreads.h"

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_DEBUG || !log_is_verbose())
		return 0;
	return vfprintf(stderr, fmt, args);
}

/* The scheduler's tracepoints: those of every run, then those of the heap. */
#define MAX_TRACEPOINTS 5

static size_t list_tracepoints(const struct session *session,
			       struct bpf_program *list[MAX_TRACEPOINTS])
{
	const struct cprof_bpf *bpf = session->bpf;
	struct bpf_program *const programs[MAX_TRACEPOINTS] = {
		bpf->progs.on_fork, bpf->progs.on_exec, bpf->progs.on_exit, bpf->progs.end_on_exec,
		bpf->progs.end_on_exit};

	memcpy(list, programs, sizeof(programs));
	return session->options.source == SESSION_HEAP ? MAX_TRACEPOINTS : 3;
}

static bool is_tracepoint(const struct session *session, const struct bpf_program *program)
{
	struct bpf_program *list[MAX_TRACEPOINTS];
	size_t nr = list_tracepoints(session, list);

	for (size_t i = 0; i < nr; i++)
		if (list[i] == program)
			return true;
	return false;
}

/* Programs that this run does not need are not even verified. */
static void choose_programs(struct session *session)
{
	bool heap = session->options.source == SESSION_HEAP;
	struct bpf_program *program;

	bpf_object__for_each_program(program, session->bpf->obj)
	{
		bool wanted =
			program == session->bpf->progs.sample_cpu
				? !heap
				: heap && uprobes_needs(&session->uprobes, session->bpf, program);

		bpf_program__set_autoload(program, wanted || is_tracepoint(session, program));
	}
}

static int fill_sampling_table(struct session *session)
{
	struct abi_sampling_piece *pieces scoped(freep) =
		xcalloc(ABI_SAMPLING_PIECES, sizeof(*pieces));
	uint32_t zero = 0;
	int err;

	if (session->options.source != SESSION_HEAP || session->options.rate_bytes <= 1)
		return 0;
	sampling_fill(pieces, session->options.rate_bytes);
	err = bpf_map_update_elem(bpf_map__fd(session->bpf->maps.sampling_tables), &zero, pieces,
				  0);
	return err ? fail(err, "cannot write the table of sampling probabilities") : 0;
}

static int load_programs(struct session *session)
{
	const struct session_options *options = &session->options;
	struct cprof_bpf *bpf;
	int err;

	if (!session->features.kernel_reads)
		userreads_keep();
	bpf = cprof_bpf__open();
	if (!bpf)
		return fail(-errno, "cannot open the BPF programs");
	session->bpf = bpf;
	configure_bpf(bpf, options, &session->features);
	if (options->source == SESSION_HEAP)
		uprobes_init(&session->uprobes, &session->features,
			     options->limits.attach_mode ? options->limits.attach_mode
							 : UPROBES_SESSION,
			     options->inside, bpf);
	session->uprobes.attacher = options->attacher;
	choose_programs(session);
	bpf->bss->stopped = ABI_STOPPED; /* until session_start() */
	err = cprof_bpf__load(bpf);
	if (err)
		return fail(err,
			    "cannot load the BPF programs (use -v to see the kernel's messages)");
	return fill_sampling_table(session);
}

static int attach_tracepoints(struct session *session)
{
	struct bpf_program *list[MAX_TRACEPOINTS];
	size_t nr = list_tracepoints(session, list);

	for (size_t i = nr; i--;) { /* those of the heap first: target_ended_image() */
		struct bpf_link *link = bpf_program__attach_trace(list[i]);

		if (!link)
			return fail(-errno, "cannot attach the BPF program %s",
				    bpf_program__name(list[i]));
		vec_push(&session->links, link);
	}
	return 0;
}

int session_watch(struct session *session, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_streams(struct session *session)
{
	struct cprof_bpf *bpf = session->bpf;
	int counts[] = {bpf_map__fd(bpf->maps.counts_even), bpf_map__fd(bpf->maps.counts_odd)};
	int err = drain_open(&session->drain, bpf_map__fd(bpf->maps.events),
			     bpf_map__max_entries(bpf->maps.events), counts,
			     session->options.keeps_lives, &bpf->bss->epoch);

	if (!err)
		err = sideband_open(&session->sideband);
	if (!err)
		err = tables_open(&session->tables, bpf_map__fd(bpf->maps.processes),
				  bpf_map__fd(bpf->maps.vmas), bpf_map__fd(bpf->maps.tables),
				  bpf_map__fd(bpf->maps.slabs));
	if (err)
		return err;
	runtimes_open(&session->runtimes,
		      &(struct runtimes_maps){.walks_fd = bpf_map__fd(bpf->maps.runtime_walks),
					      .shadows_fd = bpf_map__fd(bpf->maps.shadows),
					      .events_fd = bpf_map__fd(bpf->maps.events),
					      .scratch_fd = bpf_map__fd(bpf->maps.scratch_slots)},
		      (struct runtimes_caller){
			      .is_tick = session->options.source == SESSION_CPU,
			      .attach_type = session->options.source == SESSION_HEAP
						     ? uprobes_attach_type(&session->uprobes)
						     : 0});
	if (session->options.source == SESSION_HEAP)
		purge_open(&session->purge,
			   &(struct purge_maps){
				   .live_fds = {bpf_map__fd(bpf->maps.live),
						bpf_map__fd(bpf->maps.live_more)},
				   .holders_fd = bpf_map__fd(bpf->maps.holders),
				   .peaks_fd = bpf_map__fd(bpf->maps.peaks),
				   .block_bytes = bpf_map__value_size(bpf->maps.live),
				   .filter = bpf->bss->live_filter,
				   .nr_ended = &bpf->bss->nr_ended,
			   });
	cputime_open(&session->cputime, bpf_map__fd(bpf->maps.targets), session->options.all);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll_fd < 0)
		return fail(-errno, "cannot create an epoll descriptor");
	err = session_watch(session, bpf_map__fd(bpf->maps.events));
	vec_for_each(&session->sideband.events.fds, fd)
		err = err ? err : session_watch(session, *fd);
	return err ? fail(err, "cannot watch the event rings") : 0;
}

static int open_sampler(struct session *session)
{
	if (session->options.source != SESSION_CPU)
		return 0;
	return sampler_open(&session->sampler, session->options.frequency_hz,
			    bpf_program__fd(session->bpf->progs.sample_cpu));
}

void session_measure(struct session *session)
{
	int err = price_measure(&session->uprobes, session->bpf, &session->price);

	if (err)
		detail("what a probe costs cannot be measured: %s", strerror(-err));
}

int session_open(const struct session_options *options, struct session **session)
{
	struct session *s = xcalloc(1, sizeof(*s));
	int err;

	s->options = *options;
	s->epoll_fd = -1;
	libbpf_set_print(print_libbpf);
	err = probe_kernel(options->source == SESSION_HEAP ? MACHINE_HEAP : MACHINE_RECORD,
			   &s->features);
	err = err ? err : load_programs(s);
	err = err ? err : open_streams(s);
	err = err ? err : attach_tracepoints(s);
	err = err ? err : open_sampler(s);
	if (err)
		session_close(s);
	else
		*session = s;
	return err;
}

void session_close(struct session *session)
{
	if (!session)
		return;
	uprobes_release(&session->uprobes);
	vec_for_each(&session->links, link)
		bpf_link__destroy(*link);
	vec_release(&session->links);
	sampler_release(&session->sampler);
	sideband_release(&session->sideband);
	drain_release(&session->drain);
	purge_release(&session->purge);
	tables_release(&session->tables);
	runtimes_release(&session->runtimes);
	cputime_release(&session->cputime);
	if (session->epoll_fd >= 0)
		close(session->epoll_fd);
	cprof_bpf__destroy(session->bpf);
	free(session);
}
