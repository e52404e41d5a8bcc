// SPDX-License-Identifier: BSD-2-Clause
/*
 * A container is known by its cgroup, which every runtime names after it:
 *
 *	/docker/ID				docker with cgroupfs
 *	/system.slice/docker-ID.scope		with systemd; podman: libpod-ID.scope
 *	/kubepods.slice/.../cri-containerd-ID.scope, .../podUID/ID
 *	/lxc.payload.NAME, /machine.slice/machine-NAME.scope
 *
 * where ID is 64 hexadecimal digits, of which people are shown the first 12.
 */
#include "record/criteria.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "process/opener.h"
#include "process/procfs.h"
#include "process/traits.h"
#include "base/saferegex.h"
#include "stream.h"

#define CGROUPS	      "/sys/fs/cgroup"
#define MAX_IDS_SHOWN 8
#define ID_LEAST      6	 /* hexadecimal digits that make the beginning of an id */
#define ID_WHOLE      32 /* that a whole one has at least */

/* Users ------------------------------------------------------------------------------------------ */

static int add_uid(struct criteria *criteria, const char *word)
{
	const struct passwd *user;
	unsigned long long uid;
	char *end, safe[256];

	errno = 0;
	uid = strtoull(word, &end, 10);
	if (isdigit((unsigned char)*word) && !*end && !errno && uid < UINT32_MAX) {
		vec_push(&criteria->uids, uid);
		return 0;
	}
	user = getpwnam(word);
	if (!user)
		return fail(-EINVAL, "--uid %s: no such user.",
			    text_escape(word, safe, sizeof(safe)));
	vec_push(&criteria->uids, user->pw_uid);
	return 0;
}

static int has_uid(const struct criteria *criteria, uint32_t tgid)
{
	uint32_t uid;
	int err = traits_uid(criteria->proc_root, tgid, &uid);

	if (err)
		return err;
	vec_for_each(&criteria->uids, wanted)
		if (*wanted == uid)
			return 1;
	return 0;
}

/* Cgroups ---------------------------------------------------------------------------------------- */

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* In the hierarchy of version 2, or in one of version 1, which are folders side by side. */
static bool cgroup_exists(const char *path)
{
	char *whole scoped(freep) = xasprintf(CGROUPS "%s", path);
	DIR *dir scoped(closedirp) = opendir(CGROUPS);
	struct dirent *entry;

	if (!access(whole, F_OK))
		return true;
	while (dir && (entry = readdir(dir))) {
		char *below scoped(freep) = xasprintf(CGROUPS "/%s%s", entry->d_name, path);

		if (*entry->d_name != '.' && !access(below, F_OK))
			return true;
	}
	return false;
}

/* Given as a folder of /sys/fs/cgroup, or as /proc/PID/cgroup has it. */
static int add_cgroup(struct criteria *criteria, const char *word)
{
	const char *path = word, *root = CGROUPS;
	size_t len = strlen(root);
	char *clean, safe[512];

	if (!strncmp(path, root, len) && (!path[len] || path[len] == '/')) {
		path += len;
		if (access(CGROUPS "/cgroup.controllers", F_OK)) /* the name of a hierarchy first */
			path = strchrnul(path + (*path == '/'), '/');
	}
	clean = xasprintf("%s%s", *path == '/' ? "" : "/", path);
	for (len = strlen(clean); len > 1 && clean[len - 1] == '/'; len--)
		clean[len - 1] = '\0';
	vec_push(&criteria->cgroups, clean);
	if (cgroup_exists(clean))
		return 0;
	return fail(-EINVAL, "--cgroup %s: no such cgroup under " CGROUPS ".",
		    text_escape(word, safe, sizeof(safe)));
}

static bool is_below(const void *ctx, const char *path)
{
	const struct criteria *criteria = ctx;

	vec_for_each(&criteria->cgroups, cgroup) {
		size_t len = strlen(*cgroup);

		if (len == 1 || (!strncmp(path, *cgroup, len) && (!path[len] || path[len] == '/')))
			return true;
	}
	return false;
}

