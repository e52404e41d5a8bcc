// SPDX-License-Identifier: BSD-2-Clause
/*
 * <linux/landlock.h> of an older system lacks what newer kernels know, so the few numbers stand here. A kernel takes a
 * shorter struct than its own, but no bit that it does not know.
 */
#include "sandbox/landlock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ruleset {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

#define RULE_PATH_BENEATH 1
#define VERSION		  1u

enum {
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	REFER = 1 << 13,    /* ABI 2: rename from one folder to another */
	TRUNCATE = 1 << 14, /* ABI 3 */
};

/* By version of the ABI; 0: there is none. */
static const struct known {
	uint64_t files, net, scoped;
	size_t bytes; /* of the struct */
} by_abi[] = {
	{},
	{(1 << 13) - 1, 0, 0, 8},
	{(1 << 14) - 1, 0, 0, 8},
	{(1 << 15) - 1, 0, 0, 8},
	{(1 << 15) - 1, 3, 0, 16},
	{(1 << 16) - 1, 3, 0, 16},
	{(1 << 16) - 1, 3, 3, 24},
};

static uint64_t accesses(unsigned int uses)
{
	uint64_t access = 0;

	if (uses & LANDLOCK_READ)
		access |= READ_FILE | READ_DIR;
	if (uses & LANDLOCK_WRITE)
		access |= WRITE_FILE | TRUNCATE;
	if (uses & LANDLOCK_WRITE_BELOW)
		access |= WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REFER;
	return access;
}

static int grant_all(int ruleset, const struct landlock_grant *grants, size_t nr, uint64_t known)
{
	for (size_t i = 0; i < nr; i++) {
		struct path_beneath rule = {accesses(grants[i].uses) & known, grants[i].fd};

		if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0))
			return -errno;
	}
	return 0;
}

static int restrict_to(const struct landlock_grant *grants, size_t nr, bool only_files)
{
	const long newest = sizeof(by_abi) / sizeof(by_abi[0]) - 1;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION);
	const struct known *known = &by_abi[abi < 0 ? 0 : abi > newest ? newest : abi];
	struct ruleset rules = {known->files, only_files ? 0 : known->net,
				only_files ? 0 : known->scoped};
	long fd;
	int err;

	if (abi < 1)
		return abi < 0 ? -errno : -ENOSYS;
	fd = syscall(SYS_landlock_create_ruleset, &rules, known->bytes, 0);
	if (fd < 0)
		return -errno;
	err = grant_all(fd, grants, nr, known->files);
	if (!err && syscall(SYS_landlock_restrict_self, fd, 0))
		err = -errno;
	close(fd);
	return err;
}

int landlock_restrict(const struct landlock_grant *grants, size_t nr)
{
	return restrict_to(grants, nr, false);
}

int landlock_restrict_files(const struct landlock_grant *grants, size_t nr)
{
	return restrict_to(grants, nr, true);
}
