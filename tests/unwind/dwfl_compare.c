// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walks each stack of a `cprof record --captures` file again with elfutils' libdwfl, over the same
 * registers and the same stack memory, and compares frame for frame. libdwfl interprets .eh_frame
 * anew for every frame, with code that shares nothing with ours.
 *
 *	dwfl_compare [-v] FILE
 *
 * prints one JSON object: how many stacks were equal, and for each kind of difference how often it
 * came and where. Without unwind information libdwfl guesses by the frame pointer, as cprof does;
 * cprof's marks (bit 63) are not compared.
 *
 *	equal		the same frames, and both came to the end
 *	beyond		equal as far as libdwfl came, which needed memory that is not in the capture
 *	longer		equal as far as libdwfl came, which gave up for another reason (which is printed)
 *	shorter		equal as far as cprof came: it gave up earlier
 *	different	some frame is another one
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/captures.h"
#include "unwind/unwindarch.h"

#define MAX_FRAMES 4096
#define MAX_KINDS  256

static const char *const end_names[] = {
#define X(id, text, names_file) [END_##id] = #id,
	STACK_ENDS(X)
#undef X
};

/* A process image as libdwfl sees it; images with the same mappings share one. */
struct space {
	struct space *next;
	char *maps;
	Dwfl *dwfl;
};

enum verdict {
	EQUAL,
	BEYOND,
	LONGER,
	SHORTER,
	DIFFERENT,
	NR_VERDICTS
};

static const char *const verdict_names[] = {"equal", "beyond", "longer", "shorter", "different"};

struct kind {
	char *text, *example;
	unsigned int nr;
};

static struct {
	struct capture head;
	uint64_t *ips;
	uint8_t *stack;
	char *maps;
	uint64_t theirs[MAX_FRAMES];
	unsigned int nr_theirs;
	bool left_capture;
} now;

static struct kind kinds[MAX_KINDS];
static unsigned int nr_kinds, nr_verdicts[NR_VERDICTS], nr_frames, nr_finished_in_user_space;
static bool verbose;

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return now.head.tgid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static uint64_t stack_pointer(void)
{
	return now.head.regs[unwind_arch_here()->machine->sp];
}

/*
 * arm64 code may sign the return addresses that it saves, in bits above an address's own, and not every libdwfl takes the
 * signature off again: what is the address of code but for these bits is taken for that.
 */
static uint64_t without_signature(Dwfl *dwfl, uint64_t value)
{
	const uint64_t address = value & 0xffffffffffff, bit_55 = 1ull << 55;

	if (!unwind_arch_here()->machine->has_link || address == value || value & bit_55)
		return value;
	return dwfl_addrmodule(dwfl, address) ? address : value;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	uint64_t offset = addr - stack_pointer();

	(void)arg;
	if (now.head.stack_bytes < 8 || offset > now.head.stack_bytes - 8) {
		now.left_capture = true;
		return false;
	}
	memcpy(result, now.stack + offset, 8);
	*result = without_signature(dwfl, *result);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct space *space = arg;
	unsigned int nr = unwind_arch_here()->machine->nr_regs; /* the pc's number, too */
	Dwarf_Word regs[UNWIND_NR_REGS + 1];

	for (unsigned int i = 0; i < nr; i++)
		regs[i] = without_signature(space->dwfl, now.head.regs[i]);
	regs[nr] = now.head.ip;
	/* Where calls leave the return address in a register, the pc is none of those that libdwfl numbers. */
	if (!unwind_arch_here()->machine->has_link)
		return dwfl_thread_state_registers(thread, 0, nr + 1, regs);
	dwfl_thread_state_register_pc(thread, now.head.ip);
	return dwfl_thread_state_registers(thread, 0, nr, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

/* libdwfl shall judge by what is loaded, not by separate debug files. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static int open_vdso(void)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0 || !vdso || write(fd, vdso, 8192) != 8192)
		exit(3);
	return fd;
}

/* Where file_off's segment says that it is, less file_off: elf_addr - file_off. */
static bool file_delta(int fd, uint64_t file_off, uint64_t *delta)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	size_t nr = 0;
	GElf_Phdr phdr;
	bool found = false;

	if (!elf || elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !found; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    file_off < (phdr.p_offset & ~4095ul) ||
		    file_off >= phdr.p_offset + phdr.p_filesz)
			continue;
		*delta = phdr.p_vaddr - phdr.p_offset;
		found = true;
	}
	elf_end(elf);
	return found;
}

