/* SPDX-License-Identifier: BSD-2-Clause */
/* What the injector does, the process that inject_start() forks. */
#ifndef CPROF_INJECT_INJECTOR_H
#define CPROF_INJECT_INJECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/inject.h"

/* What heap_redirect() says instead of a number of slots: inside/redirect.h. */
enum {
	REDIRECT_BUSY = -3,
	REDIRECT_OWN_ALLOCATOR = -2,
	REDIRECT_NEEDLESS = -1
};

/* What goes over the socket, back. */
struct injector_outcome {
	int64_t nr_slots;
	int err;
	bool is_loaded;
};

/*
 * Waits for a byte on the socket, struct tracee's needs_call; takes the library into use and sends an outcome; takes it out of
 * use once the socket is closed. Does not return: the exit code is not 0 if the process still calls the library.
 */
void __attribute__((noreturn)) injector_run(const struct inject_options *options, int socket);

/* Why no process of this machine can be injected; "" if some can. Static. */
const char *injector_refusal(void);

#endif
