// SPDX-License-Identifier: BSD-2-Clause
// containers: waits for a line, and ends then. Functions that allocate through C++'s containers, and code of theirs that the library
// calls back. Every one is the answer to the question who allocates.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload.h"

struct Thing {
	char *bytes;
	explicit Thing(int size) : bytes(new char[size]) {}
	Thing(Thing &&other) : bytes(other.bytes) { other.bytes = nullptr; }
	~Thing() { delete[] bytes; }
};

static void grow_vector(std::vector<std::pair<int, std::string>> &to)
{
	for (int i = 0; i < 1000; i++)
		to.push_back({i, ""});
}

static void join_strings(std::string &to)
{
	for (int i = 0; i < 1000; i++)
		to += "a text that is longer than what a string keeps in itself";
}

static void fill_maps(std::map<int, long> &tree, std::unordered_map<std::string, long> &table)
{
	for (int i = 0; i < 500; i++) {
		tree[i] = i;
		table[std::to_string(1000000000000000 + i)] = i;
	}
}

static void emplace_things(std::vector<Thing> &to)
{
	to.reserve(100);
	for (int i = 0; i < 100; i++)
		to.emplace_back(500);
}

static void for_each_of(std::vector<int> &from, std::vector<std::vector<int>> &to)
{
	to.reserve(from.size());
	std::for_each(from.begin(), from.end(), [&](int nr) { to.push_back(std::vector<int>(nr)); });
}

static void share(std::vector<std::shared_ptr<long>> &to)
{
	to.reserve(100);
	for (int i = 0; i < 100; i++)
		to.push_back(std::make_shared<long>(i));
}

int main()
{
	wait_for_line("waits");

	std::vector<std::pair<int, std::string>> pairs;
	std::string text;
	std::map<int, long> tree;
	std::unordered_map<std::string, long> table;
	std::vector<Thing> things;
	std::vector<int> sizes(100, 250);
	std::vector<std::vector<int>> vectors;
	std::vector<std::shared_ptr<long>> shared;

	grow_vector(pairs);
	join_strings(text);
	fill_maps(tree, table);
	emplace_things(things);
	for_each_of(sizes, vectors);
	share(shared);
	return pairs.empty() + text.empty();
}
