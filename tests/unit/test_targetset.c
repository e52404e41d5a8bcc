// SPDX-License-Identifier: BSD-2-Clause
/* On a made-up /proc: descendants, names and containers of processes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/targetset.h"
#include "temp.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NR     64

static char *root;

static void write_file(uint32_t tgid, const char *name, const char *text)
{
	char *path scoped(freep) = xasprintf("%s/%u", root, tgid);
	FILE *file;

	mkdir(path, 0755);
	free(path);
	path = xasprintf("%s/%u/%s", root, tgid, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_process(uint32_t tgid, uint32_t parent, const char *comm)
{
	char *stat scoped(freep) =
		xasprintf("%u (%s) S %u 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n", tgid,
			  comm, parent);

	write_file(tgid, "stat", stat);
}

/* What was reported last of each process: 0 nothing, 1 wanted, 2 not wanted, 3 gone, 4 undecided. */
static int told[NR];
static const char *
	name_by_then; /* set: the process calls exec, and has this name, before the callback returns */

static void tell(void *ctx, uint32_t tgid, bool wanted)
{
	(void)ctx;
	assert_true(tgid < NR);
	told[tgid] = wanted ? 1 : 2;
	if (name_by_then)
		make_process(tgid, 20, name_by_then);
}

static void undecided(void *ctx, uint32_t tgid)
{
	(void)ctx;
	assert_int_equal(told[tgid], 2);
	told[tgid] = 4;
}

static void gone(void *ctx, uint32_t tgid)
{
	(void)ctx;
	assert_true(tgid < NR);
	told[tgid] = 3;
}

static void begin(struct targetset *targetset, const struct targetspec *spec, bool follow)
{
	const struct targetset_options options = {.proc_root = root,
						  .spec = spec,
						  .follow = follow,
						  .tell = tell,
						  .undecided = undecided,
						  .gone = gone};

	memset(told, 0, sizeof(told));
	assert_int_equal(targetset_open(targetset, &options), 0);
	assert_int_equal(targetset_scan(targetset), 0);
}

static void fork_of(struct targetset *targetset, uint32_t parent, uint32_t child)
{
	targetset_event(targetset, &(struct task_event){.kind = TASK_FORK,
							.tgid = child,
							.tid = child,
							.parent_tgid = parent});
}

static void exec_of(struct targetset *targetset, uint32_t tgid, const char *comm)
{
	struct task_event event = {.kind = TASK_EXEC, .tgid = tgid, .tid = tgid};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	targetset_event(targetset, &event);
}

static void make_family(void)
{
	root = root ? root : temp_path("proc");
	mkdir(root, 0755);
	make_process(1, 0, "init");
	make_process(10, 1, "master");
	make_process(9, 11, "helper"); /* listed before those it descends from */
	make_process(11, 10, "worker");
	make_process(12, 10, "worker");
	make_process(20, 1, "other");
}

static void test_family(void **state)
{
	uint32_t master = 10;
	const struct targetspec spec = {.pids = {.at = &master, .nr = 1}};
	struct targetset targetset;

	(void)state;
	make_family();
	begin(&targetset, &spec, true);
	assert_false(targetset_judges(&targetset) || targetset_is_open(&targetset));
	assert_true(told[9] == 1 && told[10] == 1 && told[11] == 1 && told[12] == 1);
	assert_true(!told[1] && !told[20]);

	/* Its parent is gone by the time it is looked at: the fork was seen. */
	make_process(30, 1, "orphan");
	fork_of(&targetset, 9, 30);
	make_process(31, 20, "other");
	fork_of(&targetset, 20, 31);
	assert_true(told[30] == 1 && !told[31]);

	/* The same number, another process. */
	targetset_event(&targetset, &(struct task_event){.kind = TASK_EXIT, .tgid = 30, .tid = 30});
	targetset_event(&targetset, &(struct task_event){.kind = TASK_EXIT, .tgid = 31, .tid = 31});
	assert_true(told[30] == 3 && !told[31]);
	told[30] = 0;
	fork_of(&targetset, 20, 30);
	assert_false(told[30]);
	targetset_release(&targetset);

	begin(&targetset, &spec, false);
	assert_true(told[10] == 1 && !told[9] && !told[11]);
	targetset_release(&targetset);
}

