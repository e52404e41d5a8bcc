#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof heap --lifetimes: blocks by how long they lived, as a program knows that sleeps in between."""
import collections
import json
import re

import harness as h

AGES = ["<100us", "<1ms", "<10ms", "<100ms", "<1s", "<10s", ">=10s", "alive"]


def by_lifetime(profile, kind):
    """{site: {lifetime: value}}"""
    found = collections.defaultdict(collections.Counter)
    for sample in profile["samples"]:
        for site in {name for name in sample["stack"] if name.startswith("site_")}:
            found[site][sample["labels"]["lifetime"]] += sample["values"][kind]
    return found


def median(counts):
    """The place in AGES of the median block: a few are late on any busy machine."""
    seen = 0
    for place, age in enumerate(AGES):
        seen += counts[age]
        if 2 * seen >= sum(counts.values()):
            return place


def judge(profile, count, within):
    """within: how many temporary blocks lived for less than each of AGES, by the program's clock, which it reads before it
    allocates and after it frees."""
    found = by_lifetime(profile, "alloc_objects")
    for site in ("temporary", "short", "long", "kept"):
        assert sum(found[f"site_{site}"].values()) == count, (site, found)
        assert not +found[f"site_{site}"] - collections.Counter(dict.fromkeys(AGES, count)), found
    assert found["site_kept"] == {"alive": count}, found
    assert len(within) == AGES.index(">=10s")
    for place, nr in enumerate(within):
        assert sum(found["site_temporary"][age] for age in AGES[:place + 1]) >= nr, (found, within)
    assert median(found["site_short"]) >= AGES.index("<100ms"), found
    assert median(found["site_long"]) >= AGES.index("<10s"), found
    assert found["site_temporary"]["alive"] == found["site_short"]["alive"] == found["site_long"]["alive"] == 0, found
    assert sum(found["site_grown"].values()) == 2 * count and found["site_grown"]["alive"] == count, found
    held = by_lifetime(profile, "inuse_objects")
    assert all(set(+ages) <= {"alive"} for ages in held.values()), held
    assert held["site_kept"]["alive"] == count, held


def rows(path, *options):
    said = h.run_cprof("top", "--json", "--sample-type", "alloc_objects", *options, path, text=False).stdout
    return {row["name"]: row["cum"] for row in json.loads(said)["rows"]}


@h.test
def by_labels():
    target = h.Workload("lives")
    target.says()
    run = h.cprof("heap", "--rate", "1", "--lifetimes", "-p", target.pid).attached()
    target.go()
    within = target.says()["temporary_within"]
    target.says()
    ended = run.stop()
    profile = ended.profile()
    judge(profile, 300, within)
    sums = collections.Counter()
    for sample in profile["samples"]:
        sums[sample["labels"]["lifetime"]] += sample["values"]["alloc_objects"]
    by = rows(ended.output, "--by", "tag=lifetime")
    assert by == dict(+sums) or {name.split("=")[-1]: value for name, value in by.items()} == dict(+sums), (by, sums)
    alive = rows(ended.output, "--tag-focus", "lifetime=alive")
    assert alive["site_kept"] == 300 and "site_long" not in alive, alive


@h.test
def of_a_command_in_two_views():
    """A label is in what was allocated, and not in what is in use at one moment."""
    run = h.cprof("heap", "--rate", "1", "--mode", "inside", "--lifetimes", "--views", "--", h.workload("lives"), "100",
                  "now").wait()
    judge(run.profile(), 100, run.says()["temporary_within"])
    assert by_lifetime(run.extra_profile(".alloc.pb.gz"), "alloc_objects")["site_kept"] == {"alive": 100}
    inuse = run.extra_profile(".inuse.pb.gz")
    assert not any("lifetime" in sample["labels"] for sample in inuse["samples"])


@h.test
def sums_are_the_same():
    """Of a whole file, by estimates, but for the rounding of each sample."""
    run = h.cprof("heap", "--rate", "4096", "--lifetimes", "--views", "--peak", "--errors", "--", h.workload("lives"), "5000",
                  "now").wait()
    whole, alloc = run.profile(), run.extra_profile(".alloc.pb.gz")
    [said] = run.matches(re.compile(r"^cprof: estimate: allocated ([\d,]+) bytes"))
    assert 0 <= h.number(said[1]) - h.total(whole, "alloc_space") <= len(whole["samples"]), said[0]
    for kind in ("alloc_objects", "alloc_space"):
        assert h.total(whole, kind) == h.total(alloc, kind)
    assert h.total(whole, "alloc_objects") > 10000
    assert h.total(run.extra_profile(".peak.pb.gz"), "inuse_objects") > 10000


@h.test
def of_a_whole_run_only():
    for options in (["--interval", "1s"], ["--delta", "1s"], ["--alloc-only"]):
        done = h.run_cprof("heap", "--lifetimes", *options, "-p", "1", status=None)
        assert done.returncode == 2 and "--lifetimes" in done.stderr, done


if __name__ == "__main__":
    h.main()
