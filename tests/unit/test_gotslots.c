// SPDX-License-Identifier: BSD-2-Clause
/*
 * The GOT slots of IFUNCs: which there are, by readelf(1) and nm(1); in damaged files; and as a worker says them, in good
 * replies and in each of the ways in which one may be wrong.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>

#include "elf_judge.h"
#include "object/gotslots.h"
#include "parser_case.h"

/* Two resolvers; the second one has three names. */
static const char source[] =
	"__attribute__((noinline)) static int one(int x) { return x * 3; }\n"
	"static int (*pick_one(void))(int) { return one; }\n"
	"static int (*pick_two(void))(int) { return one; }\n"
	"int thrice(int x) __attribute__((ifunc(\"pick_one\")));\n"
	"int times_three(int x) __attribute__((ifunc(\"pick_two\")));\n"
	"int __times_three_of(int x) __attribute__((ifunc(\"pick_two\")));\n"
	"int weakly_times_three(int x) __attribute__((weak, alias(\"times_three\")));\n"
	"int (*pointer)(int) = thrice;\n"
	"int elsewhere(int);\n"
	"int use(int x) { return thrice(x) + times_three(x) + elsewhere(x); }\n";

static const char build[] =
	"gcc -O1 -shared -fPIC -o preempt.so got.c && strip preempt.so && "
	"gcc -O1 -shared -fPIC -Wl,-Bsymbolic,-z,now -o symbolic.so got.c && strip symbolic.so && "
	"{ echo 'extern int f(void); int g(void) { return 0; }'"
	"; echo 'static int (*pick(void))(void) { return g; }'"
	"; echo 'int f(void) __attribute__((ifunc(\"pick\"))); void *all[1500] = {[0 ... 1499] = "
	"(void *)f};'"
	"; } >many.c && gcc -shared -fPIC -o many.so many.c";

/* Lines "slot name,name": IRELATIVE by its addend, others by the symbol, which readelf marks with (). */
static const char judge[] =
	"python3 -c '\n"
	"import collections, subprocess, sys\n"
	"names = collections.defaultdict(list)\n"
	"for line in subprocess.run([\"nm\", \"-D\", sys.argv[1]], capture_output=True, "
	"text=True).stdout.splitlines():\n"
	"    word = line.split()\n"
	"    if len(word) == 3 and word[1] == \"i\": names[int(word[0], "
	"16)].append(word[2].split(\"@\")[0])\n"
	"for line in subprocess.run([\"readelf\", \"-rW\", sys.argv[1]], capture_output=True, "
	"text=True).stdout.splitlines():\n"
	"    word = line.split()\n"
	"    if len(word) == 4 and word[2] == \"R_X86_64_IRELATIV\" or len(word) == 4 and word[2] "
	"== \"R_X86_64_IRELATIVE\": at = int(word[3], 16)\n"
	"    elif len(word) > 4 and word[3].endswith(\"()\"): at = {name: at for at, all in "
	"names.items() for name in all}[word[4].split(\"@\")[0]]\n"
	"    else: continue\n"
	"    if at in names: print(word[0], \",\".join(names[at]))\n"
	"' %s";

static int build_all(void **state)
{
	char *path scoped(freep) = NULL;
	FILE *out;

	(void)state;
	judge_dir = temp_folder();
	path = xasprintf("%s/got.c", judge_dir);
	out = fopen(path, "w");
	if (!out)
		return -1;
	fputs(source, out);
	fclose(out);
	judge_run(build);
	return 0;
}

static struct gotslots slots_of(const char *path)
{
	struct elf_file *file = judge_open(path);
	struct gotslots slots = {0};

	gotslots_read(&slots, file);
	elf_file_close(file);
	return slots;
}

/* Is name one of those in the list? */
static bool is_one_of(const char *name, char *list)
{
	char *save = NULL;

	for (char *one = strtok_r(list, ",", &save); one; one = strtok_r(NULL, ",", &save))
		if (!strcmp(name, one))
			return true;
	return false;
}

