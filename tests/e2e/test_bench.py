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

import harness as h

STEPS = h.workload("steps")
STRICT = ("--max-growth", "25", "--alpha", "0.001")


def cprof(*arguments, env=None):
    """A finished cprof; harness.Cprof is for those that write a profile."""
    return h.run_cprof(*arguments, status=None, env={**os.environ, **(env or {})})


def bench(base, head, *arguments):
    run = cprof("bench", "-F", "3999", "--json", "-", "--base", base, "--head", head, *arguments)
    return run, json.loads(run.stdout) if run.stdout else None


# Recorded once, at 3999 Hz on a busy machine, of workloads/steps.c and shop.c at /src: nothing that is said of them depends on
# what this machine does. A name has its arguments or flags; runs of one number were made one after another.
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def recorded(name):
    found = sorted(glob.glob(os.path.join(RECORDED, name + ".*.pb.gz")))
    assert len(found) >= 6, name
    return found


def check(base, head, *arguments):
    """What check says of two programs that were recorded."""
    run = cprof("check", *arguments, "--base", *recorded(base), "--head", *recorded(head), "--json", "-")
    return run, json.loads(run.stdout)


def of(result, outcome):
    return {test["name"] for test in result["tests"] if test["outcome"] == outcome and test["measure"] == "flat"}


@h.test
def a_function_that_does_much_more_is_found():
    """Live: parse() does ten times its work, and whatever else a busy machine does to the others is not looked at."""
    folder = h.folder()
    run, result = bench(f"{STEPS} 300", f"{STEPS} 300 900", "--keep", folder, *STRICT)
    assert run.returncode == 1 and result["verdict"] == "regression", (run, result)
    assert "parse" in result["regressions"] and "parse" in of(result, "regressed"), result["regressions"]
    # interleaved: base, head, head, base, ...
    order = sorted(glob.glob(folder + "/run.*.pb.gz"), key=os.path.getmtime)
    sides = [os.path.basename(path).split(".")[1] for path in order]
    assert sides[:4] == ["base", "head", "head", "base"], sides


@h.test
def the_slower_function_is_named():
    """parse() does 60 % more, which is 12 % of the whole."""
    run, result = check("steps-300", "steps-300-60", *STRICT)
    assert run.returncode == 1 and result["verdict"] == "regression", (run, result)
    assert result["regressions"] == ["parse"] and of(result, "regressed") == {"parse"}, result["regressions"]
    growth, = [t["growth_percent"] for t in result["tests"]
               if (t["name"], t["measure"], t["quantity"]) == ("parse", "flat", "absolute")]
    assert 25 < growth < 100, growth
    reports()


def reports():
    """What check writes of the same runs, read by others."""
    folder = h.folder()
    paths = {name: f"{folder}/{name}" for name in ("junit", "sarif", "markdown", "json")}
    run = cprof("check", *STRICT, "--base", *recorded("steps-300"), "--head", *recorded("steps-300-60"), "--github", "--junit",
                paths["junit"], "--sarif", paths["sarif"], "--markdown", paths["markdown"], "--json", paths["json"],
                env={"GITHUB_WORKSPACE": "/src"})
    assert run.returncode == 1, run
    assert "\nverdict: regression\n" in run.stdout and "smallest detectable change" in run.stdout, run.stdout
    command, = [line for line in run.stdout.splitlines() if line.startswith("::error")]
    assert "parse" in command and "file=tests/e2e/workloads/steps.c," in command, command
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


@h.test
def an_unchanged_program_passes_20_times_of_20():
    runs = recorded("steps")
    assert len(runs) == 12, runs
    for turn in range(20):
        # every time another half of them is head: those at i, i + k, i + 2k ... for a k without a
        # divisor of 13 - 1, and those before them
        order = [pow(2, turn + i, 13) - 1 for i in range(12)]
        base, head = ([runs[at] for at in order[side::2]] for side in (0, 1))
        run = cprof("check", "--base", *base, "--head", *head, "--json", "-")
        result = json.loads(run.stdout)
        assert run.returncode == 0 and result["verdict"] == "pass", (turn, run.stderr, [
            test for test in result["tests"] if test["outcome"] == "regressed"])
    run = cprof("check", "--self-test", *runs)
    assert run.returncode == 0 and "of 200 random splits" in run.stdout, run


@h.test
def an_unchanged_program_is_compared():
    """Live: whether it passes is up to chance, once in so many times; all else is not."""
    run, result = bench(f"{STEPS} 300", f"{STEPS} 300 0", "--warm-up", "0", "--min-samples", "1500")
    assert run.returncode == {"pass": 0, "regression": 1, "inconclusive": 3}[result["verdict"]], run
    assert result["base"]["runs"] == result["head"]["runs"] >= 5, result["base"]
    assert min(result["base"]["samples"], result["head"]["samples"]) >= 1500, result["base"]
    assert {"decode", "hash", "parse", "render"} <= {test["name"] for test in result["tests"]}
    assert result["size_factor"]["robust"] and result["size_factor"]["head_over_base"] > 0, result["size_factor"]


def job(command, *arguments):
    """A step of a job: what it says and annotates, errors and notices, what it shows, and all there is."""
    summary = os.path.join(h.folder(), "summary")
    run = cprof(command, "--alpha", "0.001", "--github", "--markdown", summary, "--json", summary + ".json", *arguments,
                env={"GITHUB_WORKSPACE": "/src" if command == "check" else h.ROOT})
    assert os.path.exists(summary), run
    with open(summary, encoding="utf-8") as file, open(summary + ".json", encoding="utf-8") as report:
        text, result = file.read(), json.load(report)
    lines = run.stdout.splitlines()
    return run, ([line for line in lines if line.startswith("::error")],
                 [line for line in lines if line.startswith("::notice")]), text, result


