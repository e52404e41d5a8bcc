/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacher: the process that attaches heap probes, and the messages between it and main.
 *
 * To attach to a file, or to detach, the kernel takes the lock of the mappings of every process that maps it, one after the
 * other, and nothing ends that wait. A process can hold its lock for as long as it likes: a page fault in a file on FUSE
 * whose server does not answer is enough. So main makes no such call, and is never the last to close a link.
 *
 *	main ------ a program, a file, places ------> attacher
 *	     <----- a link, or "I keep it" ----------
 *
 * A link that can be kept where all are removed in bulk (collect/linkstore.h) comes back to main, which puts it there: the
 * kernel's own threads detach it. The attacher keeps the other links open until main asks it to close them, or until it exits.
 *
 * An attacher that is held is not replaced. The kernel attaches to one file at a time: another attacher would wait for the
 * same lock. (So does each fork() on the machine, which the kernel keeps out meanwhile; it is the kernel's fault, and no
 * program that places uprobes can do anything about it.) Main goes on, asks nothing more, and looks from time to time whether
 * the answer has come. When main ends, the attacher is killed; what it was about to attach goes when the kernel lets it.
 *
 * It is forked and confined as the opener is (process/opening.h), keeps the capabilities to attach, and allocates nothing:
 * the probes in its own C library are never met. Messages have the form of sandbox/message.h.
 *
 *	kind	payload of the request	payload of the reply
 *	PROGRAM	-			-	with a program, which gets the number key; nr 1: links need no CAP_SYS_ADMIN
 *	LINK	uprobe_link		-	with a file; -ENOKEY: key is no program. With a link in turn, unless it is kept
 *	DROP	-			-	all that is kept is closed
 *
 * nr of a reply is the number of descriptors that it keeps.
 *
 * Alternatives: a thread (a process in which one thread is held cannot end); an attacher for each file (each takes 0.5 ms,
 * and 1,024 are common).
 */
#ifndef CPROF_COLLECT_ATTACHER_H
#define CPROF_COLLECT_ATTACHER_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/uprobelink.h"
#include "sandbox/peer.h"

enum attacher_kind {
	ATTACHER_PROGRAM = MESSAGE_HELLO + 1,
	ATTACHER_LINK,
	ATTACHER_DROP,
};

#define ATTACHER_MAX_HELD 1024

/* How long main waits, where nobody ends it earlier, for an attacher that gets nothing done. */
#define ATTACHER_STALL_NS 1000000000ull
#define ATTACHER_DROP_NS  10000000000ull

struct attacher;

/* Forks it. Call it while the process has one thread and holds nothing. serve is attacher_serve() but in tests. -errno. */
int attacher_open(keeper_serve_fn serve, struct attacher **attacher);
void attacher_close(struct attacher *attacher); /* NULL is fine */
/* What it could not give up (sandbox/confine.h). -errno: there is none that answers. */
int attacher_handshake(struct attacher *attacher, uint32_t *missing);
/* The same as parser_set_nice(). */
void attacher_set_nice(const struct attacher *attacher, int nice);
/* Called while it is waited for; returns true to wait no longer. Valid until the next call. */
void attacher_while_waiting(struct attacher *attacher, struct peer_idle idle);

/*
 * Attaches. *link_fd is the link, which the caller owns; -1 with link->is_held. *nr_held: descriptors that it keeps.
 * -errno: not attached; -EINPROGRESS: not yet, and attacher_late() says when; -ENOTCONN: the attacher was killed.
 */
int attacher_link(struct attacher *attacher, const struct uprobe_link *link, int program_fd,
		  int file_fd, int *link_fd, uint32_t *nr_held);
/*
 * The same of a link that was -EINPROGRESS, without waiting. -EAGAIN: it has to be asked for again.
 */
int attacher_late(struct attacher *attacher, int *link_fd, uint32_t *nr_held);
/* It shall keep nothing that it is still about to attach, and is asked nothing more. *link_fd: what it attached before that, or -1. */
void attacher_hang_up(struct attacher *attacher, int *link_fd);
/* Detaches what it keeps. -EINPROGRESS: the kernel has not done it yet. */
int attacher_drop(struct attacher *attacher);

#endif
