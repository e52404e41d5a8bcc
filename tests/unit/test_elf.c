// SPDX-License-Identifier: BSD-2-Clause
/* ELF files against readelf: files of gcc's, this system's, and damaged ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "elf_judge.h"

static const char *const files[] = {"pie", "fixed", "static", "ibt", "stripped", "pie.debug", LIBC};
#define NR_FILES (sizeof(files) / sizeof(files[0]))

static void check_build_id(const struct elf_file *file, const char *path)
{
	FILE *in = judge_ask("readelf -nW %s 2>/dev/null | sed -n 's/.*Build ID: //p'", path);
	char line[200] = "";

	if (!fgets(line, sizeof(line), in))
		line[0] = '\0';
	pclose(in);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(elf_file_build_id(file), line);
}

static void check_segments(const struct elf_file *file, const char *path)
{
	FILE *in = judge_ask("readelf -lW %s | sed -n 's/^  LOAD//p'", path);
	char line[300];
	size_t nr = 0;

	while (fgets(line, sizeof(line), in)) {
		uint64_t off, addr, paddr, file_bytes, mem_bytes;
		const struct elf_segment *segment = elf_file_segment(file, nr++);

		assert_int_equal(sscanf(line,
					"%" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
					&off, &addr, &paddr, &file_bytes, &mem_bytes),
				 5);
		assert_non_null(segment);
		assert_int_equal(segment->file_off, off);
		assert_int_equal(segment->elf_addr, addr);
		assert_int_equal(segment->file_bytes, file_bytes);
		assert_int_equal(segment->mem_bytes, mem_bytes);
		assert_int_equal(segment->executable, strstr(line, " E ") != NULL);
	}
	pclose(in);
	assert_int_equal(elf_file_nr_segments(file), nr);
	assert_null(elf_file_segment(file, nr));
}

static void check_sections(const struct elf_file *file, const char *path)
{
	FILE *in = judge_ask("readelf -SW %s | sed -n 's/^  \\[ *[0-9]*\\] //p'", path);
	char line[300];
	size_t nr = 0, nr_files_bytes = 0;
	struct stat st;
	char *image;
	int fd = judge_fd(path);

	assert_int_equal(fstat(fd, &st), 0);
	/* Read, not mapped: a profiler that probes every process breaks into mappings. */
	image = xmalloc((size_t)st.st_size);
	assert_int_equal(pread(fd, image, (size_t)st.st_size, 0), st.st_size);
	while (fgets(line, sizeof(line), in)) {
		struct elf_section section;
		char name[64], type[32];
		uint64_t addr, off, len;

		if (nr++ == 0)
			continue; /* the null section has no name for sscanf */
		assert_int_equal(sscanf(line, "%63s %31s %" SCNx64 " %" SCNx64 " %" SCNx64, name,
					type, &addr, &off, &len),
				 5);
		assert_true(elf_file_section(file, name, &section));
		assert_int_equal(section.elf_addr, addr);
		assert_int_equal(section.len_bytes, len);
		assert_int_equal(section.type == SHT_NOBITS, !strcmp(type, "NOBITS"));
		if (section.type == SHT_NOBITS)
			assert_null(section.bytes);
		else
			assert_memory_equal(section.bytes, image + off, len);
		nr_files_bytes += len;
	}
	pclose(in);
	free(image);
	close(fd);
	assert_int_equal(elf_file_nr_sections(file), nr);
	assert_true(nr_files_bytes > 1000);
}

static void test_against_readelf(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_FILES; i++) {
		struct elf_file *file = judge_open(files[i]), *again = NULL;
		struct elf_section section;

		check_build_id(file, files[i]);
		check_segments(file, files[i]);
		check_sections(file, files[i]);
		assert_true(elf_file_is_linked(file));
		assert_false(elf_file_section(file, ".nonesuch", &section));
		assert_false(elf_file_section(file, ".tex", &section));
		assert_false(elf_file_section_at(file, elf_file_nr_sections(file), &section));
		assert_int_equal(elf_file_reopen(file, &again), 0);
		elf_file_close(file);
		check_segments(again, files[i]);
		elf_file_close(again);
	}
	elf_file_close(NULL);
}

