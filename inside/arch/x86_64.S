/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of entries.S that is x86-64's. */

#define FIRST	%rdi
#define SECOND	%rsi

/* Kernels emulate it. */
.macro PROBED
	nop
.endm

/* What an indirect jump may lead to. */
.macro LANDING
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
