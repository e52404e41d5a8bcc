// SPDX-License-Identifier: BSD-2-Clause
/*
 * LDLIBS: -rdynamic
 *
 * No PHP, but it exports what PHP 8.2 does (forged.h).
 */
#include "forged.h"

#define NR_WORDS     64
#define NR_OBJECTS   64
#define CURRENT_WORD 61 /* 488 bytes */

/* Words of zend_execute_data and zend_op_array. */
enum {
	OPLINE = 0,
	FUNC = 3,
	INFO = 5,
	PREVIOUS = 6
};
enum {
	TYPE = 0,
	NAME = 1,
	SCOPE = 2,
	NR_OPCODES = 10,
	OPCODES = 11,
	FILENAME = 19,
	LINES = 20
};

volatile uint64_t executor_globals[128];
const char header[] = "X-Powered-By: PHP/8.2.99";
static volatile uint64_t objects[NR_OBJECTS][NR_WORDS];
volatile uint64_t sink;

void execute_ex(void);

/* The interpreter's loop, as far as a symbol can be one. */
__attribute__((noinline)) void execute_ex(void)
{
	for (;;)
		sink += sink * sink + 1;
}

/* A page of its own for the name of the function. */
static volatile uint64_t hidden[FORGED_PAGE / 8] __attribute__((aligned(FORGED_PAGE)));

static void fill_string(volatile uint64_t *string, const char *text, uint64_t length)
{
	string[1] = length * 31 + 7;
	string[2] = length;
	memcpy((void *)&string[3], text, strlen(text) + 1);
}

/* Frames are objects 8 to 15, each the caller of the one before. */
static void build(uint64_t length)
{
	volatile uint64_t *func = objects[0];

	fill_string(objects[1], "made_up", length);
	fill_string(objects[2], "/made/up.php", length);
	func[TYPE] = 2;
	func[NAME] = (uintptr_t)objects[1];
	func[NR_OPCODES] = 1;
	func[OPCODES] = (uintptr_t)objects[3];
	func[FILENAME] = (uintptr_t)objects[2];
	func[LINES] = 9ull << 32 | 5;
	objects[3][3] = 7;
	for (int i = 8; i < 16; i++) {
		objects[i][OPLINE] = (uintptr_t)objects[3];
		objects[i][FUNC] = (uintptr_t)func;
		objects[i][INFO] = 1u << 17;
		objects[i][PREVIOUS] = (uintptr_t)objects[i == 15 ? 8 : i + 1];
	}
	executor_globals[CURRENT_WORD] = (uintptr_t)objects[8];
}

static uint64_t object(uint64_t i)
{
	return (uintptr_t)objects[i];
}

static void change(bool is_text)
{
	for (int i = 0; !is_text && i < 2048; i++)
		objects[rand() % NR_OBJECTS][rand() % NR_WORDS] = forged_word(object, NR_OBJECTS);
	if (is_text)
		objects[1][2] = forged_word(object, NR_OBJECTS);
	executor_globals[CURRENT_WORD] = (uintptr_t)objects[8 + rand() % 8];
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	build(!strcmp(what, "wild") || !strcmp(what, "text") ? 12 : 7);
	if (!strcmp(what, "hidden")) {
		fill_string(hidden, "made_up", 7);
		objects[0][NAME] = (uintptr_t)hidden;
		objects[8][PREVIOUS] = 0;
		forged_hide((void *)hidden);
	}
	forged_begin(what, change);
	sink = (uint64_t)header[rand() % 4];
	execute_ex();
	return 0;
}
