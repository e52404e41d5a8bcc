#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where others can create names too, nothing of theirs is written through or into."""
import os
import time

import harness as h
import madeup

OTHER_USER = 65534


def shared():
    """A folder as /tmp is, and one outside it that another user wants cprof to write."""
    folder, victim = h.folder(), h.folder()
    os.chmod(folder, 0o1777)
    return folder, victim


def strangers_folder(path):
    os.mkdir(path, 0o777)
    os.chown(path, OTHER_USER, OTHER_USER)


def strangers_link(path, to):
    os.symlink(to, path)
    os.lchown(path, OTHER_USER, OTHER_USER)


def run(*arguments, cwd=None):
    return h.run_cprof(*arguments, status=None, cwd=cwd)


def refuses(result, *untouched):
    """Exit code 2, one line, and nothing written."""
    assert result.returncode == 2, result
    assert len(result.stderr.splitlines()) == 1, result.stderr
    for folder in untouched:
        assert not os.listdir(folder), (folder, os.listdir(folder), result.stderr)


def default_names(folder, seconds):
    """What record -a would call its folder, from now on."""
    now = int(time.time())
    return [os.path.join(folder, time.strftime("cprof.cpu.%Y%m%dT%H%M%SZ", time.gmtime(now + i)))
            for i in range(seconds)]


@h.test
def the_default_folder_is_made_and_not_found():
    """Its name is known in advance: a link, another user's folder and even our own are refused."""
    for make in strangers_link, lambda path, _: strangers_folder(path), lambda path, _: os.mkdir(path):
        folder, victim = shared()
        names = default_names(folder, h.HANGS)
        for name in names:
            make(name, victim)
        refuses(run("record", "-a", "-d", "300ms", cwd=folder), victim)
        assert not any(os.path.isdir(name) and os.listdir(name) for name in names)


@h.test
def a_folder_of_a_stranger_is_refused_where_all_may_write():
    target = h.Workload("exiter", 30)
    for slash in "", "/":
        folder, victim = shared()
        strangers_link(os.path.join(folder, "link"), victim)
        strangers_folder(os.path.join(folder, "trap"))
        for name in "link", "trap":
            path = os.path.join(folder, name)
            refuses(run("record", "-p", target.pid, "-d", "300ms", "-o", path + slash), victim, path)


@h.test
def a_folder_of_ones_own_is_taken():
    """Also in a shared folder, and one that a user gave to root where only that user can write."""
    target, (folder, _), home = h.Workload("exiter", 60), shared(), h.folder()
    os.mkdir(os.path.join(folder, "own"))
    strangers_folder(os.path.join(home, "given"))
    for path in os.path.join(folder, "own"), os.path.join(folder, "new/"), os.path.join(home, "given"), folder:
        done = run("record", "-p", target.pid, "-F", "499", "-d", "1s", "--allow-empty", "-o", path)
        assert done.returncode == 0, done
        assert f"cprof.cpu.exiter.{target.pid}.pb.gz" in os.listdir(path), os.listdir(path)


@h.test
def captures_replace_a_name():
    """A link is refused; a file that has another name too is not written through."""
    target, (folder, victim) = h.Workload("exiter", 60), shared()
    precious, path = os.path.join(victim, "precious"), os.path.join(folder, "captures")
    with open(precious, "w", encoding="utf-8") as file:
        file.write("precious")
    os.link(precious, path)
    done = run("record", "-p", target.pid, "-d", "300ms", "--allow-empty", "-o", os.path.join(folder, "x.pb.gz"), "--captures", path)
    assert done.returncode == 0, done
    with open(precious, encoding="utf-8") as file:
        assert file.read() == "precious"
    os.unlink(path)
    strangers_link(path, precious)
    refuses(run("record", "-p", target.pid, "-d", "300ms", "-o", os.path.join(folder, "y.pb.gz"), "--captures", path))
    with open(precious, encoding="utf-8") as file:
        assert file.read() == "precious"


def profile():
    path = os.path.join(h.folder(), "x.pb.gz")
    with open(path, "wb") as file:
        file.write(madeup.madeup(1))
    return path


@h.test
def parts_of_a_merge():
    folder, victim = shared()
    strangers_link(os.path.join(folder, "link"), victim)
    strangers_folder(os.path.join(folder, "trap"))
    for name in "link", "link/", "trap":
        path = os.path.join(folder, name)
        refuses(run("merge", "--split", "comm", profile(), "-o", path), victim, path)
    done = run("merge", "--split", "comm", profile(), "-o", os.path.join(folder, "parts"))
    assert done.returncode == 0 and os.listdir(os.path.join(folder, "parts")), done


@h.test
def what_bench_keeps():
    """The folder, and the logs in it: one that is a second name of another file is replaced."""
    folder, victim = shared()
    strangers_link(os.path.join(folder, "link"), victim)
    strangers_folder(os.path.join(folder, "trap"))
    for name in "link", "trap":
        path = os.path.join(folder, name)
        refuses(run("bench", "--base", "true", "--head", "true", "--keep", path), victim, path)
    precious, kept = os.path.join(victim, "precious"), os.path.join(folder, "own")
    os.mkdir(kept)
    with open(precious, "w", encoding="utf-8") as file:
        file.write("precious")
    os.link(precious, os.path.join(kept, "run.base.1.log"))
    run("bench", "--base", "false", "--head", "false", "--keep", kept, "--reps", "1", "--warm-up", "0")
    with open(precious, encoding="utf-8") as file:
        assert file.read() == "precious"


@h.test
def a_summary_is_appended_to_ones_own_file():
    folder, victim = shared()
    path, precious = os.path.join(folder, "summary.md"), os.path.join(victim, "precious")
    compare = ("check", "--base", profile(), "--head", profile(), "--inconclusive", "pass", f"--markdown={path}")
    with open(path, "w", encoding="utf-8"):
        pass
    os.chown(path, OTHER_USER, OTHER_USER)
    done = run(*compare)
    assert done.returncode == 2 and os.path.getsize(path) == 0, done
    os.unlink(path)
    with open(precious, "w", encoding="utf-8"):
        pass
    os.link(precious, path)
    done = run(*compare)
    assert done.returncode == 2 and os.path.getsize(precious) == 0, done
    os.unlink(path)
    done = run(*compare)
    assert done.returncode == 0 and os.path.getsize(path), done


h.main()
