/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between main and the process that downloads debug files, cprof-fetcher.
 *
 *	main ---- a URL, a descriptor to write to ----> fetcher	nobody, no capability, no program, no file to write
 *	  |  <--- what became of it -----------------	  ^	speaks HTTP with a server
 *	  +------ "another worker" --> keeper ------------+
 *
 * (sandbox/message.h has the design of the others.) The descriptor is that of a file without a name; what is in it afterwards is
 * somebody else's, and is parsed by cprof-parser like any file.
 */
#ifndef CPROF_DEBUGINFOD_FETCHING_H
#define CPROF_DEBUGINFOD_FETCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/message.h"

#define FETCHING_KIND	   1
#define FETCHING_URL_BYTES 2048
#define FETCHING_WHY_BYTES 128
#define FETCHING_MAX_BYTES (512ull << 20) /* of a file; RLIMIT_FSIZE of the process */

struct fetching_request {
	uint64_t timeout_ms;
	char url[FETCHING_URL_BYTES];
};

enum fetching_result {
	FETCHING_DONE,
	FETCHING_NOT_THERE, /* the server answered, and has no such file */
	FETCHING_FAILED,    /* why */
	NR_FETCHING_RESULTS
};

struct fetching_reply {
	uint64_t result, len_bytes;
	char why[FETCHING_WHY_BYTES];
};

/* Does the header of a reply answer that request, with the payload that it must have? */
bool fetching_fits(const struct message *request, const struct message *reply);
/* Reads the payload of a reply whose status is 0; why ends with a NUL. -EBADMSG: *reply is untouched. */
int fetching_read(const void *payload, size_t len_bytes, struct fetching_reply *reply);

#endif
