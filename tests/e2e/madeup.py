# SPDX-License-Identifier: BSD-2-Clause
"""Profiles made up at random, small but with everything that is hard to show: recursion, inlined
functions, several files, locations without a name, samples without a stack, labels, odd names."""
import gzip
import random

from contract import encode

NAMES = ["main", "run", "parse", "read line", "std::map<int, long>::find(int const&)", "f;g",
         "evil\x1b[31mname", "back\\slash", "<script>&", "é\u2028ü", "alloc", "free", "operator new(unsigned long)",
         "x", "y", "z"]
FILES = ["./src/a.c", "/usr/src//b.c", "../c/../d.c", "", "/tmp/e.c"]
PATHS = ["/usr/bin/app", "/usr/lib/libc.so.6", "[kernel.kallsyms]", ""]


class Strings:
    def __init__(self):
        self.index = {"": 0}

    def __call__(self, text):
        return self.index.setdefault(text, len(self.index))

    def table(self):
        return [text.encode() for text in self.index]


def madeup(seed, negative=False, addresses=True, comms=("nginx", "php"), by=""):
    """The bytes of a profile: two values, samples/count and cpu/nanoseconds. by: for its comment."""
    rand, string = random.Random(seed), Strings()
    functions = [{"id": i + 1, "name": string(name), "system_name": string(name),
                  "filename": string(rand.choice(FILES)), "start_line": i}
                 for i, name in enumerate(NAMES)]
    mappings = [{"id": i + 1, "memory_start": (i + 1) << 20, "memory_limit": (i + 2) << 20,
                 "filename": string(path), "build_id": string("%040x" % (0x1234567 << i)),
                 "has_functions": True}
                for i, path in enumerate(PATHS)]
    locations = []
    for i in range(60):
        mapping = rand.randint(1, len(mappings))
        nr_lines = rand.choice([0, 1, 1, 1, 1, 2, 3])
        locations.append({
            "id": i + 1, "mapping_id": mapping,
            "address": (mapping << 20) + 16 * i if addresses else 0,
            "line": [{"function_id": rand.randint(1, len(functions)), "line": rand.randint(0, 9)}
                     for _ in range(nr_lines)]})
    samples = []
    for i in range(rand.randint(1, 200)):
        value = rand.choice([0, 1, 3, 50, 2000]) * (rand.choice([1, 1, -1]) if negative else 1)
        samples.append({
            "location_id": [rand.randint(1, rand.choice([3, 60])) for _ in range(rand.randint(0, 12))],
            "value": [value, value * 10101010],
            "label": [{"key": string("comm"), "str": string(rand.choice(comms))},
                      {"key": string("pid"), "num": rand.choice([7, 8])}]})
    types = [{"type": string("samples"), "unit": string("count")},
             {"type": string("cpu"), "unit": string("nanoseconds")}]
    return gzip.compress(encode({
        "sample_type": types, "sample": samples, "mapping": mappings, "location": locations,
        "function": functions, "time_nanos": 1_700_000_000 * 10**9, "duration_nanos": 10**9 * seed,
        "period_type": types[1], "period": 10101010, "comment": [string(f"{by}made up {seed}")],
        "string_table": string.table()}))
