/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of entries.S that is arm64's.
 *
 * a called function may change x9 to x17. Jumps through memory are by x16, which a `bti c` lets in. The return address stays as it
 * came where nothing is called; else it is saved in a frame record, with call frame information, as C has it.
 */

#define FIRST	x0
#define SECOND	x1

/* Kernels simulate a branch; nop only since 6.13. */
.macro PROBED
	b	. + 4
.endm

/* What an indirect jump may lead to: bti c, by the number that older assemblers know, too. */
.macro LANDING
	hint	#34
.endm

/* \to: the address of \symbol, or what is there. */
.macro ADDRESS to:req, symbol:req
	adrp	\to, \symbol
	add	\to, \to, :lo12:\symbol
.endm

.macro LOAD to:req, symbol:req
	adrp	\to, \symbol
	ldr	\to, [\to, :lo12:\symbol]
.endm

/* Jumps to where the variable \symbol says. */
.macro JUMP symbol:req
	LOAD	x16, \symbol
	br	x16
.endm

/* Jumps where an operator leads to: what is loaded there was stored before that (next.c), so the load acquires. */
.macro ENTER name:req
	ADDRESS	x16, .Loperator_\name
	ldar	x16, [x16]
	br	x16
.endm

.macro PUSH_FRAME bytes=32
	stp	x29, x30, [sp, #-\bytes]!
	.cfi_def_cfa_offset \bytes
	.cfi_offset 29, -\bytes
	.cfi_offset 30, 8-\bytes
	mov	x29, sp
.endm

.macro POP_FRAME bytes=32
	ldp	x29, x30, [sp], #\bytes
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
.endm

/* Goes on at \where if nobody listens. */
.macro IF_UNHEARD where:req
	adrp	x9, heap_alloc_semaphore
	ldr	w9, [x9, :lo12:heap_alloc_semaphore]	/* with heap_counts */
	cbz	w9, \where
.endm

/* Goes on at 1 if this many bytes reach the thread's next sample. A signal makes the store fail. */
.macro SUBTRACT bytes:req
	adrp	x9, :gottprel:heap_left
	ldr	x9, [x9, :gottprel_lo12:heap_left]
	LOAD	x10, heap_rates
	add	x9, x9, x10
	mrs	x10, tpidr_el0
	add	x9, x9, x10
8:	ldxr	x10, [x9]
	subs	x10, x10, \bytes
	stxr	w11, x10, [x9]
	cbnz	w11, 8b
	b.ls	1f
.endm

/* Goes on at 1 if somebody listens, and this many bytes reach the thread's next sample. */
.macro COUNT bytes:req
	IF_UNHEARD 9f
	SUBTRACT \bytes
9:
.endm

/* x0: what the C part returned, x1: what the block stands for, x9: its size. */
.macro RETURN_SAMPLED name:req
	cbz	x1, 2f
	mov	x2, x1
	mov	x1, x9
	adr	x3, .Lentry_\name
	mov	x4, x0
	b	heap_alloc
2:	ret
.endm

/* A function of (size) or (_, size), whose C part has the same arguments. */
.macro ALLOCATE name:req, size:req
FUNCTION \name
	COUNT	\size
	JUMP	next_\name
1:	PUSH_FRAME
	str	\size, [sp, #16]
	bl	sample_\name
	ldr	x9, [sp, #16]
	POP_FRAME
	RETURN_SAMPLED \name
END \name
.endm

FUNCTION heap_alloc
	.hidden	heap_alloc
	PROBE	otel_memory, alloc, "8@x0 8@x1 8@x2", heap_alloc_semaphore
	mov	x0, x4
	ret
END heap_alloc

FUNCTION heap_free
	.hidden	heap_free
	PROBE	otel_memory, free, "8@x0", heap_free_semaphore
	ret
END heap_free

FUNCTION heap_moved
	.hidden	heap_moved
	PROBE	cprof_heap, moved, "8@x0", heap_moved_semaphore
	ret
END heap_moved

/* (nr, size); where the product overflows the allocator says so. */
FUNCTION calloc
	IF_UNHEARD 3f
	umulh	x12, x0, x1
	cbnz	x12, 3f
	mul	x12, x0, x1
	SUBTRACT x12
3:	JUMP	next_calloc
1:	PUSH_FRAME
	str	x12, [sp, #16]
	bl	sample_calloc
	ldr	x9, [sp, #16]
	POP_FRAME
	RETURN_SAMPLED calloc
END calloc

/* (&block, alignment, size) */
FUNCTION posix_memalign
	COUNT	x2
	JUMP	next_posix_memalign
1:	PUSH_FRAME
	stp	x0, x2, [sp, #16]
	bl	sample_posix_memalign
	ldp	x10, x9, [sp, #16]
	POP_FRAME
	cbz	x1, 2f
	mov	x2, x1
	ldr	x0, [x10]
	mov	x1, x9
	adr	x3, .Lentry_posix_memalign
	mov	x4, xzr
	b	heap_alloc
2:	ret
END posix_memalign

/* Goes on at \where if the page of the block in x0 may have sampled ones. */
.macro FILTER where:req
	ADDRESS	x9, heap_filter
	ubfx	x10, x0, #12, #16
	ldrb	w10, [x9, x10]
	cbnz	w10, \where
.endm

/* (old, size); the third argument of the C part: was the size subtracted? */
FUNCTION realloc
	FILTER	3f
	COUNT	x1
	JUMP	next_realloc
3:	mov	x2, #0
	b	4f
1:	mov	x2, #1
4:	PUSH_FRAME
	str	x1, [sp, #16]
	bl	sample_realloc
	ldr	x9, [sp, #16]
	POP_FRAME
	RETURN_SAMPLED realloc
END realloc

/* (old, nr, size): glibc's and musl's are calls of realloc, too. */
FUNCTION reallocarray
	umulh	x9, x1, x2
	cbnz	x9, 1f
	mul	x1, x1, x2
	b	.Lentry_realloc
1:	b	sample_overflow
END reallocarray

/* The C23 names are for allocators that want a size; this one may be of before C23. */
FUNCTION free
	.globl	cfree, free_sized, free_aligned_sized
	.type	cfree, @function
	.type	free_sized, @function
	.type	free_aligned_sized, @function
	.set	cfree, free
	.set	free_sized, free
	.set	free_aligned_sized, free
	FILTER	1f
	JUMP	next_free
1:	PUSH_FRAME
	str	x0, [sp, #16]
	bl	sample_free
	ldr	x0, [sp, #16]
	POP_FRAME
	JUMP	next_free
END free

/* The function, and what it leads to at first: up to three arguments go through unchanged. */
.macro OPERATOR name:req, exports=1
TABLE \name
FUNCTION \name, \exports
	ENTER	\name
.Lfirst_\name:
	LANDING
	PUSH_FRAME 48
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	ADDRESS	x0, .Loperator_\name
	bl	next_operator
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	POP_FRAME 48
	ENTER	\name
.endm

/* (size, ...) */
.macro NEW name:req, exports=1
OPERATOR \name, \exports
.Lcounted_\name:
	LANDING
	COUNT	x0
	JUMP	.Loperator_\name+8
1:	PUSH_FRAME
	str	x0, [sp, #16]
	mov	x3, x2
	mov	x2, x1
	mov	x1, x0
	ADDRESS	x0, .Loperator_\name
	bl	sample_new
	ldr	x9, [sp, #16]
	POP_FRAME
	RETURN_SAMPLED \name
END \name
.endm

/* (block, ...) */
.macro DELETE name:req, exports=1
OPERATOR \name, \exports
.Lcounted_\name:
	LANDING
	FILTER	1f
	JUMP	.Loperator_\name+8
1:	PUSH_FRAME 48
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	bl	sample_free
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	POP_FRAME 48
	JUMP	.Loperator_\name+8
END \name
.endm

/* (old, size, flags), as realloc */
OPERATOR rallocx, 0
.Lcounted_rallocx:
	LANDING
	FILTER	3f
	COUNT	x1
	JUMP	.Loperator_rallocx+8
3:	mov	x4, #0
	b	4f
1:	mov	x4, #1
4:	PUSH_FRAME
	str	x1, [sp, #16]
	mov	x3, x2
	mov	x2, x1
	mov	x1, x0
	ADDRESS	x0, .Loperator_rallocx
	bl	sample_rallocx
	ldr	x9, [sp, #16]
	POP_FRAME
	RETURN_SAMPLED rallocx
END rallocx

/* All of this may be called where BTI is on; nothing here signs return addresses, but the C part does. */
	.pushsection .note.gnu.property, "a"
	.balign	8
	.4byte	4, 16, 5	/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.4byte	0xc0000000, 4, 3, 0	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI and PAC */
	.popsection
