/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that comes to the kernel and goes during a run: BPF programs and trampolines. What is there at the end has its name in
 * /proc/kallsyms (object/kallsyms.h); what is not has the name that the kernel announced it by.
 */
#ifndef CPROF_RECORD_KERNELCODE_H
#define CPROF_RECORD_KERNELCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/vec.h"
#include "stream.h"

#define KERNELCODE_MAX (1u << 14) /* pieces; of further ones nothing is known */

struct kernelcode_piece {
	uint64_t start, limit, since_ns, until_ns; /* since_ns 0: since before the run */
	uint32_t name;				   /* strtab id */
};

/* Zeroed: empty. */
struct kernelcode {
	vec_of(struct kernelcode_piece) pieces;
	struct strtab names;
	size_t nr_sorted; /* private */
};

/* Takes in a KERNEL_CODE_CAME or KERNEL_CODE_WENT, copied; in the order of their times. */
void kernelcode_event(struct kernelcode *code, const struct task_event *event);

enum kernelcode_known {
	KERNELCODE_UNKNOWN, /* nothing was announced of it */
	KERNELCODE_KNOWN,
	KERNELCODE_NOT_YET, /* all that was announced there came later */
};
/* The code that was at ip at time_ns. Its name is set if it is known, borrowed until kernelcode_release(). */
enum kernelcode_known kernelcode_find(struct kernelcode *code, uint64_t ip, uint64_t time_ns,
				      const char **name);
void kernelcode_release(struct kernelcode *code);

#endif
