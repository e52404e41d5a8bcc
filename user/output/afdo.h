/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a CPU profile as the text form of an AutoFDO sample profile, which clang's -fprofile-sample-use optimizes by.
 *
 *	cprof convert -o x.afdo.txt cpu.pb.gz
 *	llvm-profdata merge --sample x.afdo.txt -o x.profdata
 *	clang -O2 -g1 -fdebug-info-for-profiling -fprofile-sample-use=x.profdata -mllvm -sample-profile-use-profi ...
 *
 * A sample counts for the line that was executing, in the innermost inlined function; callers are not in this format. So
 * the program must have been compiled so, or with -g, and recorded while its debug information was there.
 *
 * Source: https://clang.llvm.org/docs/UsersManual.html (sample profile text format), LLVM's SampleProfReader.h.
 */
#ifndef CPROF_OUTPUT_AFDO_H
#define CPROF_OUTPUT_AFDO_H

#include <stdint.h>

#include "base/textout.h"
#include "profile/model.h"

/*
 * type: position of the sample type that is written. -EDOM: a value is negative, or of samples that are there none has a
 * line; nothing is written then. -errno of the sink.
 */
int afdo_encode(const struct profile *profile, uint32_t type, sink_fn sink, void *ctx);

#endif
