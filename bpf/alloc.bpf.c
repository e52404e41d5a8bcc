// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The allocation event source: a pair of programs for each shape of allocator function (see
 * ABI_ALLOCATORS). User space attaches them to every function of that shape it finds, and names the
 * programs "enter_" and "return_" with the shape's name in lower case.
 */
#include "prelude.bpf.h"
#include "heap.bpf.h"

/*
 * nr * size as calloc sees it; where the product overflows the call will fail. The barrier keeps
 * clang from turning this into a 128-bit multiplication, which BPF lacks.
 */
static __always_inline u64 multiply(u64 nr, u64 size)
{
	u64 most = size ? ~0ull / size : ~0ull;

	barrier_var(most);
	return nr > most ? ~0ull : nr * size;
}

#define ENTER(name, SHAPE, ...)                                                            \
	SEC("uprobe")                                                                      \
	int enter_##name(struct pt_regs *ctx)                                              \
	{                                                                                  \
		struct heap_call call = {.allocator = ABI_ALLOCATOR_##SHAPE, __VA_ARGS__}; \
                                                                                           \
		heap_enter(ctx, &call);                                                    \
		return 0;                                                                  \
	}                                                                                  \
	SEC("uretprobe")                                                                   \
	int return_##name(struct pt_regs *ctx)                                             \
	{                                                                                  \
		heap_return(ctx, ABI_ALLOCATOR_##SHAPE);                                   \
		return 0;                                                                  \
	}

/* The System V ABI's argument registers, in order: di, si, dx. */
ENTER(malloc, MALLOC, .size_bytes = ctx->di)
ENTER(calloc, CALLOC, .size_bytes = multiply(ctx->di, ctx->si))
ENTER(realloc, REALLOC, .size_bytes = ctx->si, .old_address = ctx->di)
ENTER(reallocarray, REALLOCARRAY, .size_bytes = multiply(ctx->si, ctx->dx), .old_address = ctx->di)
ENTER(memalign, MEMALIGN, .size_bytes = ctx->si)
ENTER(posix_memalign, POSIX_MEMALIGN, .size_bytes = ctx->dx, .result_at = ctx->di)

SEC("uprobe")
int enter_free(struct pt_regs *ctx)
{
	heap_free(ctx->di);
	return 0;
}
