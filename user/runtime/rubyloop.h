/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where in a file the two functions of CRuby are in which it runs functions, whether or not they have names there.
 *
 * rb_vm_exec() is called once for each run of functions that native code starts: it is what a frame that is marked stands for. It
 * calls vm_exec_core(), the loop over instructions, and again when an exception was caught.
 */
#ifndef CPROF_RUNTIME_RUBYLOOP_H
#define CPROF_RUNTIME_RUBYLOOP_H

#include <stdbool.h>

#include "object/object.h"
#include "runtime/loop.h"

struct rubyloop {
	struct loop_piece exec[LOOP_MAX_PIECES]; /* as loop_find() has them */
	struct loop_piece core[LOOP_MAX_PIECES]; /* all 0, 0: it is a part of the other */
};

/* false: they are not there, or not for certain; *found may have changed. */
bool rubyloop_find(struct object *object, struct rubyloop *found);

#endif
