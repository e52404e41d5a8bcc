/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rest of cprof asks about the memory of JVMs, which the worker reads and analyzes (runtime/hotspot.h).
 *
 * The rules are those of sandbox/parser.h: one that two workers died of, or that took too long, is left out.
 */
#ifndef CPROF_SANDBOX_JVMPARSER_H
#define CPROF_SANDBOX_JVMPARSER_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/jvmreply.h"
#include "sandbox/parser.h"

/*
 * The elf_addrs of the variables by which libjvm.so, the file with this key, says where the VM has its structures; 0
 * where there is none. -errno: there is no answer.
 */
int parser_variables(struct parser *parser, uint32_t key, int fd,
		     uint64_t elf_addrs[MESSAGE_NR_VARIABLES]);

/* The JVM that a question is about. */
struct jvm_subject {
	uint32_t tgid;
	uint64_t instance; /* another one for each image that the process runs */
	int memory_fd;	   /* of its /proc/PID/mem, borrowed */
	uint64_t variables[MESSAGE_NR_VARIABLES]; /* ips */
};

/* What is to be done (a set of message_look_what), and of what tables the asker has. */
struct jvm_wish {
	uint64_t what;
	size_t max_bytes; /* of new code to analyze */
	uint64_t generations[MESSAGE_MAX_HEAPS];
};

/*
 * Reads the code cache. *look: for reply_look_release(). -EAGAIN: there is none yet; -EIO: the VM's memory cannot be read;
 * -EFBIG: it is more than a worker can hold; or why there is no answer.
 */
int parser_look(struct parser *parser, const struct jvm_subject *jvm, const struct jvm_wish *wish,
		struct reply_look *look);
/* The code at ip. The caller owns *code: free(). -ENOENT: nothing is known of it; others as of parser_look(). */
int parser_code(struct parser *parser, const struct jvm_subject *jvm, uint64_t ip,
		struct reply_code **code);
/* A sample whose names are wanted. */
struct jvm_sample {
	uint64_t time_ns;
	uint64_t unloads, collections; /* as in struct record */
};

/* The names of the code at nr ips (1 to MESSAGE_MAX_NAMES): of each piece once, in a block that the caller owns. -errno. */
int parser_methods(struct parser *parser, const struct jvm_subject *jvm,
		   const struct jvm_sample *sample, const uint64_t *ips, size_t nr,
		   struct reply_method **methods, size_t *nr_methods);

/* Nothing is asked about the process any more, and parser_left_out() names it. */
void parser_leave_out_jvm(struct parser *parser, uint32_t tgid, int err);

#endif
