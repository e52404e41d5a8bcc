// SPDX-License-Identifier: BSD-2-Clause
/* On a made-up /proc: who descends from whom, who is called what, who is in which container. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/chooser.h"
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

/* What was told last of each: 0 nothing, 1 wanted, 2 not wanted. */
static int told[NR];

static void tell(void *ctx, uint32_t tgid, bool wanted)
{
	(void)ctx;
	assert_true(tgid < NR);
	told[tgid] = wanted ? 1 : 2;
}

static void begin(struct chooser *chooser, const struct whom *whom, bool follow)
{
	const struct chooser_options options = {
		.proc_root = root, .whom = whom, .follow = follow, .tell = tell};

	memset(told, 0, sizeof(told));
	assert_int_equal(chooser_open(chooser, &options), 0);
	assert_int_equal(chooser_scan(chooser), 0);
}

static void fork_of(struct chooser *chooser, uint32_t parent, uint32_t child)
{
	chooser_event(chooser, &(struct task_event){.kind = TASK_FORK,
						    .tgid = child,
						    .tid = child,
						    .parent_tgid = parent});
}

static void exec_of(struct chooser *chooser, uint32_t tgid, const char *comm)
{
	struct task_event event = {.kind = TASK_EXEC, .tgid = tgid, .tid = tgid};

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	chooser_event(chooser, &event);
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
	const struct whom whom = {.pids = {.at = &master, .nr = 1}};
	struct chooser chooser;

	(void)state;
	make_family();
	begin(&chooser, &whom, true);
	assert_false(chooser_judges(&chooser) || chooser_is_open(&chooser));
	assert_true(told[9] == 1 && told[10] == 1 && told[11] == 1 && told[12] == 1);
	assert_true(!told[1] && !told[20]);

	/* Its parent is gone by the time it is looked at: the fork was seen. */
	make_process(30, 1, "orphan");
	fork_of(&chooser, 9, 30);
	make_process(31, 20, "other");
	fork_of(&chooser, 20, 31);
	assert_true(told[30] == 1 && !told[31]);

	/* The same number, another process. */
	chooser_event(&chooser, &(struct task_event){.kind = TASK_EXIT, .tgid = 30, .tid = 30});
	told[30] = 0;
	fork_of(&chooser, 20, 30);
	assert_false(told[30]);
	chooser_release(&chooser);

	begin(&chooser, &whom, false);
	assert_true(told[10] == 1 && !told[9] && !told[11]);
	chooser_release(&chooser);
}

static void test_names(void **state)
{
	char name[] = "worker";
	char *names[] = {name};
	const struct whom whom = {.names = {.at = names, .nr = 1}};
	struct chooser chooser;

	(void)state;
	make_family();
	begin(&chooser, &whom, true);
	assert_true(chooser_judges(&chooser) && chooser_is_open(&chooser));
	assert_true(told[11] == 1 && told[12] == 1 && told[9] == 1);
	assert_true(told[10] == 2 && told[20] == 2);

	/* A newcomer that is never sampled itself, and its child that is, and soon gone. */
	fork_of(&chooser, 20, 40);
	exec_of(&chooser, 40, "worker");
	fork_of(&chooser, 40, 41);
	assert_true(chooser_wants(&chooser, 41, "anything", true));
	assert_int_equal(told[41], 1);
	fork_of(&chooser, 20, 42);
	assert_false(chooser_wants(&chooser, 42, "other", true));
	/* What it was called before it became one is judged by itself. */
	exec_of(&chooser, 42, "worker");
	assert_true(chooser_wants(&chooser, 42, "worker", true));
	chooser_release(&chooser);
}

static void test_filters(void **state)
{
	const char *comm = "^w.*r$";
	struct whom whom = {0};
	struct chooser chooser;

	(void)state;
	make_family();
	vec_push(&whom.filters[WHOM_COMM], comm);
	begin(&chooser, &whom, true);
	assert_true(told[11] == 1 && told[12] == 1);
	assert_true(told[9] == 2 && told[10] == 2 && told[20] == 2);
	exec_of(&chooser, 20, "waiter");
	assert_true(chooser_wants(&chooser, 20, "waiter", true));
	assert_int_equal(told[20], 1);
	/* An earlier image of the same process is another matter. */
	assert_false(chooser_wants(&chooser, 20, "other", false));
	assert_true(chooser_wants(&chooser, 20, "waiter", true));
	chooser_release(&chooser);
	whom_release(&whom);
}

static bool is_in(const char *path, enum whom_filter filter, const char *word)
{
	char *text scoped(freep) = xasprintf("1:name=systemd:/\n0::%s\n", path);
	struct whom whom = {0};
	struct criteria criteria;
	int holds;

	write_file(11, "cgroup", text);
	vec_push(&whom.filters[filter], word);
	assert_int_equal(criteria_open(&criteria, root, &whom), 0);
	holds = criteria_hold(&criteria, 11, "worker");
	criteria_release(&criteria);
	whom_release(&whom);
	return holds == 1;
}

static void test_containers(void **state)
{
	(void)state;
	make_family();
	assert_true(is_in("/docker/" DIGEST, WHOM_CONTAINER, "0123456789ab"));
	assert_true(is_in("/docker/" DIGEST "/init.scope", WHOM_CONTAINER, DIGEST));
	assert_true(is_in("/system.slice/docker-" DIGEST ".scope", WHOM_CONTAINER, "0123456"));
	assert_true(
		is_in("/machine.slice/libpod-" DIGEST ".scope/container", WHOM_CONTAINER, DIGEST));
	assert_true(is_in("/kubepods.slice/pod1/cri-containerd-" DIGEST ".scope", WHOM_CONTAINER,
			  "0123456789ab"));
	assert_true(is_in("/lxc.payload.my-web", WHOM_CONTAINER, "my-web"));
	assert_false(is_in("/docker/" DIGEST, WHOM_CONTAINER, "0123")); /* too short to mean it */
	assert_false(is_in("/docker/" DIGEST, WHOM_CONTAINER, "123456789abc"));
	assert_false(is_in("/lxc.payload.my-web", WHOM_CONTAINER, "eb"));
	assert_false(is_in("/", WHOM_CONTAINER, "0123456789ab"));
	assert_true(is_in("/anything", WHOM_CGROUP, "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
