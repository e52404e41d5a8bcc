#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The cache of names on disk: what is in it is what is found without it, what has changed is found anew, and whatever lies in
its folder does no harm."""
import functools
import os
import shutil
import stat

import harness as h
from symbolizing import OWN, Program, edited, forget_names, own, run


class Cache:
    """A cache of its own, and what cprof symbolize makes of a profile with it."""

    def __init__(self):
        self.base = h.folder()
        self.folder = os.path.join(self.base, "cprof")

    def files(self):
        return sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []

    def contents(self):
        found = {}
        for name in self.files():
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def symbolize(self, path, *options, env=None):
        """The bytes of the result, and what was said."""
        out = os.path.join(h.folder(), "named.pb.gz")
        done = h.run_cprof("symbolize", path, "-o", out, *options,
                           status=None, env={**os.environ, "XDG_CACHE_HOME": self.base, **(env or {})})
        assert done.returncode == 0, done
        self.out = out
        with open(out, "rb") as file:
            return file.read(), done.stderr


@functools.cache
def bare_profile():
    """A program, and its profile without names, which no case changes for others."""
    program = Program(folder=h.kept_folder())
    return program, shutil.copy(edited(program.record(), forget_names), program.folder)


@h.test
def the_same_with_and_without():
    """Cold, warm and without a cache: the same bytes. What is kept is the user's alone."""
    program, bare = bare_profile()
    cache, none = Cache(), Cache()
    without, _ = none.symbolize(bare, "--no-cache")
    assert not os.path.exists(none.folder)
    cold, _ = cache.symbolize(bare)
    kept = cache.contents()
    assert kept and all(name.endswith(".names") for name in kept), kept.keys()
    for path in (cache.folder, *(os.path.join(cache.folder, name) for name in kept)):
        assert not os.stat(path).st_mode & 0o077, path
    warm, _ = cache.symbolize(bare)
    assert without == cold == warm and cache.contents() == kept
    assert OWN <= {frame["name"] for frame in own(program, cache.out)}


@h.test
def what_is_asked_is_part_of_the_key():
    program, bare = bare_profile()
    cache = Cache()
    cache.symbolize(bare, "--no-lines")
    assert not any(frame["line"] for frame in own(program, cache.out))
    cache.symbolize(bare)
    assert all(frame["line"] for frame in own(program, cache.out)) and len(cache.files()) >= 2, cache.files()


@h.test
def a_debug_file_that_comes_later():
    """Coarser names that were kept do not stand in its way."""
    program = Program()
    program.strip()
    bare = edited(program.record(), forget_names)
    cache, given = Cache(), h.folder()
    for _ in range(2):
        cache.symbolize(bare, "--debug-dir", given)
        assert not OWN & {frame["name"] for frame in own(program, cache.out)}
    place = os.path.join(given, ".build-id", program.build_id[:2])
    os.makedirs(place)
    shutil.copy(program.debug, os.path.join(place, program.build_id[2:] + ".debug"))
    for _ in range(2):
        cache.symbolize(bare, "--debug-dir", given)
        assert OWN <= {frame["name"] for frame in own(program, cache.out)}
    shutil.rmtree(place)
    cache.symbolize(bare, "--debug-dir", given)
    assert not OWN & {frame["name"] for frame in own(program, cache.out)}


@h.test
def another_file_with_its_build_id():
    """What one file says is not said of another, whatever build-id that claims to have."""
    program, bare = bare_profile()
    cache, liar = Cache(), program.path + ".liar"
    with open(program.path, "rb") as file:
        data = file.read()
    with open(liar, "wb") as file:
        file.write(data.replace(b"leaf\0", b"lies\0"))
    os.chmod(liar, 0o755)
    os.rename(program.path, program.path + ".true")
    os.rename(liar, program.path)
    cache.symbolize(bare)
    os.rename(program.path + ".true", program.path)
    assert "lies" in {frame["name"] for frame in own(program, cache.out)}
    cache.symbolize(bare)
    names = {frame["name"] for frame in own(program, cache.out)}
    assert "lies" not in names and OWN <= names, names


@h.test
def whatever_lies_there():
    """Damaged, crafted and strange files in place of those of the cache: names are found as without them."""
    _, bare = bare_profile()
    cache = Cache()
    right, _ = cache.symbolize(bare)
    names, crafted = cache.files(), os.path.join(h.ROOT, "tests/fuzz/corpus/namecache")
    secret = os.path.join(h.folder(), "secret")
    with open(secret, "w", encoding="ascii") as file:
        file.write("untouched")

    def put(content):
        def make(path):
            with open(path, "wb") as out:
                out.write(content)
        return make

    def truncated(path):
        os.truncate(path, os.path.getsize(path) // 2)

    def flipped(path):
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            data[len(data) // 2] ^= 0x55
            file.seek(0)
            file.write(data)

    def replaced(make):
        def replace(path):
            os.unlink(path)
            make(path)
        return replace

    tricks = [put(b""), put(os.urandom(100000)), truncated, flipped, replaced(os.mkfifo), replaced(os.mkdir),
              replaced(lambda path: os.symlink(secret, path)), replaced(lambda path: os.link(secret, path)),
              replaced(lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))), lambda path: os.truncate(path, 1 << 40)]
    for name in sorted(os.listdir(crafted)):
        with open(os.path.join(crafted, name), "rb") as file:
            tricks.append(put(file.read()))
    for trick in tricks:
        shutil.rmtree(cache.folder)
        cache.symbolize(bare)
        for name in names:
            trick(os.path.join(cache.folder, name))
        for _ in range(2):
            found, said = cache.symbolize(bare)
            assert found == right, (trick, said)
        with open(secret, encoding="ascii") as file:
            assert file.read() == "untouched", trick


