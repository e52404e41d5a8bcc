// SPDX-License-Identifier: BSD-2-Clause
/*
 * The input is a file of JIT symbols: a perf map, and a jitdump. An answer is about the ip
 * that was asked for, its name is whole, and a line has a file.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/require.h"
#include "runtime/jitdump.h"
#include "runtime/perfmap.h"

#define NR 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static size_t read_input(void *ctx, uint64_t off, void *to, size_t len)
{
	const struct input *input = ctx;

	if (off >= input->size)
		return 0;
	if (len > input->size - off)
		len = input->size - off;
	memcpy(to, input->data + off, len);
	return len;
}

static void check(const struct jitsym_query *queries)
{
	for (size_t i = 0; i < NR; i++) {
		require(memchr(queries[i].name, '\0', JITSYM_NAME_BYTES));
		require(memchr(queries[i].file, '\0', JITSYM_NAME_BYTES));
		require(!queries[i].line == !*queries[i].file);
		require(!queries[i].line || *queries[i].name);
		if (*queries[i].name)
			require(queries[i].start <= queries[i].ip &&
				queries[i].ip < queries[i].limit);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	const struct jitsym_source source = {read_input, &input};
	struct jitsym_query map[NR] = {{0}}, dump[NR] = {{0}};

	for (size_t i = 0; i < NR; i++) {
		map[i].ip = dump[i].ip = 0x1000 + i * 0x100;
		map[i].time_ns = dump[i].time_ns = 100 * i;
	}
	perfmap_find(&source, map, NR);
	check(map);
	jitdump_find(&source, dump, NR);
	check(dump);
	return 0;
}
