// SPDX-License-Identifier: BSD-2-Clause
/*
 * LDLIBS: -rdynamic
 *
 * No V8, but it exports what V8 11.3 does (forged.h). Its circle is 500 frames of one function.
 */
#include <sys/mman.h>

#include "forged.h"

#define NR_WORDS    64
#define NR_OBJECTS  32
#define NR_FRAMES   500
#define FRAME_WORDS 8
#define NUMBER(n)   ((uint64_t)(n) << 32)

const int _ZN2v88internal7Version6major_E = 11;
const int _ZN2v88internal7Version6minor_E = 3;
const int v8dbg_TaggedSize = 8;
const int v8dbg_SmiShiftSize = 31;
const int v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE = 262;
const int v8dbg_type_Script__SCRIPT_TYPE = 167;
const int v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE = 261;
const int v8dbg_class_JSFunction__shared__SharedFunctionInfo = 24;
const int v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object = 16;
const int v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject = 32;
const int v8dbg_class_SharedFunctionInfo__flags__int = 48;
const int v8dbg_class_Script__name__Object = 16;
const int v8dbg_class_Script__line_ends__Object = 56;
const int v8dbg_scopeinfo_idx_first_vars = 3;

enum {
	SHARED_MAP,
	SCRIPT_MAP,
	SCOPE_MAP,
	STRING_MAP,
	FUNCTION,
	SHARED,
	SCRIPT,
	SCOPE,
	NAME,
	FILE_NAME,
	SOURCE
};

static volatile uint64_t objects[NR_OBJECTS][NR_WORDS];
static volatile uint64_t frames[NR_FRAMES * FRAME_WORDS];

static uint64_t object(uint64_t i)
{
	return (uintptr_t)objects[i] + 1;
}

static void set_map(uint64_t i, uint64_t type)
{
	objects[i][0] = object(i);
	objects[i][1] = type << 32;
}

static void set_string(uint64_t i, const char *text)
{
	objects[i][0] = object(STRING_MAP);
	objects[i][1] = NUMBER(strlen(text));
	memcpy((void *)&objects[i][2], text, strlen(text));
}

static void build_objects(void)
{
	set_map(SHARED_MAP, 262);
	set_map(SCRIPT_MAP, 167);
	set_map(SCOPE_MAP, 261);
	set_map(STRING_MAP, 40);
	set_string(NAME, "made_up");
	set_string(FILE_NAME, "/made/up.js");
	objects[FUNCTION][3] = object(SHARED);
	objects[SHARED][0] = object(SHARED_MAP);
	objects[SHARED][2] = object(SCOPE);
	objects[SHARED][4] = object(SCRIPT);
	objects[SCRIPT][0] = object(SCRIPT_MAP);
	set_string(SOURCE, "one\ntwo\nfunction made_up() {}\nfour\n");
	objects[SCRIPT][1] = object(SOURCE);
	objects[SCRIPT][2] = object(FILE_NAME);
	objects[SCRIPT][8] = NUMBER(7);
	objects[SCOPE][0] = object(SCOPE_MAP);
	objects[SCOPE][1] = NUMBER(1 << 12);
	objects[SCOPE][4] = object(NAME);
	objects[SCOPE][6] = NUMBER(16); /* where it begins in the source */
}

/* Each frame: -16 function, -8 context, 0 the caller's rbp, 8 the return address. */
static void build_frames(uint64_t return_address)
{
	for (int i = 0; i < NR_FRAMES; i++) {
		volatile uint64_t *frame = &frames[i * FRAME_WORDS];

		frame[2] = object(FUNCTION);
		frame[3] = object(FUNCTION);
		frame[4] = i == NR_FRAMES - 1 ? 0 : (uintptr_t)&frame[4 + FRAME_WORDS];
		frame[5] = i == NR_FRAMES - 1 ? 0 : return_address;
	}
}

static uint64_t any_word(void)
{
	return forged_word(object, NR_OBJECTS);
}

static void change(bool is_text)
{
	for (int i = 0; !is_text && i < 256; i++)
		objects[rand() % NR_OBJECTS][rand() % NR_WORDS] = any_word();
	if (is_text) {
		objects[NAME][1] = any_word();
		objects[FILE_NAME][1] = any_word();
		objects[SCRIPT][8] = any_word();
		objects[SCOPE][6] = any_word();
	} else if (rand() % 8 == 0) {
		build_objects();
	}
}

int main(int argc, char **argv)
{
	const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0xeb, 0xfe}; /* call; jmp to itself */
	const char *what = argc > 1 ? argv[1] : "";
	uint8_t *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		return 1;
	memcpy(made, code, sizeof(code));
	build_objects();
	build_frames((uintptr_t)made + 5);
	forged_begin(what, change);
	__asm__ volatile("mov %0, %%rsp; mov %1, %%rbp; jmp *%2"
			 :
			 : "r"(&frames[0]), "r"(&frames[4]), "r"(made + 5)
			 : "memory");
	__builtin_unreachable();
}
