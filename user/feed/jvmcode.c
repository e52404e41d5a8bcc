// SPDX-License-Identifier: BSD-2-Clause
/* Pieces are few between two looks, and sorted as they come: an insertion moves pointers. */
#include "feed/jvmcode.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind_abi.h"

/* What a JVM may have us hold; after that it is asked again. */
#define MOST_BYTES (8u << 20)
#define MOST_NAMED 65536

static void clear_pieces(struct jvmcode *code)
{
	vec_for_each(&code->pieces, piece)
		free(*piece);
	vec_release(&code->pieces);
	code->bytes = 0;
}

void jvmcode_forget_names(struct jvmcode *code)
{
	vec_release(&code->named);
	hash_release(&code->named_index);
}

void jvmcode_clear(struct jvmcode *code)
{
	clear_pieces(code);
	jvmcode_forget_names(code);
}

void jvmcode_add(struct jvmcode *code, struct reply_code *piece)
{
	size_t bytes = sizeof(*piece) + piece->nr_rows * sizeof(piece->rows[0]), i;

	if (code->bytes + bytes > MOST_BYTES)
		clear_pieces(code);
	i = vec_partition(&code->pieces, each, (*each)->start <= piece->start);
	vec_push(&code->pieces, NULL);
	memmove(&code->pieces.at[i + 1], &code->pieces.at[i],
		(code->pieces.nr - 1 - i) * sizeof(code->pieces.at[0]));
	code->pieces.at[i] = piece;
	code->bytes += bytes;
}

void jvmcode_add_unknown(struct jvmcode *code, uint64_t ip)
{
	struct reply_code *piece = xmalloc(sizeof(*piece) + sizeof(piece->rows[0]));

	*piece = (struct reply_code){.start = ip, .limit = ip + 1, .nr_rows = 1};
	piece->rows[0] = (struct reply_row){0, {.kind = UNWIND_UNKNOWN}};
	jvmcode_add(code, piece);
}

bool jvmcode_find(const struct jvmcode *code, uint64_t ip, struct unwind_rule *rule)
{
	size_t i = vec_partition(&code->pieces, each, (*each)->start <= ip);

	if (!i || ip >= code->pieces.at[i - 1]->limit)
		return false;
	reply_code_find(code->pieces.at[i - 1], ip, rule);
	return true;
}

static bool same_ip(const void *ctx, uint32_t value, const void *key)
{
	return ((const struct jvmcode *)ctx)->named.at[value] == *(const uint64_t *)key;
}

bool jvmcode_asks_name(struct jvmcode *code, uint64_t ip)
{
	uint64_t hash = hash_combine(0, ip);

	if (hash_find(&code->named_index, hash, same_ip, code, &ip) != HASH_NONE)
		return false;
	if (code->named.nr == MOST_NAMED)
		jvmcode_forget_names(code);
	hash_insert(&code->named_index, hash, code->named.nr);
	vec_push(&code->named, ip);
	return true;
}
