#!/usr/bin/env python3
"""Makes the initial corpora of the fuzz targets for the formats before profile.proto, perf script and folded.

	tests/fuzz/make_legacy_corpus.py	writes below tests/fuzz/corpus/
"""
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
MAPS = (b"build=/home/me\n"
        b"00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/app (deleted)\n"
        b"00500000-00600000 rw-p 00100000 08:01 12 /usr/bin/app\n"
        b"I0102 12:00:00.1 1 f.cc:12] 7f00-7f80: $build/lib.so (@1000) abc123\n")


def words(order, size, values):
    return b"".join(struct.pack(order + {4: "I", 8: "Q"}[size], v) for v in values)


PLACES = (b" 0x0000003 com.example.f (source.java:3)\n 0x0000004 Gen::g (/usr/lib/libjvm.so)\n"
          b" 0x0000005 generated stub/JIT\n 0x0000006 GC\n")
CPU = [0, 3, 0, 10000, 0, 5, 3, 0x400010, 0x400011, 0x400201, 7, 3, 0x400014, 0x400101, 0x400301,
       1, 1, 0x400018, 0, 1, 0]

SEEDS = {
    "legacy_cpu": {f"{order}{size}".replace("<", "little").replace(">", "big"):
                   words(order, size, CPU) + MAPS for order in "<>" for size in (4, 8)}
                  | {"java": words("<", 4, [0, 3, 1, 10000, 0, 5, 2, 3, 4, 0, 1, 0]) + PLACES},
    "legacy_java": {
        "heap": b"--- heapz 1 ---\nformat = java\nresolution = bytes\n  7048  1 @ 0x00000003 0x00000004\n\n"
                + PLACES,
        "contention": b"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100"
                      b"\nms since reset = 6019\n  14  2 @ 0x00000003 0x00000005 0x00000009\n\n" + PLACES,
    },
    "legacy_heap": {
        "go": b"heap profile: 3: 3072 [4: 4096] @ heap/1048576\n3: 3072 [4: 4096] @ 0x400201 "
              b"0x400101\n# VmRSS = 5 kB\nMAPPED_LIBRARIES:\n" + MAPS,
        "v2": b"heap profile: 3: 3072 [3: 3072] @ heap_v2/524288\n3: 3072 [3: 3072] @ 0x400201\n"
              b"--- Memory map: ---\n" + MAPS,
        "growth": b"heap profile:  -3: -72 [ 3: 72] @ growthz\n  -3: -72 [ 3: 72] @ 0x400201\n",
        "jemalloc": b"heap_v2/524288\n  t*: 13: 6688 [1: 2]\n  t0: 13: 6688 [1: 2]\n@ 0x400201 "
                    b"0x400101\n  t*: 3: 3072 [1: 2]\n  t0: 3: 3072 [1: 2]\n\nMAPPED_LIBRARIES:\n"
                    + MAPS,
    },
    "legacy_contention": {
        "cpp": b"--- contentionz 1 ---\ncycles/second=3201000000\nsampling period=100\nms since "
               b"reset=16502830\ndiscarded samples=0\n19490304 27 @ 0x400201 0x400301\n"
               b"--- Memory map: ---\n" + MAPS,
        "go": b"--- mutex:\ncycles/second=2000000000\nsampling period=1\n4000 27 @ 0x400201\n"
              b"#\t0x400200\tmain.f+0x1\t/src/main.go:4\n",
    },
    "legacy_threads": {
        "threadz": b"--- threadz 1 ---\n\n--- Thread 7f794ab90940 (name: main/14748) stack: ---\n"
                   b"  PC: 0x00400201: helper(arg *)\n  0x400301: main\n--- Thread 7f79 (name: "
                   b"p/14751) stack: ---\n    [same as previous thread]\n---- no stack trace for "
                   b"x ---\n--- Memory map: ---\n" + MAPS,
    },
    "legacy_count": {
        "goroutine": b"goroutine profile: total 7\n3 @ 0x400201 0x400101\n#\t0x400200\tmain.f+0x1"
                     b"\t/src/main.go:4\n\n4 @ 0x400301\n",
    },
    "perfscript": {
        "stacks": b"# captured\nmy app: 2 20618/20619 [001]  5213.000001:   10101010 cpu-clock:"
                  b"pppH: \n\t    55d0c0de1234 helper(int)+0x14 (/usr/bin/app (deleted))\n\t"
                  b"    7f3a5c0a1235 inner (inlined)\n\t    7f3a5c0a1235 outer+0x1c (/lib/a.so)\n"
                  b"  foo.c:12\n\napp     7  5214.000001:          3   page-faults:u: \n\t"
                  b"    55d0c0de1234 [unknown] ([unknown])\n",
        "flat": b"swapper     0 [000]  5213.500001:   10101010 sched:sched_switch: "
                b"ffffffff81000010 default_idle+0x10 ([kernel.kallsyms])\n",
    },
    "folded": {
        "stacks": b"main;work;operator new(unsigned long) 12\nmain;;work 3\n# comment\nmain -4\n",
    },
}

for target, files in SEEDS.items():
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
