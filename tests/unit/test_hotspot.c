// SPDX-License-Identifier: BSD-2-Clause
/* A VM is an image of memory (vm_image.h): the rules and the functions of its code, and what changes while it is looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "runtime/hotspot.h"
#include "stream.h"
#include "vm_image.h"

/* mov %eax,-0x14000(%rsp); push %rbp; sub $0x20,%rsp; nop; add $0x20,%rsp; pop %rbp; ret */
static const uint8_t method_code[] = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83,
				      0xec, 0x20, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
#define METHOD_BODY 12 /* the nop */

static const struct image_blob method = {
	.segment = 2,
	.nr_segments = 2,
	.name = "nmethod",
	.frame_words = 6,
	.compile_id = 7,
	.code = method_code,
	.code_bytes = sizeof(method_code),
};

static struct vm_image image;
static const struct target_memory memory = {image_read, image_variable, &image, &arch_x86_64};

static struct hotspot *open_vm(void)
{
	struct hotspot *vm;

	assert_int_equal(hotspot_open(&memory, &vm, NULL), 0);
	return vm;
}

/* A VM with this blob, not looked at yet. */
static struct hotspot *vm_with(const struct image_blob *blob, uint64_t *code)
{
	image_init(&image, NULL);
	*code = image_blob(&image, blob);
	return open_vm();
}

static struct unwind_rule find(struct hotspot *vm, uint64_t ip)
{
	struct unwind_rule rule = {0};

	assert_true(hotspot_find(vm, ip, &rule));
	return rule;
}

static void expect_sp(struct hotspot *vm, uint64_t ip, int32_t cfa_off)
{
	struct unwind_rule rule = find(vm, ip);

	assert_int_equal(rule.kind, UNWIND_FRAME);
	assert_int_equal(rule.cfa_reg, X86_REG_SP);
	assert_int_equal(rule.cfa_off, cfa_off);
	assert_int_equal(unwind_ra_how(&rule), UNWIND_AT_CFA);
	assert_int_equal(rule.ra_off, -8);
}

static void test_a_method(void **state)
{
	struct unwind_rule rule;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	assert_int_equal(hotspot_look(vm, 1 << 20), 0);
	expect_sp(vm, code, 8);
	expect_sp(vm, code + 8, 16);
	expect_sp(vm, code + METHOD_BODY, 48);
	expect_sp(vm, code + sizeof(method_code) - 1, 8);
	rule = find(vm, code + METHOD_BODY);
	assert_int_equal(unwind_fp_how(&rule), UNWIND_AT_CFA);
	assert_int_equal(rule.fp_off, -16);
	/* In the heap, but no code; in what the heap may grow by; elsewhere. */
	assert_int_equal(find(vm, code + sizeof(method_code)).kind, UNWIND_UNKNOWN);
	assert_int_equal(find(vm, image_addr(IMAGE_HEAP)).kind, UNWIND_UNKNOWN);
	assert_int_equal(find(vm, image_addr(IMAGE_HIGH)).kind, UNWIND_UNKNOWN);
	assert_false(hotspot_find(vm, image_addr(IMAGE_LIMIT), &rule));
	assert_false(hotspot_find(vm, image_addr(IMAGE_HEAP) - 1, &rule));
	hotspot_free(vm);
}

/* What BPF gets says the same, and covers what is committed. */
static void test_table(void **state)
{
	const struct hotspot_heap *heap;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 1 << 20);
	assert_true(hotspot_pack(vm));
	assert_false(hotspot_pack(vm));
	assert_int_equal(hotspot_nr_heaps(vm), 1);
	heap = hotspot_heap(vm, 0);
	assert_true(heap->start == image_addr(IMAGE_HEAP) && heap->limit == image_addr(IMAGE_HIGH));
	assert_true(heap->reserved == image_addr(IMAGE_LIMIT));
	for (uint64_t ip = heap->start; ip < heap->limit; ip++) {
		struct unwind_rule packed, found = find(vm, ip);

		assert_true(unwind_table_find(heap->table, ip, &packed));
		assert_memory_equal(&packed, &found, sizeof(found));
	}
	hotspot_free(vm);
}

