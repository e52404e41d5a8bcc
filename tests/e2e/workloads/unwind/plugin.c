/* CFLAGS: -O2 -fomit-frame-pointer -shared -fPIC */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Loaded by loader.c in mid-profile.
 */
#include "stacks.h"

void plugin_work(void (*back)(void));

FRAME static void plugin_inner(void (*back)(void))
{
	volatile char room[500];

	room[7] = 0;
	WORK(5);
	back();
	room[8] = 0;
}

FRAME void plugin_work(void (*back)(void))
{
	plugin_inner(back);
	NOT_LAST();
}
