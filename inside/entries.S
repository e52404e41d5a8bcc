/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that programs call instead of the allocator's, in assembler: the unsampled path must leave no frame and
 * touch no register that the allocator's caller owns, and a sampled one must look as if the caller had just called.
 *
 * Where nobody listens an allocation jumps to the allocator, which returns to the caller. Else it subtracts its size from what is left
 * until the thread's next sample at the rate in use, and jumps there if something remains. The subtraction is one instruction, so a signal handler that allocates in
 * between is counted as any other call. A free looks up its page in the filter; where no sampled block is, it jumps.
 *
 * Else the C part (sampler.h) calls the allocator, and says in dx what the block stands for. If that is not 0, all is
 * taken off the stack, and heap_alloc is left by the return to the caller: a probe there sees the caller's registers,
 * with the return address on top of the stack. No unwinder needs to know anything about this file.
 *
 *	heap_alloc	di: block, si: size, dx: weighted bytes, cx: the function called, r8: what it returns
 *	heap_free	di: block, si: 1 if a realloc is about to free it, unless it fails
 *	heap_moved	di: did that realloc succeed? Comes after heap_free with si = 1, in the same thread
 *
 * The first two are the probes otel_memory:alloc and otel_memory:free, as profilers agreed on (OpenTelemetry's eBPF
 * profiler, design document 3). Their semaphores are in memory that the kernel raises while a profiler listens.
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
9:	nop
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
.endm

.macro END name:req
	.cfi_endproc
	.size	\name, . - \name
.endm

.macro PUSH register:req
	pushq	\register
	.cfi_adjust_cfa_offset 8
.endm

.macro POP register:req
	popq	\register
	.cfi_adjust_cfa_offset -8
.endm

/* Goes on at \where if nobody listens. */
.macro IF_UNHEARD where:req
	cmpl	$0, heap_alloc_semaphore(%rip)	/* with heap_counts */
	je	\where
.endm

/* Goes on at 1 if somebody listens, and this many bytes reach the thread's next sample. */
.macro COUNT bytes:req
	IF_UNHEARD 9f
	movq	heap_left@gottpoff(%rip), %rax
	addq	heap_rates(%rip), %rax
	subq	\bytes, %fs:(%rax)
	jbe	1f
9:
.endm

/* ax: what the C part returned, dx: what the block stands for, si: its size. */
.macro RETURN_SAMPLED name:req
	testq	%rdx, %rdx
	jz	2f
	movq	%rax, %rdi
	movq	%rax, %r8
	leaq	.Lentry_\name(%rip), %rcx
	jmp	heap_alloc
2:	ret
.endm

/* A function of (size) or (_, size), whose C part has the same arguments. */
.macro ALLOCATE name:req, size:req
FUNCTION \name
	COUNT	\size
	jmp	*next_\name(%rip)
1:	PUSH	\size
	call	sample_\name
	POP	%rsi
	RETURN_SAMPLED \name
END \name
.endm

	.text

FUNCTION heap_alloc
	.hidden	heap_alloc
	PROBE	otel_memory, alloc, "8@%rdi 8@%rsi 8@%rdx", heap_alloc_semaphore
	movq	%r8, %rax
	ret
END heap_alloc

FUNCTION heap_free
	.hidden	heap_free
	PROBE	otel_memory, free, "8@%rdi", heap_free_semaphore
	ret
END heap_free

FUNCTION heap_moved
	.hidden	heap_moved
	PROBE	cprof_heap, moved, "8@%rdi", heap_moved_semaphore
	ret
END heap_moved

ALLOCATE malloc, %rdi
ALLOCATE valloc, %rdi
ALLOCATE pvalloc, %rdi
ALLOCATE aligned_alloc, %rsi
ALLOCATE memalign, %rsi

/* (nr, size); where the product overflows the allocator says so. */
FUNCTION calloc
	IF_UNHEARD 3f
	movq	%rdi, %rax
	mulq	%rsi
	jo	3f
	movq	heap_left@gottpoff(%rip), %rcx
	addq	heap_rates(%rip), %rcx
	subq	%rax, %fs:(%rcx)
	jbe	1f
3:	jmp	*next_calloc(%rip)
1:	PUSH	%rax
	call	sample_calloc
	POP	%rsi
	RETURN_SAMPLED calloc
END calloc

/* (&block, alignment, size) */
FUNCTION posix_memalign
	COUNT	%rdx
	jmp	*next_posix_memalign(%rip)
