/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is this function of one build that function of another? Names carry what a compiler made up: which
 * clone it is, a hash of the crate, the module it was promoted from. Two builds of the same source
 * differ in these, and a gate that took them for two functions would see one vanish and one appear.
 *
 *	foo.constprop.0  foo.isra.3  foo.part.1  foo.cold  foo.lto_priv.0  foo.llvm.123  ->  foo
 *	core::fmt::write::h0123456789abcdef						 ->  core::fmt::write
 *	a::b<int>(c<d>)			with templates left out				 ->  a::b(c)
 *	foo (.cold)  foo [clone .cold]	as demanglers write it				 ->  foo
 *
 * Names in brackets ("[unknown]"), operator< and the like, and "<T as Trait>::f" of Rust stay whole.
 */
#ifndef CPROF_GATE_IDENTITY_H
#define CPROF_GATE_IDENTITY_H

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

#endif
