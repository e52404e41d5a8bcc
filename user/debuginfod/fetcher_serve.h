/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that downloads: answers requests (debuginfod/fetching.h) until the other side is gone. */
#ifndef CPROF_DEBUGINFOD_FETCHER_SERVE_H
#define CPROF_DEBUGINFOD_FETCHER_SERVE_H

/* The fetcher's loop, a keeper_serve_fn. Needs libcurl.so.4 where it runs; without it each request fails and says so. */
void fetcher_serve(int socket);

#endif
