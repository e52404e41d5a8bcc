/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* From an ip of current to its unwind rule; cprof_abi.h and unwind_abi.h draw the tables. */
#ifndef CPROF_TABLES_BPF_H
#define CPROF_TABLES_BPF_H

#include "prelude.bpf.h"
#include "scratch.bpf.h"

/* Sets the walk up for current's process. false: it is not known. */
bool tables_enter(struct walk *walk);
/* Sets walk->at for its ip: UNWIND_RULE_EXTENDED | UNWIND_EXTENDED_GAP where the table says nothing. */
void tables_find(struct walk *walk);
/* Is there code at ip, as far as is known? */
bool tables_knows(struct walk *walk, u64 ip);
/* The extended rule that at names, in full. */
void tables_extended(const struct rule_at *at, struct unwind_rule *rule);

/* Current runs another image: its vmas are those of another. */
void tables_forget(u32 tgid);
/* A forked child has its parent's. */
void tables_inherit(u32 parent_tgid, u32 tgid);

#endif
