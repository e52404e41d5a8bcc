// SPDX-License-Identifier: BSD-2-Clause
/*
 * Candidates are by tgid where probes are for one process, and by tgid 0 where they are for all. Finding an allocator
 * needs the symbols of a file, which the parser reads (sandbox/parser.h).
 */
#include "heap/prober.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "heap/unprobed.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "process/opener.h"
#include "process/procfs.h"
#include "process/traits.h"

#define UID_UNKNOWN UINT32_MAX /* the process is gone */

void prober_limit(struct prober *prober, uint32_t nr_files)
{
	bool is_shared = prober->all || prober->follow_forks;

	prober->candidates.most = is_shared ? nr_files : 0;
	prober->candidates.most_for_user = is_shared ? (nr_files + 1) / 2 : nr_files;
}

static bool same_tgid(const void *ctx, uint32_t value, const void *key)
{
	const struct prober *prober = ctx;

	return prober->targets.at[value] == *(const uint32_t *)key;
}

static bool is_listed(const struct prober *prober, uint32_t tgid)
{
	return hash_find(&prober->targets_index, hash_u64(tgid), same_tgid, prober, &tgid) !=
	       HASH_NONE;
}

void prober_add_target(struct prober *prober, uint32_t tgid)
{
	if (is_listed(prober, tgid))
		return;
	hash_insert(&prober->targets_index, hash_u64(tgid), prober->targets.nr);
	vec_push(&prober->targets, tgid);
}

static bool is_target(struct prober *prober, const struct process *process)
{
	if (prober->all || is_listed(prober, process->tgid))
		return true;
	if (!prober->follow_forks || !is_listed(prober, process->parent_tgid))
		return false;
	prober_add_target(prober, process->tgid);
	return true;
}

/* Whose quota a file of tgid counts for: its user's, or its own where probes are for one process. */
static uint32_t quota_of(struct prober *prober, uint32_t tgid)
{
	if (!prober->all && !prober->follow_forks)
		return tgid;
	if (prober->last_tgid == tgid)
		return prober->last_uid;
	prober->last_tgid = tgid;
	if (traits_uid(prober->proc_root, tgid, &prober->last_uid))
		prober->last_uid = UID_UNKNOWN;
	return prober->last_uid;
}

