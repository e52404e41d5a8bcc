/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * V8's objects in the target's memory: their words, their types, and the characters of strings. For objects that are loaded by
 * themselves, as shadow.bpf.h.
 *
 * Pointers to objects have 1 in their lowest bits; numbers are in the upper half of a word. An object begins with its map, which
 * says its type.
 */
#ifndef CPROF_V8OBJECTS_BPF_H
#define CPROF_V8OBJECTS_BPF_H

#include "prelude.bpf.h"

#include "shadow.bpf.h"

#define TYPE_AT		12   /* in a map */
#define FIRST_NONSTRING 0x80 /* of types */
#define STRING_SHAPE	7    /* bits of a string's type */
#define SHAPE_CONS	1
#define SHAPE_EXTERNAL	2
#define SHAPE_THIN	5
#define ONE_BYTE	8 /* bit of a string's type */
#define UNCACHED \
	0x10 /* bit of a string's type: where an external one's characters are is not in it */
#define LENGTH_AT   12 /* in a string */
#define STRING_HEAD 16
#define EXTERNAL_AT 24 /* where they are */
#define NO_TYPE	    0xffff

static __always_inline bool is_object(u64 word)
{
	return (word & 3) == 1;
}

/* A word of an object, 0: it cannot be read. */
static __always_inline u64 word_in(u64 object, u32 offset)
{
	u64 word = 0;

	if (is_object(object))
		read_word(object - 1 + offset, &word);
	return word;
}

/* NO_TYPE: it is no object that can be read. Global, and so verified once. */
__noinline int v8_type(u64 object)
{
	u64 map = word_in(object, 0);
	u16 type = NO_TYPE;

	if (!is_object(map) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(map - 1 + TYPE_AT)))
		return NO_TYPE;
	return type;
}

static __always_inline bool is_string(u64 object)
{
	return is_object(object) && v8_type(object) < FIRST_NONSTRING;
}

static __always_inline u32 length_of(u64 string)
{
	u64 word = word_in(string, LENGTH_AT & ~7u);

	return word >> 32;
}

/* Where a string's characters are, and how wide. 0: in several places, or it cannot be read. */
static __always_inline u64 characters_of(u64 string, u32 *is_wide)
{
	u32 type = v8_type(string), shape = type & STRING_SHAPE;

	if (shape == SHAPE_THIN || shape == SHAPE_CONS) {
		string = word_in(string, STRING_HEAD);
		type = v8_type(string);
		shape = type & STRING_SHAPE;
	}
	*is_wide = !(type & ONE_BYTE);
	if (type >= FIRST_NONSTRING)
		return 0;
	if (shape == SHAPE_EXTERNAL && !(type & UNCACHED))
		return word_in(string, EXTERNAL_AT);
	return shape ? 0 : string - 1 + STRING_HEAD;
}

#endif
