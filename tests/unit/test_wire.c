// SPDX-License-Identifier: BSD-2-Clause
/* The wire format of protocol buffers: fields, varints, groups, truncated and hostile input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "input/idmap.h"
#include "input/wire.h"

#define WIRE(text) wire_of((text), sizeof(text) - 1)

static struct wire wire_of(const char *text, size_t len)
{
	return (struct wire){.at = (const uint8_t *)text, .end = (const uint8_t *)text + len};
}

/* The example of protobuf.dev, "Encoding": field 1 is 150; and its other wire types. */
static void test_fields(void **state)
{
	struct wire wire = WIRE("\x08\x96\x01"
				"\x12\x07testing"
				"\x19\1\2\3\4\5\6\7\x08"
				"\x25\1\2\3\4");
	struct wire_field field;

	(void)state;
	assert_true(wire_next(&wire, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.type, WIRE_VARINT);
	assert_int_equal(field.value, 150);
	assert_int_equal(field.body.end - field.body.at, 2);
	assert_true(wire_next(&wire, &field));
	assert_int_equal(field.number, 2);
	assert_int_equal(field.body.end - field.body.at, 7);
	assert_memory_equal(field.body.at, "testing", 7);
	assert_true(wire_next(&wire, &field));
	assert_int_equal(field.type, WIRE_64);
	assert_int_equal(field.body.end - field.body.at, 8);
	assert_true(wire_next(&wire, &field));
	assert_int_equal(field.number, 4);
	assert_int_equal(field.type, WIRE_32);
	assert_false(wire_next(&wire, &field));
	assert_null(wire.why);
}

static void test_varints(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool good;
		uint64_t value;
	} cases[] = {
		{"\0", 1, true, 0},
		{"\x7f", 1, true, 127},
		{"\x80\x01", 2, true, 128},
		{"\x80\x80\x00", 3, true, 0}, /* longer than it need be */
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, true, 1ull << 63}, /* 69 bits */
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false, 0},
		{"\x80", 1, false, 0},
		{"\xff\xff", 2, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		struct wire wire = {bytes, bytes + cases[i].len, NULL};
		uint64_t value = 7;

		assert_int_equal(wire_varint(&wire, &value), cases[i].good);
		assert_int_equal(value, cases[i].good ? cases[i].value : 7);
		assert_int_equal(wire.why == NULL, cases[i].good);
		assert_true(wire.at == (cases[i].good ? wire.end : bytes));
	}
}

/* A number that is not packed has a body of one number. */
static void test_repeated(void **state)
{
	struct wire wire = WIRE("\x08\x96\x01\x0a\x04\x01\x96\x01\x02"), numbers;
	uint64_t value, sum = 0, nr = 0, counted = 0;
	struct wire_field field;

	(void)state;
	while (wire_next(&wire, &field)) {
		counted += wire_nr_varints(&field.body);
		for (numbers = field.body; wire_varint(&numbers, &value); nr++)
			sum += value;
		assert_null(numbers.why);
	}
	assert_int_equal(nr, 4);
	assert_int_equal(counted, 4);
	assert_int_equal(sum, 150 + 1 + 150 + 2);
}

static void test_groups(void **state)
{
	/* 99 { 1: 1  98 { 2: "}" } } 5: 7 */
	struct wire good = WIRE("\x9b\x06\x08\x01\x93\x06\x12\x01}\x94\x06\x9c\x06\x28\x07");
	struct wire crossed = WIRE("\x9b\x06\x93\x06\x9c\x06\x94\x06");
	struct wire_field field;

	(void)state;
	assert_true(wire_next(&good, &field));
	assert_int_equal(field.number, 99);
	assert_int_equal(field.type, WIRE_GROUP);
	assert_true(wire_next(&good, &field));
	assert_int_equal(field.number, 5);
	assert_int_equal(field.value, 7);
	assert_false(wire_next(&good, &field));
	assert_null(good.why);
	assert_false(wire_next(&crossed, &field));
	assert_non_null(crossed.why);
}

/* Every prefix of a message is either whole fields or cut off; nothing beyond it is touched. */
static void test_prefixes(void **state)
{
	static const char whole[] =
		"\x08\x96\x01\x12\x07testing\x9b\x06\x08\x01\x9c\x06\x25\1\2\3\4";
	const size_t ends[] = {0, 3, 12, 18, 23};

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		uint8_t *copy = malloc(len ? len : 1); /* of its own, for the sanitizer */
		struct wire wire = {copy, copy + len, NULL};
		struct wire_field field;
		bool is_end = false;

		memcpy(copy, whole, len);
		while (wire_next(&wire, &field))
			assert_true(field.body.end <= copy + len);
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			is_end |= len == ends[i];
		assert_int_equal(wire.why == NULL, is_end);
		free(copy);
	}
}

static void test_ids(void **state)
{
	static const uint64_t ids[] = {1, 2, 21, 22, 1000, UINT64_MAX, 1ull << 63, 1ull << 32};
	const size_t nr = sizeof(ids) / sizeof(ids[0]);
	struct idmap map;

	(void)state;
	idmap_init(&map, nr);
	for (size_t i = 0; i < nr; i++)
		assert_true(idmap_add(&map, ids[i], i + 1));
	for (size_t i = 0; i < nr; i++) {
		assert_false(idmap_add(&map, ids[i], nr));
		assert_int_equal(idmap_get(&map, ids[i]), i + 1);
	}
	assert_int_equal(idmap_get(&map, 0), 0);
	assert_int_equal(idmap_get(&map, 3), 0);
	assert_int_equal(idmap_get(&map, UINT64_MAX - 1), 0);
	idmap_release(&map);

	idmap_init(&map, 0);
	assert_int_equal(idmap_get(&map, 0), 0);
	assert_int_equal(idmap_get(&map, 5), 0);
	idmap_release(&map);
}

/* A million ids a power of two apart, which any fixed way of hashing by low bits would chain up. */
static void test_hostile_ids(void **state)
{
	const uint32_t nr = 1000000;
	struct idmap map;

	(void)state;
	idmap_init(&map, nr);
	for (uint64_t i = 0; i < nr; i++)
		assert_true(idmap_add(&map, (i + 1) << 40, i + 1));
	for (uint64_t i = 0; i < nr; i += 997)
		assert_int_equal(idmap_get(&map, (i + 1) << 40), i + 1);
	idmap_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	    cmocka_unit_test(test_varints),
		cmocka_unit_test(test_repeated),    cmocka_unit_test(test_groups),
		cmocka_unit_test(test_prefixes),    cmocka_unit_test(test_ids),
		cmocka_unit_test(test_hostile_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
