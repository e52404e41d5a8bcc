// SPDX-License-Identifier: BSD-2-Clause
/* What /proc tells of a process, to anybody: a process that is refused here was not touched. */
#include "inject/inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/injector.h"
#include "inject/places.h"

static bool status_line(pid_t pid, const char *name, char *value, size_t bytes)
{
	char path[64] = "", line[256];
	bool is_found = false;
	FILE *status;

	places_path(pid, "status", path, sizeof(path));
	status = fopen(path, "re");
	while (status && !is_found && fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') {
			line[strcspn(line, "\n")] = '\0';
			snprintf(value, bytes, "%s", line + strlen(name) + 1);
			is_found = true;
		}
	if (status)
		fclose(status);
	return is_found;
}

static bool is_number(pid_t pid, const char *name, unsigned long number)
{
	char value[128];

	return !status_line(pid, name, value, sizeof(value)) || strtoul(value, NULL, 10) == number;
}

static bool has_one_user(pid_t pid, const char *name)
{
	unsigned int real, effective, saved;
	char value[128];

	return status_line(pid, name, value, sizeof(value)) &&
	       sscanf(value, "%u %u %u", &real, &effective, &saved) == 3 && real == effective &&
	       real == saved;
}

static bool has_own_files(pid_t pid)
{
	char path[64], theirs[64] = "", ours[64] = "";

	return !places_path(pid, "ns/mnt", path, sizeof(path)) &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 && strcmp(theirs, ours);
}

/* "": nothing that can be seen from outside is in the way. */
static const char *why_not(pid_t pid)
{
	char value[128];

	if (!is_number(pid, "TracerPid", 0))
		return "it is traced, by a debugger or by strace";
	if (!is_number(pid, "Seccomp", 0))
		return "it is confined by seccomp, which may refuse what the loader does";
	if (!has_one_user(pid, "Uid") || !has_one_user(pid, "Gid"))
		return "it is setuid or setgid, or has changed its user";
	if (status_line(pid, "x86_Thread_features", value, sizeof(value)) && strstr(value, "shstk"))
		return "it has a shadow stack";
	if (has_own_files(pid))
		return "it sees other files (it is in a container)";
	if (!places_function(pid, "dlopen") || !places_restorer(pid))
		return "it is static, or its C library is not the one that cprof uses";
	return "";
}

const char *inject_refusal(pid_t pid, char reason[INJECT_REASON_BYTES])
{
	const char *why = injector_refusal();

	snprintf(reason, INJECT_REASON_BYTES, "%s", *why ? why : why_not(pid));
	return reason;
}
