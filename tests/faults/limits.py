# SPDX-License-Identifier: BSD-2-Clause
"""F10 to F15: stores that are full, and a consumer or a kernel that does not keep up."""
import re
import signal
import time

import harness as h
from fault import existing, fault, number_in, words
from machine import lines, went_well

MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"


@fault
def f10_no_work_space():
    """no work space for a stack (there is no stack map whose entries could collide)"""
    return existing("test_heap_limits", "no_work_space")


@fault
def f11_counts_full():
    """the aggregation map is full"""
    existing("test_record_limits", "aggregation_map_of_16")
    return existing("test_heap_limits", "aggregation_map_of_16")


@fault
def f12_live_blocks_full():
    """the map of live blocks and that of calls under way are full"""
    return existing("test_heap_limits", "live_map_of_16", "one_call_in_flight", "returns_that_never_come")


@fault
def f13_event_ring_full():
    """the event ring is full; then all stores at once"""
    existing("test_record_limits", "event_ring_of_4096_bytes", "both_at_once")
    return existing("test_heap_limits", "event_ring_of_4096_bytes", "all_at_once")


@fault
def f14_consumer_is_stopped():
    """cprof is stopped for 5 s, in which its event ring fills up"""
    target = h.Workload("stacks", 600)
    run = h.cprof("record", "-F", "999", "--limit", "events=65536", "-p", target.pid).attached()
    target.uses(0.3)
    run.signal(signal.SIGSTOP)
    time.sleep(5)
    target.uses(0.5)  # thousands of stacks, of which the ring holds hundreds
    run.signal(signal.SIGCONT)
    run.snapshot(1)
    target.uses(0.3)
    ended = run.stop()
    lost = ended.closing.reasons.get(h.loss_texts()["EVENTS_FULL"], 0)
    assert lost > 0, ended.lines[-6:]
    before, after = ended.windows()
    told = h.number(re.search(r"event ring full ([\d,]+)", " ".join(before["comments"]))[1])
    assert 0 < told <= lost, (told, lost)  # in the file that lacks them, too
    assert h.total(after, "samples") > 30, h.total(after, "samples")
    return f"{words()}; after that it goes on: {h.total(after, 'samples')} samples"


@fault
def f15_rate_beyond_the_limit():
    """a rate above kernel.perf_event_max_sample_rate, one as high as that, and a limit that falls in mid-run"""
    existing("test_record_limits", "the_limit_of_the_rate_falls")
    most = number_in(MAX_RATE)
    target = h.Workload("hot", 600)
    h.cprof("record", "-F", most + 1, "-p", target.pid, verbose=False).wait().refused(2, "perf_event_max_sample_rate")
    said = words()
    highest = min(most, 20000)  # more is a load on the machine, not a test of cprof
    run = h.cprof("record", "-F", highest, "-p", target.pid).attached()
    target.uses(0.3)
    profile = run.stop().profile()
    assert profile["period"] == 10 ** 9 // highest, profile["period"]
    at_limit = words()
    went_well("none", "record_throttled")
    return f"{said} At {highest} Hz: {at_limit}. Throttled: {lines('none', 'record-throttled', 'ticks a second')}"
