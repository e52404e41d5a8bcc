# SPDX-License-Identifier: BSD-2-Clause
"""F21 to F24: signals to cprof."""
import random
import signal
import time

import harness as h
from fault import existing, fault

KILLS = 20
SECONDS_TO_FILE, TRIES = 2, 10


def seconds_to_file(kind):
    """From SIGINT to the end of cprof, whose file is complete: the best of some, since others are busy on this machine, too."""
    target, best = h.Workload("churn", "0", "2"), h.HANGS
    target.says()
    target.go()
    for _ in range(TRIES):
        run = h.cprof(kind, "-p", target.pid, run_as=h.AHEAD_OF_OTHERS).attached()
        target.uses(0.3)
        start = time.monotonic()
        ended = run.stop()
        best = min(best, time.monotonic() - start)
        ended.profile()
        if best < SECONDS_TO_FILE:
            break
    target.process.kill()
    return best


@fault
def f21_interrupted_once():
    """SIGINT once, while it samples, before it does, and while it learns about code"""
    existing("test_cli_signals", "a_signal_before_sampling_begins")
    existing("test_record_start", "interrupted_in_the_midst_of_it")
    seen = existing("test_cli_signals", "interrupted_child_is_waited_for", "timeout_leaves_a_file")
    took = [seconds_to_file(kind) for kind in ("record", "heap")]
    assert max(took) < SECONDS_TO_FILE, took
    return f"{seen}; the file is there after {took[0]:.2f} s (record) and {took[1]:.2f} s (heap)"


@fault
def f22_interrupted_twice():
    """SIGINT twice, at once and seconds apart, and a third time"""
    return existing("test_cli_signals", "two_signals_at_once_are_one", "a_second_signal_does_not_wait_for_the_command",
                    "a_third_signal_gives_up_and_says_so")


@fault
def f23_terminated():
    """SIGTERM, and SIGHUP"""
    existing("test_heap_hostile", "a_signal_while_a_thousand_files_are_probed")
    return existing("test_cli_signals", "one_interrupt_writes_the_file")


@fault
def f24_killed():
    """SIGKILL at 20 random moments of record and of heap, half of them while it starts"""
    chance = random.Random(1)
    sampled = 0
    for kind in "record", "heap":
        target = h.Workload("churn", "0", "2")
        target.says()
        target.go()
        start = time.monotonic()
        h.cprof(kind, "-p", target.pid).attached().stop()
        startup = time.monotonic() - start
        for _ in range(KILLS):
            run = h.cprof(kind, "-p", target.pid)
            time.sleep(chance.uniform(0, 2 * startup))
            run.signal(signal.SIGKILL)
            run.process.wait()
            sampled += bool(h.ATTACHED.search(run.said()))
        before = target.used()
        target.uses(0.1)
        assert target.used() > before and target.process.poll() is None, "the target ended"
    return f"{2 * KILLS} kills, {sampled} of them while it sampled or later; the targets go on"
