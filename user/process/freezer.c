// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first of its group and those above it that is frozen itself: only there something can be done about it. Sources:
 * cgroups(7); Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst.
 */
#include "process/freezer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/smallfile.h"
#include "process/procfs.h"

#define CGROUP_MAX_BYTES 65536 /* a dozen lines; a path has at most 4 KB */
#define NR_MOUNTS	 2

/* How the versions of control groups freeze. */
static const struct version {
	const char *controller;	       /* in the line of /proc/PID/cgroup */
	const char *mounts[NR_MOUNTS]; /* below the root of control groups */
	const char *is_frozen;	       /* is this group, not only one above it? 1: yes */
	const char *setting, *thaws;
} versions[] = {
	{"", {"", "/unified"}, "cgroup.freeze", "cgroup.freeze", "0"},
	{"freezer", {"/freezer"}, "freezer.self_freezing", "freezer.state", "THAWED"},
};

/* NULL: the line's hierarchy cannot freeze. controllers is cut to pieces. */
static const struct version *version_of(char *controllers)
{
	const char *name;

	while ((name = strsep(&controllers, ",")))
		for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
			if (!strcmp(name, versions[i].controller))
				return &versions[i];
	return NULL;
}

static bool is_frozen(const char *mount, const char *group, const struct version *version,
		      struct freezer *freezer)
{
	char *path scoped(freep) = xasprintf("%s%s/%s", mount, group, version->is_frozen);

	if (smallfile_number(path, 0) != 1)
		return false;
	freezer->thaws = version->thaws;
	snprintf(freezer->setting, sizeof(freezer->setting), "%s%s/%s", mount, group,
		 version->setting);
	return true;
}

/* group, "/a/b", is cut down to its root, which cannot be frozen. */
static bool find_frozen(const char *mount, char *group, const struct version *version,
			struct freezer *freezer)
{
	for (char *end = group + strlen(group); end > group; end = strrchr(group, '/')) {
		*end = '\0';
		if (is_frozen(mount, group, version, freezer))
			return true;
	}
	return false;
}

/* "/../..": of cprof's namespace of control groups. Below cgroup_root that would be any file. */
static bool is_outside(const char *path)
{
	return !strncmp(path, "/..", 3);
}

/* line: HIERARCHY:CONTROLLERS:PATH. */
static bool look_at_line(char *line, const char *cgroup_root, struct freezer *freezer)
{
	char *controllers = strchr(line, ':'), *path = NULL;
	const struct version *version;

	if (controllers)
		path = strchr(++controllers, ':');
	if (!path)
		return false;
	*path++ = '\0';
	version = version_of(controllers);
	if (!version || path[0] != '/' || !path[1] || is_outside(path))
		return false;
	for (size_t i = 0; i < NR_MOUNTS && version->mounts[i]; i++) {
		char *mount scoped(freep) = xasprintf("%s%s", cgroup_root, version->mounts[i]);
		char *group scoped(freep) = xstrdup(path);

		if (find_frozen(mount, group, version, freezer))
			return true;
	}
	return false;
}

bool freezer_find(const char *proc_root, const char *cgroup_root, uint32_t tgid,
		  struct freezer *freezer)
{
	char *text scoped(freep) = NULL, *rest, *line;
	size_t len;

	if (procfs_read(proc_root, tgid, "cgroup", CGROUP_MAX_BYTES, &text, &len))
		return false;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (look_at_line(line, cgroup_root, freezer))
			return true;
	return false;
}