static void test_addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_FILES; i++) {
		struct elf_file *file = judge_open(files[i]);
		uint64_t addr, off;

		for (size_t s = 0; s < elf_file_nr_segments(file); s++) {
			const struct elf_segment *segment = elf_file_segment(file, s);

			if (!segment->executable || !segment->file_bytes)
				continue;
			for (off = segment->file_off & ~4095ull;
			     off < segment->file_off + segment->file_bytes; off += 97) {
				uint64_t back;

				assert_ptr_equal(elf_file_segment_at(file, off), segment);
				assert_int_equal(elf_file_addr(file, off, &addr), 0);
				assert_int_equal(addr - segment->elf_addr, off - segment->file_off);
				if (off < segment->file_off)
					continue;
				assert_int_equal(elf_file_offset(file, addr, &back), 0);
				assert_int_equal(back, off);
			}
		}
		assert_int_equal(elf_file_addr(file, 1ull << 40, &addr), -ENOENT);
		assert_int_equal(elf_file_offset(file, 1ull << 60, &off), -ENOENT);
		assert_int_equal(elf_file_offset(file, UINT64_MAX, &off), -ENOENT);
		elf_file_close(file);
	}
}

static void test_in_memory(void **state)
{
	int fd = judge_fd("pie");
	struct elf_file *file;
	struct stat st;
	void *image;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	image = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_int_equal(elf_file_open_memory(image, st.st_size, &file), 0);
	check_build_id(file, "pie");
	check_segments(file, "pie");
	check_sections(file, "pie");
	elf_file_close(file);
	munmap(image, st.st_size);
	close(fd);
}

/* An image of bytes as a file; checks the error both ways. */
static void expect_error(const void *bytes, size_t len, int err)
{
	int fd scoped(closep) = memfd_create("image", MFD_CLOEXEC);
	struct elf_file *file = NULL;

	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(elf_file_open(fd, &file), err);
	if (err)
		assert_null(file);
	elf_file_close(file);
	file = NULL;
	assert_int_equal(elf_file_open_memory(bytes, len, &file), err);
	elf_file_close(file);
}

static void test_not_elf(void **state)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_version = EV_CURRENT,
			     .e_type = ET_DYN,
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shentsize = sizeof(Elf64_Shdr)},
		   bad;
	struct elf_file *file = NULL;
	int pipe_fds[2];

	(void)state;
	expect_error("", 0, -ENOEXEC);
	expect_error("\x7f"
		     "ELF",
		     4, -ENOEXEC);
	expect_error("#!/bin/sh\necho a script that is longer than an ELF header, as most are\n",
		     72, -ENOEXEC);
	expect_error("!<arch>\nan archive that is longer than an ELF header, as most of them are",
		     72, -ENOEXEC);
	expect_error(&header, sizeof(header), 0);
	expect_error(&header, sizeof(header) - 1, -ENOEXEC);
	bad = header;
	bad.e_ident[EI_CLASS] = ELFCLASS32;
	expect_error(&bad, sizeof(bad), -ENOEXEC);
	bad = header;
	bad.e_ident[EI_DATA] = ELFDATA2MSB;
	expect_error(&bad, sizeof(bad), -ENOEXEC);
	bad = header;
	bad.e_shoff = 1ull << 40; /* shnum 0: in a section 0 that is not there */
	expect_error(&bad, sizeof(bad), -ENOEXEC);
	assert_int_equal(elf_file_open(-1, &file), -EBADF);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(elf_file_open(pipe_fds[0], &file), -ENOEXEC);
	assert_null(file);
}

/* A sparse file is free: it may claim 60 million sections, or a section of gigabytes. */
static void test_sparse(void **state)
{
	int fd scoped(closep) = memfd_create("sparse", MFD_CLOEXEC);
	struct elf_file *file = NULL;
	struct elf_section section;
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_version = EV_CURRENT,
			     .e_type = ET_DYN,
			     .e_shoff = sizeof(Elf64_Ehdr),
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Shdr headers[2] = {{.sh_size = 60000000},
				 {.sh_type = SHT_PROGBITS, .sh_size = 4000000000}};

	(void)state;
	assert_int_equal(ftruncate(fd, 4ll << 30), 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, headers, sizeof(headers), sizeof(header)), sizeof(headers));
	assert_int_equal(elf_file_open(fd, &file), -ENOEXEC);
	header.e_shnum = 2;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_true(elf_file_section_at(file, 1, &section));
	assert_int_equal(section.len_bytes, 4000000000);
	assert_null(section.bytes);
	elf_file_close(file);
}

/* The owner truncates the file between open and read: sections are missing, nothing dies. */
static void test_truncated_under_us(void **state)
{
	struct elf_file *file;
	struct elf_section section;
	char *path scoped(freep) = xasprintf("%s/shrinking", judge_dir);

	(void)state;
	judge_run("cp pie shrinking");
	file = judge_open("shrinking");
	assert_int_equal(truncate(path, 100), 0);
	for (size_t i = 0; i < elf_file_nr_sections(file); i++)
		if (elf_file_section_at(file, i, &section) && section.len_bytes &&
		    section.elf_addr > 4096)
			assert_null(section.bytes);
	elf_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_readelf), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_in_memory),	cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_sparse),		cmocka_unit_test(test_truncated_under_us),
	};

	judge_build();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
