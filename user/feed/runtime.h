/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runtime of one process that keeps a stack of its own: known by what a file that it maps says (runtime/python.h), walked
 * by BPF.
 *
 * Nothing of the process is read here: BPF finds out at each sample whether the interpreter is initialized, and which of its
 * threads has a shadow stack.
 */
#ifndef CPROF_FEED_RUNTIME_H
#define CPROF_FEED_RUNTIME_H

#include <stdint.h>

#include "collect/session.h"
#include "sandbox/message.h"

/* All 0: the process has none, as far as is known. */
struct runtime {
	uint32_t number; /* for session_set_vmas() */
};

/*
 * Process tgid maps a file with ip = elf_addr + bias, about whose runtime is said. Afterwards its stacks are walked, unless
 * the session refuses. Nothing is done where a process has one already.
 */
void runtime_attach(struct runtime *runtime, struct session *session, uint32_t tgid,
		    const struct message_runtime *about, uint64_t bias);
/*
 * Says, once for each kind, that functions of a runtime which is known are not read: unread has a bit for each that files of process
 * tgid with this name have (enum message_unread). *said is a set of the kinds of which it was said.
 */
void runtime_say_unread(uint32_t unread, uint32_t tgid, const char *comm, uint32_t *said);
/* The process has ended, or runs another image, and no vmas of it are in BPF. */
void runtime_detach(struct runtime *runtime, struct session *session);

#endif
