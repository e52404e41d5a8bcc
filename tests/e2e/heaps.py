# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the heap profiler share: workloads that wait to be watched and say what they
allocate, site by site, and profiles held against that."""
import math

import chance
import harness as h

ALLOCATED = {"alloc_objects": "objects", "alloc_space": "bytes"}
LIVE = {"inuse_objects": "live_objects", "inuse_space": "live_bytes"}
ALL = {**ALLOCATED, **LIVE}


# An allocator in assembler, for files that define one; first: how malloc begins.
SMALL = """
	.globl malloc, free
	.type malloc, @function
	.type free, @function
malloc:	{first}
	ret
	.size malloc, . - malloc
free:	push %rbx
	pop %rbx
	ret
	.size free, . - free
	.section .note.GNU-stack,"",@progbits
"""


def watch(target, *options, **more):
    """A cprof on a workload, which then is let go."""
    target.says()  # ready
    run = h.cprof("heap", *options, "-p", target.pid, **more).attached()
    target.go()
    return run


def measure(target, *options, **more):
    """A cprof from before a workload's first allocation to when it is done; what the workload says."""
    run = watch(target, *options, **more)
    expected = target.says()
    target.says()  # done
    ended = run.stop()
    target.process.stdin.close()  # it waits no more
    assert target.wait() == 0
    return ended, expected


def exact(profiles, expected, kinds=ALL):
    """One profile, or several together, have of each site what it says, to a byte."""
    profiles = [profiles] if isinstance(profiles, dict) else list(profiles)
    for site, numbers in expected.items():
        for kind, key in kinds.items():
            found = sum(h.by_function(profile, kind).get(site, 0) for profile in profiles)
            assert found == numbers[key], f"{site}: {kind} {found}, not {numbers[key]}"


def probability(size, rate):
    """That an allocation is sampled."""
    return -math.expm1(-size / rate) if rate > 1 else 1


def estimate_is(found, count, size, rate, what, scale=1):
    """found estimates count * scale, where each of count blocks of so many bytes is sampled or not, and
    stands for 1/p of them. Values are rounded toward zero."""
    p = probability(size, rate)
    low, high = (sampled / p * scale for sampled in chance.binomial(count, p))
    assert low - 1 <= found <= high + 1e-9 * high, \
        f"{what}: {found}, not {low:.1f} to {high:.1f}, of {count * scale}"


def site_is(profile, site, prefix, count, size, rate):
    """Objects and space of a function that allocates this many blocks of one size."""
    for kind, scale in (("objects", 1), ("space", size)):
        found = h.by_function(profile, f"{prefix}_{kind}").get(site, 0)
        estimate_is(found, count, size, rate, f"{site}: {prefix}_{kind}", scale)


def estimated(profile, expected, size, rate):
    """Each site's blocks, of so many bytes, are as many as expected. Sampling one call twice would
    make 37 % more of those that are as large as the rate."""
    for site, count in expected.items():
        site_is(profile, site, "alloc", count, size, rate)
