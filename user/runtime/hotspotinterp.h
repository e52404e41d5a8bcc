/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interpreter of a HotSpot VM: one blob, which consists of codelets. Private to hotspotblob.c.
 */
#ifndef CPROF_RUNTIME_HOTSPOTINTERP_H
#define CPROF_RUNTIME_HOTSPOTINTERP_H

#include <stdint.h>

#include "base/vec.h"
#include "runtime/hotspotblob.h"

enum codelet_kind {
	CODELET_OTHER,
	CODELET_METHOD, /* where methods are entered: r13 has the caller's sp */
	CODELET_CALLED, /* is called by others */
	CODELET_RESUMED, /* where methods are gone on with: r13 does not have their bytecode yet, but their frame does */
};

struct codelet {
	uint64_t start, limit; /* of its code */
	enum codelet_kind kind;
};

/* Zeroed: empty. For vec_release(). */
struct codelets {
	struct codelet *at; /* ascending */
	size_t nr, cap;
};

/* Adds the codelets of the interpreter whose blob starts at start, as far as they can be read. */
void codelets_read(const struct blob_reader *reader, uint64_t start, struct codelets *codelets);
/* Says in the rows of its blob which frames are those of methods, and where their Methods and bytecodes are. */
void codelets_describe(const struct blob_reader *reader, const struct codelets *codelets,
		       struct blob *blob);

#endif
