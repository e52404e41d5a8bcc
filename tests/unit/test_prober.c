// SPDX-License-Identifier: BSD-2-Clause
/* Which files the prober has probed for which processes, in a session without a kernel. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/prober.h"
#include "elf_judge.h"
#include "unit/parser_case.h"

/* What it was asked for. */
struct session {
	struct asked {
		ino_t inode;
		uint32_t tgid;
		size_t nr_sites, nr_frees;
	} asked[8];
	size_t nr_asked;
	int err;  /* what it says to it */
	int late; /* and later */
};

int session_probe(struct session *session, const struct alloc_site *sites, size_t nr, int fd,
		  uint32_t tgid)
{
	struct asked asked = {.tgid = tgid, .nr_sites = nr};
	struct stat st;

	assert_true(nr > 0 && nr <= ALLOC_MAX_SITES);
	assert_int_equal(fstat(fd, &st), 0);
	asked.inode = st.st_ino;
	for (size_t i = 0; i < nr; i++)
		asked.nr_frees += sites[i].shape == SHAPE_FREE;
	assert_true(session->nr_asked < sizeof(session->asked) / sizeof(session->asked[0]));
	session->asked[session->nr_asked++] = asked;
	session->late = session->err == -EINPROGRESS ? session->err : 0;
	return session->err;
}

int session_probe_more(struct session *session)
{
	return session->late;
}

#define NOBODY 0x7fffffff /* no process */

struct fixture {
	struct session session;
	struct prober prober;
	struct workbudget budget;
	bool is_late;
};

static int build_files(void **state)
{
	(void)state;
	judge_dir = temp_folder();
	judge_run("so='gcc -shared -fPIC -nostdlib'; echo 'void *malloc(unsigned long n) { return "
		  "(void *)n; }"
		  "void free(void *p) { (void)p; }' >toy.c && $so -o toy.so toy.c && cp toy.so "
		  "other.so && cp "
		  "toy.so libc.so.6 && "
		  "echo 'int nothing;' >none.c && $so -o none.so none.c && cp none.so libjvm.so");
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->prober.session = &fixture->session;
	fixture->prober.files = files_new("/proc");
	fixture->prober.parser = parser_case_open();
	fixture->prober.proc_root = "/proc";
	fixture->prober.budget = &fixture->budget;
	prober_limit(&fixture->prober, 100);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	prober_release(&fixture->prober);
	files_free(fixture->prober.files);
	parser_close(fixture->prober.parser);
	free(fixture);
	return 0;
}

static ino_t inode_of(const char *name)
{
	char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* A file of judge_dir is known now, as one of another device if so. */
static uint32_t file_of(struct fixture *fixture, const char *name, void *at, unsigned int device)
{
	char *path scoped(freep) = xasprintf("%s/%s", judge_dir, name);
	struct map_event map = {.path = path};
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	map.dev_major = device ? device : major(st.st_dev);
	map.dev_minor = minor(st.st_dev);
	map.inode = st.st_ino;
	map.start = (uintptr_t)at;
	map.limit = map.start + sysconf(_SC_PAGESIZE);
	return files_of(fixture->prober.files, getpid(), &map);
}

/* Process tgid, child of parent_tgid, maps the file. */
static void maps(struct fixture *fixture, uint32_t tgid, uint32_t parent_tgid, uint32_t file)
{
	struct process process = {.tgid = tgid, .parent_tgid = parent_tgid};
	struct mapping map = {.start = 0x1000, .limit = 0x2000, .file = file};

	prober_on_map(&fixture->prober, &process, &map);
	if (!fixture->is_late)
		prober_work(&fixture->prober);
}

static void maps_name(struct fixture *fixture, uint32_t tgid, uint32_t parent_tgid,
		      const char *name)
{
	maps(fixture, tgid, parent_tgid, file_of(fixture, name, NULL, 0));
}

static void expect(const struct fixture *fixture, size_t i, const char *name, uint32_t tgid)
{
	assert_true(i < fixture->session.nr_asked);
	assert_int_equal(fixture->session.asked[i].inode, inode_of(name));
	assert_int_equal(fixture->session.asked[i].tgid, tgid);
}

static void test_once_for_a_process_and_a_file(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	prober_add_target(&fixture->prober, 11);
	prober_add_target(&fixture->prober, 10);
	assert_int_equal(fixture->prober.targets.nr, 2);
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 12, 1, "toy.so");  /* is no target */
	maps_name(fixture, 12, 10, "toy.so"); /* nor is a target's child, unless told so */
	assert_int_equal(fixture->session.nr_asked, 1);
	maps_name(fixture, 11, 1, "toy.so");
	maps_name(fixture, 10, 1, "other.so");
	assert_int_equal(fixture->session.nr_asked, 3);
	expect(fixture, 0, "toy.so", 10);
	expect(fixture, 1, "toy.so", 11);
	expect(fixture, 2, "other.so", 10);
	assert_int_equal(fixture->prober.nr_sites, 6);
}

