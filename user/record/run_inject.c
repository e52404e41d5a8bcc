// SPDX-License-Identifier: BSD-2-Clause
/*
 * The steps of a heap run whose target is given libcprof-heap.so while it runs (inject/inject.h). Its probes are attached
 * first, so that the library knows that somebody listens. Sampling begins when it is in use: waiting for a moment to load it
 * is no part of the run.
 */
#include <string.h>

#include "base/log.h"
#include "heap/prober.h"
#include "record/run_state.h"

static int refuse(const struct run *run, const char *reason)
{
	warn("process %u cannot be injected: %s. Without --inject it is probed from outside.",
	     run->targets.all.at[0].tgid, reason);
	return EXIT_CANNOT;
}

int run_start_injector(struct run *run)
{
	struct inject_options options = {.library = run->preload.path,
					 .rate_bytes = run->options->rate_bytes};
	char reason[INJECT_REASON_BYTES];
	int err;

	if (!run->options->inject)
		return EXIT_DONE;
	options.pid = run->targets.all.at[0].tgid;
	if (*inject_refusal(options.pid, reason))
		return refuse(run, reason);
	err = inject_start(&options, &run->injector);
	if (!err)
		return EXIT_DONE;
	warn("cannot start the process that injects: %s", strerror(-err));
	return EXIT_CANNOT;
}

/* Where the C library is not the only allocator, what may be one is not known well enough. */
static bool needs_call(const struct prober *prober)
{
	return prober->nr_allocators != 1 || prober_has_work(prober);
}

int run_inject(struct run *run)
{
	char reason[INJECT_REASON_BYTES];
	int64_t nr_slots;

	if (!run->options->inject)
		return EXIT_DONE;
	detail("files that are allocators: %u%s", run->prober.nr_allocators,
	       prober_has_work(&run->prober) ? ", and more" : "");
	say("loading libcprof-heap.so into process %u, to sample its allocations: its calls go "
	    "through the library until the end; the library stays mapped, idle",
	    run->targets.all.at[0].tgid);
	if (inject_begin(&run->injector, needs_call(&run->prober), &nr_slots, reason))
		return refuse(run, reason);
	detail("%ld GOT entries lead to libcprof-heap.so", (long)nr_slots);
	return EXIT_DONE;
}

int run_end_injection(struct run *run)
{
	if (!inject_end(&run->injector))
		warn("the calls of process %u could not be restored: they still go through "
		     "libcprof-heap.so, which is now idle",
		     run->targets.all.at[0].tgid);
	return EXIT_DONE;
}
