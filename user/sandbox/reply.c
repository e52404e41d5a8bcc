// SPDX-License-Identifier: BSD-2-Clause
/*
 * The payload may be unaligned and is copied out piece by piece; each count is checked against the bytes that are left
 * before anything of its size is allocated.
 *
 * Of a table everything is checked that a look-up relies on: in main (unwind_table_find(), unwind/unwindstep.c) and in
 * BPF, where the verifier relies on nothing but a look-up that ran astray would cost time.
 */
#include "sandbox/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/debuglink.h"
#include "sandbox/payload_reader.h"

bool reply_fits(const struct message *request, const struct message *reply)
{
	uint64_t len = reply->len_bytes;

	if (reply->kind != request->kind || reply->key != request->key ||
	    reply->serial != request->serial || reply->status > 0 || reply->status < -4095)
		return false;
	if (reply->status)
		return !len && !reply->nr;
	switch (reply->kind) {
	case MESSAGE_FILE:
		return reply->nr <= ELF_MAX_SEGMENTS &&
		       len == sizeof(struct message_file) +
				       reply->nr * sizeof(struct message_segment);
	case MESSAGE_TABLE:
		return len <= MESSAGE_TABLE_BYTES;
	case MESSAGE_NAMES:
		return reply->nr && reply->nr <= request->nr && len <= MESSAGE_NAMES_BYTES;
	case MESSAGE_SITES:
		return reply->nr <= ALLOC_MAX_SITES &&
		       len == sizeof(struct message_sites) +
				       reply->nr * sizeof(struct message_site);
	case MESSAGE_VARIABLES:
		return reply->nr == MESSAGE_NR_VARIABLES && len == reply->nr * sizeof(uint64_t);
	case MESSAGE_CRC:
		return reply->nr == 1 && len == sizeof(uint64_t);
	case MESSAGE_SCRIPT:
		return !reply->nr && len == sizeof(struct message_script);
	case MESSAGE_SLOTS:
		return reply->nr <= MESSAGE_MAX_SLOTS &&
		       len <= reply->nr * (sizeof(struct message_slot) + MESSAGE_SLOT_NAME_BYTES);
	case MESSAGE_LOOK:
		return reply->nr <= MESSAGE_MAX_HEAPS && len <= MESSAGE_LOOK_BYTES;
	case MESSAGE_CODE:
		return reply->nr && reply->nr <= MESSAGE_MAX_ROWS &&
		       len == sizeof(struct message_code) + reply->nr * sizeof(struct message_row);
	case MESSAGE_FUNCTION:
		return reply->nr <= MESSAGE_MAX_LINES &&
		       len < sizeof(struct message_function) +
				       reply->nr * sizeof(struct message_line) +
				       MESSAGE_FUNCNAME_BYTES + MESSAGE_FUNCFILE_BYTES;
	case MESSAGE_METHODS:
	case MESSAGE_PERF_MAP:
	case MESSAGE_JITDUMP:
		return reply->nr <= request->nr && len <= MESSAGE_NAMES_BYTES;
	case MESSAGE_SPLITS:
		return reply->nr == request->nr && len <= MESSAGE_NAMES_BYTES;
	case MESSAGE_COMPANION:
		return !reply->nr && !len;
	default:
		return false;
	}
}

/* Numbers ---------------------------------------------------------------------------------------- */

int reply_read_crc(const void *payload, size_t len_bytes, uint32_t *crc)
{
	uint64_t number;

	if (len_bytes != sizeof(number))
		return -EBADMSG;
	memcpy(&number, payload, sizeof(number));
	if (number > UINT32_MAX)
		return -EBADMSG;
	*crc = (uint32_t)number;
	return 0;
}

int reply_read_variables(const void *payload, size_t len_bytes, uint64_t *elf_addrs)
{
	if (len_bytes != MESSAGE_NR_VARIABLES * sizeof(*elf_addrs))
		return -EBADMSG;
	memcpy(elf_addrs, payload, len_bytes);
	return 0;
}

/* A copy of nr items, NULL if there are not as many. Owned by the caller. */
static void *take_array(struct payload_reader *rest, size_t nr, size_t size_bytes)
{
	void *items;

	if (nr > rest->len_bytes / size_bytes)
		return NULL;
	items = xmalloc(nr * size_bytes);
	take(rest, items, nr * size_bytes);
	return items;
}

/* Files ------------------------------------------------------------------------------------------ */

static bool is_build_id(const char *id)
{
	size_t len = strnlen(id, MESSAGE_BUILD_ID_BYTES);

	return len < MESSAGE_BUILD_ID_BYTES && strspn(id, "0123456789abcdef") == len;
}

static bool is_debuglink(const char *name)
{
	return memchr(name, '\0', MESSAGE_LINK_BYTES) && (!*name || debuglink_is_name(name));
}

static bool is_altlink(const struct message_file *about)
{
	return memchr(about->altlink, '\0', MESSAGE_ALT_BYTES) && is_build_id(about->altlink_id) &&
	       !*about->altlink == !*about->altlink_id;
}