/* Is one component of a cgroup's path the container with this id, or name? */
static bool component_is(const char *component, size_t len, const char *id)
{
	size_t id_len = strlen(id), digits = 0;
	const char *part;

	if (len > 6 && !memcmp(component + len - 6, ".scope", 6))
		len -= 6;
	if (len >= id_len && !memcmp(component + len - id_len, id, id_len) &&
	    (len == id_len || strchr("-.:", component[len - id_len - 1])))
		return true;
	while (digits < len && isxdigit((unsigned char)component[len - digits - 1]))
		digits++;
	part = component + len - digits;
	return digits >= ID_WHOLE && id_len >= ID_LEAST && id_len <= digits &&
	       !memcmp(part, id, id_len);
}

static bool is_in_container(const void *ctx, const char *path)
{
	const struct criteria *criteria = ctx;

	for (const char *part = path; *part;) {
		size_t len = strcspn(part, "/");

		vec_for_each(&criteria->spec->filters[TARGETSPEC_CONTAINER], id)
			if (len && component_is(part, len, *id))
				return true;
		part += len + (part[len] == '/');
	}
	return false;
}

/* Names ------------------------------------------------------------------------------------------ */

static int add_comm(struct criteria *criteria, const char *word)
{
	char safe[512];
	regex_t regex;
	int err = saferegex_compile(word, &regex);

	if (err)
		return fail(err,
			    "--comm %s: not an extended regular expression, or one that is too "
			    "costly to match.",
			    text_escape(word, safe, sizeof(safe)));
	vec_push(&criteria->comms, regex);
	return 0;
}

static bool has_comm(const struct criteria *criteria, const char *comm)
{
	vec_for_each(&criteria->comms, regex)
		if (saferegex_matches(regex, comm, strlen(comm)))
			return true;
	return false;
}

/*
 * name is a word of the user's: only its own path is looked up here, no executable's.
 *
 * The kernel keeps the first 15 bytes of a name. They do not stand for a longer one if the executable's name, which is
 * another, begins with them, too.
 */
static bool name_is(const char *name, const char *comm, const char *exe)
{
	const char *base = text_base_name(exe);
	char whole[PATH_MAX];

	if (strchr(name, '/'))
		return !strcmp(name, exe) || (realpath(name, whole) && !strcmp(whole, exe));
	if (*exe && !strcmp(name, base))
		return true;
	return !strncmp(name, comm, COMM_BYTES - 1) &&
	       (strlen(name) < COMM_BYTES || strncmp(base, comm, COMM_BYTES - 1));
}

bool criteria_named(const struct criteria *criteria, uint32_t tgid, const char *comm)
{
	char exe[PATH_MAX];

	if (!criteria->spec->names.nr)
		return false;
	if (criteria->opener ? opener_exe(criteria->opener, tgid, exe, sizeof(exe))
			     : traits_exe(criteria->proc_root, tgid, exe, sizeof(exe)))
		*exe = '\0';
	vec_for_each(&criteria->spec->names, name)
		if (name_is(*name, comm, exe))
			return true;
	return false;
}

/* Is it one that has a name of the spec's, and lives? */
static bool has_name(const struct criteria *criteria, uint32_t tgid)
{
	struct proc_stat stat;

	return tgid != (uint32_t)getpid() && !procfs_stat(criteria->proc_root, tgid, &stat) &&
	       !proc_stat_is_dead(&stat) && !stat.is_kernel_thread &&
	       criteria_named(criteria, tgid, stat.comm);
}

static bool is_anybody_named(const struct criteria *criteria, char *name, const uint32_t *tgids,
			     size_t nr)
{
	struct targetspec only = {.names = {.at = &name, .nr = 1}};
	struct criteria one = {
		.proc_root = criteria->proc_root, .opener = criteria->opener, .spec = &only};

	for (size_t i = 0; i < nr; i++)
		if (has_name(&one, tgids[i]))
			return true;
	return false;
}

static int fail_unnamed(const char *name)
{
	char safe[512];

	return fail(-ESRCH, "-p %s: no process or executable has this name.",
		    text_escape(name, safe, sizeof(safe)));
}

static int list_processes(const char *proc_root, uint32_t **tgids, size_t *nr)
{
	int err = procfs_list(proc_root, tgids, nr);

	return err ? fail(err, "cannot list the processes in %s", proc_root) : 0;
}

int criteria_check_names(const struct criteria *criteria)
{
	uint32_t *tgids scoped(freep) = NULL;
	size_t nr = 0;
	int err = criteria->spec->names.nr ? list_processes(criteria->proc_root, &tgids, &nr) : 0;

	if (err)
		return err;
	vec_for_each(&criteria->spec->names, name)
		if (!is_anybody_named(criteria, *name, tgids, nr))
			return fail_unnamed(*name);
	return 0;
}

