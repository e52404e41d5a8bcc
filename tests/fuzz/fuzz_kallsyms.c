// SPDX-License-Identifier: BSD-2-Clause
/* The input is the text of /proc/kallsyms. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "object/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = {0,	    1, 0x10, 0xffffffff81000000, 0xffffffffc0000000,
					 UINT64_MAX};
	static int fd = -1;
	struct kallsyms *kallsyms = NULL;
	struct kernel_symbol symbol;
	uint64_t addr;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (kallsyms_read(fd, &kallsyms))
		return 0;
	if (!kallsyms_nr(kallsyms))
		abort();
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		if (kallsyms_find(kallsyms, addrs[i], &symbol) &&
		    (symbol.addr > addrs[i] || !strlen(symbol.name)))
			abort();
	if (kallsyms_lookup(kallsyms, "_text", &addr) && kallsyms_find(kallsyms, addr, &symbol) &&
	    symbol.addr != addr)
		abort();
	kallsyms_free(kallsyms);
	return 0;
}
