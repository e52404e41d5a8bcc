// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Calls the program that walks the shadow stack of current's runtime, if it has one.
 *
 * A tail call in a function of its own ends that function and not the program (since Linux 5.10), so what is called comes back
 * here. Rejected: programs that replace a function of this one (BPF_PROG_TYPE_EXT), which need CAP_NET_ADMIN; and a
 * chain of tail calls that goes on where this one stopped, which the heap's programs would have to be cut up for.
 */
#include "runtime.bpf.h"

#include "arch/runtime.bpf.h"
#include "scratch.bpf.h"
#include "stackmem.bpf.h"

struct shadow_map shadows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, ABI_NR_RUNTIMES);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} runtime_walks SEC(".maps");

/* The place in the array is a constant, so that the kernel makes a jump of it. */
static __noinline int call_python(void *ctx)
{
	bpf_tail_call(ctx, &runtime_walks, ABI_RUNTIME_PYTHON);
	return 0; /* its program is not loaded */
}

static __noinline int call_php(void *ctx)
{
	bpf_tail_call(ctx, &runtime_walks, ABI_RUNTIME_PHP);
	return 0;
}

static __noinline int call_v8(void *ctx)
{
	bpf_tail_call(ctx, &runtime_walks, ABI_RUNTIME_V8);
	return 0;
}

static __noinline int call_ruby(void *ctx)
{
	bpf_tail_call(ctx, &runtime_walks, ABI_RUNTIME_RUBY);
	return 0;
}

static __noinline int call_perl(void *ctx)
{
	bpf_tail_call(ctx, &runtime_walks, ABI_RUNTIME_PERL);
	return 0;
}

__hidden void runtime_walk(void *ctx, u32 slot)
{
	struct scratch *scratch = scratch_at(slot);
	struct shadow *shadow = shadow_at(slot);

	if (!ARCH_HAS_TAIL_CALLS || !scratch || !shadow || !scratch->walk.runtime)
		return;
	shadow->tgid = scratch->record.tgid;
	shadow->start_ns = scratch->record.start_ns;
	shadow->exec_id = scratch->exec_id;
	shadow->thread_pointer = stackmem_thread_block();
	shadow->thread = arch_pthread(shadow->thread_pointer);
	shadow->leaf_ip = scratch->record.ips[scratch->record.nr_kernel & 127];
	shadow->loop_register = scratch->walk.leaf[ARCH_REG_LOOP];
	shadow->walk_ns = config.walk_ns;
	shadow->walker = bpf_get_current_pid_tgid();
	shadow->place = ABI_RUNTIME_PLACE(scratch->walk.runtime);
	shadow->nr = shadow->stack.nr_walked = shadow->stack.nr_entries = 0;
	shadow->stack.end = ABI_SHADOW_END_ROOT;
	shadow->hash = 0;
	if (ABI_RUNTIME_KIND(scratch->walk.runtime) == ABI_RUNTIME_PYTHON)
		call_python(ctx);
	else if (ABI_RUNTIME_KIND(scratch->walk.runtime) == ABI_RUNTIME_PHP)
		call_php(ctx);
	else if (ABI_RUNTIME_KIND(scratch->walk.runtime) == ABI_RUNTIME_V8)
		call_v8(ctx);
	else if (ABI_RUNTIME_KIND(scratch->walk.runtime) == ABI_RUNTIME_RUBY)
		call_ruby(ctx);
	else if (ABI_RUNTIME_KIND(scratch->walk.runtime) == ABI_RUNTIME_PERL)
		call_perl(ctx);
	shadow->walker = 0;
	scratch->nr_shadow = shadow->nr;
	scratch->has_shadow = shadow->nr || shadow->stack.end != ABI_SHADOW_END_ROOT;
	scratch->shadow_hash = shadow->hash;
}