/* Without leave to analyze, code is analyzed when somebody asks. */
static void test_on_demand(void **state)
{
	struct hotspot_stats stats;
	struct unwind_rule rule;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	hotspot_pack(vm);
	assert_true(unwind_table_find(hotspot_heap(vm, 0)->table, code + METHOD_BODY, &rule));
	assert_int_equal(rule.kind, UNWIND_UNKNOWN);
	hotspot_stats(vm, &stats);
	assert_int_equal(stats.nr_blobs, 1);
	assert_int_equal(stats.nr_analyzed, 0);
	expect_sp(vm, code + METHOD_BODY, 48);
	assert_true(hotspot_pack(vm));
	assert_true(unwind_table_find(hotspot_heap(vm, 0)->table, code + METHOD_BODY, &rule));
	assert_int_equal(rule.cfa_off, 48);
	hotspot_free(vm);
}

/* The place is used again: by a method of the same size, which a look tells from the one before. */
static void test_reuse(void **state)
{
	uint8_t other_code[sizeof(method_code)];
	struct image_blob other = method;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 1 << 20);
	hotspot_look(vm, 1 << 20);
	hotspot_pack(vm);
	hotspot_look(vm, 1 << 20);
	assert_false(hotspot_pack(vm)); /* nothing is new */

	memcpy(other_code, method_code, sizeof(method_code));
	other_code[11] = other_code[16] = 0x40;
	other.code = other_code;
	other.frame_words = 10;
	other.compile_id = 8;
	image_blob(&image, &other);
	hotspot_look(vm, 1 << 20);
	assert_true(hotspot_pack(vm));
	expect_sp(vm, code + METHOD_BODY, 80);

	image.bytes[IMAGE_HEAP + 2 * IMAGE_SEGMENT + 4] = 0; /* freed */
	hotspot_look(vm, 1 << 20);
	assert_true(hotspot_pack(vm));
	assert_int_equal(find(vm, code + METHOD_BODY).kind, UNWIND_UNKNOWN);
	hotspot_free(vm);
}

/* Bytes that were not all there at the first look are read again at the second. */
static void test_torn(void **state)
{
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	image.bytes[code - IMAGE_BASE + 11] = 0x40;
	image.bytes[code - IMAGE_BASE + 16] = 0x40;
	hotspot_look(vm, 1 << 20);
	expect_sp(vm, code + METHOD_BODY, 80);
	image.bytes[code - IMAGE_BASE + 11] = 0x20;
	image.bytes[code - IMAGE_BASE + 16] = 0x20;
	hotspot_look(vm, 1 << 20);
	expect_sp(vm, code + METHOD_BODY, 48);
	hotspot_free(vm);
}

static void test_not_installed(void **state)
{
	struct image_blob young = method;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	young.state = -1;
	vm = vm_with(&young, &code);
	hotspot_look(vm, 1 << 20);
	assert_int_equal(find(vm, code).kind, UNWIND_UNKNOWN);
	hotspot_free(vm);
}

/* A jump over the first five bytes does not hide the frame that older calls are in. */
static void test_not_entrant(void **state)
{
	static const uint8_t jump[] = {0xe9, 0, 0, 0, 0x70};
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	memcpy(image.bytes + (code - IMAGE_BASE), jump, sizeof(jump));
	hotspot_look(vm, 1 << 20);
	expect_sp(vm, code + METHOD_BODY, 48);
	expect_sp(vm, code + 8, 16);
	hotspot_free(vm);
}