/* A probe for one process does not work in its child: it is for every process. */
static void test_children_are_followed(void **state)
{
	struct fixture *fixture = *state;

	fixture->prober.follow_forks = true;
	prober_add_target(&fixture->prober, 10);
	maps_name(fixture, 20, 1, "toy.so");
	assert_int_equal(fixture->session.nr_asked, 0);
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 12, 10, "toy.so");
	maps_name(fixture, 13, 12, "other.so"); /* a grandchild */
	assert_int_equal(fixture->session.nr_asked, 2);
	expect(fixture, 0, "toy.so", 0);
	expect(fixture, 1, "other.so", 0);
}

static void test_all_processes(void **state)
{
	struct fixture *fixture = *state;

	fixture->prober.all = true;
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 11, 1, "toy.so");
	assert_int_equal(fixture->session.nr_asked, 1);
	expect(fixture, 0, "toy.so", 0);
}

/* On some file systems /proc/PID/maps shows another device than stat(2): one file has two ids. */
static void test_one_file_by_two_ids(void **state)
{
	struct fixture *fixture = *state;
	size_t page = sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, judge_fd("toy.so"), 0);
	uint32_t first = file_of(fixture, "toy.so", at, 0);
	uint32_t second = file_of(fixture, "toy.so", at, 77);

	assert_int_not_equal(first, second);
	if (files_fd(fixture->prober.files, second) < 0) {
		munmap(at, page);
		print_message("SKIP: /proc/PID/map_files cannot be opened\n");
		skip();
	}
	prober_add_target(&fixture->prober, 10);
	maps(fixture, 10, 1, first);
	maps(fixture, 10, 1, second);
	assert_int_equal(fixture->session.nr_asked, 1);
	munmap(at, page);
}

static void test_no_allocator(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	maps_name(fixture, 10, 1, "none.so");
	maps(fixture, 10, 1, FILE_NONE);
	assert_null(fixture->prober.managed);
	maps_name(fixture, 10, 1, "libjvm.so");
	assert_int_equal(fixture->session.nr_asked, 0);
	assert_int_equal(fixture->prober.nr_sites, 0);
	assert_non_null(fixture->prober.managed);
	assert_string_equal(fixture->prober.managed->what, "a Java program");
}

static void test_frees_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	maps_name(fixture, 10, 1, "toy.so");
	assert_int_equal(fixture->session.asked[0].nr_sites, 2);
	assert_int_equal(fixture->session.asked[0].nr_frees, 1);
	fixture->prober.allocs_only = true;
	maps_name(fixture, 10, 1, "other.so");
	assert_int_equal(fixture->session.asked[1].nr_sites, 1);
	assert_int_equal(fixture->session.asked[1].nr_frees, 0);
}

static const char *unprobed(const struct fixture *fixture)
{
	static char words[2048];

	return prober_unprobed(&fixture->prober, words, sizeof(words));
}

/* It costs that file, is said, and not tried again. */
static void test_a_failure_costs_that_file(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	assert_string_equal(unprobed(fixture), "");
	fixture->session.err = -524;
	maps_name(fixture, 10, 1, "toy.so");
	assert_int_equal(fixture->prober.nr_sites, 0);
	assert_non_null(strstr(unprobed(fixture), "1 file that cannot be probed ('"));
	assert_non_null(strstr(unprobed(fixture), "/toy.so': an instruction there cannot be "));
	fixture->session.err = 0;
	maps_name(fixture, 10, 1, "other.so");
	maps_name(fixture, 10, 1, "toy.so");
	assert_int_equal(fixture->session.nr_asked, 2);
	assert_int_equal(fixture->prober.nr_sites, 2);
	fixture->session.err = -EBUSY;
	maps_name(fixture, 10, 1, "libc.so.6");
	assert_non_null(strstr(unprobed(fixture), "2 files that cannot be probed (such as '"));
}

/* Nothing else is probed until the kernel has done it. The others wait, and are not lost. */
static void test_a_file_whose_probes_take_long(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	fixture->session.err = -EINPROGRESS;
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 10, 1, "other.so");
	assert_int_equal(fixture->session.nr_asked, 1);
	assert_int_equal(fixture->prober.nr_sites, 0);
	assert_true(prober_has_work(&fixture->prober));
	assert_non_null(strstr(unprobed(fixture), "1 file without probes so far ('"));
	assert_non_null(strstr(unprobed(fixture), "/toy.so': a process that maps it keeps its "));
	assert_non_null(strstr(unprobed(fixture), "1 file not examined in time"));
	fixture->session.err = fixture->session.late = 0;
	prober_work(&fixture->prober);
	assert_int_equal(fixture->session.nr_asked, 2);
	assert_int_equal(fixture->prober.nr_sites, 4);
	assert_false(prober_has_work(&fixture->prober));
	assert_string_equal(unprobed(fixture), "");
}

