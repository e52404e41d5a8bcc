/* SPDX-License-Identifier: BSD-2-Clause */
/* The opener: answers main's questions about other processes (process/opening.h). */
#ifndef CPROF_PROCESS_OPENER_SERVE_H
#define CPROF_PROCESS_OPENER_SERVE_H

/* Answers requests from socket until the other side is gone. Of type keeper_serve_fn. */
void opener_serve(int socket);

#endif
