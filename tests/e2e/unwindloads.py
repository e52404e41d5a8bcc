# SPDX-License-Identifier: BSD-2-Clause
"""What interpreters, a compiler and a database are given to do where their stacks are judged: deep and varied, for half a second."""

PYTHON = """
import json, re, time
now = time.process_time
def dive(n):
    return dive(n - 1) if n else sum(sorted(range(100), key=lambda x: -x))
end = now() + 0.4
while now() < end:
    dive(20)
    json.loads(json.dumps({str(i): i for i in range(100)}))
    re.sub("a(b|c)+", "x", "abcabcab" * 20)
"""

PERL = """
my $end = 0.5;
sub dive { my $n = shift; return $n ? dive($n - 1) : join(",", sort { $b <=> $a } map { $_ * 7 % 101 } 1 .. 100) }
while ((times)[0] < $end) { my $s = dive(20); $s =~ s/(\\d+),(\\d+)/$2-$1/g; my %h = map { $_ => 1 } split /-/, $s; }
"""

BASH = """
f() { [ $1 -gt 0 ] && f $(($1 - 1)) || { x=${y//a/b}; y=aaaa$1; [[ $x =~ b+a ]]; }; }
for ((i = 0; i < 1600; i++)); do f 12; done
true
"""

CXX = """
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct S { int x; bool operator<(const S &o) const { return x < o.x; } };
template <int N> int f() { std::map<S<N>, std::vector<S<N>>> m; m[{1}].push_back({2});
    std::sort(m[{1}].begin(), m[{1}].end()); return m.size() + f<N - 1>(); }
template <> int f<0>() { return std::regex_match("a", std::regex("a+")); }
int main() { return f<2>(); }
"""

SQL = """with recursive c(x) as (select 1 union all select x + 1 from c where x < 500000)
         select count(*), sum(length(hex(x))) from c;"""
