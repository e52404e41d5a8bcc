#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap: the target is not disturbed, whatever happens to it or to cprof."""
import json
import signal
import subprocess
import time

import harness as h
import heaps


@h.test
def target_exits_by_itself():
    target = h.Workload("churn", "0.1", "2")
    run = heaps.watch(target, "--rate", "4096")
    assert h.by_function(run.wait().profile(), "alloc_objects")["churn"] > 0
    assert target.wait() == 0


@h.test
def cprof_is_killed():
    """The probes go with it; the target does not notice."""
    bare = subprocess.run([h.workload("allocs"), "100", "now"], stdout=subprocess.PIPE, check=True,
                          timeout=h.HANGS, text=True)
    for delay in (0.0, 0.01, 0.05):
        target = h.Workload("allocs")
        run = heaps.watch(target, "--rate", "1")
        time.sleep(delay)
        run.signal(signal.SIGKILL)
        assert target.says() == json.loads(bare.stdout)
        target.go()
        assert target.wait() == 0
        run.process.wait()


@h.test
def output_of_the_target_is_the_same():
    bare = subprocess.run([h.workload("allocs"), "20", "now"], stdout=subprocess.PIPE, check=True,
                          timeout=h.HANGS, text=True)
    run = h.cprof("heap", "--rate", "1", "--", h.workload("allocs"), "20", "now").wait()
    run.profile()
    assert run.out == bare.stdout, run.out


@h.test
def exec_in_mid_profile():
    """The blocks of the image before are gone with it, the allocator of the next one is found."""
    command = f"echo a | sed s/a/b/; exec {h.workload('allocs')} 5 now"
    run = h.cprof("heap", "--rate", "1", "--", "sh", "-c", command).wait()
    profile = run.profile()
    assert h.by_function(profile, "alloc_objects").get("site_a") == run.says()["site_a"]["objects"]


@h.test
def every_process():
    targets = [h.Workload("churn", "0.1", "1") for _ in range(2)]
    for target in targets:
        target.says()
    folder = h.folder()
    run = h.cprof("heap", "-a", "--max-overhead", "100", "--rate", "4096", "-o", folder).attached()
    for target in targets:
        target.go()
    for target in targets:
        assert target.wait() == 0
    profiles = run.stop().profiles()
    for target in targets:
        path = f"{folder}/cprof.heap.churn.{target.pid}.pb.gz"
        assert h.by_function(profiles[path], "alloc_objects")["churn"] > 0, sorted(profiles)


h.main()
