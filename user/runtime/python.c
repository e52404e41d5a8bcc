// SPDX-License-Identifier: BSD-2-Clause
/*
 * CPython exports its variables for extension modules and debuggers: _PyRuntime has the state of everything, PyCode_Type is
 * the type of code objects. Where fields are inside of structures is the same within a minor version; the tables below
 * were taken from the headers of each, and what must not be wrong (is this a code object, is it this thread's state) is
 * checked by BPF whenever it reads.
 *
 * Py_Version says the version since 3.11; before, functions that came with one tell it from its predecessor.
 *
 * A thread finds its own state by a pthread key, with or without the GIL.
 *
 * On arm64 all is as on x86-64 but for one thing: a pthread_mutex_t has 48 bytes instead of 40, and before 3.12 two of them lie before
 * what is read of _PyRuntime.
 */
#include "runtime/python.h"

#include <string.h>

#include "object/dynsym.h"
#include "runtime/loop.h"
#include "runtime/pthreadkeys.h"

#define OLDEST 0x0308
#define NEWEST 0x030e

#define FIRST_WITHOUT_MUTEXES 0x030c
#define MUTEXES_MORE_BYTES    16 /* on arm64 */

/* The parts of struct abi_python that are not addresses; state_at: an offset in _PyRuntime. */
struct version {
	uint16_t state_at;
	struct abi_python layout;
};

#define NONE ABI_PYTHON_NONE

/* 3.8 to 3.10: frames are objects, and native code calls the loop for each. */
#define OLD(number, state, key, lasti)             \
	{                                          \
		.state_at = (state), .layout = {   \
			.version = (number),       \
			.thread_at = 176,          \
			.frame_at = 24,            \
			.current_at = 0,           \
			.key_at = (key) - (state), \
			.hop_at = NONE,            \
			.frame_code = 32,          \
			.frame_previous = 24,      \
			.frame_instr = (lasti),    \
			.frame_entry = NONE,       \
			.entries = ABI_PYTHON_ALL, \
			.code_from = 16,           \
			.code_limit = 128,         \
			.code_name = 112,          \
			.code_qualified = NONE,    \
			.code_file = 104,          \
			.code_lines = 120          \
		}                                  \
	}

/* 3.12 and later. */
#define NEW(number, state, thread, frame, hop, owner, bytecode) \
	{                                                       \
		.state_at = (state), .layout = {                \
			.version = (number),                    \
			.thread_at = (thread),                  \
			.frame_at = (frame),                    \
			.bytecode_at = (bytecode),              \
			.current_at = NONE,                     \
			.key_at = 0,                            \
			.hop_at = (hop),                        \
			.frame_code = 0,                        \
			.frame_previous = 8,                    \
			.frame_instr = 56,                      \
			.frame_entry = (owner),                 \
			.entries = ABI_PYTHON_SHIM,             \
			.code_from = 24,                        \
			.code_limit = 144,                      \
			.code_name = 120,                       \
			.code_qualified = 128,                  \
			.code_file = 112,                       \
			.code_lines = 136                       \
		}                                               \
	}

static const struct version versions[] = {
	OLD(0x0308, 1368, 1392, 104),
	OLD(0x0309, 568, 584, 104),
	OLD(0x030a, 568, 584, 96),
	{.state_at = 576,
	 .layout = {.version = 0x030b,
		    .thread_at = 152,
		    .frame_at = 56,
		    .bytecode_at = 184,
		    .current_at = 0,
		    .key_at = 16,
		    .hop_at = 8,
		    .frame_code = 32,
		    .frame_previous = 48,
		    .frame_instr = 56,
		    .frame_entry = 68,
		    .entries = ABI_PYTHON_FLAG,
		    .code_from = 56,
		    .code_limit = 144,
		    .code_name = 120,
		    .code_qualified = 128,
		    .code_file = 112,
		    .code_lines = 136}},
	NEW(0x030c, 1544, 136, 56, 0, 70, 192),
	NEW(0x030d, 2160, 152, 72, NONE, 70, 200),
	NEW(0x030e, 2336, 152, 72, NONE, 74, 208),
};

/* 0: not known. */
static uint16_t version_of(const struct elf_file *elf)
{
	uint64_t at, version;

	if (dynsym_variable(elf, "Py_Version", &at) &&
	    elf_file_read(elf, at, &version, sizeof(version)))
		return version >> 32 ? 0 : version >> 16;
	if (dynsym_function(elf, "PyIter_Send", &at))
		return 0x030a;
	if (dynsym_function(elf, "PyFrame_GetBack", &at))
		return 0x0309;
	return dynsym_function(elf, "PyCode_NewWithPosOnlyArgs", &at) ? 0x0308 : 0;
}

bool python_find(struct object *object, struct python_file *python)
{
	const struct elf_file *elf = object_elf(object);
	const struct arch *arch = elf_file_arch(elf);
	struct pthread_keys keys = pthread_keys_of(arch);
	uint64_t runtime, code_type, loop, free_threaded;
	uint16_t version;

	if (!dynsym_variable(elf, "_PyRuntime", &runtime) ||
	    !dynsym_variable(elf, "PyCode_Type", &code_type) ||
	    !dynsym_function(elf, "_PyEval_EvalFrameDefault", &loop) ||
	    dynsym_function(elf, "_Py_MergeZeroLocalRefcount", &free_threaded))
		return false;
	version = version_of(elf);
	if (version < OLDEST || version > NEWEST)
		return false;
	*python = (struct python_file){.layout = versions[version - OLDEST].layout};
	python->layout.state = runtime + versions[version - OLDEST].state_at;
	if (arch == &arch_arm64 && version < FIRST_WITHOUT_MUTEXES)
		python->layout.state += MUTEXES_MORE_BYTES;
	python->layout.code_type = code_type;
	python->layout.values_at = keys.values_at;
	python->layout.more_values_at = keys.more_values_at;
	loop_find(object, "_PyEval_EvalFrameDefault", python->loops);
	return true;
}
