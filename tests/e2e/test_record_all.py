#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof record -a: a file for each busy process, and none for the others."""
import os

import harness as h


@h.test
def a_file_for_each_busy_process():
    busy = [h.Workload("hot", 60), h.Workload("hot", 60), h.Workload("exiter", 60)]
    idle = h.Workload("idle")
    idle.sleeps()
    folder = os.path.join(h.folder(), "all")
    run = h.cprof("record", "-a", "-F", "499", "-o", folder).attached()
    for target in busy:
        target.uses(0.3)
    profiles = run.stop().profiles()
    assert sorted(map(os.path.basename, profiles)) == sorted(os.listdir(folder))
    for target in busy:
        comm = os.path.basename(target.process.args[0])
        path = os.path.join(folder, f"cprof.cpu.{comm}.{target.pid}.pb.gz")
        assert path in profiles, sorted(profiles)
        assert h.labels(profiles[path], "pid") == {target.pid}
        assert h.share(profiles[path], "samples", "hot", "busy_until_the_end") > 0.8
    assert not [path for path in profiles if f".idle.{idle.pid}." in path]


@h.test
def all_into_one_file():
    first, second = h.Workload("hot", 60), h.Workload("exiter", 60)
    run = h.cprof("record", "-a", "-F", "499").attached()
    for target in first, second:
        target.uses(0.2)
    profile = run.stop().profile()
    assert {first.pid, second.pid} <= h.labels(profile, "pid")


@h.test
def two_at_a_time():
    """Two profilers do not disturb each other, nor profile themselves."""
    h.Workload("hot", 60)
    runs = [h.cprof("record", "-a", "-F", "499", "-d", "1s") for _ in range(2)]
    for run in runs:
        profile = run.wait().profile()
        assert run.pid not in h.labels(profile, "pid")


h.main()