static bool is_runtime(const struct message_runtime *about)
{
	if (about->unread >= MESSAGE_NR_UNREAD ||
	    ABI_RUNTIME_KIND(about->runtime) >= ABI_NR_RUNTIMES)
		return false;
	for (size_t i = 0; i < MESSAGE_MAX_LOOPS; i++)
		if (about->loops[i][0] > about->loops[i][1] ||
		    about->inner[i][0] > about->inner[i][1])
			return false;
	return true;
}

int reply_read_file(const void *payload, size_t len_bytes, uint32_t nr, struct reply_file **file)
{
	struct payload_reader rest = {payload, len_bytes};
	struct reply_file *read scoped(freep) = NULL;
	struct elf_segment *segments;
	struct message_segment segment;
	struct message_file about;

	if (!take(&rest, &about, sizeof(about)) || !is_build_id(about.build_id) ||
	    !memchr(about.interp, '\0', sizeof(about.interp)) || about.is_go > 1 ||
	    !is_debuglink(about.debuglink) || about.debuglink_crc > UINT32_MAX ||
	    !is_altlink(&about) || !is_runtime(&about.runtime) || nr > ELF_MAX_SEGMENTS ||
	    rest.len_bytes != nr * sizeof(segment))
		return -EBADMSG;
	read = xcalloc(1, sizeof(*read) + nr * sizeof(*segments));
	segments = (struct elf_segment *)(read + 1);
	for (uint32_t i = 0; i < nr; i++) {
		if (!take(&rest, &segment, sizeof(segment)) || segment.executable > 1)
			return -EBADMSG;
		segments[i] = (struct elf_segment){segment.elf_addr, segment.mem_bytes,
						   segment.file_off, segment.file_bytes,
						   segment.executable};
		if (!segment_is_sane(&segments[i]))
			return -EBADMSG;
	}
	memcpy(read->build_id, about.build_id, sizeof(read->build_id));
	memcpy(read->interp, about.interp, sizeof(read->interp));
	memcpy(read->debuglink, about.debuglink, sizeof(read->debuglink));
	memcpy(read->altlink, about.altlink, sizeof(read->altlink));
	memcpy(read->altlink_id, about.altlink_id, sizeof(read->altlink_id));
	read->debuglink_crc = (uint32_t)about.debuglink_crc;
	read->is_go = about.is_go;
	read->runtime = about.runtime;
	read->segments = (struct segments){segments, nr};
	*file = read;
	read = NULL;
	return 0;
}

/* Tables ----------------------------------------------------------------------------------------- */

bool reply_is_rule(const struct unwind_rule *rule)
{
	return rule->kind < UNWIND_NR_KINDS && rule->cfa_reg < UNWIND_NR_REGS &&
	       unwind_fp_how(rule) < UNWIND_NR_HOWS && unwind_ra_how(rule) < UNWIND_NR_HOWS &&
	       (unwind_fp_how(rule) != UNWIND_IN_REG ||
		(rule->fp_off >= 0 && rule->fp_off < UNWIND_NR_REGS)) &&
	       ((unwind_ra_how(rule) != UNWIND_IN_REG && rule->kind != UNWIND_INDEXED) ||
		(rule->ra_off >= 0 && rule->ra_off < UNWIND_NR_REGS));
}

static bool are_rules(const struct unwind_table *table)
{
	for (uint32_t i = 0; i < table->nr_extended; i++)
		if (!reply_is_rule(&table->extended[i]))
			return false;
	return table->extended[UNWIND_EXTENDED_GAP].kind == UNWIND_GAP &&
	       table->extended[UNWIND_EXTENDED_ROOT].kind == UNWIND_ROOT &&
	       table->extended[UNWIND_EXTENDED_UNSUPPORTED].kind == UNWIND_UNSUPPORTED &&
	       table->extended[UNWIND_EXTENDED_FP].kind == UNWIND_FP;
}

/* The rows of a page: the first at its start, the others after one another. */
static bool is_page(const struct unwind_table *table, uint32_t first, uint32_t limit)
{
	uint32_t before = 0;

	for (uint32_t i = first; i < limit; i++) {
		uint32_t pc = unwind_row_pc(table->rows[i]), rule = unwind_row_rule(table->rows[i]);

		if (i == first ? pc != 0 : pc <= before)
			return false;
		if (rule & UNWIND_RULE_EXTENDED &&
		    (rule & ~UNWIND_RULE_EXTENDED) >= table->nr_extended)
			return false;
		before = pc;
	}
	return true;
}

static bool are_pages(const struct unwind_table *table)
{
	const uint32_t *pages = table->pages;

	if (pages[0] != 0 || pages[table->nr_pages] != table->nr_rows)
		return false;
	for (uint32_t i = 0; i < table->nr_pages; i++)
		if (pages[i] >= pages[i + 1] || pages[i + 1] > table->nr_rows ||
		    !is_page(table, pages[i], pages[i + 1]))
			return false;
	return true;
}

