// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/kallsyms is read when the first function of the kernel is named: it is large, and many profiles have none. If it
 * cannot be read, the run goes on and kernel functions have no names.
 */
#include "record/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/machine.h"
#include "object/kallsyms.h"
#include "symbolize/debugfile.h"
#include "record/interrupt.h"
#include "sandbox/jitsymparser.h"
#include "sandbox/funcparser.h"

#define MAX_LEFT_OUT_SHOWN 3

/* NULL: there is nothing to name it by. */
static const struct kallsyms *read_kallsyms(void *ctx)
{
	struct naming *naming = ctx;
	struct machine_finding finding;
	int fd scoped(closep) = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : kallsyms_read(fd, &naming->kallsyms);

	if (!err)
		return naming->kallsyms;
	machine_check_named("kernel symbols", &finding);
	if (*finding.why)
		warn("%s: %s.", finding.why, finding.remedy);
	else
		warn("kernel functions have no names: /proc/kallsyms cannot be read.");
	return NULL;
}

struct symbolizer *naming_symbolizer(struct naming *naming)
{
	uint64_t until_ns = clock_monotonic_ns() + naming->timeout_ns;

	if (!naming->symbolizer) {
		naming->symbolizer = symbolizer_new(naming->tasks, naming->files, naming->parser);
		symbolizer_use_kallsyms(naming->symbolizer, read_kallsyms, naming);
		symbolizer_use_kernelcode(naming->symbolizer, naming->kernelcode);
		symbolizer_use_ifuncs(naming->symbolizer, naming->ifuncnames);
		symbolizer_look_in(naming->symbolizer, naming->dirs);
		symbolizer_ask_for(naming->symbolizer, naming->lines, naming->inlines);
		symbolizer_use_cache(naming->symbolizer, naming->cache);
		symbolizer_hurry_when(naming->symbolizer, interrupt_insisted);
	}
	symbolizer_until(naming->symbolizer, until_ns);
	return naming->symbolizer;
}

static void say_closed(const struct naming *naming)
{
	uint64_t nr_refused = files_nr_refused(naming->files);
	const char *file, *why;
	char safe[512];
	size_t nr = 0;

	if (naming->symbolizer)
		nr = symbolizer_nr_closed(naming->symbolizer, &file, &why);
	if (nr)
		warn("%s code addresses have no names: their files could not be opened (%s%s%s)",
		     text_count(nr), text_escape(text_base_name(file), safe, sizeof(safe)),
		     *why ? ": " : "", why);
	if (nr_refused)
		warn("more than %s files are mapped: %s mappings of further ones have no names",
		     text_count(FILES_MAX_KNOWN), text_count(nr_refused));
}

static void say_one_left_out(const struct naming *naming, uint32_t key, int err)
{
	bool is_debug_file = debugfile_is_key(key);
	const char *path, *why = parser_why_left_out(err);
	char safe[512];

	if (jitsymparser_is_key(key)) {
		warn("no names from the perf map or jitdump of process %u: %s",
		     jitsymparser_tgid(key), why);
		return;
	}
	if (funcparser_is_key(key)) {
		warn("no names of the interpreted functions of process %u: %s",
		     funcparser_tgid(key), why);
		return;
	}
	if (key >= MESSAGE_JVM && key < MESSAGE_COMMAND) {
		warn("no names and no unwind info from the compiled code of JVM %u: %s",
		     key - MESSAGE_JVM, why);
		return;
	}
	path = key == PARSER_VDSO ? "[vdso]"
	       : key == MESSAGE_COMMAND
		       ? "the command"
		       : files_path(naming->files, is_debug_file ? debugfile_owner(key) : key);
	warn("no names%s '%s': %s",
	     is_debug_file ? " from the debug file of" : " and no unwind info from",
	     text_escape(path, safe, sizeof(safe)), why);
}

static void say_left_out(const struct naming *naming)
{
	size_t nr = parser_nr_left_out(naming->parser);
	int err;

	for (size_t i = 0; i < nr && i < MAX_LEFT_OUT_SHOWN; i++) {
		uint32_t file = parser_left_out(naming->parser, i, &err);
		say_one_left_out(naming, file, err);
	}
	if (nr > MAX_LEFT_OUT_SHOWN)
		warn("nor from %s others", text_count(nr - MAX_LEFT_OUT_SHOWN));
	if (parser_is_lost(naming->parser))
		warn("the process that parses files was killed or stopped, and could not be "
		     "replaced: code in "
		     "other files has no names");
}

static void say_missing(const struct naming *naming)
{
	for (int what = 0; what < NR_CODENAMES_MISSING && naming->symbolizer; what++) {
		char *text scoped(freep) = symbolizer_say_missing(naming->symbolizer, what);

		if (text)
			warn("%s", text);
	}
}

static void say_fetched(const struct naming *naming)
{
	bool failed;
	char *text scoped(freep) = naming->dirs.fetcher ? fetcher_say(naming->dirs.fetcher, &failed)
							: NULL;

	if (text && failed)
		warn("%s", text);
	else if (text)
		say("%s", text);
}

void naming_say(const struct naming *naming)
{
	size_t nr = naming->symbolizer ? symbolizer_nr_unnamed(naming->symbolizer) : 0;

	if (nr)
		warn("%s: %s code addresses were not looked up, or not wholly%s",
		     interrupt_insisted() ? "interrupted again" : "time was up", text_count(nr),
		     interrupt_insisted() ? ""
					  : " (--symbolize-timeout; cprof symbolize adds them)");
	say_closed(naming);
	say_left_out(naming);
	say_missing(naming);
	say_fetched(naming);
}

void naming_release(struct naming *naming)
{
	symbolizer_free(naming->symbolizer);
	kallsyms_free(naming->kallsyms);
}
