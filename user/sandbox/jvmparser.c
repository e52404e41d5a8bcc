// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each question says all about the JVM that a worker needs to know, so that a new one can answer it: its variables and the
 * descriptor of its memory. The worker keeps what it has read.
 */
#include "sandbox/jvmparser.h"

#include <errno.h>
#include <string.h>

#include "sandbox/question.h"

static int read_variables(const void *payload, const struct message *reply, void *to)
{
	return reply_read_variables(payload, reply->len_bytes, to);
}

int parser_variables(struct parser *parser, uint32_t key, int fd,
		     uint64_t elf_addrs[MESSAGE_NR_VARIABLES])
{
	struct question question = {.request = {.kind = MESSAGE_VARIABLES, .key = key},
				    .read = read_variables,
				    .to = elf_addrs};

	return parser_ask(parser, &question, fd);
}

/* What is sent about a JVM. */
struct about {
	struct message_jvm jvm;
	uint64_t ips[MESSAGE_MAX_NAMES];
};

static void describe(const struct jvm_subject *jvm, struct message_jvm *about)
{
	_Static_assert(sizeof(about->variables) == sizeof(jvm->variables), "all of them");
	*about = (struct message_jvm){.instance = jvm->instance};
	memcpy(about->variables, jvm->variables, sizeof(about->variables));
}

static int ask(struct parser *parser, const struct jvm_subject *jvm, struct question *question,
	       struct about *about, size_t nr_ips)
{
	question->request.key = MESSAGE_JVM + jvm->tgid;
	question->request.nr = nr_ips;
	question->request.len_bytes = sizeof(about->jvm) + nr_ips * sizeof(about->ips[0]);
	question->payload = about;
	return parser_ask(parser, question, jvm->memory_fd);
}

static int read_look(const void *payload, const struct message *reply, void *to)
{
	return reply_read_look(payload, reply->len_bytes, reply->nr, to);
}

int parser_look(struct parser *parser, const struct jvm_subject *jvm, const struct jvm_wish *wish,
		struct reply_look *look)
{
	struct question question = {
		.request = {.kind = MESSAGE_LOOK}, .read = read_look, .to = look};
	struct about about;

	describe(jvm, &about.jvm);
	about.jvm.what = wish->what;
	about.jvm.max_bytes = wish->max_bytes;
	memcpy(about.jvm.generations, wish->generations, sizeof(about.jvm.generations));
	return ask(parser, jvm, &question, &about, 0);
}

static int read_code(const void *payload, const struct message *reply, void *to)
{
	return reply_read_code(payload, reply->len_bytes, reply->nr, to);
}

int parser_code(struct parser *parser, const struct jvm_subject *jvm, uint64_t ip,
		struct reply_code **code)
{
	struct question question = {
		.request = {.kind = MESSAGE_CODE}, .read = read_code, .to = code};
	struct about about;

	describe(jvm, &about.jvm);
	about.ips[0] = ip;
	return ask(parser, jvm, &question, &about, 1);
}

struct methods {
	struct reply_method *methods;
	size_t nr;
};

static int read_methods(const void *payload, const struct message *reply, void *to)
{
	struct methods *methods = to;

	methods->nr = reply->nr;
	return reply_read_methods(payload, reply->len_bytes, reply->nr, &methods->methods);
}

int parser_methods(struct parser *parser, const struct jvm_subject *jvm,
		   const struct jvm_sample *sample, const uint64_t *ips, size_t nr,
		   struct reply_method **methods, size_t *nr_methods)
{
	struct methods named = {0};
	struct question question = {
		.request = {.kind = MESSAGE_METHODS}, .read = read_methods, .to = &named};
	struct about about;
	int err;

	if (!nr || nr > MESSAGE_MAX_NAMES)
		return -EINVAL;
	describe(jvm, &about.jvm);
	about.jvm.time_ns = sample->time_ns;
	about.jvm.unloads = sample->unloads;
	about.jvm.collections = sample->collections;
	memcpy(about.ips, ips, nr * sizeof(*ips));
	err = ask(parser, jvm, &question, &about, nr);
	if (err)
		return err;
	*methods = named.methods;
	*nr_methods = named.nr;
	return 0;
}

void parser_leave_out_jvm(struct parser *parser, uint32_t tgid, int err)
{
	parser_leave_out(parser, MESSAGE_JVM + tgid, err);
}
