# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of names after the fact share: a program whose names are known, and profiles that lost theirs."""
import os
import re
import shutil

import harness as h

SOURCE = """
static inline __attribute__((always_inline)) unsigned twist(unsigned x) { /* inlined */
    for (int i = 0; i < 50; i++)
        x = x * 1103515245u + 12345u;
    return x;
}
__attribute__((noinline)) unsigned leaf(unsigned x)
{
    x = twist(x);
    return x ^ twist(x + 1);
}
__attribute__((noinline)) unsigned caller(unsigned x)
{
    return leaf(x) + 1;
}
int main(int argc, char **argv)
{
    unsigned x = argc;
    for (long i = 0; i < 1L << 62; i++)
        x += caller(x);
    return argv[0][0] == x;
}
"""


def run(*command, status=0, text=None):
    return h.run(*command, status=status, input=text)


class Program:
    """A program with inlined functions; its debug file is away, and so are its symbols once strip() was called."""

    def __init__(self, *flags, folder=None):
        self.folder = folder or h.folder()
        self.path, self.away = os.path.join(self.folder, "app"), os.path.join(self.folder, "away")
        os.mkdir(self.away)
        source = os.path.join(self.folder, "app.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        run("gcc", "-O1", "-g", f"-Wl,--build-id=0x{os.urandom(20).hex()}", *flags, "-o", self.path, source)
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", self.path).stdout)[1]
        self.debug = os.path.join(self.away, "whatever")
        run("objcopy", "--only-keep-debug", self.path, self.debug)
        self.full = self.path + ".full"
        shutil.copy(self.path, self.full)

    def strip(self):
        run("strip", self.path)

    def record(self, *options):
        """For as long as it takes to have a hundred samples, on however busy a machine."""
        target = h.Workload(self.path)
        cprof = h.cprof("record", "-F", "1999", *(options or ["--no-kernel"]), "-p", target.pid).attached()
        target.uses(0.15)
        output = cprof.stop().output
        target.process.kill()
        target.wait()
        return output

    def frames(self, path):
        """The frames of the program of each sample: what is known of them."""
        return [[{key: frame[key] for key in ("name", "system_name", "file", "start_line", "line", "address")}
                 for frame in sample["frames"] if frame["mapping"]["build_id"] == self.build_id]
                for sample in h.contract.load(path)["samples"]]

    def flags(self, path):
        mapping, = [m for m in h.contract.load(path)["mappings"] if m["build_id"] == self.build_id]
        return {key: mapping[key] for key in mapping if key.startswith("has_")}


def edited(path, edit):
    """The profile, changed by edit(raw)."""
    with open(path, "rb") as file:
        raw = h.contract.decode(h.contract.gunzip(file.read()))
    edit(raw)
    out = os.path.join(h.folder(), "edited.pb.gz")
    with open(out, "wb") as file:
        file.write(h.contract.gzip.compress(h.contract.encode(raw)))
    return out


def forget_names(raw):
    for location in raw["location"]:
        location["line"] = []
    for mapping in raw["mapping"]:
        for flag in ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"):
            mapping[flag] = False


OWN = {"leaf", "caller", "main"}


def own(program, path):
    """The frames of its functions, and whatever has no symbol."""
    return [frame for sample in program.frames(path) for frame in sample if frame["name"] != "_start"]


def no_symbols(program, path):
    return not OWN & {frame["name"] for frame in own(program, path)}
