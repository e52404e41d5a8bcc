// SPDX-License-Identifier: BSD-2-Clause
// newdelete: C++'s own allocation. Says {"ready": PID} and waits for a line; then what a heap profile
// at rate 1 holds of site_new, as allocs does; {"done": PID}, and waits for another.
#include <cstdio>
#include <memory>
#include <new>
#include <poll.h>
#include <unistd.h>
#include <vector>

struct Thing {
	char bytes[120];
};

static std::vector<std::unique_ptr<Thing>> things;
static char *volatile last; // or the compiler leaves pairs of new and delete out

static void site_new(int nr)
{
	for (int i = 0; i < nr; i++)
		things.emplace_back(new Thing());
}

static void site_array(int nr)
{
	for (int i = 0; i < nr; i++)
		delete[] (last = new char[1000]);
}

static void wait_for_line(const char *what)
{
	struct pollfd line = {STDIN_FILENO, POLLIN, 0};
	char c;

	printf("{\"%s\": %d}\n", what, (int)getpid());
	fflush(stdout);
	poll(&line, 1, -1); // where cprof heap --inject can let it make a call
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

int main()
{
	things.reserve(1000);
	wait_for_line("ready");
	site_new(1000);
	things.resize(400);
	site_array(500);
	printf("{\"site_new(int)\": {\"objects\": 1000, \"bytes\": 120000, \"live_objects\": 400, "
	       "\"live_bytes\": 48000}, \"site_array(int)\": {\"objects\": 500, \"bytes\": 500000, "
	       "\"live_objects\": 0, \"live_bytes\": 0}}\n");
	wait_for_line("done");
	return 0;
}
