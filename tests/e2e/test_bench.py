#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof bench and check: a slow-down that was planted is named, and nothing else ever is.

Runs are short and the machine may be busy: that is how CI is, and what the statistics are for.
"""
import glob
import json
import os
import subprocess
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

import harness as h

STEPS = h.workload("steps")


def cprof(*arguments, env=None):
    """A finished cprof; harness.Cprof is for those that write a profile."""
    return subprocess.run([h.CPROF, *map(str, arguments)], capture_output=True, text=True,
                          timeout=200, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})


def bench(base, head, *arguments):
    run = cprof("bench", "-F", "3999", "--json", "-", "--base", base, "--head", head, *arguments)
    return run, json.loads(run.stdout) if run.stdout else None


@h.test
def the_slower_function_is_named():
    folder = h.folder()
    # parse() does 20 % more, which is 4 % of the whole: only it grew by more than a tenth
    run, result = bench(f"{STEPS} 1200", f"{STEPS} 1200 20", "--keep", folder, "--reps", "7")
    assert run.returncode == 1 and result["verdict"] == "regression", (run, result)
    assert result["regressions"] == ["parse"], result["regressions"]
    grown = [t for t in result["tests"] if t["name"] == "parse" and t["outcome"] == "regressed"]
    absolute = [t["growth_percent"] for t in result["tests"]
                if (t["name"], t["measure"], t["quantity"]) == ("parse", "flat", "absolute")]
    assert grown and 10 < absolute[0] < 35, (grown, absolute)
    # interleaved: base, head, head, base, ...
    order = sorted(glob.glob(folder + "/run.*.pb.gz"), key=os.path.getmtime)
    sides = [os.path.basename(path).split(".")[1] for path in order]
    assert sides[:4] == ["base", "head", "head", "base"], sides
    reports(folder)


def reports(folder):
    """What check writes of the same runs, read by others."""
    sides = [sorted(glob.glob(f"{folder}/run.{side}.*.pb.gz")) for side in ("base", "head")]
    paths = {name: f"{folder}/{name}" for name in ("junit", "sarif", "markdown", "json")}
    source = os.path.dirname(os.path.abspath(__file__))
    run = cprof("check", "--base", *sides[0], "--head", *sides[1], "--github", "--junit", paths["junit"],
                "--sarif", paths["sarif"], "--markdown", paths["markdown"], "--json", paths["json"],
                env={"GITHUB_WORKSPACE": h.ROOT})
    assert run.returncode == 1, run
    assert "\nverdict: regression\n" in run.stdout and "could have seen" in run.stdout, run.stdout
    command, = [line for line in run.stdout.splitlines() if line.startswith("::error")]
    where = os.path.relpath(os.path.join(source, "workloads", "steps.c"), h.ROOT)
    assert "parse" in command, command
    assert f"file={where}," in command or "file=" not in command, command
    suite = xml.etree.ElementTree.parse(paths["junit"]).getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["parse"] and suite.get("failures") == "1", failed
    with open(paths["sarif"], encoding="utf-8") as file:
        sarif = json.load(file)
    finding, = sarif["runs"][0]["results"]
    assert finding["ruleId"] == "cpu-regression" and "parse" in finding["message"]["text"], finding
    with open(paths["json"], encoding="utf-8") as file:
        assert json.load(file)["regressions"] == ["parse"]
    with open(paths["markdown"], encoding="utf-8") as file:
        assert "| parse | flat" in file.read()


def unchanged(_):
    return bench(f"{STEPS} 300", f"{STEPS} 300 0", "--warm-up", "0", "--min-samples", "1500")


def unchanged_passes_twice():
    """Two at once disturb each other, as what else runs in CI does."""
    with ThreadPoolExecutor(2) as pool:
        for run, result in pool.map(unchanged, range(2)):
            assert run.returncode == 0 and result["verdict"] == "pass", (run.stderr, [
                test for test in result["tests"] if test["outcome"] == "regressed"])


# The unchanged program passes 20 times of 20; a case has 100 s, and a busy machine needs 20 s a time.
for times in range(2, 21, 2):
    def case():
        unchanged_passes_twice()
    case.__name__ = f"unchanged_passes_{times}_times"
    h.test(case)


@h.test
def a_fluke_is_not_confirmed():
    """The head is slower the first time only: it finds out by a file whether it ran before."""
    folder = h.folder()
    marks = f"echo >>{folder}/runs; test $(wc -l <{folder}/runs) -le 5"
    head = f"if {marks}; then {STEPS} 400 300; else {STEPS} 400; fi"
    options = ("--warm-up", "0", "--min-samples", "1000")
    run, result = bench(f"{STEPS} 400", head, "--confirm", *options)
    assert run.returncode == 0 and "--confirm" in run.stderr, (run.stderr, result["regressions"])


@h.test
def what_grew_in_the_heap():
    """At rate 1 nothing is estimated, and equal is equal."""
    options = ("--heap", "--rate", "1", "--reps", "2", "--warm-up", "0", "--min-samples", "1")
    # 27,000 blocks at once: not while its tables are being made, when stacks may be cut short
    allocs = f"(sleep 0.5; echo) | {h.workload('allocs')}"
    run, result = bench(f"{allocs} 100", f"{allocs} 100", *options)
    assert run.returncode == 0 and result["verdict"] == "pass", (run, result)
    assert result["sample_type"] == "alloc_space" and result["unit"] == "bytes", result
    run, result = bench(f"{allocs} 100", f"{allocs} 150", *options)
    assert run.returncode == 1 and result["verdict"] == "regression", (run, result)
    assert {"total", "site_a", "site_b", "site_c"} <= set(result["regressions"]), result["regressions"]


@h.test
def failures_are_not_results():
    for command, code, said in (("exit 7", 2, "'exit 7' ended with exit code 7"),
                                (f"{STEPS} 100; echo out of cheese; exit 1", 2, "exit code 1: out of cheese"),
                                ("kill -9 $$", 2, "ended with exit code 137"),
                                ("/nonexistent/program", 2, "ended with exit code 127")):
        run = cprof("bench", "--base", f"{STEPS} 100", "--head", command, "--max-time", "20s")
        assert run.returncode == code and said in run.stderr, (command, run)
        assert run.stderr.count("\n") == 1 and not run.stdout, run
    run = cprof("bench", "--base", f"{STEPS} 100")
    assert run.returncode == 2 and "--head" in run.stderr, run


@h.test
def too_little_is_inconclusive():
    run, result = bench(f"{STEPS} 100", f"{STEPS} 100", "--reps", "2", "--max-time", "1ms",
                        "--warm-up", "0", "--min-samples", "1000000")
    assert run.returncode == 3 and result["verdict"] == "inconclusive", (run, result)
    assert any("fewer than 1,000,000" in reason for reason in result["reasons"]) or \
        any("no profile" in reason for reason in result["reasons"]), result["reasons"]


h.main()
