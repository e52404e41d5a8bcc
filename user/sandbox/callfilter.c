// SPDX-License-Identifier: BSD-2-Clause
/*
 * The filter is classic BPF over struct seccomp_data: the number is loaded and compared with that of each rule. A rule
 * with conditions loads arguments over it, so it ends with loading it again:
 *
 *	if number != rule's: skip to the next rule
 *	load argument, if it fails the test: skip to 1
 *	return matched
 *   1: load number
 */
#include "sandbox/callfilter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this machine?"
#endif

#define X32_BIT \
	0x40000000u /* in the numbers of x86-64's other set of calls; larger than any on arm64 */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

static void add(struct callfilter *filter, struct sock_filter statement)
{
	if (filter->nr < CALLFILTER_MAX)
		filter->code[filter->nr] = statement;
	filter->nr++;
}

void callfilter_begin(struct callfilter *filter, uint32_t matched, uint32_t foreign)
{
	filter->nr = 0;
	filter->matched = matched;
	add(filter, (struct sock_filter)LOAD(arch));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0));
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, foreign));
	add(filter, (struct sock_filter)LOAD(nr));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, foreign));
}

/* Goes on if it is met, else jumps over `skip` statements behind itself. Returns the number of its statements. */
static size_t add_condition(struct callfilter *filter, const struct call_condition *condition,
			    uint8_t skip)
{
	size_t before = filter->nr;
	uint32_t value = condition->value;

	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args) +
							 condition->half * sizeof(uint32_t)));
	if (condition->test == CALL_ALL_OF)
		add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, value));
	if (condition->test == CALL_NONE_OF)
		add(filter,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, skip, 0));
	else
		add(filter,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
	return filter->nr - before;
}

static uint8_t nr_statements(const struct call_condition *condition)
{
	return condition->test == CALL_ANY ? 0 : condition->test == CALL_ALL_OF ? 3 : 2;
}

static void add_rule(struct callfilter *filter, const struct call_rule *rule)
{
	uint8_t first = nr_statements(&rule->conditions[0]);
	uint8_t second = nr_statements(&rule->conditions[1]);
	uint8_t reload = first || second;

	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->nr, 0,
						 first + second + 1 + reload));
	if (first)
		add_condition(filter, &rule->conditions[0], second + 1);
	if (second)
		add_condition(filter, &rule->conditions[1], 1);
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, filter->matched));
	if (reload)
		add(filter, (struct sock_filter)LOAD(nr));
}

void callfilter_add(struct callfilter *filter, const struct call_rule *rules, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		add_rule(filter, &rules[i]);
}

int callfilter_install(struct callfilter *filter, uint32_t others, unsigned int flags)
{
	struct sock_fprog program = {.filter = filter->code};
	long err;

	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others));
	if (filter->nr > CALLFILTER_MAX)
		return -E2BIG;
	program.len = filter->nr;
	if (flags)
		err = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	else
		err = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	if (err > 0) /* SECCOMP_FILTER_FLAG_TSYNC: the id of a thread that cannot have it */
		return -EBUSY;
	return err ? -errno : 0;
}
