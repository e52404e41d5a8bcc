#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --mode probe: the cases of the other heap tests that launch a command. Those run them in the default mode,
which samples inside."""
import os

os.environ["HEAP_MODE"] = "probe"

import harness as h  # noqa: E402
import test_heap_allocators  # noqa: E402, F401
import test_heap_exact  # noqa: E402, F401
import test_heap_fork  # noqa: E402, F401
import test_heap_life  # noqa: E402, F401

LAUNCHES = {"counts_and_bytes_of_a_launched_command", "leaf_is_the_allocator", "a_launched_server",
            "leaks_of_a_command", "linked_in", "static", "static_with_musl", "a_library",
            "a_library_by_its_search_path", "preloaded", "a_script", "with_jemalloc", "exec_in_mid_profile",
            "output_of_the_target_is_the_same"}
h.cases[:] = [case for case in h.cases if case.__name__ in LAUNCHES]

h.main()
