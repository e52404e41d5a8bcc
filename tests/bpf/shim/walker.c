// SPDX-License-Identifier: BSD-2-Clause
/* Fills the maps through collect/tables.c, and walks a stack twice: by the BPF code, and by the plain walker. */
#include "shim/walker.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

#include "shim/plainstep.h"
#include "unwind/codestep.h"
#include "registers.bpf.h"
#include "unwind.bpf.h"

void walker_open(struct walker *walker)
{
	*walker = (struct walker){0};
	if (tables_open(&walker->tables, host_map_fd("processes"), host_map_fd("vmas"),
			host_map_fd("tables"), host_map_fd("slabs")))
		errx(1, "tables_open() failed");
}

void walker_release(struct walker *walker)
{
	tables_release(&walker->tables);
	vec_release(&walker->vmas);
}

u32 walker_upload(struct walker *walker, const struct unwind_table *table)
{
	struct table_image image = unwind_table_image(table);
	u32 id;

	if (tables_add(&walker->tables, &image, &id))
		errx(1, "tables_add() failed");
	return id;
}

void walker_add_vma(struct walker *walker, u64 start, u64 limit, u64 bias,
		    const struct unwind_table *table, u32 id)
{
	vec_push(&walker->vmas, (struct walker_vma){start, limit, bias, table, id, false});
}

void walker_publish(struct walker *walker)
{
	vec_of(struct unwind_vma) vmas = {0};

	vec_for_each(&walker->vmas, vma)
		vec_push(&vmas, (struct unwind_vma){vma->start, vma->limit, vma->bias, vma->id,
						    vma->gap_by_fp});
	if (tables_set_process(&walker->tables, host.pid_tgid >> 32, vmas.at, vmas.nr, 0,
			       (struct jvm_counters){0}, &walker->run))
		errx(1, "tables_set_process() failed");
	tables_settle(&walker->tables);
	vec_release(&vmas);
}

/* The plain walker ------------------------------------------------------------------------------- */

static const struct walker_vma *find_vma(const struct walker *walker, u64 ip)
{
	size_t nr = walker->vmas.nr < ABI_MAX_PROCESS_VMAS ? walker->vmas.nr : ABI_MAX_PROCESS_VMAS;

	for (size_t i = 0; i < nr; i++)
		if (ip >= walker->vmas.at[i].start && ip < walker->vmas.at[i].limit)
			return &walker->vmas.at[i];
	return NULL;
}

static bool read_word(void *ctx, uint64_t address, uint64_t *value)
{
	(void)ctx;
	return host_read(address, value, sizeof(*value));
}

static bool read_code(void *ctx, uint64_t address, void *to, size_t len_bytes)
{
	(void)ctx;
	return host_read(address, to, len_bytes);
}

static bool knows(void *ctx, uint64_t ip)
{
	return find_vma(ctx, ip);
}

static int step_through_gap(const struct walker *walker, struct unwind_regs *regs, u64 *guessed)
{
	const struct codestep_target target = {HOST_ARCH, read_word, read_code, knows,
					       (void *)walker};

	switch (codestep(regs, &target)) {
	case CODESTEP_GUESSED:
		*guessed = ABI_IP_GUESSED;
		return 0;
	case CODESTEP_BY_CODE:
		return 0;
	case CODESTEP_NO_FP:
		return ABI_END_NO_ROOT + 1;
	case CODESTEP_NEW:
		return ABI_END_UNKNOWN_CODE + 1;
	default:
		return ABI_END_NO_CFI + 1;
	}
}

static int step_by_rule(const struct unwind_rule *rule, struct unwind_regs *regs)
{
	switch (plain_step(rule, regs, read_word, NULL)) {
	case UNWIND_STEPPED:
		return 0;
	case UNWIND_AT_ROOT:
		return ABI_END_ROOT + 1;
	case UNWIND_NO_REG:
		return ABI_END_NO_REG + 1;
	case UNWIND_NO_MEMORY:
		return ABI_END_UNREADABLE + 1;
	case UNWIND_NO_MOVE:
		return ABI_END_NO_MOVE + 1;
	case UNWIND_NO_CFI:
		return ABI_END_NO_CFI + 1;
	case UNWIND_NEW_CODE:
		return ABI_END_UNKNOWN_CODE + 1;
	default:
		return ABI_END_NO_RULE + 1;
	}
}

