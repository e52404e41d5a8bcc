// SPDX-License-Identifier: BSD-2-Clause
/*
 * /proc/kallsyms is read at the first request and not at the start: it is large, and a run that is interrupted early
 * does not need it. If it cannot be read, the run goes on and kernel functions have no names.
 */
#include "record/naming.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/machine.h"
#include "object/kallsyms.h"
#include "record/interrupt.h"

/* NULL: there is nothing to name, or nothing to name it by. */
static struct kallsyms *read_kallsyms(const struct naming *naming)
{
	struct machine_finding finding;
	struct kallsyms *kallsyms = NULL;
	int fd scoped(closep) = -1;
	int err;

	if (!naming->kernel_stacks)
		return NULL;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : kallsyms_read(fd, &kallsyms);
	if (!err)
		return kallsyms;
	machine_check_named("kernel symbols", &finding);
	if (*finding.why)
		warn("%s: %s.", finding.why, finding.remedy);
	else
		warn("kernel functions have no names: /proc/kallsyms cannot be read.");
	return NULL;
}

struct symbolizer *naming_symbolizer(struct naming *naming)
{
	if (!naming->symbolizer) {
		naming->kallsyms = read_kallsyms(naming);
		naming->symbolizer = symbolizer_new(naming->tasks, naming->files, naming->objects,
						    naming->kallsyms);
		symbolizer_hurry_when(naming->symbolizer, interrupt_insisted);
	}
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

void naming_say(const struct naming *naming)
{
	size_t nr = naming->symbolizer ? symbolizer_nr_unnamed(naming->symbolizer) : 0;

	if (nr)
		warn("interrupted again: %s code addresses were not looked up and have no names",
		     text_count(nr));
	say_closed(naming);
}

void naming_release(struct naming *naming)
{
	symbolizer_free(naming->symbolizer);
	kallsyms_free(naming->kallsyms);
}