static void test_names(void **state)
{
	char name[] = "worker";
	char *names[] = {name};
	const struct targetspec spec = {.names = {.at = names, .nr = 1}};
	struct targetset targetset;

	(void)state;
	make_family();
	begin(&targetset, &spec, true);
	assert_true(targetset_judges(&targetset) && targetset_is_open(&targetset));
	assert_true(told[11] == 1 && told[12] == 1 && told[9] == 1);
	assert_true(told[10] == 2 && told[20] == 2);

	/* A newcomer that is never sampled itself, and its child that is, and soon gone. */
	fork_of(&targetset, 20, 40);
	exec_of(&targetset, 40, "worker");
	fork_of(&targetset, 40, 41);
	assert_true(targetset_wants(&targetset, 41, "anything", true));
	assert_int_equal(told[41], 1);
	fork_of(&targetset, 20, 42);
	assert_false(targetset_wants(&targetset, 42, "other", true));
	/* What it was called before it became one is judged by itself. */
	exec_of(&targetset, 42, "worker");
	assert_true(targetset_wants(&targetset, 42, "worker", true));
	targetset_release(&targetset);
}

static void test_filters(void **state)
{
	const char *comm = "^w.*r$";
	struct targetspec spec = {0};
	struct targetset targetset;

	(void)state;
	make_family();
	vec_push(&spec.filters[TARGETSPEC_COMM], comm);
	begin(&targetset, &spec, true);
	assert_true(told[11] == 1 && told[12] == 1);
	assert_true(told[9] == 2 && told[10] == 2 && told[20] == 2);
	exec_of(&targetset, 20, "waiter");
	assert_true(targetset_wants(&targetset, 20, "waiter", true));
	assert_int_equal(told[20], 1);
	/* An earlier image of the same process is another matter. */
	assert_false(targetset_wants(&targetset, 20, "other", false));
	assert_true(targetset_wants(&targetset, 20, "waiter", true));
	targetset_release(&targetset);
	targetspec_release(&spec);
}

/* BPF is told not to sample a process that has just become one to be sampled. */
static void test_exec_before_it_is_rejected(void **state)
{
	const char *comm = "^w.*r$";
	struct targetspec spec = {0};
	struct targetset targetset;

	(void)state;
	make_family();
	vec_push(&spec.filters[TARGETSPEC_COMM], comm);
	begin(&targetset, &spec, true);
	for (uint32_t tgid = 50; tgid < 52; tgid++) {
		make_process(tgid, 20, "sh");
		fork_of(&targetset, 20, tgid);
		name_by_then = tgid == 50 ? "waiter" : "other";
		assert_false(targetset_wants(&targetset, tgid, "sh", true));
		name_by_then = NULL;
		assert_int_equal(told[tgid], tgid == 50 ? 4 : 2);
		/* the older image's samples: nothing is told again */
		assert_false(targetset_wants(&targetset, tgid, "sh", true));
		assert_int_equal(told[tgid], tgid == 50 ? 4 : 2);
	}
	exec_of(&targetset, 50, "waiter");
	assert_true(targetset_wants(&targetset, 50, "waiter", true));
	assert_int_equal(told[50], 1);
	targetset_release(&targetset);
	targetspec_release(&spec);
}

static bool is_in(const char *path, enum targetspec_filter filter, const char *word)
{
	char *text scoped(freep) = xasprintf("1:name=systemd:/\n0::%s\n", path);
	struct targetspec spec = {0};
	struct criteria criteria;
	int holds;

	write_file(11, "cgroup", text);
	vec_push(&spec.filters[filter], word);
	assert_int_equal(criteria_open(&criteria, root, NULL, &spec), 0);
	holds = criteria_hold(&criteria, 11, "worker");
	criteria_release(&criteria);
	targetspec_release(&spec);
	return holds == 1;
}

static void test_containers(void **state)
{
	(void)state;
	make_family();
	assert_true(is_in("/docker/" DIGEST, TARGETSPEC_CONTAINER, "0123456789ab"));
	assert_true(is_in("/docker/" DIGEST "/init.scope", TARGETSPEC_CONTAINER, DIGEST));
	assert_true(
		is_in("/system.slice/docker-" DIGEST ".scope", TARGETSPEC_CONTAINER, "0123456"));
	assert_true(is_in("/machine.slice/libpod-" DIGEST ".scope/container", TARGETSPEC_CONTAINER,
			  DIGEST));
	assert_true(is_in("/kubepods.slice/pod1/cri-containerd-" DIGEST ".scope",
			  TARGETSPEC_CONTAINER, "0123456789ab"));
	assert_true(is_in("/lxc.payload.my-web", TARGETSPEC_CONTAINER, "my-web"));
	assert_false(
		is_in("/docker/" DIGEST, TARGETSPEC_CONTAINER, "0123")); /* too short to mean it */
	assert_false(is_in("/docker/" DIGEST, TARGETSPEC_CONTAINER, "123456789abc"));
	assert_false(is_in("/lxc.payload.my-web", TARGETSPEC_CONTAINER, "eb"));
	assert_false(is_in("/", TARGETSPEC_CONTAINER, "0123456789ab"));
	assert_true(is_in("/anything", TARGETSPEC_CGROUP, "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_exec_before_it_is_rejected),
		cmocka_unit_test(test_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
