// SPDX-License-Identifier: BSD-2-Clause
/* The bounding set goes first, since that takes CAP_SETPCAP. */
#include "sandbox/narrow.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static const uint8_t kept[] = {
	/* tables and maps, probes, the events of CPUs that come online */
	CAP_BPF,
	CAP_PERFMON,
	CAP_IPC_LOCK,
	/* files and mappings of processes that come later */
	CAP_SYS_PTRACE,
	CAP_DAC_READ_SEARCH,
	CAP_CHECKPOINT_RESTORE,
	/* /proc/kallsyms, read at the end */
	CAP_SYSLOG,
	/* cprof's own priority, and the end of its command */
	CAP_SYS_NICE,
	CAP_KILL,
	/* output where root may write, given to the user behind sudo */
	CAP_DAC_OVERRIDE,
	CAP_CHOWN,
	CAP_FOWNER,
};

/* CAP_SYS_ADMIN serves in place of each of these. */
static const uint8_t once_admin[] = {CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE};

static bool lacks_any(uint64_t permitted)
{
	for (size_t i = 0; i < sizeof(once_admin); i++)
		if (!(permitted >> once_admin[i] & 1))
			return true;
	return false;
}

static void drop_from_bounding_set(uint64_t keep)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int narrow_main(bool administers)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint64_t keep = 0;
	int err = 0;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	if (administers || lacks_any(data[0].permitted | (uint64_t)data[1].permitted << 32))
		keep |= 1ull << CAP_SYS_ADMIN;
	for (size_t i = 0; i < sizeof(kept); i++)
		keep |= 1ull << kept[i];
	drop_from_bounding_set(keep);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	for (int i = 0; i < 2; i++) {
		uint32_t mask = keep >> 32 * i;

		data[i].effective &= mask;
		data[i].permitted &= mask;
		data[i].inheritable &= mask;
	}
	return syscall(SYS_capset, &header, data) ? -errno : err;
}
