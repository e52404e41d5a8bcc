// SPDX-License-Identifier: BSD-2-Clause
/* A capability that is not permitted any more leaves the ambient set by itself. */
#include "sandbox/capset.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, data) ? -errno : 0;
}

static int set(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

uint64_t capset_permitted(void)
{
	struct __user_cap_data_struct data[2];

	return get(data) ? 0 : data[0].permitted | (uint64_t)data[1].permitted << 32;
}

int capset_use(uint64_t effective)
{
	struct __user_cap_data_struct data[2];
	int err = get(data);

	if (err)
		return err;
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted & effective >> 32 * i;
	return set(data);
}

void capset_bound(uint64_t keep)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int capset_keep(uint64_t keep)
{
	struct __user_cap_data_struct data[2];
	int err = get(data);

	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		uint32_t mask = keep >> 32 * i;

		data[i].effective &= mask;
		data[i].permitted &= mask;
		data[i].inheritable &= mask;
	}
	return set(data);
}
