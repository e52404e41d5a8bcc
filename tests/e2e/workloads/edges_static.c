/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edges, with the C library in the executable.
 * LDLIBS: -static
 */
#include "edges.c"
