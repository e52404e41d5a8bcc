#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes an initramfs: a whole small system, as one file, for a kernel to unpack and run.

    tests/vm/mkinitramfs.py [--root ROOT] OUTPUT FILE[:PATH[:MODE]]...

Puts each FILE at PATH (default: /bin/NAME), with everything it is linked with where it expects it (as
ldd says); busybox as /bin/busybox and /bin/sh; and the folders and the console that an init needs. With
A FILE that is a folder is put there with all that is in it, but for its documentation, and links stay links. With
--root, busybox and the libraries are those of a system of another machine that stands in ROOT; then each
library is looked for as its loader does it, in ROOT's standard folders.

The format is "newc" (Documentation/driver-api/early-userspace/buffer-format.rst): for each file a
header of 13 numbers, 8 hex digits each, then its name and its content, both padded to 4 bytes. Not
compressed: unpacking it would cost the emulated machine more than it saves.
"""
import glob
import os
import re
import shutil
import stat
import subprocess
import sys

FOLDERS = ("bin", "dev", "proc", "sys", "tmp", "run", "root", "etc")
DOCUMENTATION = ("doc", "man", "info", "locale", "__pycache__")
CONSOLE = (5, 1)  # /dev/console; devtmpfs comes later, and init wants to speak at once


class Archive:
    def __init__(self, file):
        self.file = file
        self.names = set()
        self.inode = 0

    def padded(self, data):
        self.file.write(data + bytes(-len(data) % 4))

    def entry(self, name, mode, data=b"", device=(0, 0)):
        if name in self.names:
            return
        self.names.add(name)
        self.inode += 1
        raw = name.encode() + b"\0"
        # inode, mode, uid, gid, links, mtime, size, device of the file system, device, name, checksum
        numbers = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(raw), 0]
        # header and name are padded together: the header alone has 110 bytes
        self.padded(b"070701" + b"".join(b"%08X" % number for number in numbers) + raw)
        self.padded(data)

    def folder(self, path):
        parts = path.strip("/").split("/")
        for i in range(1, len(parts) + 1):
            if parts[0]:
                self.entry("/".join(parts[:i]), stat.S_IFDIR | 0o755)

    def add(self, source, path, mode=None):
        with open(source, "rb") as file:
            data = file.read()
        if mode is None:
            mode = stat.S_IMODE(os.stat(source).st_mode)
        self.folder(os.path.dirname(path))
        self.entry(path.strip("/"), stat.S_IFREG | mode, data)

    def tree(self, source, path):
        """A folder, with all that is in it."""
        for folder, names, files in os.walk(source):
            names[:] = [name for name in names if name not in DOCUMENTATION]
            where = os.path.join(path, os.path.relpath(folder, source))
            self.folder(os.path.normpath(where))
            for name in files + [name for name in names if os.path.islink(os.path.join(folder, name))]:
                file, there = os.path.join(folder, name), os.path.normpath(os.path.join(where, name))
                if os.path.islink(file):
                    self.entry(there.strip("/"), stat.S_IFLNK | 0o777, os.readlink(file).encode())
                else:
                    self.add(file, there)

    def finish(self):
        self.entry("TRAILER!!!", 0)


def is_elf(program):
    with open(program, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(program):
    """The libraries that a program names, and its loader's path if it has one."""
    text = subprocess.run(["readelf", "-W", "-d", "-l", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return (re.findall(r"\(NEEDED\).*\[(.*)\]", text), re.findall(r"program interpreter: (.*)\]", text))


def libraries_in(root, program):
    """{where a library or loader of a program of another machine is: where it is looked for there}"""
    found, todo = {}, [program]
    while todo:
        names, loaders = needed(todo.pop())
        paths = [path for name in names for path in glob.glob(os.path.join(root, "usr/lib/*-linux-gnu*", name))]
        if len(paths) < len([name for name in names if not name.startswith("ld-linux")]):
            sys.exit(f"mkinitramfs: {program} needs {', '.join(names)}, and {root} has {paths}")
        where = {path: path[len(root):] for path in paths} | {root + loader: loader for loader in loaders}
        todo += [path for path in where if path not in found]
        found |= where
    return found


def libraries(root, program):
    """{where the libraries and the loader of a program are: where they belong}; none for a script or a static one."""
    if not is_elf(program):
        return {}
    if root:
        return libraries_in(root, program)
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False).stdout
    missing = re.findall(r"^\s*(\S+) => not found", listed, re.M)
    if missing:
        sys.exit(f"mkinitramfs: {program} needs {', '.join(missing)}")
    return {path: path for path in re.findall(r"(/\S+) \(0x", listed)}


def main():
    arguments, root = sys.argv[1:], ""
    if arguments[:1] == ["--root"]:
        root, arguments = os.path.abspath(arguments[1]), arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    busybox = os.path.join(root, "usr/bin/busybox") if root else shutil.which("busybox")
    if not busybox or libraries(root, busybox):
        sys.exit("mkinitramfs: no busybox that is linked statically (Debian: busybox-static)")
    with open(arguments[0], "wb") as file:
        archive = Archive(file)
        for name in FOLDERS:
            archive.folder(name)
        archive.entry("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE)
        archive.add(busybox, "/bin/busybox", 0o755)
        archive.entry("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
        for argument in arguments[1:]:
            source, path, mode, *_ = (argument + "::").split(":")
            if os.path.isdir(source):
                archive.tree(source, path)
                continue
            archive.add(source, path or f"/bin/{os.path.basename(source)}", int(mode, 8) if mode else None)
            for library, belongs in libraries(root, source).items():
                archive.add(library, belongs)
        archive.finish()


main()
