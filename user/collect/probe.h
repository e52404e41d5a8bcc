/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses a run that this machine cannot do, before anything costs time: with the cause, and what to do. */
#ifndef CPROF_COLLECT_PROBE_H
#define CPROF_COLLECT_PROBE_H

#include "machine/machine.h"

/*
 * Makes the cheap checks of machine/ for uses (enum machine_use). Fills *features.
 * -EPERM: privileges are missing; -ENOTSUP: the kernel lacks something. Printed, with what to do.
 */
int probe_kernel(unsigned int uses, struct kernel_features *features);

#endif
