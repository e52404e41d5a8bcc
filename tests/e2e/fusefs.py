# SPDX-License-Identifier: BSD-2-Clause
"""A file on a FUSE file system whose server the test can stop: silentfs.py, mounted on a folder of the test's."""
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
