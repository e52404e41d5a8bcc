#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Can the harness fail? What it must notice, made to happen."""
import contextlib
import gzip
import io
import json
import os
import subprocess
import tempfile
import time

import harness as h
import judges
import kills
import leftovers


def closing(text):
    return h.Closing(h.CLOSING.match("cprof: " + text))


def fails(function, *arguments):
    try:
        function(*arguments)
    except AssertionError:
        return
    raise RuntimeError(f"{function.__name__} did not notice")


@h.test
def closing_lines_are_understood():
    line = closing("taken 29,703 = written 28,690 + lost 1,013 (event ring full 1,003, in-flight map full 10)")
    assert (line.taken, line.written, line.lost) == (29703, 28690, 1013)
    assert line.reasons == {"event ring full": 1003, "in-flight map full": 10}, line.reasons
    line.check()
    closing("taken 5 = written 5").check()
    assert not h.CLOSING.match("cprof: taken 5 = written")


@h.test
def broken_identities_are_noticed():
    fails(closing("taken 6 = written 5").check)
    fails(closing("taken 6 = written 5 + lost 2 (event ring full 2)").check)
    fails(closing("taken 6 = written 5 + lost 1 (event ring full 1, live map full 1)").check)
    fails(closing("taken 6 = written 5 + lost 1 ()").check)


@h.test
def loss_reasons_have_texts():
    assert {"COUNTS_FULL", "EVENTS_FULL", "LIVE_FULL", "INFLIGHT_FULL"} <= set(h.loss_texts())


@h.test
def the_seed_of_what_fails_is_said():
    """And with it the moments are the same again."""
    said, moments = io.StringIO(), []

    def begin():
        moments.append([kills.rand.random() for _ in range(9)])
        raise AssertionError("before anything is killed")

    for _ in range(2):
        with contextlib.redirect_stdout(said):
            fails(kills.kill_at_random_moments, begin, "sampling", None, None)
    assert said.getvalue() == 2 * f"# SEED={kills.SEED} kills at these moments again\n", said.getvalue()
    assert moments[0] == moments[1], moments


@h.test
def a_process_that_is_left_is_noticed():
    child = subprocess.Popen(["sh", "-c", "sleep 60 & exit 0"])
    child.wait()
    assert len(h.left_processes(seconds=0.5)) == 1
    assert not h.left_processes(seconds=0.5), "it was ended"


@h.test
def changed_code_is_noticed():
    """As a probe that stays would change it: a byte, of a static program without symbols, which nobody else probes."""
    target = h.Workload("/usr/bin/busybox", "sh", "-c", "echo '{}'; read _")
    target.sleeps()  # it does not run that byte any more
    start, *_ = next(leftovers.code_of(target.pid))
    with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        byte, = memory.read(1)
        for value, more in (byte ^ 0xff, 1), (byte, 0):
            memory.seek(start)
            memory.write(bytes([value]))
            assert leftovers.changed_bytes(target.pid) == more, more


@h.test
def a_map_that_is_left_is_noticed():
    mount = tempfile.mkdtemp(prefix="cprof-e2e-")
    pin = os.path.join(mount, "left")
    subprocess.run(["mount", "-t", "bpf", "none", mount], check=True)
    bpftool = ["env", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin", "bpftool", "-j", "map"]
    before = h.kernel_objects()
    try:
        h.silent([*bpftool, "create", pin, "type", "array", "key", "4", "value", "4", "entries", "1",
                  "name", "counts_even"], pin)
        name = f"map_id:\t{json.loads(h.silent([*bpftool, 'show', 'pinned', pin], pin))['id']}"
        left, _ = h.stray_objects(before, seconds=0.5)
        assert name in left, (name, left)
        assert h.problems_of([name], []) == [f"{name} is left"] and not h.problems_of([name], [1])
    finally:
        subprocess.run(["umount", mount], check=True)
        os.rmdir(mount)
    end = time.monotonic() + h.HANGS
    while name in h.kernel_objects() and time.monotonic() < end:
        time.sleep(0.05)
    assert name not in h.stray_objects(before, seconds=0.5)[0], "it was ended"


def objects_of(pid):
    """What of BPF a process has a descriptor of."""
    held = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                held |= {line for line in file.read().splitlines() if line.startswith(("prog_id:", "map_id:", "link_id:"))}
        except OSError:
            continue  # closed meanwhile
    return held


@h.test
def all_that_cprof_holds_is_looked_for():
    """None of its objects goes by a name that is taken for somebody else's."""
    for command in (("record", "-F", "49"), ("heap", "--rate", "4096")):
        target = h.Workload("churn", "0", "1")
        target.says()
        run = h.cprof(*command, "-p", target.pid).attached()
        held = objects_of(run.pid)
        assert len(held) > 10, held
        missing = held - h.kernel_objects()
        assert not missing & objects_of(run.pid), missing
        target.go()
        target.uses(0.1)
        run.stop()
        target.process.kill()


@h.test
def a_damaged_profile_is_noticed():
    path = os.path.join(h.folder(), "cpu.pb.gz")
    h.cprof("record", "-F", "499", "--", h.workload("exiter"), "0.3", output=path).wait().profile()
    with open(path, "ab") as file:
        file.write(b"x")
    fails(h.judge, path)


@h.test
def each_judge_judges():
    """The others would hide one that says yes to everything."""
    path = os.path.join(h.folder(), "cpu.pb.gz")
    h.cprof("record", "-F", "499", "--", h.workload("exiter"), "0.3", output=path).wait().profile()
    with open(path, "rb") as file:
        data = file.read()
    judges.judge_by_pprof(path)
    judges.judge_by_protoc(path, data, len(h.judge(path)["samples"]))
    fails(judges.judge_by_protoc, path, data, 0)
    os.chmod(path, 0o644)
    fails(h.judge, path)
    os.chmod(path, 0o600)
    h.judge(path)
    with open(path, "wb") as file:
        file.write(gzip.compress(b"no profile"))
    fails(judges.judge_by_pprof, path)
    fails(h.judge, path, False)


@h.test
def accounts_of_calls_are_added_up():
    calls = "cprof: calls 9 = nested 1 + not sampled 2 + failed 1 + cut off 1 + under way 1 + taken 3"
    stored = "cprof: stored 3 = live 1 + freed 1 + frees lost 0 + purged 1 (left at exit 1, gone by exec 0)"

    def accounts(calls_line, stored_line):
        return judges.Accounts(judges.CALLS.match(calls_line), judges.STORED.match(stored_line))

    line = closing("taken 3 = written 3")
    accounts(calls, stored).check(line)
    fails(accounts(calls.replace("nested 1", "nested 2"), stored).check, line)
    fails(accounts(calls, stored.replace("live 1", "live 2")).check, line)
    fails(accounts(calls, stored.replace("exec 0", "exec 1")).check, line)
    fails(accounts(calls, stored).check, closing("taken 4 = written 4"))


@h.test
def a_failure_is_shown_where_the_test_made_it():
    """Not where the harness, in any of its files, noticed it."""
    def case():
        h.near(1, 2, 0.1, "one")

    problems = h.run_case(case)
    assert len(problems) == 2, problems
    assert "test_harness.py" in problems[0] and "h.near(1" in problems[0], problems
    assert problems[1].startswith("AssertionError: one: 1, not within"), problems


h.main()
