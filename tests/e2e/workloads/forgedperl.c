// SPDX-License-Identifier: BSD-2-Clause
/*
 * LDLIBS: -rdynamic
 *
 * No Perl, but it exports what Perl 5.36 does (forged.h).
 */
#include "forged.h"

#include <pthread.h>

#define NR_WORDS      512
#define NR_OBJECTS    64
#define CONTEXT_WORDS 13

/* Words of an interpreter, a stack of contexts, a context, an operation, a name. */
enum {
	OPERATION = 1,
	STATEMENT = 26,
	STACK = 28
};
enum {
	CONTEXTS = 1,
	BELOW = 2,
	TOP = 4,
	TOP_CALL = 5
};
enum {
	TYPE = 0,
	CALLER = 2,
	CODE = 9,
	SUB = 9
};
enum {
	FUNCTION = 2,
	LINE = 4,
	FILENAME = 6
};

pthread_key_t PL_thr_key;
const char before[] = "\0v5.36.99";
static volatile uint64_t objects[NR_OBJECTS][NR_WORDS];
volatile uint64_t sink;

void Perl_runops_standard(void);

/* The interpreter's loop, as far as a symbol can be one. */
__attribute__((noinline)) void Perl_runops_standard(void)
{
	for (;;)
		sink += sink * sink + 1;
}

static uint64_t object(uint64_t i)
{
	return (uintptr_t)objects[i];
}

static void fill_name(volatile uint64_t *name, const char *text, uint32_t length)
{
	name[0] = (uint64_t)length << 32 | 77;
	memcpy((void *)&name[1], text, strlen(text) + 1);
}

/* Objects 8 to 15 are stacks of 16 calls each, every one below the one before. */
static void build(uint32_t length)
{
	volatile uint64_t *code = objects[1];

	objects[0][STATEMENT] = object(2);
	objects[0][STACK] = object(8);
	code[0] = object(5);
	objects[5][4] = object(6);	  /* its package */
	objects[5][5] = object(2);	  /* its first statement */
	objects[5][7] = object(3);	  /* its name */
	objects[5][11] = 0x8000ull << 32; /* which is not in a GV */
	objects[6][0] = object(7);
	objects[6][1] = (uint64_t)(1u << 25) << 32;
	objects[7][4] = object(4);
	fill_name(objects[3], "made_up", length);
	fill_name(objects[4], "Made", 4);
	objects[2][FUNCTION] = 0x1234;
	objects[2][LINE] = 7ull << 32 | 198;
	objects[2][FILENAME] = object(16);
	memcpy((void *)objects[16], "/made/up.pl", 12);
	for (int i = 8; i < 16; i++) {
		objects[i][CONTEXTS] = object(20);
		objects[i][BELOW] = object(i == 15 ? 8 : i + 1);
		objects[i][TOP] = 15;
		objects[i][TOP_CALL] = 15 | 1ull << 32;
	}
	for (int i = 0; i < 16; i++) {
		volatile uint64_t *context = &objects[20][i * CONTEXT_WORDS];

		context[TYPE] = SUB;
		context[CALLER] = object(2);
		context[CODE] = object(1);
	}
}

static void change(bool is_text)
{
	for (int i = 0; !is_text && i < 4096; i++)
		objects[rand() % 24][rand() % (CONTEXT_WORDS * 16)] =
			forged_word(object, NR_OBJECTS);
	if (is_text)
		objects[3][0] = forged_word(object, NR_OBJECTS);
	objects[0][STACK] = object(8 + rand() % 8);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	pthread_key_create(&PL_thr_key, NULL);
	pthread_setspecific(PL_thr_key, (void *)objects[0]);
	build(7);
	forged_begin(what, change);
	sink = (uint64_t)before[rand() % 4];
	Perl_runops_standard();
	return 0;
}
