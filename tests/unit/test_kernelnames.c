// SPDX-License-Identifier: BSD-2-Clause
/* The names in BTF: the running kernel's as libbpf finds them, and files that are none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "btf_values.h"
#include "machine/kernelnames.h"
#include "temp.h"

/* A name is in the kernel's BTF if libbpf finds what is named so. */
static void kernels_names_are_libbpfs(void **state)
{
	static const struct {
		const char *type, *name;
	} values[] = {
		{"bpf_func_id", "BPF_FUNC_get_current_task"},
		{"bpf_func_id", "BPF_FUNC_get_current_task_btf"},
		{"bpf_func_id", "BPF_FUNC_task_pt_regs"},
		{"bpf_func_id", "BPF_FUNC_get_attach_cookie"},
		{"bpf_attach_type", "BPF_TRACE_UPROBE_MULTI"},
		{"bpf_attach_type", "BPF_TRACE_KPROBE_SESSION"},
		{"bpf_attach_type", "BPF_TRACE_UPROBE_SESSION"},
		{"bpf_func_id", "BPF_FUNC_get_current_tas"},
		{"bpf_func_id", "PF_FUNC_get_current_task"},
		{"bpf_func_id",
		 "BPF_FUNC_of_no_kernel_and_longer_than_any_name_that_it_could_have"},
	};
	struct kernelnames names;
	struct btf *btf;

	(void)state;
	if (access(KERNELNAMES_PATH, R_OK))
		skip();
	btf = btf__load_vmlinux_btf();
	assert_int_equal(kernelnames_read(KERNELNAMES_PATH, &names), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(kernelnames_has(&names, values[i].name),
				 btf_has_value(btf, values[i].type, values[i].name));
	assert_int_equal(kernelnames_has(&names, "bpf_mem_alloc_init"),
			 btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0);
	assert_true(kernelnames_has(&names, "task_struct"));
	kernelnames_release(&names);
	btf__free(btf);
}

static int names_of(const struct btf_header *header, size_t len_bytes)
{
	int fd scoped(closep) = -1, err;
	char *path scoped(freep) = temp_file(&fd);
	struct kernelnames names;

	assert_int_equal(write(fd, header, len_bytes), len_bytes);
	err = kernelnames_read(path, &names);
	assert_false(kernelnames_has(&names, "task_struct"));
	kernelnames_release(&names);
	return err;
}

static void what_is_no_btf_has_no_names(void **state)
{
	struct btf_header header = {.magic = BTF_MAGIC,
				    .version = BTF_VERSION,
				    .hdr_len = sizeof(header),
				    .str_len = 1};
	struct kernelnames names;

	(void)state;
	assert_int_equal(kernelnames_read("/nonexistent/btf", &names), -ENOENT);
	assert_int_equal(names_of(&header, 0), -EBADMSG);
	assert_int_equal(names_of(&header, sizeof(header) - 1), -EBADMSG);
	assert_int_equal(names_of(&header, sizeof(header)), -EBADMSG); /* the strings lack */
	header.str_len = UINT32_MAX;
	assert_int_equal(names_of(&header, sizeof(header)), -EBADMSG);
	header.str_len = 1;
	header.hdr_len = UINT32_MAX;
	header.str_off = UINT32_MAX;
	assert_int_equal(names_of(&header, sizeof(header)), -EBADMSG);
	header.magic = 0;
	assert_int_equal(names_of(&header, sizeof(header)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_names_are_libbpfs),
		cmocka_unit_test(what_is_no_btf_has_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
