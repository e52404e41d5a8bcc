/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the forged interpreters share. Each is a program that exports what an interpreter does, but whose structures are what
 * a hostile program would have there:
 *
 *	PROGRAM circle	a walk would never end
 *	PROGRAM wild	anything, anew 4,000 times a second
 *	PROGRAM text	a good stack whose texts are wrong, others as often
 *	PROGRAM hidden	a good stack that ends; a page of it, with a name, is there only after SIGUSR1
 *	PROGRAM away	a stack whose first frame is not there (CPython)
 *
 * Says "{}" when it has begun, and goes on until it is killed.
 */
#ifndef FORGED_H
#define FORGED_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FORGED_PAGE 4096

/* Changes some of the structures. */
typedef void change_fn(bool is_text);

static change_fn *forged_change;

static inline void *forged_changes(void *is_text)
{
	for (;;) {
		forged_change(is_text);
		usleep(250);
	}
	return NULL;
}

static void *forged_page;

static inline void forged_show(int sig)
{
	(void)sig;
	mprotect(forged_page, FORGED_PAGE, PROT_READ | PROT_WRITE);
}

/* Hides a page until SIGUSR1. */
static inline void forged_hide(void *page)
{
	forged_page = page;
	signal(SIGUSR1, forged_show);
	mprotect(page, FORGED_PAGE, PROT_NONE);
}

/* Says that it has begun, and calls change again and again if the program's argument is "wild" or "text". */
static inline void forged_begin(const char *what, change_fn *change)
{
	pthread_t thread;

	forged_change = change;
	if ((!strcmp(what, "wild") || !strcmp(what, "text")) &&
	    pthread_create(&thread, NULL, forged_changes,
			   strcmp(what, "text") ? NULL : (void *)change))
		exit(1);
	puts("{}");
	fflush(stdout);
}

/* A pointer to one of nr objects, a small number, a large one, or one bit. */
static inline uint64_t forged_word(uint64_t (*object)(uint64_t i), uint64_t nr)
{
	uint64_t any = (uint64_t)rand() << 32 ^ (uint64_t)rand();

	switch (rand() % 4) {
	case 0:
		return any;
	case 1:
		return any % 8;
	case 2:
		return 1ull << any % 64;
	default:
		return object(any % nr);
	}
}

#endif
