/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds a filter of system calls (seccomp) from tables of rules, and installs it.
 *
 *	static const struct call_rule rules[] = {CALL(read), CALL_IF(fcntl, CALL_EQUAL, CALL_LOW(1), F_GETFL)};
 *	struct callfilter filter;
 *
 *	callfilter_begin(&filter, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
 *	callfilter_add(&filter, rules, 2);	any number of times
 *	err = callfilter_install(&filter, SECCOMP_RET_KILL_PROCESS, 0);
 *
 * A filter cannot be undone. It is inherited by every thread and process that is made afterwards.
 */
#ifndef CPROF_SANDBOX_CALLFILTER_H
#define CPROF_SANDBOX_CALLFILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum call_test {
	CALL_ANY,     /* no condition */
	CALL_EQUAL,   /* the argument is the value */
	CALL_NONE_OF, /* it has no bit of the value */
	CALL_ALL_OF,  /* it has all bits of the value */
};

/* Halves of the arguments, counted from 0: the kernel takes most arguments as 32 bits. */
#define CALL_LOW(argument)  (2 * (argument))
#define CALL_HIGH(argument) (2 * (argument) + 1)

/* A call fits a rule if it has its number and meets its conditions. Several rules may have the same number. */
struct call_rule {
	uint32_t nr; /* SYS_... */
	struct call_condition {
		uint8_t test, half;
		uint32_t value;
	} conditions[2];
};

/* clang-format off */
#define CALL(name) CALL_IF(name, CALL_ANY, 0, 0)
#define CALL_IF(name, ...) CALL_IF2(name, __VA_ARGS__, CALL_ANY, 0, 0)
#define CALL_IF2(name, ...) CALL_RULE(name, __VA_ARGS__)
#define CALL_RULE(name, test, half, value, test2, half2, value2)                                   \
	{SYS_##name, {{test, half, value}, {test2, half2, value2}}}
/* clang-format on */

#define CALLFILTER_MAX 1024 /* statements */

struct callfilter {
	struct sock_filter code[CALLFILTER_MAX];
	size_t nr;
	uint32_t matched;
};

/*
 * The results are SECCOMP_RET_...: of a call that fits a rule; of a call by the numbers of another architecture (i386,
 * x32).
 */
void callfilter_begin(struct callfilter *filter, uint32_t matched, uint32_t foreign);
void callfilter_add(struct callfilter *filter, const struct call_rule *rules, size_t nr);
/*
 * others: the result of a call that fits no rule. flags: SECCOMP_FILTER_FLAG_...; 0: the calling thread. The process has
 * no_new_privs, or CAP_SYS_ADMIN. -errno: the kernel refuses; -E2BIG: there were too many rules.
 */
int callfilter_install(struct callfilter *filter, uint32_t others, unsigned int flags);

#endif
