/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shortens function names for display: template arguments of C++ and Rust become "<>"; argument lists,
 * the qualifiers behind them and the return types of templates are left out.
 *
 *	void std::vector<Foo<int>, A>::emplace<Foo>(Foo&&)	std::vector<>::emplace<>
 *	run(int)::{lambda(char)#1}::operator()(char) const	run::{lambda#1}::operator()
 *	std::ostream& operator<< <char>(std::ostream&, char)	operator<< <>
 *	<alloc::vec::Vec<T> as core::ops::Drop>::drop		<alloc::vec::Vec<> as core::ops::Drop>::drop
 *
 * Several functions may have the same short name. A name with unbalanced brackets, or brackets more than 64 deep, is
 * not changed. Takes time linear in the length of the name.
 */
#ifndef CPROF_PROFILE_SHORTNAME_H
#define CPROF_PROFILE_SHORTNAME_H

/* Owned by the caller: free(). Never longer than name. */
char *short_name(const char *name);

#endif