/* Codelets: a method's entry has its caller's sp in r13, a bytecode's code has a frame. */
static void test_interpreter(void **state)
{
	/* pop %rax; push %rax; push %rbp; mov %rsp,%rbp; push %r13; nop, behind 16 bytes of padding */
	uint8_t code[128] = {[32] = 0x58,      0x50, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x55, 0x90, 0xf4,
			     [64 + 32] = 0x90, 0xf4};
	struct image_blob interpreter = {.segment = 4,
					 .nr_segments = 2,
					 .name = "Interpreter",
					 .code = code,
					 .code_bytes = sizeof(code)};
	uint64_t entry, resumed, at;
	struct unwind_rule rule;
	struct hotspot *vm;

	(void)state;
	image_init(&image, NULL);
	entry = image_string(&image, "method entry point (kind = zerolocals)");
	memcpy(code, &entry, 8);
	code[8] = code[64 + 8] = 64;
	resumed = image_string(&image, "invoke return entry points");
	memcpy(code + 64, &resumed, 8);
	at = image_blob(&image, &interpreter);
	image_put(&image, IMAGE_STATIC + 8, image_addr(0x6700), 8);
	image_put(&image, 0x6700, at, 8);
	image_put(&image, 0x6708, sizeof(code), 4);
	vm = open_vm();
	hotspot_look(vm, 1 << 20);

	rule = find(vm, at + 32); /* the return address is on top, the caller's sp in r13 */
	assert_int_equal(rule.cfa_reg, 13);
	assert_int_equal(unwind_ra_how(&rule), UNWIND_AT_SP);
	assert_int_equal(rule.deref_off, 1); /* its Method is in rbx */
	rule = find(vm, at + 33);
	assert_int_equal(unwind_ra_how(&rule), UNWIND_IN_REG);
	assert_int_equal(rule.ra_off, 0);
	for (uint32_t offset = 40; offset <= 96; offset += 56) {
		rule = find(vm, at + offset);
		assert_int_equal(rule.kind, UNWIND_INTERPRETED);
		assert_int_equal(rule.deref_off, offset == 40 ? -56 : -55); /* as in Java 8 */
		assert_int_equal(rule.cfa_reg, X86_REG_FP);
		assert_int_equal(rule.cfa_off, -8);
		assert_int_equal(unwind_ra_how(&rule), UNWIND_AT_FP);
		assert_int_equal(rule.ra_off, 8);
	}
	hotspot_free(vm);
}

/* Of a sample that is taken now, in a VM that has unloaded nothing. */
static bool take_now(struct hotspot *vm, uint64_t ip, struct hotspot_piece *piece)
{
	const struct hotspot_tick tick = {UINT64_MAX, UNWIND_UNLOADS(0), UNWIND_UNLOADS(0)};

	return hotspot_take_piece(vm, ip, &tick, piece);
}

static void expect_frame(const struct hotspot_frame *frame, const char *name, uint32_t line)
{
	assert_string_equal(frame->name, name);
	assert_string_equal(frame->file, "a/b/Some.java");
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->start_line, 40);
}

/* The piece at ip: [start, limit), of nr functions. */
static void take(struct hotspot *vm, uint64_t ip, uint64_t start, uint64_t limit, size_t nr,
		 struct hotspot_piece *piece)
{
	assert_true(take_now(vm, ip, piece));
	assert_true(piece->start == start && piece->limit == limit);
	assert_int_equal(piece->nr, nr);
}

