/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The kinds of runtimes whose functions cprof reads, and what is said of each to the program that walks its stack. */
#ifndef CPROF_RUNTIME_ABI_H
#define CPROF_RUNTIME_ABI_H

#include "perl_abi.h"
#include "php_abi.h"
#include "python_abi.h"
#include "ruby_abi.h"
#include "v8_abi.h"

enum abi_runtime {
	ABI_RUNTIME_NONE,
	ABI_RUNTIME_PYTHON,
	ABI_RUNTIME_PHP,
	ABI_RUNTIME_V8,
	ABI_RUNTIME_RUBY,
	ABI_RUNTIME_PERL,
	ABI_NR_RUNTIMES,
};

/* A kind with a number: the place of a process in that kind's array of layouts, or the version of its runtime (0x030b is 3.11). */
#define ABI_RUNTIME(kind, i)	     ((__u32)(kind) << 16 | (i))
#define ABI_RUNTIME_KIND(runtime)    ((runtime) >> 16)
#define ABI_RUNTIME_PLACE(runtime)   ((runtime)&0xffff)
#define ABI_RUNTIME_VERSION(runtime) ((runtime)&0xffff)

/* How the memory of a runtime is read: that of its kind. */
union abi_layout {
	struct abi_python python;
	struct abi_php php;
	struct abi_v8 v8;
	struct abi_ruby ruby;
	struct abi_perl perl;
};

#endif