static bool is_known_allocator(const char *path)
{
	static const char *const names[] = {"libc.so",	   "libc-2.",	  "ld-musl-",
					    "libjemalloc", "libtcmalloc", "libmimalloc"};
	const char *name = text_base_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* One more process maps a file that is known already. */
static void use(struct prober *prober, struct candidate *candidate, uint32_t user)
{
	bool is_new = candidate->last_user != user;

	candidates_use(&prober->candidates, candidate, user);
	if (candidate->state == CANDIDATE_CLOSED && files_fd(prober->files, candidate->file) >= 0)
		candidates_again(&prober->candidates, candidate);
	if (candidate->state != CANDIDATE_BEYOND || !is_new)
		return;
	/* Its first user has too many; this one may have room for it. */
	candidate->uid = quota_of(prober, user);
	if (candidates_has_room(&prober->candidates, candidate->uid))
		candidates_again(&prober->candidates, candidate);
}

/* tgid: 0 if it is probed in every process. */
static void note(struct prober *prober, uint32_t tgid, uint32_t user, uint32_t file,
		 uint64_t mapped_bytes)
{
	struct candidate *candidate;

	if (file == FILE_NONE)
		return;
	candidate = candidates_find(&prober->candidates, 0, file);
	if (!candidate)
		candidate = candidates_find(&prober->candidates, tgid, file);
	if (candidate)
		use(prober, candidate, user);
	else
		candidates_add(
			&prober->candidates,
			&(struct candidate){
				.tgid = tgid,
				.file = file,
				.uid = quota_of(prober, user),
				.last_user = user,
				.is_known = is_known_allocator(files_path(prober->files, file)),
				.mapped_bytes = mapped_bytes,
			});
}

static void say_where(const struct reply_sites *allocator, const char *path)
{
	for (size_t i = 0; i < allocator->nr; i++)
		detail("probing %s+%u at offset %#lx of %s%s", allocator->functions[i],
		       allocator->offsets[i], allocator->sites[i].file_off, path,
		       allocator->sites[i].is_leaf ? " (a leaf)" : "");
}

static void drop_frees(struct reply_sites *allocator)
{
	size_t kept = 0;

	for (size_t i = 0; i < allocator->nr; i++) {
		if (allocator->sites[i].shape == SHAPE_FREE ||
		    allocator->sites[i].shape == SHAPE_SAMPLED_FREE ||
		    allocator->sites[i].shape == SHAPE_MOVED)
			continue;
		memcpy(allocator->functions[kept], allocator->functions[i],
		       sizeof(allocator->functions[i]));
		allocator->offsets[kept] = allocator->offsets[i];
		allocator->sites[kept++] = allocator->sites[i];
	}
	allocator->nr = kept;
}

/* libcprof-heap.so: its callers are seen in the allocator that it calls. */
static bool samples_itself(const struct reply_sites *allocator)
{
	return allocator->nr && allocator->sites[0].shape >= SHAPE_SAMPLED;
}

static bool samples_inside(const struct prober *prober)
{
	return prober->is_inside || prober->is_injected;
}

/* While a file is parsed, side-band events are read. */
static bool keep_up(void *ctx)
{
	const struct prober *prober = ctx;

	workbudget_is_over(prober->budget);
	return false;
}

/* Finds the allocator in a file, nr 0 if there is none. -errno: there is no answer, and may be one. */
static int examine(struct prober *prober, uint32_t file, struct reply_sites *allocator)
{
	int err;

	parser_while_waiting(prober->parser, (struct peer_idle){keep_up, prober});
	*allocator = (struct reply_sites){0};
	err = parser_sites(prober->parser, file, files_fd(prober->files, file), allocator);
	if (!prober->managed)
		prober->managed = managed_of(allocator->is_go, files_path(prober->files, file));
	if (prober->allocs_only)
		drop_frees(allocator);
	if (samples_itself(allocator) &&
	    !(samples_inside(prober) && file == prober->served.library))
		allocator->nr = 0;
	prober->has_nameless |= allocator->is_nameless;
	return err == -ENOEXEC ? 0 : err;
}

static enum candidate_state state_attached(struct prober *prober, struct candidate *candidate,
					   const struct reply_sites *allocator, int err)
{
	const char *path = files_path(prober->files, candidate->file);

	candidate->err = err;
	if (err) {
		detail("cannot probe the allocator in '%s': %s", path, unprobed_error(err));
		return err == -EINPROGRESS ? CANDIDATE_HELD : CANDIDATE_REFUSED;
	}
	say_where(allocator, path);
	prober->nr_sites += allocator->nr;
	return CANDIDATE_PROBED;
}

/* Whether the kernel is done with the file before. */
static bool is_free(struct prober *prober)
{
	int err = session_probe_more(prober->session);
	struct candidate *candidate = &prober->candidates.all.at[prober->held.candidate];

	if (err == -EINPROGRESS)
		return false;
	if (prober->held.is_any)
		candidate->state = state_attached(prober, candidate, &prober->held.allocator, err);
	prober->held.is_any = false;
	return true;
}

static enum candidate_state attach(struct prober *prober, struct candidate *candidate,
				   const struct reply_sites *allocator)
{
	int err;

	if (files_is_copy(prober->files, candidate->file))
		err = -EREMOTE;
	else if (!candidates_admit(&prober->candidates, candidate))
		return CANDIDATE_BEYOND;
	else
		err = session_probe(prober->session, allocator->sites, allocator->nr,
				    files_fd(prober->files, candidate->file), candidate->tgid);
	if (err == -EINPROGRESS) {
		prober->held.is_any = true;
		prober->held.candidate = candidate - prober->candidates.all.at;
		prober->held.allocator = *allocator;
	}
	return state_attached(prober, candidate, allocator, err);
}

/* A file that is gone is nobody's loss that could be helped; one that cprof cannot open is. */
static enum candidate_state state_unopened(struct candidate *candidate, int err)
{
	switch (err) {
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -EACCES:
	case -EPERM:
	case -EFBIG:
		candidate->err = err;
		return CANDIDATE_CLOSED;
	default:
		return CANDIDATE_NONE;
	}
}

static enum candidate_state probe(struct prober *prober, struct candidate *candidate)
{
	int fd = files_fd(prober->files, candidate->file), err;
	struct reply_sites allocator;
	struct statx st;

	if (fd < 0)
		return state_unopened(candidate, files_error(prober->files, candidate->file));
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) ||
	    !candidates_stands_for(&prober->candidates, candidate,
				   makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino))
		return CANDIDATE_NONE;
	err = examine(prober, candidate->file, &allocator);
	candidate->err = err;
	if (err)
		return CANDIDATE_REFUSED;
	if (prober->is_injected && candidate->file != prober->served.library) {
		prober->nr_allocators += allocator.nr > 0;
		return CANDIDATE_NONE;
	}
	return allocator.nr ? attach(prober, candidate, &allocator) : CANDIDATE_NONE;
}