1:	PUSH	%rdi
	PUSH	%rdx
	PUSH	%rbx	/* for the alignment of the stack */
	call	sample_posix_memalign
	POP	%rbx
	POP	%rsi
	POP	%rdi
	testq	%rdx, %rdx
	jz	2f
	movq	(%rdi), %rdi
	xorl	%r8d, %r8d
	leaq	.Lentry_posix_memalign(%rip), %rcx
	jmp	heap_alloc
2:	ret
END posix_memalign

/* Goes on at \where if the page of the block in di may have sampled ones. */
.macro FILTER where:req
	movq	%rdi, %rax
	shrq	$12, %rax
	movzwl	%ax, %eax
	leaq	heap_filter(%rip), %rcx
	cmpb	$0, (%rcx, %rax)
	jne	\where
.endm

/* (old, size); the third argument of the C part: was the size subtracted? */
FUNCTION realloc
	FILTER	3f
	COUNT	%rsi
	jmp	*next_realloc(%rip)
3:	xorl	%edx, %edx
	jmp	4f
1:	movl	$1, %edx
4:	PUSH	%rsi
	call	sample_realloc
	POP	%rsi
	RETURN_SAMPLED realloc
END realloc

/* (old, nr, size): glibc's and musl's are calls of realloc, too. */
FUNCTION reallocarray
	movq	%rsi, %rax
	mulq	%rdx
	jo	1f
	movq	%rax, %rsi
	jmp	.Lentry_realloc
1:	jmp	sample_overflow
END reallocarray

/* The C23 names are for allocators that want a size; this one may be of before C23. */
FUNCTION free
	.globl	cfree, free_sized, free_aligned_sized
	.type	cfree, @function
	.type	free_sized, @function
	.type	free_aligned_sized, @function
cfree:
free_sized:
free_aligned_sized:
	FILTER	1f
	jmp	*next_free(%rip)
1:	PUSH	%rdi
	call	sample_free
	POP	%rdi
	jmp	*next_free(%rip)
END free

/*
 * C++'s operator new and delete, where the allocator has its own, which do not come by malloc and free: jemalloc's,
 * tcmalloc's, mimalloc's. Those of a C++ library call malloc, and are left to it; those of the program itself come before
 * this library.
 *
 * Each function jumps to where its operator leads. That is first to what finds the operator that comes next; then to that,
 * if it is a C++ library's, or else to the part that counts, as the functions above do. That an operator throws changes
 * nothing: while it runs nothing is held back.
 */

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

/* The function, and what it leads to at first: up to three arguments go through unchanged. */
.macro OPERATOR name:req, exports=1
TABLE \name
FUNCTION \name, \exports
	jmp	*.Loperator_\name(%rip)
.Lfirst_\name:
	PUSH	%rdi
	PUSH	%rsi
	PUSH	%rdx
	leaq	.Loperator_\name(%rip), %rdi
	call	next_operator
	POP	%rdx
	POP	%rsi
	POP	%rdi
	jmp	*.Loperator_\name(%rip)
.endm

/* (size, ...) */
.macro NEW name:req, exports=1
OPERATOR \name, \exports
.Lcounted_\name:
	COUNT	%rdi
	jmp	*8+.Loperator_\name(%rip)
1:	PUSH	%rdi
	movq	%rdx, %rcx
	movq	%rsi, %rdx
	movq	%rdi, %rsi
	leaq	.Loperator_\name(%rip), %rdi
	call	sample_new
	POP	%rsi
	RETURN_SAMPLED \name
END \name
.endm

/* (block, ...) */
.macro DELETE name:req, exports=1
OPERATOR \name, \exports
.Lcounted_\name:
	FILTER	1f
	jmp	*8+.Loperator_\name(%rip)
1:	PUSH	%rdi
	PUSH	%rsi
	PUSH	%rdx
	call	sample_free
	POP	%rdx
	POP	%rsi
	POP	%rdi
	jmp	*8+.Loperator_\name(%rip)
END \name
.endm

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

/* (old, size, flags), as realloc */
OPERATOR rallocx, 0
.Lcounted_rallocx:
	FILTER	3f
	COUNT	%rsi
	jmp	*8+.Loperator_rallocx(%rip)
3:	xorl	%r8d, %r8d
	jmp	4f
1:	movl	$1, %r8d
4:	PUSH	%rsi
	movq	%rdx, %rcx
	movq	%rsi, %rdx
	movq	%rdi, %rsi
	leaq	.Loperator_rallocx(%rip), %rdi
	call	sample_rallocx
	POP	%rsi
	RETURN_SAMPLED rallocx
END rallocx

	.section .note.GNU-stack, "", @progbits