/* It may fail in the end. */
static void test_a_file_whose_probes_fail_late(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	fixture->session.err = -EINPROGRESS;
	maps_name(fixture, 10, 1, "toy.so");
	fixture->session.late = -EIO;
	prober_work(&fixture->prober);
	assert_int_equal(fixture->prober.nr_sites, 0);
	assert_false(prober_has_work(&fixture->prober));
	assert_non_null(strstr(unprobed(fixture), "1 file that cannot be probed ('"));
}

/* The most used file comes first, then one that is named as an allocator, then the larger one. */
static void test_the_most_used_first(void **state)
{
	struct fixture *fixture = *state;

	fixture->prober.all = true;
	fixture->is_late = true;
	maps_name(fixture, 10, 1, "other.so");
	maps_name(fixture, 10, 1, "libc.so.6");
	maps_name(fixture, 10, 1, "toy.so");
	maps_name(fixture, 11, 1, "toy.so");
	maps_name(fixture, 11, 1, "none.so");
	assert_int_equal(fixture->session.nr_asked, 0);
	assert_true(prober_has_work(&fixture->prober));
	assert_non_null(strstr(unprobed(fixture), "4 files not examined in time"));
	prober_work(&fixture->prober);
	assert_false(prober_has_work(&fixture->prober));
	assert_int_equal(fixture->session.nr_asked, 3);
	expect(fixture, 0, "toy.so", 0);
	expect(fixture, 1, "libc.so.6", 0);
	expect(fixture, 2, "other.so", 0);
	assert_string_equal(unprobed(fixture), "");
}

static bool over(void)
{
	return true;
}

static void test_what_is_left_is_examined_later(void **state)
{
	struct fixture *fixture = *state;

	prober_add_target(&fixture->prober, 10);
	workbudget_limit(&fixture->budget, 1000000000, over);
	maps_name(fixture, 10, 1, "toy.so");
	assert_int_equal(fixture->session.nr_asked, 0);
	assert_non_null(strstr(unprobed(fixture), "1 file not examined in time"));
	workbudget_unlimit(&fixture->budget);
	prober_work(&fixture->prober);
	assert_int_equal(fixture->session.nr_asked, 1);
	assert_string_equal(unprobed(fixture), "");
}

/* Half of the files for one user; a file that another user maps too counts for that one. */
static void test_files_are_limited_by_user(void **state)
{
	struct fixture *fixture = *state;
	pid_t other = fork();

	if (!other)
		for (;;)
			pause();
	fixture->prober.all = true;
	prober_limit(&fixture->prober, 2);
	maps_name(fixture, getpid(), 1, "toy.so");
	maps_name(fixture, getpid(), 1, "other.so");
	maps_name(fixture, getpid(), 1, "libc.so.6");
	assert_int_equal(fixture->session.nr_asked, 1);
	assert_non_null(
		strstr(unprobed(fixture), "2 files beyond the limit of 2 (1 for one user)"));
	maps_name(fixture, other, 1, "other.so"); /* the same user */
	assert_int_equal(fixture->session.nr_asked, 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	maps_name(fixture, NOBODY, 1, "other.so"); /* gone already: of no user known */
	assert_int_equal(fixture->session.nr_asked, 2);
	expect(fixture, 1, "other.so", 0);
	maps_name(fixture, NOBODY, 1, "libc.so.6");
	assert_int_equal(fixture->session.nr_asked, 2);
}

/* One that is mapped again when it can be opened is examined then. */
static void test_what_cannot_be_opened(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit limit, none;
	uint32_t file;

	prober_add_target(&fixture->prober, 10);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	file = file_of(fixture, "toy.so", NULL, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	maps(fixture, 10, 1, file);
	assert_int_equal(fixture->session.nr_asked, 0);
	assert_non_null(strstr(unprobed(fixture), "1 file that could not be opened ('"));
	assert_non_null(strstr(unprobed(fixture), "too many open files"));
	maps_name(fixture, 10, 1, "toy.so");
	assert_int_equal(fixture->session.nr_asked, 1);
	assert_string_equal(unprobed(fixture), "");
}

/* A command that is about to be launched: its file is probed before it maps it, and not again then. */
static void test_what_will_be_mapped(void **state)
{
	struct fixture *fixture = *state;
	char *path scoped(freep) = xasprintf("%s/./toy.so", judge_dir);

	prober_add_target(&fixture->prober, getpid());
	prober_expect(&fixture->prober, getpid(), path);
	prober_work(&fixture->prober);
	expect(fixture, 0, "toy.so", getpid());
	maps_name(fixture, getpid(), 1, "toy.so");
	prober_expect(&fixture->prober, getpid(), "/nonexistent/file");
	prober_work(&fixture->prober);
	assert_int_equal(fixture->session.nr_asked, 1);
	assert_string_equal(unprobed(fixture), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once_for_a_process_and_a_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_children_are_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_processes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_file_by_two_ids, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_allocator, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frees_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_failure_costs_that_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_whose_probes_take_long, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_whose_probes_fail_late, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_most_used_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_left_is_examined_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_files_are_limited_by_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_opened, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_will_be_mapped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, build_files, NULL);
}