def branch(kind):
    """The shop as a branch leaves it, against that which it finds, both recorded."""
    return job("check", "--base", *recorded("shop"), "--head", *recorded(f"shop-{kind}"))


@h.test
def a_job_with_an_improved_build():
    run, (errors, notices), summary, result = branch("improved")
    assert run.returncode == 0 and result["verdict"] == "pass", run
    assert not errors and not notices and not result["regressions"], (errors, result["regressions"])
    assert of(result, "improved") == {"lookup"}, result["tests"]
    assert "lookup" in summary and "improved" in summary, summary


@h.test
def a_job_with_a_renamed_build():
    run, (errors, notices), summary, result = branch("renamed")
    assert run.returncode == 0 and result["verdict"] == "pass", run
    assert not errors and not result["regressions"], (errors, result["regressions"])
    assert {(move["from"], move["to"]) for move in result["moves"]} == \
        {("lookup", "find_item"), ("price", "price_all")}, result["moves"]
    assert len(notices) == 2 and all("(moved)::" in notice for notice in notices), notices
    # markdown's own characters are escaped
    assert "- lookup is now find&#95;item (moved)" in summary, summary


@h.test
def a_job_with_a_regressed_build():
    run, (errors, notices), summary, result = branch("regressed")
    assert run.returncode == 1 and result["verdict"] == "regression", run
    assert of(result, "regressed") == {"discount"}, result["tests"]
    named = [line for line in errors if "title=discount got slower" in line]
    assert len(named) == 1 and "file=tests/e2e/workloads/shop.c,line=" in named[0], errors
    assert {"total", "discount"} >= {line.split("title=")[1].split()[0] for line in errors}, errors
    assert not notices and "discount" in summary, notices


def build(folder, *flags):
    program = os.path.join(folder, "shop" + "".join(flags))
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads", "shop.c")
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer", *flags, "-o",
                    program, source], check=True)
    return program


@h.test
def a_job_that_builds_and_measures():
    """Live: the function that does three times its work is found, and its line is that of the source. What a
    busy machine does to the others is not looked at."""
    folder = h.folder()
    run, (errors, _), summary, result = job("bench", "-F", "3999", "--base", f"{build(folder)} 300",
                                            "--head", f"{build(folder, '-DREGRESSED')} 300")
    assert run.returncode == 1 and result["verdict"] == "regression", run
    assert "discount" in of(result, "regressed"), result["tests"]
    named = [line for line in errors if "title=discount got slower" in line]
    assert len(named) == 1 and ("file=tests/e2e/workloads/shop.c,line=" in named[0] or "file=" not in named[0]), errors
    assert "discount" in summary, summary


@h.test
def other_work_is_no_regression_as_share():
    """Half as much input again: everything takes longer, no function's share does."""
    run, result = check("steps-200", "steps-300", "--as", "share", "--alpha", "0.001")
    assert run.returncode == 0 and result["verdict"] == "pass", (run, result["regressions"])
    assert {test["quantity"] for test in result["tests"]} == {"share"}, result["tests"]
    assert 1.4 < result["size_factor"]["head_over_base"] < 1.6, result["size_factor"]
    run, result = check("steps-200", "steps-300", "--alpha", "0.001")
    assert run.returncode == 1 and "total" in result["regressions"], result["regressions"]


@h.test
def a_fluke_is_not_confirmed():
    """The head is slower the first time, and the base is the second time: they find out by a file how often they ran. What grew
    the first time shrinks the second time, and the other way round, so that a busy machine confirms nothing."""
    folder = h.folder()
    base, head = (f"if echo >>{folder}/{name}; test $(wc -l <{folder}/{name}) -le 5; then {STEPS} {first}; "
                  f"else {STEPS} {later}; fi" for name, first, later in (("base", "200", "200 300"), ("head", "200 300", "200")))
    # of five runs each, however few samples a fast machine has in them
    options = ("--warm-up", "0", "--reps", "5", "--min-samples", "1", "--confirm", "--alpha", "0.001")
    run, result = bench(base, head, *options)
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
        run = cprof("bench", "--base", f"{STEPS} 100", "--head", command)
        assert run.returncode == code and said in run.stderr, (command, run)
        assert run.stderr.count("\n") == 1 and not run.stdout, run
    run = cprof("bench", "--base", f"{STEPS} 100")
    assert run.returncode == 2 and "--head" in run.stderr, run


@h.test
def a_full_disk_is_not_the_commands_failure():
    folder = h.folder()
    # in a mount namespace of its own, which ends with it
    run = subprocess.run(["unshare", "-m", "sh", "-c",
                          f'mount -t tmpfs -o size=64k none {folder} && head -c 60000 /dev/zero >{folder}/full; '
                          f'TMPDIR={folder} exec "$@"', "sh", h.CPROF, "bench", "--base", f"{STEPS} 100", "--head",
                          f"{STEPS} 100"], capture_output=True, text=True, timeout=h.HANGS, check=False)
    assert run.returncode == 2 and "No space left on device" in run.stderr and STEPS not in run.stderr, run


@h.test
def too_little_is_inconclusive():
    run, result = bench(f"{STEPS} 100", f"{STEPS} 100", "--reps", "2", "--max-time", "1ms",
                        "--warm-up", "0", "--min-samples", "1000000")
    assert run.returncode == 3 and result["verdict"] == "inconclusive", (run, result)
    assert any("fewer than 1,000,000" in reason for reason in result["reasons"]) or \
        any("no profile" in reason for reason in result["reasons"]), result["reasons"]


h.main()
