/* SPDX-License-Identifier: BSD-2-Clause */
/* The attacher's side of collect/attacher.h. */
#ifndef CPROF_COLLECT_ATTACHER_SERVE_H
#define CPROF_COLLECT_ATTACHER_SERVE_H

/* Answers what comes from the socket until the other side is gone. Of type keeper_serve_fn. */
void attacher_serve(int socket);

#endif
