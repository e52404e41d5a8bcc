// SPDX-License-Identifier: BSD-2-Clause
/*
 * verify: what does this kernel's verifier say of cprof's BPF programs?
 *
 * Says a line for each program: "loaded PROGRAM N", N being the instructions that the verifier went
 * through (its limit is a million), or "refused PROGRAM", and then the end of the verifier's log,
 * each line after a tab. Exit code 1 if anything was refused.
 *
 * bpf_prog_info tells N only since Linux 5.16, so it is taken from the last line of the verifier's log,
 * "processed N insns", which log level 4 asks for alone. The settings are those under which the least
 * code is dead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "../btf_values.h"
#include "collect/userreads.h"
#include "cprof_abi.h"

#include "cprof.skel.h"
#include "perl.skel.h"
#include "php.skel.h"
#include "probe.skel.h"
#include "python.skel.h"
#include "ruby.skel.h"
#include "v8.skel.h"

#define UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION */
#define MAX_PROGRAMS   64
#define LOG_BYTES      (1024 * 1024)
#define LOG_SHOWN      3000

/* Programs and settings that suit some kernels only; as in user/collect/. */
static bool has_sessions, has_cookies, has_kernel_reads = true;

static char logs[MAX_PROGRAMS][LOG_BYTES]; /* touched only as far as they are written */

static void ask_kernel(void)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (libbpf_get_error(btf))
		return;
	has_sessions = btf_has_value(btf, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION");
	has_cookies = btf_has_value(btf, "bpf_func_id", "BPF_FUNC_get_attach_cookie");
	btf__free(btf);
}

/* lockdown=confidentiality; a run tries the helper instead. */
static void ask_lockdown(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (!file)
		return;
	has_kernel_reads = !fgets(line, sizeof(line), file) || !strstr(line, "[confidentiality]");
	fclose(file);
	if (!has_kernel_reads)
		userreads_keep();
}

static bool is_for_this_kernel(const struct bpf_program *program)
{
	return has_sessions || strcmp(bpf_program__name(program), "on_call");
}

static void configure(struct cprof_bpf *cprof)
{
	struct abi_config config = {
		.rate_bytes = 512 * 1024,
		.events_wakeup_bytes = ABI_EVENTS_BYTES / 4,
		.events_quarter_bytes = ABI_EVENTS_BYTES / 4,
		.follow_forks = 1,
		.kernel_stacks = 1,
		.nr_uprobe_slots = ABI_NR_SLOTS - ABI_SLOT_UPROBE,
		.has_cookies = has_cookies,
		.live_grows = 1,
		.keeps_lives = 1,
		.no_kernel_reads = !has_kernel_reads,
	};

	memcpy((void *)&cprof->rodata->config, &config, sizeof(config));
	/* Allocated on demand it makes kernels before 6.1 print a warning; its size changes nothing. */
	bpf_map__set_map_flags(cprof->maps.live_more, 0);
	bpf_map__set_max_entries(cprof->maps.live_more, 1024);
	bpf_map__set_value_size(cprof->maps.live, sizeof(struct abi_block));
	bpf_map__set_value_size(cprof->maps.live_more, sizeof(struct abi_block));
	bpf_map__set_value_size(cprof->maps.counts_even, sizeof(struct abi_life_count));
	bpf_map__set_value_size(cprof->maps.counts_odd, sizeof(struct abi_life_count));
	bpf_program__set_expected_attach_type(cprof->progs.on_call, UPROBE_SESSION);
}

/* The objects, each loaded by itself. */
enum which {
	PROBE,
	CPROF,
	PYTHON,
	PHP,
	V8,
	RUBY,
	PERL,
	NR_OBJECTS
};

static const char *const names[NR_OBJECTS] = {"probe", "cprof", "python", "php",
					      "v8",    "ruby",	"perl"};

static struct bpf_object *open_programs(enum which which)
{
	struct cprof_bpf *cprof;

	if (which == PROBE) {
		struct probe_bpf *skeleton = probe_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	if (which == PYTHON) {
		struct python_bpf *skeleton = python_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	if (which == PHP) {
		struct php_bpf *skeleton = php_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	if (which == V8) {
		struct v8_bpf *skeleton = v8_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	if (which == RUBY) {
		struct ruby_bpf *skeleton = ruby_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	if (which == PERL) {
		struct perl_bpf *skeleton = perl_bpf__open();

		return skeleton ? skeleton->obj : NULL;
	}
	cprof = cprof_bpf__open();
	if (!cprof)
		return NULL;
	configure(cprof);
	return cprof->obj;
}

/* Loads all programs, or the one that is named; in the order of the object each has a log. */
static int load(enum which which, const char *only, unsigned int level)
{
	struct bpf_object *object = open_programs(which);
	struct bpf_program *program;
	size_t i = 0;
	int err;

	if (!object)
		return -1;
	bpf_object__for_each_program(program, object)
	{
		if (i == MAX_PROGRAMS)
			break;
		logs[i][0] = '\0';
		bpf_program__set_log_level(program, level);
		bpf_program__set_log_buf(program, logs[i++], LOG_BYTES);
		bpf_program__set_autoload(
			program, is_for_this_kernel(program) &&
					 (!only || !strcmp(bpf_program__name(program), only)));
	}
	err = bpf_object__load(object);
	bpf_object__close(object);
	return err;
}

static void show_refusal(const char *name, size_t i)
{
	size_t len = strlen(logs[i]);
	char *rest = logs[i] + (len > LOG_SHOWN ? len - LOG_SHOWN : 0), *line;

	printf("refused %s\n", name);
	while ((line = strsep(&rest, "\n")))
		printf("\t%s\n", line);
}

static void show_count(const char *name, size_t i)
{
	const char *last = strstr(logs[i], "processed ");

	for (const char *next = last; next; next = strstr(next + 1, "processed "))
		last = next;
	printf("loaded %s %ld\n", name, last ? strtol(last + strlen("processed "), NULL, 10) : -1);
}

/* All at once, because tables of tail calls want it. Only then one by one: who is to blame? */
static bool verify(enum which which)
{
	struct bpf_object *object = open_programs(which);
	struct bpf_program *program;
	bool together, good = true;
	size_t i = 0;

	if (!object) {
		printf("refused %s\n", names[which]);
		return false;
	}
	together = !load(which, NULL, 4);
	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);

		if (!is_for_this_kernel(program)) {
			i++;
			continue;
		}
		if (together || !load(which, name, 4)) {
			show_count(name, i++);
			continue;
		}
		load(which, name, 1);
		show_refusal(name, i++);
		good = false;
	}
	bpf_object__close(object);
	return good;
}

static int only_warnings(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

int main(void)
{
	bool good = true;

	libbpf_set_print(only_warnings);
	ask_kernel();
	ask_lockdown();
	for (int i = 0; i < NR_OBJECTS; i++)
		good = verify((enum which)i) && good;
	return good ? 0 : 1;
}
