/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hoard [COUNT]: holds COUNT blocks (1,100,000) of 16 bytes from the function `hoard`, a list of them.
 * Says {"ready": PID} and waits for a line; allocates; says {"full": PID} and waits; frees them all, says
 * {"done": PID}, and waits for another.
 */
#include "workload.h"

struct block {
	struct block *next;
};

static struct block *list;

static void hoard(int count)
{
	for (int i = 0; i < count; i++) {
		struct block *block = malloc(16);

		if (!block)
			abort();
		block->next = list;
		list = block;
	}
}

static void free_all(void)
{
	while (list) {
		struct block *next = list->next;

		free(list);
		list = next;
	}
}

int main(int argc, char **argv)
{
	int count = (int)number_arg(argc, argv, 1, 1100000);

	wait_for_line("ready");
	hoard(count);
	wait_for_line("full");
	free_all();
	wait_for_line("done");
	return 0;
}
