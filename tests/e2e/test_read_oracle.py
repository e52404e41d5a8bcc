#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# TEST_PARALLEL
"""What is read is what pprof reads: 10,000 generated profiles with all fields, and what Go's runtime
writes, go through cprof and are the same for pprof's own package after it."""
import glob
import os
import subprocess

import harness as h

ORACLE = os.path.join(h.BUILD, "oracle", "oracle")
REENCODE = os.path.join(h.BUILD, "oracle", "reencode")
CORPUS = next((folder for up in ("..", "../..") if os.path.isdir(
    folder := os.path.join(h.ROOT, up, "shared/corpus"))), "nowhere")
GENERATED = 10000


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command[:2]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


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
def corpus():
    files = [path for path in glob.glob(os.path.join(CORPUS, "**", "*"), recursive=True)
             if os.path.isfile(path) and not path.endswith(".string")]
    if not files:
        raise h.Skip(f"no corpus in {CORPUS}")
    again = h.folder()
    pairs = [(path, os.path.join(again, os.path.basename(path))) for path in files]
    run(REENCODE, *sum(pairs, ()))
    run(ORACLE, "compare", *sum(pairs, ()))


h.main()
