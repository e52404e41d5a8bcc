#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is read is what pprof reads: 10,000 generated profiles with all fields, and what Go's runtime
writes, go through cprof and are the same for pprof's own package after it."""
import glob
import json
import os
import re
import shutil
import subprocess

import harness as h

ORACLE = os.path.join(h.BUILD, "oracle", "oracle")
REENCODE = os.path.join(h.BUILD, "oracle", "reencode")
CORPUS = next((folder for up in ("..", "../..") if os.path.isdir(
    folder := os.path.join(h.ROOT, up, "shared/corpus"))), "nowhere")
# pprof's own test data: this version of its module, which has this checksum, and holds so many profiles
MODULE = "github.com/google/pprof"
VERSION = "v0.0.0-20251114195745-4902fdda35c8"
CHECKSUM = "h1:3DsUAV+VNEQa2CUVLxCY3f87278uWfIDhJnbdvDjvmE="
NR_PROFILES = 26
GENERATED = 10000 if h.IS_LONG else 3000
LEGACY = 6000


def run(*command, **options):
    return h.run(*command, **options).stdout


@h.test
def generated_profiles():
    made, again = h.folder(), h.folder()
    run(ORACLE, "generate", 20261121, GENERATED, made)
    run(REENCODE, "-d", made, again)
    assert f"compared {GENERATED}" in run(ORACLE, "compare-dirs", made, again)


@h.test
def a_difference_is_seen():
    made, again = h.folder(), h.folder()
    run(ORACLE, "generate", 1, 2, made)
    run(ORACLE, "generate", 2, 2, again)
    done = subprocess.run([ORACLE, "compare-dirs", made, again], capture_output=True, check=False)
    assert done.returncode == 1, done


@h.test
def go_runtime_profiles():
    folder, again = h.folder(), h.folder()
    run(os.path.join(h.BUILD, "oracle", "producer"), cwd=folder)
    names = ["cpu", "heap", "allocs", "mutex", "block", "goroutine", "threadcreate"]
    pairs = [(os.path.join(folder, name), os.path.join(again, name)) for name in names]
    run(REENCODE, *sum(pairs, ()))
    run(ORACLE, "compare", *sum(pairs, ()))


@h.test
def legacy_files():
    """Files of every format before profile.proto, most of them changed as editors, other producers and
    broken disks would: what pprof takes, cprof tells alike. Many are refused by both."""
    made, again = h.folder(), h.folder()
    run(ORACLE, "legacy", 20261122, LEGACY, made)
    subprocess.run([REENCODE, "-d", made, again], capture_output=True, check=False)
    said = re.search(r"alike (\d+), refused by both (\d+), taken by cprof alone (\d+)",
                     run(ORACLE, "agree", made, again))
    alike, refused, alone = map(int, said.groups())
    assert alike > LEGACY / 3 and refused > LEGACY / 3 and alone < LEGACY / 20, said[0]


@h.test
def a_reader_that_differs_is_seen():
    made, again = h.folder(), h.folder()
    run(ORACLE, "legacy", 1, 17, made)
    subprocess.run([REENCODE, "-d", made, again], capture_output=True, check=False)
    os.rename(os.path.join(again, "000000"), os.path.join(again, "000001"))
    done = subprocess.run([ORACLE, "agree", made, again], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "000000: refused" in done.stdout and "000001: " in done.stdout, done


@h.test
def corpus():
    files = [path for path in glob.glob(os.path.join(CORPUS, "**", "*"), recursive=True)
             if os.path.isfile(path) and not path.endswith(".string")]
    if not files:
        raise h.Skip(f"no corpus in {CORPUS}")
    made, again = h.folder(), h.folder()
    for path in files:
        shutil.copy(path, made)
    run(REENCODE, "-d", made, again)
    assert f"alike {len(os.listdir(made))}, refused by both 0" in run(ORACLE, "agree", made, again)


def pprof_module():
    """The folder of pprof's module in Go's cache of modules, to which go downloads it unless it is there."""
    env = {**os.environ, "GO111MODULE": "on", "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local",
           "GOSUMDB": "off"}  # the checksum is judged here
    try:
        done = subprocess.run(["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"], cwd=h.folder(), env=env,
                              capture_output=True, text=True, check=False, timeout=h.HANGS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise h.Skip(f"go could not get {MODULE}, whose test data this reads: {type(error).__name__}") from None
    said = json.loads(done.stdout or "{}")
    if "Dir" not in said:
        why = (said.get("Error") or done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise h.Skip(f"go could not get {MODULE}, whose test data this reads: {why}")
    assert said["Sum"] == CHECKSUM, said
    return said["Dir"]


@h.test
def the_test_data_of_pprof():
    """Every file of pprof's test data, heap, contention and CPU profiles of Java programs among them: what pprof reads,
    cprof reads alike, and what pprof refuses, cprof refuses. There are no exceptions."""
    module = pprof_module()
    made, again = h.folder(), h.folder()
    for path in glob.glob(os.path.join(module, "**", "*"), recursive=True):
        name = os.path.relpath(path, module)
        if os.path.isfile(path) and re.search(r"(^|/)(testdata|corpus)/", name):
            shutil.copyfile(path, os.path.join(made, name.replace("/", "_")))
    subprocess.run([REENCODE, "-d", made, again], capture_output=True, check=False)
    refused = len(os.listdir(made)) - NR_PROFILES
    assert f"alike {NR_PROFILES}, refused by both {refused}, taken by cprof alone 0\n" in run(ORACLE, "agree", made, again)
    assert {f"profile_testdata_java.{kind}" for kind in ("heap", "contention", "cpu")} <= set(os.listdir(again))
    for name in sorted(os.listdir(made)):
        output = os.path.join(h.folder(), "converted.pb.gz")
        done = h.run_cprof("convert", os.path.join(made, name), "-o", output, status=None, text=False)
        is_read = os.path.exists(os.path.join(again, name))
        assert (done.returncode, os.path.exists(output)) == ((0, True) if is_read else (2, False)), (name, done)


h.main()
