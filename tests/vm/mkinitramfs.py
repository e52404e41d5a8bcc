#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes an initramfs: a whole small system, as one file, for a kernel to unpack and run.

    tests/vm/mkinitramfs.py OUTPUT FILE[:PATH[:MODE]]...

Puts each FILE at PATH (default: /bin/NAME), with everything it is linked with where it expects it (as
ldd says); busybox as /bin/busybox and /bin/sh; and the folders and the console that an init needs.

The format is "newc" (Documentation/driver-api/early-userspace/buffer-format.rst): for each file a
header of 13 numbers, 8 hex digits each, then its name and its content, both padded to 4 bytes. Not
compressed: unpacking it would cost the emulated machine more than it saves.
"""
import os
import re
import shutil
import stat
import subprocess
import sys

FOLDERS = ("bin", "dev", "proc", "sys", "tmp", "run", "root", "etc")
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

    def finish(self):
        self.entry("TRAILER!!!", 0)


def libraries(program):
    """Where the libraries and the loader of a program are; none for a script or a static one."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False).stdout
    missing = re.findall(r"^\s*(\S+) => not found", listed, re.M)
    if missing:
        sys.exit(f"mkinitramfs: {program} needs {', '.join(missing)}")
    return re.findall(r"(/\S+) \(0x", listed)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    busybox = shutil.which("busybox")
    if not busybox or libraries(busybox):
        sys.exit("mkinitramfs: no busybox that is linked statically (Debian: busybox-static)")
    with open(sys.argv[1], "wb") as file:
        archive = Archive(file)
        for name in FOLDERS:
            archive.folder(name)
        archive.entry("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE)
        archive.add(busybox, "/bin/busybox", 0o755)
        archive.entry("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
        for argument in sys.argv[2:]:
            source, path, mode, *_ = (argument + "::").split(":")
            archive.add(source, path or f"/bin/{os.path.basename(source)}", int(mode, 8) if mode else None)
            for library in libraries(source):
                archive.add(library, library)
        archive.finish()


main()
