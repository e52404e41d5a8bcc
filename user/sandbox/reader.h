/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a command that reads profiles gives up before it reads the first byte of one.
 *
 * It computes, opens files for reading, writes to descriptors that it has and, if it has outputs, makes files where these
 * go. It runs no program, makes no process (threads it makes), has no network, traces and signals nobody and has no
 * capabilities. A system call that is not needed for this fails with ENOSYS, as on a kernel that lacks it: libraries have
 * an answer to that, and a new one that tries a new call does not end the command.
 *
 * Capabilities for files are kept only where they are needed: to read a file that this user may not read without them, as
 * root with `sudo cprof top` in the folder of a user; to write where this user may not, or to give an output to the
 * user behind sudo.
 */
#ifndef CPROF_SANDBOX_READER_H
#define CPROF_SANDBOX_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/confine.h"

/* Paths as they are given on the command line; "-" is a standard stream. Borrowed. */
struct reader_files {
	const char *const *inputs;
	size_t nr_inputs;
	const char *const *outputs; /* files, or folders of files; they may be missing */
	size_t nr_outputs;
	bool gives_away; /* all that is made is given to this user */
	uid_t uid;
	gid_t gid;
	bool reads_others; /* inputs that come later belong to other users */
	bool asks_worker; /* sends descriptors to a worker, and orders another when that fails (sandbox/peer.h) */
};

/*
 * Of the whole process, which has one thread. Returns the set of what is missing: CONFINE_NO_PRIVS, CONFINE_NO_CAPSET,
 * CONFINE_NO_LANDLOCK, CONFINE_NO_SECCOMP. None of it can be undone.
 */
uint32_t confine_reader(const struct reader_files *files);

#endif