int walker_step(const struct walker *walker, struct unwind_regs *regs, u64 *guessed)
{
	static const struct unwind_rule by_fp = {.kind = UNWIND_FP};
	u64 ip = unwind_lookup_ip(regs);
	const struct walker_vma *vma = find_vma(walker, ip);
	struct unwind_rule rule = {.kind = UNWIND_GAP};
	struct unwind_regs caller = *regs;
	int end;

	*guessed = 0;
	if (!vma || vma->id == ABI_TABLE_UNBUILT)
		return ABI_END_UNKNOWN_CODE + 1;
	if (vma->table)
		unwind_table_find(vma->table, ip - vma->bias, &rule);
	if (rule.kind == UNWIND_GAP && !vma->gap_by_fp)
		end = step_through_gap(walker, &caller, guessed);
	else
		end = step_by_rule(rule.kind == UNWIND_GAP ? &by_fp : &rule, &caller);
	if (!end && !caller.ip)
		end = ABI_END_NO_ROOT + 1;
	if (!end)
		*regs = caller;
	return end;
}

/* What stands for the frame of regs, whose ip was noted as `noted`. */
static u64 frame_word(const struct walker *walker, const struct unwind_regs *regs, u64 noted)
{
	u64 ip = unwind_lookup_ip(regs), method;
	const struct walker_vma *vma = find_vma(walker, ip);
	struct unwind_rule rule = {.kind = UNWIND_GAP};

	if (!vma || !vma->table || vma->id == ABI_TABLE_UNBUILT)
		return noted;
	unwind_table_find(vma->table, ip - vma->bias, &rule);
	if (rule.kind == UNWIND_SIGNAL && !regs->ip_exact)
		return noted | ABI_IP_EXACT;
	method = plain_method(&rule, regs, read_word, NULL);
	return method ? method : noted;
}

struct unwind_regs walker_begin(const struct pt_regs *regs, u64 leaf[UNWIND_NR_REGS])
{
	host_leaf(regs, leaf);
	return (struct unwind_regs){.ip = HOST_IP(regs),
				    .sp = regs->sp,
				    .fp = HOST_FP(regs),
				    .extra = HOST_EXTRA(regs),
				    .ip_exact = true,
				    .extra_known = true,
				    .pac_mask = config.pac_mask,
				    .leaf = (const uint64_t *)leaf};
}

/* Both ends of a walk, as cprof_abi.h says. */
static void keep(const u64 *ips, u32 nr, struct walked *walked)
{
	u32 nr_root = ABI_MAX_USER_FRAMES - ABI_LEAF_FRAMES - 1;

	walked->nr = nr;
	if (walked->end == ABI_END_TOO_DEEP)
		walked->nr = ABI_LEAF_FRAMES;
	else if (nr > ABI_MAX_USER_FRAMES)
		walked->nr = ABI_MAX_USER_FRAMES;
	memcpy(walked->ips, ips, walked->nr * sizeof(*ips));
	if (walked->nr == nr || walked->end == ABI_END_TOO_DEEP)
		return;
	walked->ips[ABI_LEAF_FRAMES] = ABI_IP_ELIDED;
	memcpy(walked->ips + ABI_LEAF_FRAMES + 1, ips + nr - nr_root, nr_root * sizeof(*ips));
}

