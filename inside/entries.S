/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that programs call instead of the allocator's, in assembler: the unsampled path must leave no frame and
 * touch no register that the allocator's caller owns, and a sampled one must look as if the caller had just called.
 *
 * Where nobody listens an allocation jumps to the allocator, which returns to the caller. Else it subtracts its size from what is left
 * until the thread's next sample at the rate in use, and jumps there if something remains. Nothing comes between the parts of the
 * subtraction, so a signal handler that allocates is counted as any other call. A free looks up its page in the filter; where no sampled block is, it jumps.
 *
 * Else the C part (sampler.h) calls the allocator, and says what the block stands for (its second result). If that is not 0,
 * all is taken off the stack, and heap_alloc is left by the return to the caller: a probe there sees the caller's registers,
 * with the return address where a called function has it. No unwinder needs to know anything about this file.
 *
 * Arguments, in the registers that a function has them in:
 *
 *	heap_alloc	block, size, weighted bytes, the function called, what it returns
 *	heap_free	block; 1 if a realloc is about to free it, unless it fails
 *	heap_moved	did that realloc succeed? Comes after heap_free with 1, in the same thread
 *
 * The first two are the probes otel_memory:alloc and otel_memory:free, as profilers agreed on (OpenTelemetry's eBPF
 * profiler, design document 3). Their semaphores are in memory that the kernel raises while a profiler listens.
 *
 * What is written in a machine's own instructions is in inside/arch/: the macros and functions that are used here.
 */

	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak	_.stapsdt.base
	.hidden	_.stapsdt.base
_.stapsdt.base:
	.space	1
	.size	_.stapsdt.base, 1

	.section .probes, "aw", "progbits"
	.balign	4
	.globl	heap_alloc_semaphore, heap_free_semaphore, heap_moved_semaphore, heap_counts
	.hidden	heap_alloc_semaphore, heap_free_semaphore, heap_moved_semaphore, heap_counts
	.type	heap_alloc_semaphore, @object
	.type	heap_free_semaphore, @object
	.type	heap_moved_semaphore, @object
	.type	heap_counts, @object
heap_alloc_semaphore:
	.2byte	0
	.size	heap_alloc_semaphore, 2
heap_counts:	/* the library's own, read together with the semaphore */
	.2byte	0
	.size	heap_counts, 2
heap_free_semaphore:
	.2byte	0
	.size	heap_free_semaphore, 2
heap_moved_semaphore:
	.2byte	0
	.size	heap_moved_semaphore, 2

/* A probe here: the instruction, which is one that kernels emulate, and the note that tells where it is. */
.macro PROBE provider:req, name:req, arguments:req, semaphore:req
9:	PROBED
	.pushsection .note.stapsdt, "", "note"
	.balign	4
	.4byte	2f - 1f, 4f - 3f, 3
1:	.asciz	"stapsdt"
2:	.balign	4
3:	.8byte	9b, _.stapsdt.base, \semaphore
	.asciz	"\provider"
	.asciz	"\name"
	.asciz	"\arguments"
4:	.balign	4
	.popsection
.endm

/* own_NAME is the function here, whatever the loader makes of NAME. */
.macro FUNCTION name:req, exports=1
.if \exports
	.globl	\name
.endif
	.globl	own_\name
	.hidden	own_\name
	.type	\name, @function
	.p2align 5
\name:
own_\name:
.Lentry_\name:
	.cfi_startproc
	LANDING
.endm

.macro END name:req
	.cfi_endproc
	.size	\name, . - \name
.endm

/* The struct operator of next.h. */
.macro TABLE name:req
	.pushsection heap_operators, "aw", @progbits	/* next.c goes through all of them */
	.balign	8
.Loperator_\name:
	.quad	.Lfirst_\name	/* enter */
	.quad	0		/* next */
	.quad	.Lcounted_\name
	.quad	.Lname_\name
	.quad	own_\name
	.popsection
	.pushsection .rodata.str1.1, "aMS", @progbits, 1
.Lname_\name:
	.asciz	"\name"
	.popsection
.endm

	.text

#if defined(__x86_64__)
#include "arch/x86_64.S"
#elif defined(__aarch64__)
#include "arch/arm64.S"
#else
#error "not a machine that cprof knows"
#endif

ALLOCATE malloc, FIRST
ALLOCATE valloc, FIRST
ALLOCATE pvalloc, FIRST
ALLOCATE aligned_alloc, SECOND
ALLOCATE memalign, SECOND

/*
 * C++'s operator new and delete, where the allocator has its own, which do not come by malloc and free: jemalloc's,
 * tcmalloc's, mimalloc's. Those of a C++ library call malloc, and are left to it; those of the program itself come before
 * this library.
 *
 * Each function jumps to where its operator leads. That is first to what finds the operator that comes next; then to that,
 * if it is a C++ library's, or else to the part that counts, as the functions above do. That an operator throws changes
 * nothing: while it runs nothing is held back.
 */

NEW _Znwm
NEW _Znam
NEW _ZnwmRKSt9nothrow_t
NEW _ZnamRKSt9nothrow_t
NEW _ZnwmSt11align_val_t
NEW _ZnamSt11align_val_t
NEW _ZnwmSt11align_val_tRKSt9nothrow_t
NEW _ZnamSt11align_val_tRKSt9nothrow_t

DELETE _ZdlPv
DELETE _ZdaPv
DELETE _ZdlPvm
DELETE _ZdaPvm
DELETE _ZdlPvRKSt9nothrow_t
DELETE _ZdaPvRKSt9nothrow_t
DELETE _ZdlPvSt11align_val_t
DELETE _ZdaPvSt11align_val_t
DELETE _ZdlPvmSt11align_val_t
DELETE _ZdaPvmSt11align_val_t
DELETE _ZdlPvSt11align_val_tRKSt9nothrow_t
DELETE _ZdaPvSt11align_val_tRKSt9nothrow_t

/*
 * jemalloc(3). These names are not exported: that a program finds them tells it that its allocator is jemalloc. So only slots lead
 * here that are redirected (redirect.c).
 */
NEW mallocx, 0
DELETE dallocx, 0
DELETE sdallocx, 0

	.section .note.GNU-stack, "", @progbits
