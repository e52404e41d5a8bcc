/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks debuginfod servers for debug files, by build-id: only where the user wants that, since it tells a server which
 * programs run here.
 *
 * A process of its own downloads (debuginfod/fetching.h). Time is bounded: of each file, and of all together; a server that did
 * not answer twice in a row is not asked again. What is downloaded has no name in the file system and ends with the run.
 */
#ifndef CPROF_DEBUGINFOD_FETCHER_H
#define CPROF_DEBUGINFOD_FETCHER_H

#include <stdint.h>

#include "sandbox/peer.h"

#define FETCHER_TIMEOUT_NS 10000000000ull /* by default, of all files */
#define FETCHER_PART	   5		  /* a file has so many times less */

struct fetcher;

/*
 * Forks what downloads, with serve (fetcher_serve()). Call it while the process has one thread and holds nothing. urls: as
 * DEBUGINFOD_URLS has them, separated by blanks; borrowed. -EINVAL: none of them begins with http:// or https://.
 */
int fetcher_open(keeper_serve_fn serve, const char *urls, uint64_t timeout_ns,
		 struct fetcher **fetcher);
void fetcher_close(struct fetcher *fetcher); /* NULL is fine */
/* Makes the files for nr downloads now: for who may make none later. There are no more then. */
void fetcher_prepare(struct fetcher *fetcher, size_t nr);
/* Waits for the fetcher to say how it is confined; see peer_handshake(). */
int fetcher_handshake(struct fetcher *fetcher, uint32_t *missing);

/*
 * A descriptor, that the caller owns, of what a server has for a build-id in lower-case hex. -ENOENT: none has it; -ETIME:
 * time is up; others: it failed.
 */
int fetcher_fetch(struct fetcher *fetcher, const char *build_id);
/* The last one is not used: it is no ELF file, or has another build-id. */
void fetcher_refuse(struct fetcher *fetcher);
/* CPU time apart, how long it was waited for so far. */
uint64_t fetcher_waited_ns(const struct fetcher *fetcher);
/* A sentence about what became of all, owned by the caller; *failed: there is something to warn of. NULL: nothing was asked for. */
char *fetcher_say(const struct fetcher *fetcher, bool *failed);

#endif