static bool is_table(const struct unwind_table *table)
{
	uint64_t bytes = (uint64_t)table->nr_pages << table->arch->machine->page_shift, limit;

	return table->start % unwind_arch_page_bytes(table->arch) == 0 &&
	       !__builtin_add_overflow(table->start, bytes, &limit) && are_rules(table) &&
	       are_pages(table);
}

int reply_read_table(const void *payload, size_t len_bytes, struct unwind_table **table)
{
	struct payload_reader rest = {payload, len_bytes};
	struct message_table about;
	struct unwind_table *read;

	if (!take(&rest, &about, sizeof(about)) ||
	    about.e_machine != unwind_arch_here()->e_machine || about.tracks_extra > 1 ||
	    about.truncated > 1 || about.nr_pages > UNWIND_TABLE_MAX_PAGES ||
	    about.nr_extended > UNWIND_MAX_EXTENDED || about.nr_extended < UNWIND_NR_FIXED_EXTENDED)
		return -EBADMSG;
	read = xcalloc(1, sizeof(*read));
	read->arch = unwind_arch_here();
	read->start = about.start;
	read->nr_pages = about.nr_pages;
	read->nr_rows = about.nr_rows;
	read->nr_extended = about.nr_extended;
	read->tracks_extra = about.tracks_extra;
	read->truncated = about.truncated;
	read->nr_extended_dropped = about.nr_extended_dropped;
	read->stats.nr_fdes = about.nr_fdes;
	read->pages = take_array(&rest, (size_t)about.nr_pages + 1, sizeof(*read->pages));
	read->rows = take_array(&rest, about.nr_rows, sizeof(*read->rows));
	read->extended = take_array(&rest, about.nr_extended, sizeof(*read->extended));
	if (!read->pages || !read->rows || !read->extended || rest.len_bytes || !is_table(read)) {
		unwind_table_free(read);
		return -EBADMSG;
	}
	*table = read;
	return 0;
}

/* Sites of probes -------------------------------------------------------------------------------- */

static bool is_function(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t len = strnlen(name, MESSAGE_FUNCTION_BYTES);

	return len && len < MESSAGE_FUNCTION_BYTES && strspn(name, letters) == len;
}

static bool is_site(const struct message_site *site)
{
	return site->shape < NR_SHAPES && site->is_leaf <= 1 && !site->zero &&
	       site->offset <= site->file_off && is_function(site->function);
}

int reply_read_sites(const void *payload, size_t len_bytes, uint32_t nr, struct reply_sites *sites)
{
	struct payload_reader rest = {payload, len_bytes};
	struct message_sites about;
	struct reply_sites read;

	if (!take(&rest, &about, sizeof(about)) || about.is_go > 1 || about.is_nameless > 1 ||
	    nr > ALLOC_MAX_SITES || rest.len_bytes != nr * sizeof(struct message_site))
		return -EBADMSG;
	read = (struct reply_sites){.is_go = about.is_go, .is_nameless = about.is_nameless};
	for (; read.nr < nr; read.nr++) {
		struct message_site site;

		if (!take(&rest, &site, sizeof(site)) || !is_site(&site))
			return -EBADMSG;
		read.sites[read.nr] = (struct alloc_site){site.shape, site.file_off, site.is_leaf,
							  site.semaphore_off};
		memcpy(read.functions[read.nr], site.function, MESSAGE_FUNCTION_BYTES);
		read.offsets[read.nr] = site.offset;
	}
	*sites = read;
	return 0;
}

/* Slots ------------------------------------------------------------------------------------------ */

static bool read_slot(struct payload_reader *heads, struct payload_reader *texts, char **to,
		      struct reply_slot *slot)
{
	struct message_slot head;

	if (!take(heads, &head, sizeof(head)) || head.zero || !head.name_bytes ||
	    head.name_bytes >= MESSAGE_SLOT_NAME_BYTES)
		return false;
	*slot = (struct reply_slot){head.elf_addr, head.initial, *to};
	return take_text(texts, head.name_bytes, to);
}

int reply_read_slots(const void *payload, size_t len_bytes, uint32_t nr, struct reply_slot **slots)
{
	struct payload_reader heads = {payload, nr * sizeof(struct message_slot)}, texts;
	struct reply_slot *read scoped(freep) = NULL;
	char *to;

	if (nr > MESSAGE_MAX_SLOTS || len_bytes < heads.len_bytes)
		return -EBADMSG;
	if (!nr)
		return len_bytes ? -EBADMSG : (*slots = NULL, 0);
	texts = (struct payload_reader){(const char *)payload + heads.len_bytes,
					len_bytes - heads.len_bytes};
	/* each name gets a NUL */
	read = xmalloc(nr * (sizeof(*read) + 1) + texts.len_bytes);
	to = (char *)(read + nr);
	for (uint32_t i = 0; i < nr; i++)
		if (!read_slot(&heads, &texts, &to, &read[i]))
			return -EBADMSG;
	if (texts.len_bytes)
		return -EBADMSG;
	*slots = read;
	read = NULL;
	return 0;
}
