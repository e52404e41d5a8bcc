/* SPDX-License-Identifier: BSD-2-Clause */
/* idle: says {"ready": PID} and does nothing at all until a line comes on stdin. */
#include "workload.h"

int main(void)
{
	wait_for_line("ready");
	return 0;
}
