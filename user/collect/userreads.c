// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf tries a call of bpf_probe_read_kernel(). If it is refused, libbpf takes the kernel for one before 5.5, and puts
 * the older bpf_probe_read() in the place of both bpf_probe_read_kernel() and bpf_probe_read_user(), and
 * bpf_probe_read_str() in the place of both readers of strings (bpf_object__sanitize_prog). But lockdown=confidentiality
 * refuses the older ones as well, and allows those that read user memory. So here the calls are changed back, just
 * before a program is loaded. Calls that read the kernel's memory become others too, but the verifier never meets one:
 * config.no_kernel_reads rules them out.
 */
#include "collect/userreads.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int change_back(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	size_t nr = bpf_program__insn_cnt(program);
	struct bpf_insn *insns = calloc(nr, sizeof(*insns));
	int err;

	(void)opts;
	(void)cookie;
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), nr * sizeof(*insns));
	for (size_t i = 0; i < nr; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg)
			continue;
		if (insns[i].imm == BPF_FUNC_probe_read)
			insns[i].imm = BPF_FUNC_probe_read_user;
		else if (insns[i].imm == BPF_FUNC_probe_read_str)
			insns[i].imm = BPF_FUNC_probe_read_user_str;
	}
	err = bpf_program__set_insns(program, insns, nr);
	free(insns);
	return err;
}

void userreads_keep(void)
{
	static const struct {
		const char *section;
		enum bpf_prog_type type;
	} kinds[] = {
		{"perf_event", BPF_PROG_TYPE_PERF_EVENT},
		{"uprobe", BPF_PROG_TYPE_KPROBE},
		{"uretprobe", BPF_PROG_TYPE_KPROBE},
	};
	const struct libbpf_prog_handler_opts opts = {
		.sz = sizeof(opts),
		.prog_prepare_load_fn = change_back,
	};
	static bool is_done;

	for (size_t i = 0; !is_done && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		libbpf_register_prog_handler(kinds[i].section, kinds[i].type, 0, &opts);
	is_done = true;
}
