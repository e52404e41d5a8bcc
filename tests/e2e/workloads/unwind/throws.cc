/* CFLAGS: -O2 -fomit-frame-pointer */
/*
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Exceptions thrown through 20 frames of dive() with destructors to run: the time goes into
 * libgcc's unwinder.
 */
#include <cstdlib>
#include <ctime>
#include <stdexcept>

static volatile int cleaned;

struct Guard {
	~Guard()
	{
		cleaned = cleaned + 1;
	}
};

__attribute__((noipa)) static void dive(int left)
{
	Guard guard;

	if (!left)
		throw std::runtime_error("bottom");
	dive(left - 1);
}

__attribute__((noipa)) static void try_it()
{
	try {
		dive(20);
	} catch (const std::exception &) {
		cleaned = 0;
	}
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 2;

	while (clock() < seconds * CLOCKS_PER_SEC)
		try_it();
	return 0;
}
