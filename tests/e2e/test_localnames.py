#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What has no name in a profile is named from the binaries at hand: those that its mappings tell of, by their
build-id where there is one, and nothing but regular files. nm and readelf say what the names are."""
import os
import re
import time

import harness as h

BASE = 0x555555554000
SOURCE = """
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
__attribute__((noinline)) int caller(int x) { x = leaf(x); __asm__ volatile("" : "+r"(x)); return x; }
int main(int argc, char **argv) { (void)argv; return caller(argc); }
"""


def run(*command, status=0):
    return h.run(*command, status=status).stdout


class Binary:
    """A small program, and a heap profile as text with a stack in it."""

    def __init__(self, *flags):
        self.folder = h.folder()
        self.path = os.path.join(self.folder, "app")
        source = os.path.join(self.folder, "app.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        run("gcc", "-O1", "-pie", "-fPIE", "-Wl,--build-id", *flags, "-o", self.path, source)
        self.symbols = {}
        for line in run("nm", self.path).splitlines():
            words = line.split()
            if len(words) == 3:
                self.symbols[words[2]] = int(words[0], 16)
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", self.path))[1]
        segment = next(line.split() for line in run("readelf", "-lW", self.path).splitlines() if " R E " in line)
        self.file_off, self.start = int(segment[1], 16), int(segment[2], 16)

    def profile(self, path=None, build_id=""):
        """leaf <- caller <- main, one object of 100 bytes."""
        at = " ".join(f"{BASE + self.symbols[name] + 2:#x}" for name in ("leaf", "caller", "main"))
        start = BASE + (self.start & ~0xfff)
        text = (f"heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ {at}\n\nMAPPED_LIBRARIES:\n"
                f"{start:x}-{start + 0x1000:x} {path or self.path} (@{self.file_off & ~0xfff:x}) {build_id}\n")
        out = os.path.join(self.folder, f"{time.monotonic_ns()}.heap")
        with open(out, "w", encoding="ascii") as file:
            file.write(text)
        return out


def names(profile, *options):
    """The functions of the stack, from the leaf."""
    text = run(h.CPROF, "convert", "--format", "folded", profile, *options)
    (folded,) = [line for line in text.splitlines() if not line.startswith("#")]
    return folded.rsplit(" ", 1)[0].split(";")[::-1]


STACK = ["leaf", "caller", "main"]


@h.test
def by_path():
    binary = Binary()
    profile = binary.profile()
    assert names(profile) == STACK, names(profile)
    top = run(h.CPROF, "top", profile)
    assert all(re.search(rf" {name}( \[app\])?$", top, re.M) for name in STACK), top
    assert "caller" in run(h.CPROF, "peek", "^leaf", profile)
    assert "caller" in run(h.CPROF, "tree", profile)
    assert "caller" in run(h.CPROF, "flame", profile, "-o", "-")


@h.test
def no_symbolize():
    profile = Binary().profile()
    assert set(names(profile, "--no-symbolize")) == {"[app]"}, names(profile, "--no-symbolize")
    assert " leaf" not in run(h.CPROF, "top", "--no-symbolize", profile)
    assert " leaf" in run(h.CPROF, "top", profile)


@h.test
def by_build_id():
    binary = Binary()
    assert names(binary.profile(build_id=binary.build_id)) == STACK
    assert names(binary.profile(build_id=binary.build_id.upper())) == STACK
    assert set(names(binary.profile(build_id="ab" * 20))) == {"[app]"}
    assert set(names(binary.profile(build_id=binary.build_id[:8]))) == {"[app]"}


def warned(*arguments):
    """What a reading command says of names by path: one line, or none."""
    lines = [line for line in h.run(h.CPROF, *arguments).stderr.splitlines() if "at their paths" in line]
    assert len(lines) <= 1, lines
    return lines[0] if lines else ""


@h.test
def by_path_alone():
    """Without a build-id nobody knows whether the file at the path is the right one: a line says so, and that it has changed since."""
    binary = Binary()
    profile = binary.profile()
    unknown = "3 addresses were named by the files at their paths: no build-id tells whether these are the right ones"
    for command in ("top",), ("tree",), ("peek", "leaf"), ("convert", "--format", "folded"):
        assert warned(*command, profile).endswith(unknown), command
    assert warned("diff", profile, profile).endswith(unknown.replace("3", "6")), warned("diff", profile, profile)
    assert not warned("top", "--no-symbolize", profile)
    assert not warned("top", binary.profile(build_id=binary.build_id))
    assert not warned("top", binary.profile(build_id="ab" * 20))
    bare = os.path.join(binary.folder, "bare.pb")
    run(h.CPROF, "convert", "--no-symbolize", profile, "-o", bare)
    with open(bare, "rb") as file:
        raw = h.contract.decode(file.read())
    for time_ns, wanted in ((10**18, f"of which {binary.path} has changed since the profile was taken"), (4 * 10**18, unknown)):
        raw["time_nanos"] = time_ns
        with open(bare, "wb") as file:
            file.write(h.contract.encode(raw))
        assert names(bare) == STACK and warned("top", bare).endswith(wanted), (time_ns, warned("top", bare))


@h.test
def deleted_files():
    """At the path of a file that was deleted may be another: only the build-id says that it is the same."""
    binary = Binary()
    text = open(binary.profile(), encoding="ascii").read()
    maps = "00000000-00001000 r-xp 00000000 00:00 0 /x\n"
    start = BASE + (binary.start & ~0xfff)
    line = f"{start:x}-{start + 0x1000:x} r-xp {binary.file_off & ~0xfff:08x} 08:01 7 {binary.path}"
    for suffix, wanted in (("", STACK), (" (deleted)", STACK)):  # a text keeps neither build-id nor "(deleted)"
        path = os.path.join(binary.folder, "maps.heap")
        with open(path, "w", encoding="ascii") as file:
            file.write(text.split("MAPPED")[0] + f"MAPPED_LIBRARIES:\n{maps}{line}{suffix}\n")
        assert names(path) == wanted, (suffix, names(path))
    pprof = os.path.join(binary.folder, "p.pb")
    run(h.CPROF, "convert", "--no-symbolize", binary.profile(), "-o", pprof)
    with open(pprof, "rb") as file:
        data = file.read()
    gone = os.path.join(binary.folder, "g.pb")
    longer = (binary.path + " (deleted)").encode()
    with open(gone, "wb") as file:
        file.write(data.replace(bytes([0x32, len(binary.path)]) + binary.path.encode(),
                                bytes([0x32, len(longer)]) + longer))
    assert names(pprof) == STACK
    assert set(names(gone)) == {"[app (deleted)]"}, names(gone)


@h.test
def a_stripped_binary():
    """A function is one row, by the address that it begins at."""
    binary = Binary()
    profile = binary.profile()
    run("strip", binary.path)
    wanted = [f"app+{binary.symbols[name]:#x}" for name in STACK]
    assert names(profile) == wanted, (names(profile), wanted)


@h.test
def a_debug_file():
    binary = Binary()
    profile = binary.profile(build_id=binary.build_id)
    folder = f"/usr/lib/debug/.build-id/{binary.build_id[:2]}"
    path = f"{folder}/{binary.build_id[2:]}.debug"
    made = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    try:
        run("objcopy", "--only-keep-debug", binary.path, path)
        run("strip", binary.path)
        assert names(profile) == STACK, names(profile)
    finally:
        os.unlink(path)
        if made:
            os.rmdir(folder)


@h.test
def names_stay():
    """What has a name keeps it, whatever the binary says."""
    binary, other = Binary(), Binary("-Dleaf=another", "-Dcaller=one")
    named = os.path.join(binary.folder, "named.pb.gz")
    run(h.CPROF, "convert", binary.profile(), "-o", named)
    os.replace(other.path, binary.path)
    assert names(named) == STACK, names(named)


@h.test
def no_regular_files():
    """A file from anybody may name anything: nothing waits, nothing is read from a device."""
    binary = Binary()
    fifo = os.path.join(binary.folder, "fifo")
    os.mkfifo(fifo)
    text = os.path.join(binary.folder, "text")
    with open(text, "w", encoding="ascii") as file:
        file.write("not an ELF file\n")
    empty = os.path.join(binary.folder, "empty")
    with open(empty, "wb"):
        pass
    short = os.path.join(binary.folder, "short")
    with open(binary.path, "rb") as whole, open(short, "wb") as file:
        file.write(whole.read()[:700])
    for path in (fifo, "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/kcore", binary.folder, text, empty, short,
                 "/nonexistent/app", "app", "[vdso]", "//anon"):
        got = set(names(binary.profile(path=path)))
        assert len(got) == 1 and not got & set(STACK), (path, got)


@h.test
def differences():
    binary = Binary()
    profile = binary.profile()
    other = os.path.join(binary.folder, "other.heap")
    with open(profile, encoding="ascii") as file, open(other, "w", encoding="ascii") as out:
        out.write(file.read().replace("1: 100 [1: 100]", "3: 300 [3: 300]"))
    assert re.search(r" leaf( \[app\])?$", run(h.CPROF, "diff", profile, other), re.M)
    assert " leaf" not in run(h.CPROF, "diff", "--no-symbolize", profile, other)


h.main()