@h.test
def where_there_can_be_none():
    """No home, a file or a link in place of the folder, a folder of others or for all, no room: no cache, and no harm."""
    _, bare = bare_profile()
    right, _ = Cache().symbolize(bare)
    for prepare in (lambda folder: open(folder, "w", encoding="ascii").close(), lambda folder: os.symlink(h.folder(), folder),
                    lambda folder: os.symlink("/nowhere", folder), lambda folder: (os.mkdir(folder), os.chmod(folder, 0o777)),
                    lambda folder: (os.mkdir(folder), os.chown(folder, h.NOBODY, h.NOBODY))):
        cache = Cache()
        prepare(cache.folder)
        found, said = cache.symbolize(bare, "-v")
        assert found == right and "there is no cache of names: " in said, said
        assert os.path.islink(cache.folder) or not os.path.isdir(cache.folder) or not cache.files()
    found, said = cache.symbolize(bare, "-v", env={"XDG_CACHE_HOME": "/proc/nothing"})
    assert found == right and "there is no cache of names: " in said, said


@h.test
def with_sudo():
    """The cache is that of the user behind it: made, owned and bounded as his; nothing is made where he could not."""
    _, bare = bare_profile()
    cache = Cache()
    sudo = {"SUDO_UID": str(h.NOBODY), "SUDO_GID": str(h.NOBODY)}
    os.chmod(cache.base, 0o755)
    cache.symbolize(bare, env=sudo)  # root's folder: he may not write there
    assert not os.path.exists(cache.folder)
    os.chown(cache.base, h.NOBODY, h.NOBODY)
    right, _ = cache.symbolize(bare, env=sudo)
    for path in (cache.folder, *(os.path.join(cache.folder, name) for name in cache.files())):
        assert os.stat(path).st_uid == os.stat(path).st_gid == h.NOBODY, path
    assert cache.files()
    found, _ = cache.symbolize(bare, env=sudo)
    assert found == right
    secret = h.folder()  # root's, to which he makes a link
    shutil.rmtree(cache.folder)
    os.symlink(secret, cache.folder)
    found, said = cache.symbolize(bare, "-v", env=sudo)
    assert found == right and "there is no cache of names: " in said and not os.listdir(secret), said


@h.test
def it_is_bounded():
    """The files that were written the longest ago go; so do those that an interrupted run left."""
    _, bare = bare_profile()
    cache = Cache()
    os.mkdir(cache.folder, 0o700)
    for i in range(40):
        path = os.path.join(cache.folder, f"{i:016x}.names" if i else ".cprof-0123456789abcdef")
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2 << 20)
        os.utime(path, (i, i))
    cache.symbolize(bare)
    left = cache.files()
    size = sum(os.path.getsize(os.path.join(cache.folder, name)) for name in left)
    assert size <= 64 << 20 and ".cprof-0123456789abcdef" not in left, (size, left)
    assert f"{39:016x}.names" in left and f"{1:016x}.names" not in left, left


@h.test
def record_uses_it():
    """What record has found serves symbolize and the next record; the files that a launched program is of count as any others."""
    program = Program()
    cache = Cache()

    def recorded():
        target = h.Workload(program.path)
        done = h.cprof("record", "-F", "1999", "-p", target.pid, env={"XDG_CACHE_HOME": cache.base}).attached()
        target.uses(0.15)
        output = done.stop().output
        target.process.kill()
        target.wait()
        return program.frames(output), output

    frames, output = recorded()
    assert cache.files()
    assert OWN <= {frame["name"] for sample in frames for frame in sample}
    kept = cache.contents()
    known = {frame["address"]: sample for sample in frames for frame in sample[-1:]}
    cache.symbolize(edited(output, forget_names))
    assert program.frames(cache.out) == frames
    assert {name: len(data) for name, data in cache.contents().items()}.keys() >= kept.keys()
    again, _ = recorded()
    assert all(sample[-1]["name"] == known[sample[-1]["address"]][-1]["name"] for sample in again
               if sample and sample[-1]["address"] in known)
    run(h.CPROF, "record", "--no-cache", "-d", "0.1s", "-o", os.path.join(h.folder(), "x.pb.gz"), "--allow-empty", "--", "true")


h.main()
