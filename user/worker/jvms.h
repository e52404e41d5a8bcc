/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JVMs that the worker was asked about: it reads their memory through the descriptor that comes with each request.
 *
 * What was read of one is kept until it takes too much memory. A JVM that is not known (any more) is read anew, as each
 * request says what that takes.
 */
#ifndef CPROF_WORKER_JVMS_H
#define CPROF_WORKER_JVMS_H

#include "sandbox/message.h"
#include "worker/payload.h"

/* The memory that one JVM may take: more is refused, so that the worker survives for the others. */
#define JVMS_MAX_BYTES (256u << 20)
/* The memory that all JVMs together may take: at that size all are forgotten. */
#define JVMS_ALL_BYTES (512u << 20)

struct jvms;

/* Returns an empty set, which the caller frees with jvms_free(). */
struct jvms *jvms_new(void);
/* Frees the set, with all that was read. */
void jvms_free(struct jvms *jvms);

/*
 * Answers a request of one of the kinds that are about JVMs: adds to payload and sets reply->nr. memory_fd is borrowed.
 * -errno is for the reply's status: -EINVAL; others as of sandbox/jvmparser.h.
 */
int jvms_answer(struct jvms *jvms, const struct message *request, const void *about, int memory_fd,
		struct payload *payload, struct message *reply);

#endif
