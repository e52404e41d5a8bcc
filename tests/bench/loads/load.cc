// SPDX-License-Identifier: BSD-2-Clause
// Something for a C++ compiler to think about: templates in depth, and code to optimise.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

template <int N> struct deep {
	template <typename... T> static auto make(T... t) { return deep<N - 1>::make(N, t...); }
};
template <> struct deep<0> {
	template <typename... T> static auto make(T... t) { return std::make_tuple(t...); }
};

template <typename T> T work(std::vector<T> values)
{
	std::map<T, std::vector<T>> groups;
	std::unordered_map<std::string, std::function<T(T)>> table;

	std::sort(values.begin(), values.end(), [](auto &a, auto &b) { return b < a; });
	for (auto &v : values)
		groups[v % 7].push_back(v);
	for (auto &[key, group] : groups)
		table[std::to_string(key)] = [front = group.front()](T x) { return x + front; };
	T sum = 0;
	for (auto &[name, fn] : table)
		if (std::regex_match(name, std::regex("[0-9]+")))
			sum += fn(std::stoi(name));
	return sum;
}

int main()
{
	auto tuple = deep<12>::make();
	auto shared = std::make_shared<std::mt19937>(std::get<0>(tuple));

	std::cout << work<int>({3, 1, 2}) + work<long>({3, 1, 2}) + work<short>({3, 1, 2}) +
			     work<unsigned>({5}) + work<unsigned long>({6}) + (*shared)();
}