void prober_recognize(struct prober *prober, const struct process *process,
		      const struct mapping *map)
{
	if (!prober->managed && map->file != FILE_NONE && is_target(prober, process))
		prober->managed = managed_of(false, files_path(prober->files, map->file));
}

static void note_unserved(struct prober *prober, const struct process *process,
			  const struct mapping *map)
{
	struct served_answer answer = served_on_map(&prober->served, process, map->file);
	uint64_t mapped_bytes = map->limit - map->start;

	prober_recognize(prober, process, map); /* most files are never examined */
	note(prober, 0, process->tgid, answer.everywhere, mapped_bytes);
	for (size_t i = 0; i < 2; i++)
		note(prober, process->tgid, process->tgid, answer.in_it_alone[i], mapped_bytes);
}

/*
 * Probes for one process are placed in the memory of its first thread. When that one has ended, and others live, it has
 * none: then they are for all processes, of which BPF chooses the target.
 */
static uint32_t probed_in(const struct prober *prober, uint32_t tgid)
{
	struct proc_stat stat;

	if (prober->all || prober->follow_forks)
		return 0;
	return procfs_stat(prober->proc_root, tgid, &stat) || stat.state != 'Z' ? tgid : 0;
}

void prober_on_map(void *ctx, const struct process *process, const struct mapping *map)
{
	struct prober *prober = ctx;

	if (!is_target(prober, process))
		return;
	if (prober->is_inside)
		note_unserved(prober, process, map);
	else
		note(prober, probed_in(prober, process->tgid), process->tgid, map->file,
		     map->limit - map->start);
}

uint32_t prober_file(struct prober *prober, uint32_t tgid, const char *path, size_t *bytes)
{
	bool is_copy; /* which is not probed, and has another inode */
	int fd scoped(closep) = opener_of_host(files_opener(prober->files), path, &is_copy);
	char whole[PATH_MAX];
	struct map_event map = {.path = whole};
	struct statx st;

	if (fd < 0 || is_copy || vetted_path(fd, whole, sizeof(whole)) ||
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_SIZE, &st))
		return FILE_NONE;
	map.dev_major = st.stx_dev_major;
	map.dev_minor = st.stx_dev_minor;
	map.inode = st.stx_ino;
	*bytes = st.stx_size;
	return files_of(prober->files, tgid, &map);
}

void prober_expect(struct prober *prober, uint32_t tgid, const char *path)
{
	size_t bytes = 0;
	uint32_t file = prober_file(prober, tgid, path, &bytes);

	note(prober, probed_in(prober, tgid), tgid, file, bytes);
}

int prober_serve(struct prober *prober, const char *path)
{
	uint32_t target = prober->is_injected ? probed_in(prober, prober->targets.at[0]) : 0;
	size_t bytes = 0;
	uint32_t file = prober_file(prober, getpid(), path, &bytes);

	if (file == FILE_NONE)
		return -ENOENT;
	prober->served.library = file;
	note(prober, target, getpid(), file, bytes);
	return 0;
}

void prober_work(struct prober *prober)
{
	struct candidate *next;

	/* An answer about a file comes from a new parser, which cannot be forked while the kernel is held (collect/attacher.h). */
	while (prober_has_work(prober) && !workbudget_is_over(prober->budget) && is_free(prober)) {
		next = candidates_next(&prober->candidates);
		if (next)
			next->state = probe(prober, next);
	}
}

bool prober_has_work(const struct prober *prober)
{
	return prober->candidates.queue.nr || prober->held.is_any;
}

char *prober_unprobed(const struct prober *prober, char *out, size_t out_bytes)
{
	return unprobed_words(&prober->candidates, prober->files, out, out_bytes);
}

void prober_release(struct prober *prober)
{
	vec_release(&prober->targets);
	hash_release(&prober->targets_index);
	candidates_release(&prober->candidates);
	served_release(&prober->served);
}
