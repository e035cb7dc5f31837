// SPDX-License-Identifier: BSD-2-Clause
// Code in which most instructions come from functions inlined into functions that were inlined.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct deep {
	static inline __attribute__((always_inline)) unsigned go(unsigned x)
	{
		return deep<N - 1>::go(x * 31 + N) ^ (x >> 3);
	}
};
template <> struct deep<0> {
	static inline __attribute__((always_inline)) unsigned go(unsigned x)
	{
		return x + 7;
	}
};

namespace
{
struct item {
	std::string key;
	int number;

	bool operator<(const item &other) const
	{
		return key < other.key;
	}
};
}

static std::vector<item> make(int n)
{
	std::vector<item> items;

	for (int i = 0; i < n; i++)
		items.push_back({ std::to_string(deep<12>::go((unsigned)i)), i });
	std::sort(items.begin(), items.end());
	return items;
}

template <class F> static unsigned twice(F f)
{
	return f(1) + f(2);
}

// Of which gcc makes parts: cold ones, and copies for constants.
__attribute__((noinline)) static int parse(const std::string &text, int base)
{
	int value = 0;

	for (char c : text) {
		if (c < '0' || c > '9')
			throw std::invalid_argument(text);
		value = value * base + (c - '0');
	}
	return value;
}

int main(int argc, char **argv)
{
	auto items = make(argc * 1000);
	std::map<std::string, std::shared_ptr<item>> by_key;
	std::unordered_map<int, std::vector<std::string>> by_length;
	std::function<unsigned(unsigned)> f = [&](unsigned x) {
		return deep<5>::go(x) + (unsigned)by_key.size();
	};
	unsigned total = twice(f) + twice([&](unsigned x) { return deep<4>::go(x + total); });

	for (auto &i : items) {
		by_key[i.key] = std::make_shared<item>(i);
		by_length[(int)i.key.size()].push_back(i.key + argv[0]);
	}
	for (auto &p : by_key)
		total += (unsigned)(p.second->number + parse(p.first, 10));
	for (auto &p : by_length)
		std::stable_sort(p.second.begin(), p.second.end());
	std::printf("%u %zu\n", total, by_length.size());
	return 0;
}