/* Without what compilers note. */
static void test_names(void **state)
{
	struct image_blob stub = method;
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code, stub_code;

	(void)state;
	image_init(&image, "nmethod::_scopes_pcs_offset");
	code = image_blob(&image, &method);
	vm = open_vm();
	stub.segment = 6;
	stub.name = "a stub";
	stub_code = image_blob(&image, &stub);
	hotspot_look(vm, 0);
	take(vm, code + 3, code, code + sizeof(method_code), 1, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.method", 0);
	assert_false(take_now(vm, code + 4, &piece)); /* given away */
	assert_true(take_now(vm, stub_code, &piece));
	assert_string_equal(piece.frames[0].name, "a stub");
	assert_string_equal(piece.frames[0].file, "");
	assert_false(take_now(vm, image_addr(IMAGE_HEAP), &piece));
	hotspot_free(vm);
}

static void test_scopes(void **state)
{
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	take(vm, code + 4, code, code + 5, 1, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.method", 41);
	assert_false(take_now(vm, code, &piece));
	take(vm, code + 5, code + 5, code + 9, 2, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.inlined", 40);
	expect_frame(&piece.frames[1], "a.b.Some.method", 41);
	/* Behind the last place. */
	take(vm, code + 9, code + 9, code + sizeof(method_code), 2, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.inlined", 40);
	hotspot_free(vm);
}

/* Scopes that do not lead to the compiled method are not believed; nor is what changed since it was looked at. */
static void test_wrong_scopes(void **state)
{
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	image_put(&image, IMAGE_SCOPES, image_addr(IMAGE_INLINED), 8);
	take(vm, code + 6, code + 6, code + 7, 1, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.method", 0);
	image_put(&image, IMAGE_HEAP + 2 * IMAGE_SEGMENT + IMAGE_HEADER + 24, 8, 4);
	assert_true(take_now(vm, code + 8, &piece));
	assert_string_equal(piece.frames[0].name, CODE_IS_GONE);
	hotspot_free(vm);
}

static uint64_t word_of(uint32_t at, uint64_t bytecode)
{
	return UNWIND_METHOD_MARK | image_addr(at) >> 3 << UNWIND_METHOD_SHIFT | bytecode;
}

/* By what stands for it in a stack. */
static void test_interpreted_method(void **state)
{
	uint64_t bytecodes = (IMAGE_METHOD + 0x20 + 24) | UNWIND_METHOD_HAS_BCP;
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code, word;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	word = word_of(IMAGE_METHOD, bytecodes + 2);
	take(vm, word, word, word + 1, 1, &piece);
	expect_frame(&piece.frames[0], "a.b.Some.method", 41);
	/* Once, unless it is another method by now. */
	assert_false(take_now(vm, word_of(IMAGE_METHOD, bytecodes + 2), &piece));
	image_symbol(&image, IMAGE_METHOD + 0x100, "renamed");
	hotspot_forget_methods(vm);
	assert_true(take_now(vm, word_of(IMAGE_METHOD, bytecodes + 2), &piece));
	expect_frame(&piece.frames[0], "a.b.Some.renamed", 41);
	/* While it is entered; with what is none of its bytecodes. */
	assert_true(take_now(vm, word_of(IMAGE_METHOD, 0), &piece));
	expect_frame(&piece.frames[0], "a.b.Some.renamed", 40);
	assert_true(take_now(vm, word_of(IMAGE_METHOD, bytecodes + 3), &piece));
	expect_frame(&piece.frames[0], "a.b.Some.renamed", 0);
	/* What its class does not list is no Method. */
	image_put(&image, IMAGE_METHOD + 0x1a0 + 8, image_addr(IMAGE_INLINED), 8);
	assert_true(take_now(vm, word_of(IMAGE_METHOD, bytecodes), &piece));
	assert_string_equal(piece.frames[0].name, CODE_IS_GONE);
	assert_true(take_now(vm, word_of(IMAGE_METHOD + 8, bytecodes), &piece));
	assert_string_equal(piece.frames[0].name, CODE_IS_GONE);
	assert_true(take_now(vm, UNWIND_METHOD_MARK, &piece));
	assert_string_equal(piece.frames[0].name, CODE_IS_GONE);
	hotspot_free(vm);
}

/* Asks about a tick when so many classes had been unloaded. NULL: what was answered last holds. */
static const char *name_at(struct hotspot *vm, uint64_t ip, uint64_t time_ns, uint32_t unloads,
			   struct hotspot_piece *piece)
{
	const struct hotspot_tick tick = {time_ns, UNWIND_UNLOADS(unloads), 0};

	return hotspot_take_piece(vm, ip, &tick, piece) ? piece->frames[0].name : NULL;
}

/* Of a method that may be another one's by now nothing is said. */
static void test_unloaded_classes(void **state)
{
	uint64_t word = word_of(IMAGE_METHOD, 0), code;
	struct hotspot_piece piece;
	struct hotspot *vm;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	assert_true(hotspot_counters(vm).unloads_at == image_addr(IMAGE_UNLOADS));
	image_put(&image, IMAGE_UNLOADS, 7, 4);
	assert_string_equal(name_at(vm, word, UINT64_MAX, 6, &piece), CODE_IS_GONE);
	assert_null(name_at(vm, word, UINT64_MAX, 5, &piece));
	assert_string_equal(name_at(vm, word, UINT64_MAX, 7, &piece), "a.b.Some.method");
	/* What is known of a tick holds for others of that count, whatever is there by now. */
	image_put(&image, IMAGE_UNLOADS, 8, 4);
	assert_null(name_at(vm, word, UINT64_MAX, 7, &piece));
	assert_string_equal(name_at(vm, word, UINT64_MAX, 6, &piece), CODE_IS_GONE);
	hotspot_free(vm);
}

/* But that of a class which stays has its name at all ticks after it was seen. */
static void test_classes_that_stay(void **state)
{
	uint64_t word = word_of(IMAGE_METHOD, 0), code;
	struct hotspot_piece piece;
	struct hotspot *vm;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	image_put(&image, IMAGE_UNLOADS, 7, 4);
	image_put(&image, IMAGE_METHOD + 0x80 + 32, image_addr(IMAGE_LOADER), 8);
	assert_string_equal(name_at(vm, word, 0, 6, &piece), CODE_IS_GONE);
	assert_string_equal(name_at(vm, word, UINT64_MAX, 6, &piece), "a.b.Some.method");
	assert_string_equal(name_at(vm, word, 0, 5, &piece), CODE_IS_GONE);
	/* A hidden class has the loader of others, and goes. */
	hotspot_free(vm);
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	image_put(&image, IMAGE_UNLOADS, 7, 4);
	image_put(&image, IMAGE_METHOD + 0x80 + 32, image_addr(IMAGE_LOADER), 8);
	image_put(&image, IMAGE_LOADER + 16, 1, 1);
	assert_string_equal(name_at(vm, word, UINT64_MAX, 6, &piece), CODE_IS_GONE);
	assert_null(name_at(vm, word, UINT64_MAX, 6, &piece));
	hotspot_free(vm);
}

/* Only the oldest are looked into: a list that has no end costs a read for each of so many. */
static void test_many_loaders(void **state)
{
	uint64_t word = word_of(IMAGE_METHOD, 0), code;
	struct hotspot_piece piece;
	struct hotspot *vm;
	size_t nr_reads;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	image_put(&image, IMAGE_UNLOADS, 7, 4);
	image_put(&image, IMAGE_LOADER + 8, image_addr(IMAGE_LOADER), 8);
	image_put(&image, IMAGE_LOADER + 16, 1, 1); /* hidden */
	nr_reads = image.nr_reads;
	assert_string_equal(name_at(vm, word, UINT64_MAX, 6, &piece), CODE_IS_GONE);
	assert_in_range(image.nr_reads - nr_reads, 65536, 65536 + 2048);
	hotspot_free(vm);
}

/* Code that was there before the tick, and is there, was there at the tick. */
static void test_code_after_unloading(void **state)
{
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	image_put(&image, IMAGE_UNLOADS, 7, 4);
	assert_string_equal(name_at(vm, code + 1, 0, 6, &piece), CODE_IS_GONE);
	assert_string_equal(name_at(vm, code + 1, UINT64_MAX, 6, &piece), "a.b.Some.method");
	assert_true(piece.start == code + 1 && piece.limit == code + 2);
	assert_string_equal(name_at(vm, code + 2, 0, 7, &piece), "a.b.Some.method");
	assert_string_equal(name_at(vm, image_addr(IMAGE_HEAP), UINT64_MAX, 7, &piece),
			    CODE_IS_GONE); /* nothing is there */
	hotspot_free(vm);
}

/* Code that was named is not named so any more once its block is free, or was cut for other code. */
static void test_code_that_was_freed(void **state)
{
	const uint32_t block = IMAGE_HEAP + 2 * IMAGE_SEGMENT;
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	vm = vm_with(&method, &code);
	hotspot_look(vm, 0);
	assert_string_equal(name_at(vm, code + 1, 0, 0, &piece), "a.b.Some.method");
	assert_null(name_at(vm, code + 1, 1, 0, &piece));
	image_put(&image, block, 1, 4);
	assert_string_equal(name_at(vm, code + 1, 2, 0, &piece), CODE_IS_GONE);
	assert_true(piece.start == code + 1 && piece.limit == code + 2);
	image_put(&image, block, 2, 4);
	image_put(&image, block + 4, 0, 1);
	assert_string_equal(name_at(vm, code + 2, 2, 0, &piece), CODE_IS_GONE);
	hotspot_free(vm);
}

/* What compilers write into has no rules and no name: what runs there came after it. */
static void test_scratch(void **state)
{
	static const char *const names[] = {"C1 temporary CodeBuffer", "Compile::scratch_buffer"};
	struct hotspot_piece piece;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct image_blob scratch = method;

		scratch.name = names[i];
		vm = vm_with(&scratch, &code);
		hotspot_look(vm, 1 << 20);
		assert_int_equal(find(vm, code).kind, UNWIND_UNKNOWN);
		assert_null(name_at(vm, code, UINT64_MAX, 0, &piece));
		image_blob(&image, &method);
		hotspot_look(vm, 1 << 20);
		expect_sp(vm, code + METHOD_BODY, 48);
		assert_string_equal(name_at(vm, code, 0, 0, &piece), "a.b.Some.method");
		hotspot_free(vm);
	}
}

static void test_what_is_missing(void **state)
{
	static const char *const needed[] = {"CodeCache::_heaps", "CodeHeap::_segmap",
					     "HeapBlock::Header::_length", "CodeBlob::_frame_size"};
	const char *missing;
	struct hotspot *vm;

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		image_init(&image, needed[i]);
		assert_int_equal(hotspot_open(&memory, &vm, &missing), -ENOENT);
		assert_string_equal(missing, needed[i]);
	}
	image_init(&image, "nmethod::_method"); /* can be done without */
	assert_int_equal(hotspot_open(&memory, &vm, &missing), 0);
	hotspot_free(vm);
}

/* libjvm is mapped, but not relocated; the heaps are not made; the process is gone. */
static void test_too_early(void **state)
{
	struct unwind_rule rule;
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	image_init(&image, NULL);
	image_put(&image, 0x100, 0, 8);
	assert_int_equal(hotspot_open(&memory, &vm, NULL), -EAGAIN);
	image_init(&image, NULL);
	code = image_blob(&image, &method);
	image_put(&image, IMAGE_STATIC, 0, 8);
	vm = open_vm();
	assert_int_equal(hotspot_look(vm, 1 << 20), -EAGAIN);
	assert_false(hotspot_find(vm, code, &rule));
	image_put(&image, IMAGE_STATIC, image_addr(IMAGE_ARRAY), 8);
	assert_int_equal(hotspot_look(vm, 1 << 20), 0);
	image.unreadable = true;
	assert_int_equal(hotspot_look(vm, 1 << 20), -EAGAIN);
	expect_sp(vm, code + METHOD_BODY, 48); /* as it was */
	image.unreadable = false;
	hotspot_free(vm);
}

#define ZEROS 0x600000000000ull

/* The image's memory, and a map of segments that is all zeros: a block may begin at each. */
static void read_zeros(void *ctx, struct memory_piece *pieces, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (pieces[i].addr < ZEROS || pieces[i].addr - ZEROS >= 1ull << 40) {
			image_read(ctx, &pieces[i], 1);
			continue;
		}
		memset(pieces[i].to, 0, pieces[i].len_bytes);
		pieces[i].was_read = true;
	}
}

static void test_a_map_of_zeros(void **state)
{
	static const struct target_memory zeros = {read_zeros, image_variable, &image,
						   &arch_x86_64};
	struct hotspot *vm;
	uint64_t code;

	(void)state;
	image_init(&image, NULL);
	code = image_blob(&image, &method);
	image_put(&image, IMAGE_CODEHEAP + 24, image_addr(1u << 30), 8);
	image_put(&image, IMAGE_CODEHEAP + 32, image_addr(1u << 30), 8);
	image_put(&image, IMAGE_CODEHEAP + 64, ZEROS, 8);
	image_put(&image, IMAGE_CODEHEAP + 72, ZEROS + (1u << 30), 8);
	assert_int_equal(hotspot_open(&zeros, &vm, NULL), 0);
	image.nr_reads = 0;
	assert_int_equal(hotspot_look(vm, 1 << 20), 0);
	assert_true(image.nr_reads < 1 << 20);
	expect_sp(vm, code + METHOD_BODY, 48);
	hotspot_free(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_method),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_on_demand),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_not_installed),
		cmocka_unit_test(test_not_entrant),
		cmocka_unit_test(test_interpreter),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_wrong_scopes),
		cmocka_unit_test(test_interpreted_method),
		cmocka_unit_test(test_unloaded_classes),
		cmocka_unit_test(test_classes_that_stay),
		cmocka_unit_test(test_many_loaders),
		cmocka_unit_test(test_code_after_unloading),
		cmocka_unit_test(test_code_that_was_freed),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_too_early),
		cmocka_unit_test(test_a_map_of_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
