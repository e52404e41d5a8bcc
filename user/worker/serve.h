/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The worker: answers questions about the ELF files whose descriptors it is sent.
 *
 * It runs confined (sandbox/confine.h), and uses memory, processor time and those descriptors only. Files stay parsed
 * until SERVE_MAX_FILES are; then all are forgotten, since each request carries what it takes to begin anew.
 */
#ifndef CPROF_WORKER_SERVE_H
#define CPROF_WORKER_SERVE_H

#define SERVE_MAX_FILES 1000

/* Answers requests (sandbox/message.h) from socket until the other side is gone. Of type keeper_serve_fn. */
void serve(int socket);

#endif
