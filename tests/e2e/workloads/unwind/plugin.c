/* CFLAGS: -O2 -fomit-frame-pointer -shared -fPIC */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Loaded by loader.c in mid-profile.
 */
#include "stacks.h"

void plugin_work(void (*back)(unsigned int));

FRAME static void plugin_inner(void (*back)(unsigned int))
{
	unsigned int times = uneven(20000);
	volatile char room[500];

	room[7] = 0;
	SPIN(times);
	back(times);
	room[8] = 0;
}

FRAME void plugin_work(void (*back)(unsigned int))
{
	plugin_inner(back);
	NOT_LAST();
}
