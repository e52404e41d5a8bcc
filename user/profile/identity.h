/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defines which functions of two builds are the same, for diff, flame --base, check and bench. Two
 * functions are the same if identity_name() gives them the same name. Neither the binary nor the source
 * file counts, so that a binary may be renamed and a function may move.
 *
 * Names carry what a compiler, a linker or a run made up, which two builds of one source do not share:
 *
 *	foo.constprop.0  foo.isra.3  foo.part.1  foo.cold  foo.lto_priv.0  foo.llvm.123  ->  foo
 *	foo (.cold)  foo [clone .cold]	as demanglers write it				 ->  foo
 *	foo[abi:cxx11](int)		ABI tags					 ->  foo(int)
 *	memcpy@@GLIBC_2.14		symbol versions; @plt is none			 ->  memcpy
 *	core::fmt::write::h0123456789abcdef	Rust, the legacy mangling	 ->  core::fmt::write
 *	core[0123456789abcdef]::fmt	Rust, mangling v0				 ->  core::fmt
 *	App$$Lambda$14/0x00000008000c4840.run	HotSpot's hidden classes	 ->  App$$Lambda.run
 *	a::b<int>(c<d>)			with drop_templates				 ->  a::b(c)
 *
 * "(anonymous namespace)" is one in all builds. "[unknown]", operator< and the like, "<T as Trait>::f"
 * of Rust and the numbers of closures stay as they are.
 *
 * A function without a name has one made up of its file and its address. The file's version is left
 * out; whether the address says anything depends on the two sides (profile/identity_builds.h):
 *
 *	libx.so.1.2+0x1234	both sides have one build of libx.so			 ->  libx.so+0x1234
 *				they have not: its nameless code is one function	 ->  [libx.so]
 *	[anon]+0x7f00c0de	code in no file lies elsewhere in each run		 ->  [anon]
 *	[libx.so.1.2]		code without any line					 ->  [libx.so]
 *
 * No I/O, no printing.
 */
#ifndef CPROF_PROFILE_IDENTITY_H
#define CPROF_PROFILE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

struct identity_rename {
	const char *from, *to; /* names as normalised; borrowed */
};

struct identity {
	bool drop_templates;
	const struct identity_rename *renames;
	size_t nr_renames;
};

/*
 * "OLD=NEW", split at the first '=' that is not part of an operator's name; the caller frees both with
 * identity_release_rename(). -EINVAL: it is not that.
 */
int identity_parse_rename(const char *text, struct identity_rename *rename);
void identity_release_rename(struct identity_rename *rename);

/* The name that a function is compared under; the caller frees it. */
char *identity_name(const struct identity *identity, const char *name);

/*
 * For a name made of a file and an address: the name of all unnamed code of the file, "[libx.so]", before any
 * rename; the caller frees it. NULL: the name is none of these.
 */
char *identity_file(const char *name);

/* "/usr/lib/libx.so.1.2" and "/lib/[libx.so.1.3]" are the same file, "[libx.so]"; the caller frees it. */
char *identity_file_of_path(const char *path);

#endif
