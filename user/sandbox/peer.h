/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls a worker: one question, one checked header, its payload, within a time; and replaces workers that fail.
 *
 * A call ends at the latest after PEER_CPU_NS of the worker's CPU time, after PEER_STALL_NS in which it got none without
 * waiting for a CPU (a file system does not answer), or after PEER_CALL_NS. So a busy machine does not cost a file,
 * and a stuck file system does soon. The keeper is waited for in the same way when there is a new worker to be had, for
 * PEER_STALL_NS, but for PEER_CALL_NS while it is in the kernel, which keeps forks out while somebody places uprobes; once it
 * was late, there are no more workers (-ENOTCONN), and nobody waits for it again.
 *
 * A patient peer keeps a worker whose answer is late, and takes that when it comes: what such a worker holds is worth more
 * than a worker that answers.
 */
#ifndef CPROF_SANDBOX_PEER_H
#define CPROF_SANDBOX_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/keeper.h"
#include "sandbox/message.h"

#define PEER_CPU_NS   5000000000ull
#define PEER_STALL_NS 2000000000ull
#define PEER_CALL_NS  30000000000ull

struct peer;

struct peer_options {
	enum confine_role role;
	keeper_serve_fn serve;
	/* Does the header answer that request, with a payload that its kind may have? */
	bool (*fits)(const struct message *request, const struct message *reply);
	bool is_patient; /* a worker is not replaced while it lives */
	bool in_process; /* the worker is a thread of this process: nothing is confined, nothing can be killed */
	uint64_t stall_ns, cpu_ns; /* 0: PEER_STALL_NS, PEER_CPU_NS (tests have less) */
};

/* Starts the keeper, and orders the first worker. -errno. */
int peer_open(const struct peer_options *options, struct peer **peer);
void peer_close(struct peer *peer); /* NULL is fine */

/*
 * Waits for the first worker to say how it is confined: *missing, see confine.h. -errno: it did not. Call it once, before
 * the first call.
 */
int peer_handshake(struct peer *peer, uint32_t *missing);

/* Called every 2 ms of a call, and more often, also while a new worker is waited for. Return true to give up: the call is -EINTR then. */
struct peer_idle {
	bool (*gives_up)(void *ctx);
	void *ctx;
};

/* The checked header of a reply, and what came with it, owned by the caller. */
struct peer_answer {
	struct message reply;
	void *payload; /* NULL: none */
	int fd;	       /* -1: none; only an opener's or an attacher's may have one */
};

/*
 * Asks. request's serial is set here; len_bytes of payload are sent, and fd with them unless it is -1. *answer is empty
 * before (PEER_NO_ANSWER), for peer_answer_release() in any case.
 *
 * Returns the reply's status, or what became of the worker, which is replaced at the next call: -EPIPE, it died;
 * -EBADMSG, it broke the rules; -ETIME, it took too long; -EINTR; -ENOTCONN, there is no other. For -ETIME and -EINTR
 * a patient peer has -EINPROGRESS, and -EBUSY at the next calls, until peer_late() returns something else.
 */
int peer_call(struct peer *peer, struct message *request, const void *payload, int fd,
	      const struct peer_idle *idle, struct peer_answer *answer);
/* The answer of the call that was -EINPROGRESS, waited for as peer_call() does. */
int peer_late(struct peer *peer, const struct peer_idle *idle, struct peer_answer *answer);
/* The worker's answers are not waited for any more: those that it sends from now on fail, and peer_late() has what came before. */
void peer_hang_up(const struct peer *peer);
#define PEER_NO_ANSWER ((struct peer_answer){.fd = -1})
void peer_answer_release(struct peer_answer *answer);
/* Sets how long a worker may go without CPU time before its call ends, from now on. */
void peer_set_stall(struct peer *peer, uint64_t stall_ns);
/* The nice value of the workers, of those to come too. */
void peer_set_nice(const struct peer *peer, int nice);
/* The next call goes to a worker that was asked nothing before. */
void peer_renew(struct peer *peer);
/* The worker gave a reply whose payload does not hold what it should: it is replaced at the next call. */
void peer_distrust(struct peer *peer);

/* The process whose children all workers are; 0: they are threads of this one. */
pid_t peer_parent(const struct peer *peer);
/* Is there no worker, and none to be had? */
bool peer_is_lost(const struct peer *peer);
/* CPU time of all workers so far. */
uint64_t peer_cpu_ns(const struct peer *peer);
/* The number of workers that failed. */
uint32_t peer_nr_failed(const struct peer *peer);

#endif