/* How many slots the judge knows; each has one of its names. */
static size_t check(const char *path)
{
	struct gotslots slots = slots_of(path);
	FILE *in = judge_ask(judge, path);
	unsigned long long addr;
	char names[4096];
	size_t nr = 0;

	for (; fscanf(in, "%llx %4095s", &addr, names) == 2; nr++) {
		size_t i = 0;

		while (i < slots.all.nr && slots.all.at[i].elf_addr != addr)
			i++;
		if (i == slots.all.nr)
			fail_msg("%s: no slot at %llx of %s", path, addr, names);
		assert_true(is_one_of(slots.all.at[i].name, names));
		assert_int_equal(strlen(slots.all.at[i].name), slots.all.at[i].name_bytes);
	}
	pclose(in);
	assert_int_equal(slots.all.nr, nr);
	gotslots_release(&slots);
	return nr;
}

static void test_the_slots_of_readelf(void **state)
{
	(void)state;
	assert_int_equal(check("preempt.so"), 3); /* the pointer, and two stubs */
	assert_int_equal(check("symbolic.so"), 3);
	assert_true(check(LIBC) > 20);
}

/* Of names of one resolver the best; of several resolvers the best last. */
static void test_order(void **state)
{
	static const char *const files[] = {"preempt.so", "symbolic.so"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gotslots slots = slots_of(files[i]);

		assert_int_equal(slots.all.nr, 3);
		assert_string_equal(slots.all.at[0].name, "thrice");
		assert_string_equal(slots.all.at[1].name, "thrice");
		assert_string_equal(slots.all.at[2].name, "times_three");
		gotslots_release(&slots);
	}
}

static void test_many(void **state)
{
	struct gotslots slots = slots_of("many.so");

	(void)state;
	assert_int_equal(slots.all.nr, GOTSLOTS_MAX);
	gotslots_release(&slots);
}

/* Damaged files ---------------------------------------------------------------------------------- */

struct image {
	char *at;
	size_t nr, cap;
};

static struct image load(const char *path)
{
	struct image image = {0};
	FILE *in = judge_ask("cat %s", path);
	int byte;

	while ((byte = fgetc(in)) != EOF)
		vec_push(&image, (char)byte);
	pclose(in);
	return image;
}

static size_t nr_slots(const struct image *image)
{
	struct elf_file *file = NULL;
	struct gotslots slots = {0};
	size_t nr;

	if (elf_file_open_memory(image->at, image->nr, &file))
		return 0;
	gotslots_read(&slots, file);
	nr = slots.all.nr;
	gotslots_release(&slots);
	elf_file_close(file);
	return nr;
}

/* The header of each section of this type, changed. */
static void change_sections(struct image *image, uint32_t type,
			    void (*change)(struct image *image, Elf64_Shdr *section))
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, image->at, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		char *at = image->at + header.e_shoff + i * sizeof(section);

		memcpy(&section, at, sizeof(section));
		if (section.sh_type == type)
			change(image, &section);
		memcpy(at, &section, sizeof(section));
	}
}

static void no_link(struct image *image, Elf64_Shdr *section)
{
	(void)image;
	section->sh_link = 0xfff0;
}

static void entries_of_one(struct image *image, Elf64_Shdr *section)
{
	(void)image;
	section->sh_entsize = 1;
}

static void beyond_the_end(struct image *image, Elf64_Shdr *section)
{
	section->sh_offset = image->nr - 8;
}

static void odd_size(struct image *image, Elf64_Shdr *section)
{
	(void)image;
	section->sh_size = 23;
}

static void all_ones(struct image *image, Elf64_Shdr *section)
{
	memset(image->at + section->sh_offset, 0xff, section->sh_size);
}

/* The relocations stay what they are, with a symbol that is not there. */
static void no_symbol(struct image *image, Elf64_Shdr *section)
{
	for (size_t at = 0; at < section->sh_size; at += sizeof(Elf64_Rela))
		memset(image->at + section->sh_offset + at + 12, 0xff, 4);
}

static void slots_nowhere(struct image *image, Elf64_Shdr *section)
{
	for (size_t at = 0; at < section->sh_size; at += sizeof(Elf64_Rela))
		memset(image->at + section->sh_offset + at, 0xfe, 8);
}