void walker_plain(const struct walker *walker, const struct pt_regs *regs, struct walked *walked)
{
	static u64 ips[ABI_MAX_WALKED_TURNS * ABI_FRAMES_AT_ONCE + 1];
	u64 leaf[UNWIND_NR_REGS], guessed;
	struct unwind_regs at = walker_begin(regs, leaf);
	u32 nr = 1;
	int end = 0;

	memset(walked, 0, sizeof(*walked));
	ips[0] = at.ip;
	while (!end) {
		if (nr == sizeof(ips) / sizeof(ips[0])) {
			end = ABI_END_TOO_DEEP + 1;
			break;
		}
		ips[nr - 1] = frame_word(walker, &at, ips[nr - 1]);
		end = walker_step(walker, &at, &guessed);
		if (!end)
			ips[nr++] = at.ip | guessed | (at.ip_exact ? ABI_IP_EXACT : 0);
	}
	walked->end = end - 1;
	keep(ips, nr, walked);
	walked->ip = at.ip;
	walked->sp = at.sp;
	walked->fp = at.fp;
	walked->extra_known = at.extra_known;
	walked->extra = at.extra_known ? at.extra : 0;
	walked->ip_exact = at.ip_exact;
}

/* BPF -------------------------------------------------------------------------------------------- */

void walker_bpf(const struct pt_regs *regs, struct walked *walked)
{
	struct scratch *scratch = scratch_at(ABI_SLOT_TICK);
	const struct walk *walk = &scratch->walk;
	struct pt_regs in_user_mode = *regs;

	memset(walked, 0, sizeof(*walked));
	host_set_user_mode(&in_user_mode);
	scratch->record.nr_kernel = 0;
	scratch->record.tgid = host.pid_tgid >> 32;
	scratch->is_kernel_thread = 0;
	walked->end = ~0u;
	if (!registers_begin_walk(&in_user_mode, scratch))
		return;
	unwind_user(ABI_SLOT_TICK);
	walked->nr = walk->nr;
	walked->end = walk->end;
	memcpy(walked->ips, scratch->record.ips, walk->nr * sizeof(walked->ips[0]));
	walked->ip = walk->ip;
	walked->sp = walk->sp;
	walked->fp = walk->fp;
	walked->extra_known = walk->extra_known;
	walked->extra = walk->extra_known ? walk->extra : 0;
	walked->ip_exact = walk->ip_exact;
}

static const char *end_name(u32 end)
{
	static const char *const names[] = {
#define X(id) #id,
		ABI_STACK_ENDS(X)
#undef X
	};

	return end < ABI_NR_STACK_ENDS ? names[end] : "none";
}

static void print_walked(const char *who, const struct walked *walked)
{
	fprintf(stderr, "%s: %u frames, %s, ip %llx%s sp %llx fp %llx bx %llx%s\n", who, walked->nr,
		end_name(walked->end), walked->ip, walked->ip_exact ? " exact" : "", walked->sp,
		walked->fp, walked->extra, walked->extra_known ? "" : " unknown");
}

/* The rule at which the shorter walk ended. */
static void print_rule(const struct walker *walker, const struct walked *walked)
{
	u64 ip = walked->ip - !walked->ip_exact;
	const struct walker_vma *vma = find_vma(walker, ip);
	struct unwind_rule rule;

	if (vma && vma->table && unwind_table_find(vma->table, ip - vma->bias, &rule))
		fprintf(stderr,
			"rule: kind %u cfa_reg %u how %x extra_slot %u cfa %d fp %d ra %d deref "
			"%d\n",
			rule.kind, rule.cfa_reg, rule.how, rule.extra_slot, rule.cfa_off,
			rule.fp_off, rule.ra_off, rule.deref_off);
}

bool walker_agree(const struct walker *walker, const struct pt_regs *regs, struct walked *walked)
{
	struct walked plain;
	u32 i = 0;

	walker_plain(walker, regs, &plain);
	walker_bpf(regs, walked);
	if (!memcmp(&plain, walked, sizeof(plain)))
		return true;
	print_walked("plain", &plain);
	print_walked("bpf", walked);
	print_rule(walker, walked);
	while (i < plain.nr && i < walked->nr && plain.ips[i] == walked->ips[i])
		i++;
	if (i < plain.nr || i < walked->nr)
		fprintf(stderr, "frame %u: plain %llx bpf %llx\n", i,
			i < plain.nr ? plain.ips[i] : 0, i < walked->nr ? walked->ips[i] : 0);
	return false;
}