/* The processes that have the name, "12, 13, 14 ..."; *tgid is one of them. How many? */
static size_t find_named(const struct criteria *criteria, const uint32_t *tgids, size_t nr,
			 uint32_t *tgid, char *words, size_t words_bytes)
{
	size_t nr_found = 0, len = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!has_name(criteria, tgids[i]))
			continue;
		*tgid = tgids[i];
		if (nr_found < MAX_IDS_SHOWN)
			len += snprintf(words + len, words_bytes - len, "%s%u",
					nr_found ? ", " : "", tgids[i]);
		nr_found++;
	}
	return nr_found;
}

int criteria_resolve_name(const char *proc_root, const char *option, struct targetspec *spec)
{
	const struct criteria criteria = {.proc_root = proc_root, .spec = spec};
	uint32_t *tgids scoped(freep) = NULL, tgid;
	char words[MAX_IDS_SHOWN * 12] = "", safe[512];
	size_t nr = 0, nr_found;
	int err = list_processes(proc_root, &tgids, &nr);

	if (err)
		return err;
	nr_found = find_named(&criteria, tgids, nr, &tgid, words, sizeof(words));
	if (!nr_found)
		return fail_unnamed(spec->names.at[0]);
	if (nr_found != 1)
		return fail(-EINVAL,
			    "%s is for one process, and %zu have the name %s: give -p one of %s%s",
			    option, nr_found, text_escape(spec->names.at[0], safe, sizeof(safe)),
			    words, nr_found > MAX_IDS_SHOWN ? " ..." : ".");
	free(spec->names.at[0]);
	spec->names.nr = 0;
	vec_push(&spec->pids, tgid);
	return 0;
}

/* All together ----------------------------------------------------------------------------------- */

int criteria_open(struct criteria *criteria, const char *proc_root, struct opener *opener,
		  const struct targetspec *spec)
{
	static int (*const add[])(struct criteria *,
				  const char *) = {[TARGETSPEC_COMM] = add_comm,
						   [TARGETSPEC_UID] = add_uid,
						   [TARGETSPEC_CGROUP] = add_cgroup,
						   [TARGETSPEC_CONTAINER] = NULL};

	*criteria = (struct criteria){.proc_root = proc_root, .opener = opener, .spec = spec};
	for (int i = 0; i < NR_TARGETSPEC_FILTERS; i++)
		vec_for_each(&spec->filters[i], word) {
			int err = add[i] ? add[i](criteria, *word) : 0;

			if (err)
				return err;
		}
	return 0;
}

void criteria_release(struct criteria *criteria)
{
	vec_for_each(&criteria->comms, regex)
		regfree(regex);
	vec_for_each(&criteria->cgroups, cgroup)
		free(*cgroup);
	vec_release(&criteria->comms);
	vec_release(&criteria->uids);
	vec_release(&criteria->cgroups);
}

int criteria_hold(const struct criteria *criteria, uint32_t tgid, const char *comm)
{
	int holds = 1;

	if (criteria->comms.nr && !has_comm(criteria, comm))
		return 0;
	if (criteria->uids.nr)
		holds = has_uid(criteria, tgid);
	if (holds == 1 && criteria->cgroups.nr)
		holds = traits_cgroup(criteria->proc_root, tgid, is_below, criteria);
	if (holds == 1 && criteria->spec->filters[TARGETSPEC_CONTAINER].nr)
		holds = traits_cgroup(criteria->proc_root, tgid, is_in_container, criteria);
	return holds;
}

bool criteria_change(const struct criteria *criteria)
{
	return criteria->uids.nr || criteria->cgroups.nr ||
	       criteria->spec->filters[TARGETSPEC_CONTAINER].nr;
}

char *criteria_words(const struct criteria *criteria, char *out, size_t out_bytes)
{
	static const char *const names[] = {"--comm", "--uid", "--cgroup", "--container"};
	size_t len = 0;

	*out = '\0';
	for (int i = 0; i < NR_TARGETSPEC_FILTERS; i++)
		vec_for_each(&criteria->spec->filters[i], word) {
			char safe[128];

			if (len >= out_bytes)
				return out;
			len += snprintf(out + len, out_bytes - len, "%s%s %s", len ? " " : "",
					names[i], text_escape(*word, safe, sizeof(safe)));
		}
	return out;
}