static void test_damaged(void **state)
{
	static void (*const changes[])(struct image *, Elf64_Shdr *) = {
		no_link,  entries_of_one, beyond_the_end, odd_size,
		all_ones, no_symbol,	  slots_nowhere,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct image image = load("preempt.so");

		assert_int_equal(nr_slots(&image), 3);
		change_sections(&image, SHT_RELA, changes[i]);
		assert_int_equal(nr_slots(&image), 0);
		vec_release(&image);
	}
	for (size_t nr = 0; nr < 4000; nr += 97) {
		struct image image = load("preempt.so");

		image.nr = nr;
		assert_int_equal(nr_slots(&image), 0);
		vec_release(&image);
	}
}

static void test_no_file(void **state)
{
	struct gotslots slots = {0};

	(void)state;
	gotslots_read(&slots, NULL);
	assert_int_equal(slots.all.nr, 0);
	gotslots_release(&slots);
}

/* Replies ---------------------------------------------------------------------------------------- */

static void test_a_worker_says_the_same(void **state)
{
	struct parser *parser = parser_case_open();
	struct gotslots slots = slots_of(LIBC);
	struct reply_slot *said = NULL;
	size_t nr = 0;

	(void)state;
	assert_int_equal(parser_slots(parser, 1, judge_fd(LIBC), &said, &nr), 0);
	assert_int_equal(nr, slots.all.nr);
	for (size_t i = 0; i < nr; i++) {
		assert_true(said[i].elf_addr == slots.all.at[i].elf_addr);
		assert_true(said[i].initial == slots.all.at[i].initial);
		assert_string_equal(said[i].name, slots.all.at[i].name);
	}
	free(said);
	said = NULL;
	assert_int_equal(parser_slots(parser, 2, judge_fd("/bin/true"), &said, &nr), 0);
	assert_int_equal(nr, 0);
	assert_null(said);
	gotslots_release(&slots);
	parser_close(parser);
}

struct reply {
	struct message_slot slots[2];
	char names[9];
} __attribute__((packed));

static int read_reply(const struct reply *reply, size_t len_bytes, uint32_t nr)
{
	struct reply_slot *slots = NULL;
	int err = reply_read_slots(reply, len_bytes, nr, &slots);

	if (!err && nr == 2) {
		assert_true(slots[1].elf_addr == 0x2008);
		assert_string_equal(slots[0].name, "bcmp");
		assert_string_equal(slots[1].name, "index");
	}
	free(slots);
	return err;
}

static void test_replies(void **state)
{
	const struct reply good = {.slots = {{0x2000, 0, 4, 0}, {0x2008, 0x1036, 5, 0}},
				   .names = {'b', 'c', 'm', 'p', 'i', 'n', 'd', 'e', 'x'}};
	struct reply bad;

	(void)state;
	assert_int_equal(read_reply(&good, sizeof(good), 2), 0);
	assert_int_equal(read_reply(&good, 0, 0), 0);
	assert_int_equal(read_reply(&good, 1, 0), -EBADMSG);
	assert_int_equal(read_reply(&good, sizeof(good) - 1, 2), -EBADMSG);
	assert_int_equal(read_reply(&good, sizeof(good.slots) - 1, 2), -EBADMSG);
	assert_int_equal(read_reply(&good, sizeof(good), 1), -EBADMSG);
	assert_int_equal(read_reply(&good, sizeof(good), MESSAGE_MAX_SLOTS + 1), -EBADMSG);
	bad = good;
	bad.slots[1].zero = 1;
	assert_int_equal(read_reply(&bad, sizeof(bad), 2), -EBADMSG);
	bad = good;
	bad.slots[0].name_bytes = 0;
	assert_int_equal(read_reply(&bad, sizeof(bad), 2), -EBADMSG);
	bad = good;
	bad.slots[0].name_bytes = MESSAGE_SLOT_NAME_BYTES;
	assert_int_equal(read_reply(&bad, sizeof(bad), 2), -EBADMSG);
	bad = good;
	bad.names[1] = '\0';
	assert_int_equal(read_reply(&bad, sizeof(bad), 2), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_slots_of_readelf),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_a_worker_says_the_same),
		cmocka_unit_test(test_replies),
	};

	return cmocka_run_group_tests(tests, build_all, NULL);
}
