// SPDX-License-Identifier: BSD-2-Clause
/*
 * Against real workers that read the memory of this process, in which a VM's image is mapped: what they say is what the
 * same code says here, also after they were killed; what cannot be read costs nothing but its JVM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/hotspot.h"
#include "sandbox/jvmparser.h"
#include "temp.h"
#include "vm_image.h"
#include "worker/serve.h"

#define ALL_BYTES (1u << 20)

/* push %rbp; sub $0x20,%rsp; nop; add $0x20,%rsp; pop %rbp; ret */
static const uint8_t code_bytes[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x90,
				     0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
static const struct image_blob method = {.segment = 2,
					 .nr_segments = 2,
					 .name = "nmethod",
					 .frame_words = 6,
					 .code = code_bytes,
					 .code_bytes = sizeof(code_bytes)};
static const struct image_blob stub = {.segment = 8,
				       .nr_segments = 2,
				       .name = "a stub",
				       .code = code_bytes,
				       .code_bytes = sizeof(code_bytes)};

static struct vm_image *image; /* its bytes are where they say they are */
static uint64_t method_ip, stub_ip;
static struct jvm_subject jvm;

static void map_image(void)
{
	image = mmap((void *)(uintptr_t)IMAGE_BASE, sizeof(*image), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(image, (void *)(uintptr_t)IMAGE_BASE);
	_Static_assert(offsetof(struct vm_image, bytes) == 0, "the image is mapped by its bytes");
	image_init(image, NULL);
	method_ip = image_blob(image, &method);
	stub_ip = image_blob(image, &stub);
	jvm = (struct jvm_subject){.tgid = getpid(), .instance = 1};
	jvm.memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(jvm.memory_fd >= 0);
	for (size_t i = 0; i < MESSAGE_NR_VARIABLES; i++)
		jvm.variables[i] = image_variable(NULL, vm_variables[i]);
}

static int set_up(void **state)
{
	(void)state;
	map_image();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(image, sizeof(*image));
	close(jvm.memory_fd);
	return 0;
}

static struct parser *open_parser(bool in_process)
{
	const struct peer_options options = {.serve = serve, .in_process = in_process};
	struct parser *parser = NULL;
	uint32_t missing;

	assert_int_equal(parser_open(&options, &parser), 0);
	assert_int_equal(parser_meet(parser, &missing), 0);
	return parser;
}

static struct hotspot *open_here(void)
{
	static struct target_memory memory = {image_read, image_variable, NULL, &arch_x86_64};
	struct hotspot *vm;

	memory.ctx = image;
	assert_int_equal(hotspot_open(&memory, &vm, NULL), 0);
	assert_int_equal(hotspot_look(vm, ALL_BYTES), 0);
	hotspot_pack(vm);
	return vm;
}

static const struct jvm_wish both = {.what = MESSAGE_LOOK_READ | MESSAGE_LOOK_PACK,
				     .max_bytes = ALL_BYTES};

static void check_table(const struct unwind_table *table, const struct unwind_table *here)
{
	assert_non_null(table);
	assert_int_equal(table->start, here->start);
	assert_int_equal(table->nr_pages, here->nr_pages);
	assert_int_equal(table->nr_rows, here->nr_rows);
	assert_memory_equal(table->rows, here->rows, table->nr_rows * sizeof(*table->rows));
}

static void check_look(struct parser *parser, const struct hotspot *vm, struct jvm_wish *next)
{
	const struct hotspot_heap *here = hotspot_heap(vm, 0);
	struct reply_look look;

	assert_int_equal(parser_look(parser, &jvm, &both, &look), 0);
	assert_string_equal(look.missing, "");
	assert_int_equal(look.nr_blobs, 2);
	assert_int_equal(look.nr_analyzed, 2);
	assert_false(look.is_partial || look.is_changed);
	assert_int_equal(look.nr_heaps, 1);
	assert_true(look.heaps[0].start == here->start && look.heaps[0].limit == here->limit);
	assert_true(look.heaps[0].reserved == here->reserved);
	check_table(look.heaps[0].table, here->table);
	*next = both;
	next->generations[0] = look.heaps[0].generation;
	reply_look_release(&look);
}

static void check_code(struct parser *parser, struct hotspot *vm, uint64_t start)
{
	struct reply_code *code;

	assert_int_equal(parser_code(parser, &jvm, start + 5, &code), 0);
	assert_true(code->start == start && code->limit == start + sizeof(code_bytes));
	for (uint64_t ip = start; ip < code->limit; ip++) {
		struct unwind_rule found, here;

		reply_code_find(code, ip, &found);
		assert_true(hotspot_find(vm, ip, &here));
		assert_memory_equal(&found, &here, sizeof(here));
	}
	free(code);
	assert_int_equal(parser_code(parser, &jvm, image_addr(IMAGE_HEAP), &code), -ENOENT);
	assert_int_equal(parser_code(parser, &jvm, 1, &code), -ENOENT);
}

static void check_names(struct parser *parser)
{
	const uint64_t ips[] = {method_ip, 1, stub_ip + 3, method_ip + 2};
	const struct jvm_sample sample = {UINT64_MAX, UNWIND_UNLOADS(0), 0};
	struct reply_method *methods = NULL;
	size_t nr;

	assert_int_equal(parser_methods(parser, &jvm, &sample, ips, 4, &methods, &nr), 0);
	assert_int_equal(nr, 2); /* each once */
	assert_string_equal(methods[0].frames[0].name, "a.b.Some.method");
	assert_true(methods[0].start == method_ip);
	assert_string_equal(methods[1].frames[0].name, "a stub");
	assert_true(methods[1].limit == stub_ip + sizeof(code_bytes));
	free(methods);
	assert_int_equal(parser_methods(parser, &jvm, &sample, ips, 4, &methods, &nr), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(parser_methods(parser, &jvm, &sample, ips, 0, &methods, &nr), -EINVAL);
	assert_int_equal(
		parser_methods(parser, &jvm, &sample, ips, MESSAGE_MAX_NAMES + 1, &methods, &nr),
		-EINVAL);
}

static void check_answers(bool in_process)
{
	struct parser *parser = open_parser(in_process);
	struct hotspot *vm = open_here();
	struct jvm_wish next;
	struct reply_look look;

	check_look(parser, vm, &next);
	check_code(parser, vm, method_ip);
	check_code(parser, vm, stub_ip);
	check_names(parser);
	/* Nothing new: main has the table. Then there is. */
	assert_int_equal(parser_look(parser, &jvm, &next, &look), 0);
	assert_int_equal(look.heaps[0].generation, next.generations[0]);
	assert_null(look.heaps[0].table);
	image_put(image, IMAGE_HEAP + stub.segment * IMAGE_SEGMENT + 4, 0, 1); /* not used */
	next.what = MESSAGE_LOOK_READ;
	assert_int_equal(parser_look(parser, &jvm, &next, &look), 0);
	assert_true(look.is_changed);
	assert_null(look.heaps[0].table);
	next.what = MESSAGE_LOOK_PACK;
	assert_int_equal(parser_look(parser, &jvm, &next, &look), 0);
	assert_false(look.is_changed);
	assert_int_equal(look.nr_blobs, 1);
	assert_int_not_equal(look.heaps[0].generation, next.generations[0]);
	assert_non_null(look.heaps[0].table);
	reply_look_release(&look);
	assert_int_equal(parser_nr_left_out(parser), 0);
	hotspot_free(vm);
	parser_close(parser);
}

static void test_answers(void **state)
{
	(void)state;
	check_answers(false);
}

static void test_answers_in_process(void **state)
{
	(void)state;
	check_answers(true);
}

/* A worker that is replaced needs no introduction, whatever is asked first; and its tables are told from the others. */
static void test_another_worker(void **state)
{
	struct parser *parser = open_parser(false);
	struct hotspot *vm = open_here();
	struct jvm_wish first, next;
	struct reply_look look;
	uint64_t file_addrs[MESSAGE_NR_VARIABLES];
	struct reply_sites sites;
	int fd scoped(closep) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	check_look(parser, vm, &first);
	for (int i = 0; i < 2; i++) {
		/* the next question goes to another worker */
		assert_int_equal(parser_variables(parser, 3, fd, file_addrs), 0);
		assert_int_equal(parser_sites(parser, 3, fd, &sites), 0);
		if (i)
			check_names(parser);
		else
			check_code(parser, vm, method_ip);
		assert_int_equal(parser_look(parser, &jvm, &first, &look), 0);
		assert_int_not_equal(look.heaps[0].generation, first.generations[0]);
		assert_non_null(look.heaps[0].table);
		reply_look_release(&look);
	}
	jvm.instance++; /* as after an exec */
	check_look(parser, vm, &next);
	assert_int_not_equal(next.generations[0], first.generations[0]);
	assert_int_equal(parser_nr_left_out(parser), 0);
	hotspot_free(vm);
	parser_close(parser);
}

static void test_not_there(void **state)
{
	struct parser *parser = open_parser(false);
	const struct jvm_subject before = jvm;
	struct reply_code *code;
	struct reply_look look;

	(void)state;
	image_put(image, 0x100, 0, 8); /* libjvm is not relocated yet */
	assert_int_equal(parser_look(parser, &jvm, &both, &look), -EAGAIN);
	image_init(image, NULL);
	image_put(image, IMAGE_STATIC, 0, 8); /* it has made no heaps yet */
	assert_int_equal(parser_look(parser, &jvm, &both, &look), -EAGAIN);
	assert_int_equal(parser_code(parser, &jvm, method_ip, &code), -ENOENT);
	jvm.instance++;
	image_init(image, "CodeHeap::_segmap");
	assert_int_equal(parser_look(parser, &jvm, &both, &look), 0);
	assert_string_equal(look.missing, "CodeHeap::_segmap");
	assert_int_equal(look.nr_heaps, 0);
	memset(jvm.variables, 0, sizeof(jvm.variables)); /* it exports nothing */
	assert_int_equal(parser_look(parser, &jvm, &both, &look), 0);
	assert_string_equal(look.missing, "gHotSpotVMStructs");
	jvm = before;
	/* It cannot be read: all of it, then its code alone. */
	mprotect(image, sizeof(*image), PROT_NONE);
	munmap(image, 0x1000);
	jvm.instance += 2;
	assert_int_equal(parser_look(parser, &jvm, &both, &look), -EIO);
	assert_int_equal(parser_code(parser, &jvm, method_ip, &code), -EIO);
	jvm.memory_fd = -1;
	assert_int_equal(parser_look(parser, &jvm, &both, &look), -EBADF);
	jvm.memory_fd = before.memory_fd;
	assert_int_equal(parser_nr_left_out(parser), 0);
	parser_leave_out_jvm(parser, jvm.tgid, -EIO);
	assert_int_equal(parser_look(parser, &jvm, &both, &look), -EIO);
	assert_int_equal(parser_nr_left_out(parser), 1);
	parser_close(parser);
}

/* A library that exports some of the variables. */
static void test_variables(void **state)
{
	char *folder scoped(freep) = temp_folder();
	char *command scoped(freep) = NULL, *object scoped(freep) = xasprintf("%s/jvm.so", folder);
	uint64_t elf_addrs[MESSAGE_NR_VARIABLES];
	struct parser *parser = open_parser(false);
	int fd scoped(closep) = -1;

	(void)state;
	command = xasprintf("printf 'long %s, %s = 1;' | gcc -shared -x c -o %s -", vm_variables[0],
			    vm_variables[8], object);
	assert_int_equal(system(command), 0);
	fd = open(object, O_RDONLY | O_CLOEXEC);
	assert_int_equal(parser_variables(parser, 5, fd, elf_addrs), 0);
	for (size_t i = 0; i < MESSAGE_NR_VARIABLES; i++)
		assert_int_equal(elf_addrs[i] != 0, i == 0 || i == 8);
	parser_close(parser);
}

/* The image's address is fixed: nothing else may happen to be there. */
static void without_randomness(char **argv)
{
	int now = personality(0xffffffff);

	if (now != -1 && !(now & ADDR_NO_RANDOMIZE) && personality(now | ADDR_NO_RANDOMIZE) != -1)
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers_in_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_worker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_there, set_up, tear_down),
		cmocka_unit_test(test_variables),
	};

	(void)argc;
	without_randomness(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