static void report_line(Dwfl *dwfl, const char *line, char *last_path)
{
	uint64_t start, limit, file_off, delta;
	char path[4096];
	bool is_vdso;
	int fd;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %4095[^\n]", &start, &limit,
		   &file_off, path) != 4)
		return;
	is_vdso = !strcmp(path, "[vdso]");
	if (!strcmp(path, last_path)) /* a second executable segment of the same file */
		return;
	fd = is_vdso ? open_vdso() : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (is_vdso)
		file_off = 0;
	if (!file_delta(fd, file_off, &delta) ||
	    !dwfl_report_elf(dwfl, path, path, fd, start - file_off - delta, true))
		close(fd);
	snprintf(last_path, sizeof(path), "%s", path);
}

static struct space *find_space(void)
{
	static struct space *spaces;
	struct space *space;
	char last_path[4096] = "";

	for (space = spaces; space; space = space->next)
		if (!strcmp(space->maps, now.maps))
			return space;
	space = xcalloc(1, sizeof(*space));
	space->maps = xstrdup(now.maps);
	space->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(space->dwfl);
	for (const char *line = now.maps; *line; line = strchr(line, '\n') + 1)
		report_line(space->dwfl, line, last_path);
	dwfl_report_end(space->dwfl, NULL, NULL);
	if (!dwfl_attach_state(space->dwfl, NULL, now.head.tgid, &thread_callbacks, space))
		fprintf(stderr, "dwfl_attach_state: %s\n", dwfl_errmsg(-1));
	space->next = spaces;
	spaces = space;
	return space;
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;

	(void)arg;
	if (now.nr_theirs == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	now.theirs[now.nr_theirs++] = pc;
	return DWARF_CB_OK;
}

/* "libc.so.6+0x1234 (memcpy)"; the caller frees it. */
static char *name_ip(struct space *space, uint64_t ip, bool with_offset)
{
	Dwfl_Module *module = dwfl_addrmodule(space->dwfl, ip);
	const char *name = "no file", *slash, *symbol;
	Dwarf_Addr start = 0;
	GElf_Off offset;
	GElf_Sym sym;

	if (!module)
		return xstrdup(name);
	name = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	slash = strrchr(name, '/');
	symbol = dwfl_module_addrinfo(module, ip - 1, &offset, &sym, NULL, NULL, NULL);
	if (!with_offset)
		return xasprintf("%s (%s)", slash ? slash + 1 : name, symbol ? symbol : "?");
	return xasprintf("%s+0x%lx (%s)", slash ? slash + 1 : name, ip - start,
			 symbol ? symbol : "?");
}

static uint64_t ours(unsigned int i)
{
	return IP_ADDRESS(now.ips[i]);
}

static char *show_stacks(struct space *space, unsigned int at)
{
	unsigned int from = at > 2 ? at - 2 : 0;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out, "sp %#lx, %u bytes; %u ours (%u BPF), %u theirs:", stack_pointer(),
		now.head.stack_bytes, now.head.nr_ips, now.head.nr_bpf, now.nr_theirs);
	for (unsigned int i = from; i < at + 3; i++) {
		char *a = i < now.head.nr_ips ? name_ip(space, ours(i), true) : xstrdup("-");
		char *b = i < now.nr_theirs ? name_ip(space, now.theirs[i], true) : xstrdup("-");

		fprintf(out, " #%u %s%s%s", i, a, strcmp(a, b) ? " / " : "", strcmp(a, b) ? b : "");
		free(a);
		free(b);
	}
	fclose(out);
	return text;
}

/* Notes a difference, under the frame before it. */
static void note(struct space *space, enum verdict verdict, unsigned int at, const char *error)
{
	char *under = name_ip(space, ours(at ? at - 1 : 0), false);
	char *text = xasprintf("%s after %s; cprof: %s; libdwfl: %s", verdict_names[verdict], under,
			       end_names[now.head.end], error);
	unsigned int i;

	free(under);
	for (i = 0; i < nr_kinds; i++)
		if (!strcmp(kinds[i].text, text))
			break;
	if (i < nr_kinds || nr_kinds == MAX_KINDS) {
		kinds[i < nr_kinds ? i : nr_kinds - 1].nr++;
		free(text);
		return;
	}
	kinds[nr_kinds++] = (struct kind){text, show_stacks(space, at), 1};
}

