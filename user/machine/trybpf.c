// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf(2), tried: a map of the size that a run needs, a small BPF program that is run once, and helpers that may be
 * refused. The other features are known by names in the kernel's BTF.
 *
 * Rejected: comparing kernel versions, because distributions backport features, and leave some out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/alloc.h"
#include "machine/checks.h"
#include "machine/kernelnames.h"
#include "probe.skel.h"

/* As much as a run without live blocks needs, that is 64 slabs of 1 MB at the least. */
#define MAP_BYTES (16u << 20)

void machine_silence_libbpf(void)
{
	libbpf_set_print(NULL);
}

/*
 * The verifier says EINVAL of a helper that it refuses; other errors are no answer. libbpf may not see this call: it
 * would put another helper in its place (collect/userreads.c).
 */
static bool may_call(enum bpf_func_id helper)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = helper},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd scoped(closep) = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "Dual BSD/GPL",
					      program, sizeof(program) / sizeof(program[0]), NULL);

	return fd != -EINVAL;
}

static int run_probe(struct probe_bpf *probe)
{
	struct bpf_test_run_opts run = {.sz = sizeof(run)};
	int err = bpf_prog_test_run_opts(bpf_program__fd(probe->progs.probe_kernel), &run);

	return err || probe->bss->has_ran ? err : -EIO;
}

static int load_probe(void)
{
	struct probe_bpf *probe = probe_bpf__open();
	int err;

	if (!probe)
		return -errno;
	bpf_program__set_autoload(probe->progs.count_calls, false);
	err = probe_bpf__load(probe);
	err = err ? err : run_probe(probe);
	probe_bpf__destroy(probe);
	return err;
}

static int find_features(struct kernel_features *features)
{
	struct kernelnames names scoped(kernelnames_release) = {0};
	int err = load_probe();

	err = err ? err : kernelnames_read(KERNELNAMES_PATH, &names);
	if (err)
		return err;
	*features = (struct kernel_features){
		.current_task_btf = kernelnames_has(&names, "BPF_FUNC_get_current_task_btf"),
		.task_pt_regs = kernelnames_has(&names, "BPF_FUNC_task_pt_regs"),
		.attach_cookie = kernelnames_has(&names, "BPF_FUNC_get_attach_cookie"),
		.map_allocator = kernelnames_has(&names, "bpf_mem_alloc_init"),
		/*
		 * Its pid filter let one thread through only, until commit 46ba0e49b642 in Linux 6.10: the
		 * release that brought kprobe sessions.
		 */
		.uprobe_multi = kernelnames_has(&names, "BPF_TRACE_UPROBE_MULTI") &&
				kernelnames_has(&names, "BPF_TRACE_KPROBE_SESSION"),
		.uprobe_session = kernelnames_has(&names, "BPF_TRACE_UPROBE_SESSION"),
		.kernel_reads = may_call(BPF_FUNC_probe_read_kernel),
		.user_reads = may_call(BPF_FUNC_probe_read_user),
	};
	return 0;
}

int features_find(struct kernel_features *features)
{
	static struct kernel_features found;
	static bool is_found;
	static int err;

	if (!is_found)
		err = find_features(&found);
	is_found = true;
	*features = found;
	return err;
}

/* libbpf does not say so: without the kernel's BTF, which it reads and copies, a program "does not exist". */
static bool lacks_memory(void)
{
	struct stat btf;
	void *memory;

	if (stat(KERNELNAMES_PATH, &btf) || !btf.st_size)
		return false;
	memory = mmap(NULL, 2 * (size_t)btf.st_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED || munmap(memory, 2 * (size_t)btf.st_size);
}

void check_bpf(struct machine_finding *finding)
{
	struct kernel_features features;
	int err = features_find(&features);

	if (lacks_memory())
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
			    "raise the limit of the address space (ulimit -v unlimited)",
			    "there is no memory to load a BPF program");
	else if (err)
		finding_of_refusal(finding, MACHINE_EVERY, "bpf(2)", err,
				   "a minimal BPF program does not load");
	else
		snprintf(finding->value, sizeof(finding->value), "a program was loaded and run");
}

static void set_limit_value(struct machine_finding *finding)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(finding->value, sizeof(finding->value), "unlimited");
	else
		snprintf(finding->value, sizeof(finding->value), "%llu KB",
			 (unsigned long long)limit.rlim_cur / 1024);
}

/*
 * Before Linux 5.11 the memory of maps counts against the limit; a session raises it, with CAP_SYS_RESOURCE. It stays
 * raised here, too: the kernel gives back what the map took only a moment after it is closed.
 */
void check_memlock(struct machine_finding *finding)
{
	struct rlimit before, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int fd scoped(closep) = -1, small scoped(closep) = -1;

	set_limit_value(finding);
	if (getrlimit(RLIMIT_MEMLOCK, &before) || before.rlim_cur == RLIM_INFINITY)
		return;
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	small = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 64, 1, NULL);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, MAP_BYTES / 1024, 1024, NULL);
	if (small >= 0 && fd == -EPERM)
		finding_set(
			finding, MACHINE_CANNOT, MACHINE_EVERY,
			"run cprof with sudo, or raise the limit first (ulimit -l unlimited), or "
			"give it CAP_SYS_RESOURCE",
			"the limit of locked memory (ulimit -l, %llu KB) is too small for BPF "
			"maps, "
			"which count against it before Linux 5.11",
			(unsigned long long)before.rlim_cur / 1024);
	else if (small >= 0 && fd < 0)
		finding_set(finding, MACHINE_CANNOT, MACHINE_EVERY,
			    "raise the memory limit of the container or control group that cprof "
			    "runs in",
			    "there is no memory for a BPF map of %d MB (%s)", MAP_BYTES >> 20,
			    strerror(-fd));
}
