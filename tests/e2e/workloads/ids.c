/* SPDX-License-Identifier: BSD-2-Clause */
/* ids: says who it runs as. What `sudo cprof record -- CMD` must get right. */
#include <grp.h>

#include "workload.h"

int main(void)
{
	printf("{\"uid\": %d, \"gid\": %d, \"euid\": %d, \"groups\": %d}\n", (int)getuid(),
	       (int)getgid(), (int)geteuid(), getgroups(0, NULL));
	WORK(2000);
	return 0;
}