/* Of a stack deeper than a record both ends are written: takes the same ones of theirs. */
static void elide_theirs(void)
{
	unsigned int nr_root = STACK_MAX_FRAMES - STACK_LEAF_FRAMES - 1;

	if (now.nr_theirs <= STACK_MAX_FRAMES)
		return;
	now.theirs[STACK_LEAF_FRAMES] = IP_ELIDED;
	memmove(now.theirs + STACK_LEAF_FRAMES + 1, now.theirs + now.nr_theirs - nr_root,
		nr_root * sizeof(now.theirs[0]));
	now.nr_theirs = STACK_MAX_FRAMES;
}

static void compare(void)
{
	struct space *space = find_space();
	unsigned int at = 0;
	enum verdict verdict;
	const char *error;
	int status;

	now.nr_theirs = 0;
	now.left_capture = false;
	status = dwfl_getthread_frames(space->dwfl, now.head.tgid, on_frame, NULL);
	error = status ? dwfl_errmsg(-1) : "end";
	error = error ? error : "no error";
	if (now.head.nr_ips == STACK_MAX_FRAMES && !now.left_capture)
		elide_theirs();
	while (at < now.head.nr_ips && at < now.nr_theirs && ours(at) == now.theirs[at])
		at++;
	if (now.left_capture && at == STACK_LEAF_FRAMES && ours(at) == IP_ELIDED)
		verdict = BEYOND;
	else if (at < now.head.nr_ips && at < now.nr_theirs)
		verdict = DIFFERENT;
	else if (at < now.nr_theirs)
		verdict = now.head.end == END_TOO_DEEP ? BEYOND : SHORTER;
	else if (now.left_capture && at == now.nr_theirs && (status || at < now.head.nr_ips))
		verdict = BEYOND;
	else if (at < now.head.nr_ips)
		verdict = LONGER;
	else
		verdict = EQUAL;
	nr_verdicts[verdict]++;
	nr_frames += at;
	nr_finished_in_user_space += now.head.nr_bpf != now.head.nr_ips;
	if (verdict != EQUAL || (verbose && now.head.end != END_ROOT))
		note(space, verdict, at, error);
}

static bool read_one(FILE *file)
{
	struct capture *head = &now.head;

	if (fread(head, sizeof(*head), 1, file) != 1)
		return false;
	if (head->magic != CAPTURE_MAGIC || head->nr_ips > STACK_MAX_FRAMES) {
		fprintf(stderr, "not a file of captures\n");
		exit(2);
	}
	free(now.ips);
	free(now.stack);
	free(now.maps);
	now.ips = xcalloc(head->nr_ips, sizeof(*now.ips));
	now.stack = xmalloc(head->stack_bytes + 1);
	now.maps = xcalloc(1, head->maps_bytes + 1ul);
	return fread(now.ips, sizeof(*now.ips), head->nr_ips, file) == head->nr_ips &&
	       fread(now.stack, 1, head->stack_bytes, file) == head->stack_bytes &&
	       fread(now.maps, 1, head->maps_bytes, file) == head->maps_bytes;
}

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			putchar(' ');
		else
			putchar(*s);
	putchar('"');
}

static void print_result(void)
{
	unsigned int nr = 0;

	for (int i = 0; i < NR_VERDICTS; i++)
		nr += nr_verdicts[i];
	printf("{\"stacks\": %u", nr);
	for (int i = 0; i < NR_VERDICTS; i++)
		printf(", \"%s\": %u", verdict_names[i], nr_verdicts[i]);
	printf(", \"equal_frames\": %u, \"finished_in_user_space\": %u,\n \"kinds\": [", nr_frames,
	       nr_finished_in_user_space);
	for (unsigned int i = 0; i < nr_kinds; i++) {
		printf("%s\n  {\"nr\": %u, \"what\": ", i ? "," : "", kinds[i].nr);
		print_string(kinds[i].text);
		printf(", \"example\": ");
		print_string(kinds[i].example);
		printf("}");
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	FILE *file;

	verbose = argc == 3 && !strcmp(argv[1], "-v");
	if (argc != 2 + verbose) {
		fprintf(stderr, "usage: dwfl_compare [-v] FILE\n");
		return 2;
	}
	file = fopen(argv[argc - 1], "re");
	if (!file) {
		fprintf(stderr, "%s: %s\n", argv[argc - 1], strerror(errno));
		return 2;
	}
	elf_version(EV_CURRENT);
	while (read_one(file))
		compare();
	fclose(file);
	print_result();
	return 0;
}
