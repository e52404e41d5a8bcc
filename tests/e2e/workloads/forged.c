// SPDX-License-Identifier: BSD-2-Clause
/*
 * LDLIBS: -rdynamic
 *
 * No CPython, but it exports what CPython 3.11 does (forged.h): frames in a circle, pointers to anywhere, lengths of any
 * size, a string of any kind.
 */
#include "forged.h"

#define NR_OBJECTS   64
#define OBJECT_BYTES 512

/* Where things are in CPython 3.11. */
#define KEY_AT	     592
#define TYPE_AT	     8
#define LENGTH_AT    16
#define HASH_AT	     24
#define STATE_AT     32
#define CFRAME_AT    56
#define CURRENT_AT   8
#define CODE_AT	     32
#define PREVIOUS_AT  48
#define INSTR_AT     56
#define ENTRY_AT     68
#define FILE_AT	     112
#define NAME_AT	     120
#define QUALIFIED_AT 128
#define LINES_AT     136
#define STR_COMPACT  (1u << 5)
#define STR_ASCII    (1u << 6)
#define STR_ONE_BYTE (1u << 2)

uint64_t Py_Version = 0x030b07f0;
uint8_t _PyRuntime[1024];
uint8_t PyCode_Type[512];
volatile uint64_t sink;

int _PyEval_EvalFrameDefault(void);

/* The interpreter's loop, as far as a symbol can be one. */
__attribute__((noinline)) int _PyEval_EvalFrameDefault(void)
{
	for (;;)
		sink += sink * sink + 1;
	return 0;
}

static uint8_t *objects;
static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uint8_t *object(unsigned int i)
{
	return objects + (i % NR_OBJECTS) * OBJECT_BYTES;
}

static void put(uint8_t *at, unsigned int offset, uint64_t value)
{
	memcpy(at + offset, &value, sizeof(value));
}

static void put_str(uint8_t *at, const char *text)
{
	memset(at, 0, OBJECT_BYTES);
	put(at, LENGTH_AT, strlen(text));
	put(at, HASH_AT, draw());
	put(at, STATE_AT, STR_ONE_BYTE | STR_COMPACT | STR_ASCII);
	strcpy((char *)at + 48, text);
}

/* 0: the thread, 1: its cframe, 2 to 9: frames, each with the code object 20 + i; 40 and so on: texts. */
static void build(void)
{
	put(object(0), CFRAME_AT, (uintptr_t)object(1));
	put(object(1), CURRENT_AT, (uintptr_t)object(2));
	put_str(object(40), "made_up");
	put_str(object(41), "/srv/forged.py");
	for (unsigned int i = 2; i < 10; i++) {
		uint8_t *frame = object(i), *code = object(20 + i);

		put(frame, CODE_AT, (uintptr_t)code);
		put(frame, PREVIOUS_AT, i < 9 ? (uintptr_t)object(i + 1) : 0);
		put(frame, INSTR_AT, (uintptr_t)code + 184);
		frame[ENTRY_AT] = i == 9;
		put(code, TYPE_AT, (uintptr_t)PyCode_Type);
		put(code, NAME_AT, (uintptr_t)object(40));
		put(code, QUALIFIED_AT, (uintptr_t)object(40));
		put(code, FILE_AT, (uintptr_t)object(41));
		put(code, LINES_AT, (uintptr_t)object(42));
	}
}

static uint64_t wild_value(void)
{
	switch (draw() % 6) {
	case 0:
		return (uintptr_t)object((unsigned int)draw());
	case 1:
		return (uintptr_t)object((unsigned int)draw()) + draw() % OBJECT_BYTES;
	case 2:
		return draw();
	case 3:
		return draw() % 2 ? UINT64_MAX : 1ull << 63;
	case 4:
		return (uintptr_t)PyCode_Type;
	default:
		return draw() % 4096;
	}
}

static void change(bool is_text)
{
	unsigned int first = is_text ? 40 : 1, nr = is_text ? 3 : NR_OBJECTS - 1;

	build();
	for (int k = 0; k < 8; k++)
		put(object(first + (unsigned int)draw() % nr), (unsigned int)draw() % 24 * 8,
		    wild_value());
}

int main(int argc, char **argv)
{
	pthread_key_t key;
	uint32_t tss[2] = {1, 0};

	if (argc != 2 || pthread_key_create(&key, NULL))
		return 2;
	objects = mmap(NULL, NR_OBJECTS * OBJECT_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (objects == MAP_FAILED)
		return 2;
	build();
	pthread_setspecific(key, object(0));
	tss[1] = key;
	memcpy(_PyRuntime + KEY_AT, tss, sizeof(tss));
	if (!strcmp(argv[1], "circle"))
		put(object(9), PREVIOUS_AT, (uintptr_t)object(2));
	if (!strcmp(argv[1], "away"))
		put(object(1), CURRENT_AT, 8);
	if (!strcmp(argv[1], "hidden")) {
		put_str(object(48), "made_up");
		for (unsigned int i = 20; i < 30; i++)
			put(object(i), NAME_AT, (uintptr_t)object(48));
		forged_hide(object(48));
	}
	forged_begin(argv[1], change);
	return _PyEval_EvalFrameDefault();
}
