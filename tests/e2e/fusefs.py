# SPDX-License-Identifier: BSD-2-Clause
"""A file on a FUSE file system whose server the test can stop: silentfs.py, mounted on a folder of the test's. It may be below
an overlay."""
import contextlib
import os
import signal
import subprocess
import sys

import harness as h


class Server:
    def __init__(self, content):
        self.folder = h.folder()
        self.path = os.path.join(self.folder, "file")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "silentfs.py"), self.folder, content],
            stdout=subprocess.PIPE, text=True)

    def stops_answering(self):
        self.process.send_signal(signal.SIGSTOP)

    def answers_again(self):
        self.process.send_signal(signal.SIGCONT)

    def swallows(self):
        """It takes what it is asked, and never answers: who asks cannot be killed."""
        self.process.send_signal(signal.SIGUSR1)

    def in_overlay(self):
        """A command before the file's arguments that runs it below an overlay."""
        merged = h.folder()
        return (*in_overlay(self.folder, h.folder(), merged), os.path.join(merged, "file"))


def in_overlay(folder, empty, merged):
    """A command before another one, which runs where an overlay over folder is mounted on merged, as any user can do that."""
    return ("/usr/bin/unshare", "-U", "-r", "-m", "sh", "-c",
            f'mount -t overlay none -o lowerdir={folder}:{empty} {merged} && exec "$@"', "sh")


def has_overlays(*run_as):
    """May an overlay be mounted in a user namespace?"""
    folders = [h.folder() for _ in range(3)]
    for folder in folders:
        os.chmod(folder, 0o755)
    return not subprocess.run([*run_as, *in_overlay(*folders), "true"], check=False, stderr=subprocess.DEVNULL).returncode


@contextlib.contextmanager
def serving(content):
    """A server of a copy of the file `content`. When the test is over it is gone: nobody waits for it any more."""
    if not os.path.exists("/dev/fuse"):
        raise h.Skip("no /dev/fuse")
    server = Server(content)
    try:
        if server.process.stdout.readline() != "mounted\n":
            raise h.Skip("FUSE cannot be mounted here")
        yield server
    finally:
        subprocess.run(["umount", "-l", server.folder], check=False)
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()
