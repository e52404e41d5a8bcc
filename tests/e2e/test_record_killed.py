#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record, killed at random moments: the target goes on, and no BPF program or link stays (kills.py)."""
import harness as h
import kills


@h.test
def killed_at_random_moments():
    target = h.Workload("hot", 1e6)
    kills.kill_at_random_moments(lambda: h.cprof("record", "-F", "499", "-p", target.pid),
                                 r"^cprof: sampling stacks on the CPU$", target, kills.objects_of)


h.main()
