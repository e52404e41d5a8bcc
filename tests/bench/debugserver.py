# SPDX-License-Identifier: BSD-2-Clause
"""Debug files from a debuginfod on the loopback interface, for benchmarks that name frames with them."""
import contextlib
import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

INSTALLED = "/usr/lib/debug"
HIDDEN = "CPROF_BENCH_DEBUG"  # in the environment: the folder where the installed debug files are, once they are hidden
HIDE = f'mount --bind {INSTALLED} "$0" && mount -t tmpfs none {INSTALLED} && exec "$@"'
INDEXED_S = 120


def hide_installed(argv):
    """Runs argv again where no program finds an installed debug file, except the server, and exits as it does. Returns there."""
    if HIDDEN in os.environ or not os.path.isdir(INSTALLED):
        return
    with tempfile.TemporaryDirectory(prefix="complete-installed-") as folder:
        done = subprocess.run(["unshare", "-m", "sh", "-c", HIDE, folder, *argv], env={**os.environ, HIDDEN: folder})
    sys.exit(done.returncode)


def download(folder):
    """libc6-dbg of the installed version, where an archive has it."""
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libc6"], capture_output=True, text=True).stdout
    subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", f"libc6-dbg={version}"], cwd=folder,
                   stdin=subprocess.DEVNULL, capture_output=True)
    return os.listdir(folder)


class DebugServer:
    def __init__(self, url):
        self.url = url

    @functools.cache
    def has(self, build_id):
        """Whether it has the debug file of this build."""
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(f"{self.url}/buildid/{build_id}/debuginfo", timeout=60) as answer:
                return answer.status == 200
        return False

    def wait_until_indexed(self, server):
        """Its first pass over the folders is done when it says so, and no file waits to be read."""
        end = time.monotonic() + INDEXED_S
        while time.monotonic() < end and server.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
                    metrics = set(answer.read().decode().splitlines())
                    if {'thread_work_total{role="traverse"} 1', 'thread_busy{role="scan"} 0'} <= metrics and not any(
                            line.startswith("thread_work_pending") and not line.endswith(" 0") for line in metrics):
                        return True
            time.sleep(0.2)
        return False

    @classmethod
    @contextlib.contextmanager
    def running(cls, folders):
        """The server, for the time of the block; None, which is said, where there is no debuginfod or no debug file."""
        if not shutil.which("debuginfod"):
            print("SKIP: no debug files: no debuginfod (apt-get install debuginfod)")
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="complete-debug-") as packages, socket.socket() as probe:
            served = [folder for folder in (os.environ.get(HIDDEN, INSTALLED), *folders) if os.path.isdir(folder)]
            print("# debug files: " + ", ".join([*download(packages), INSTALLED, *folders]), flush=True)
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            probe.close()
            server = subprocess.Popen(
                ["debuginfod", "-d", ":memory:", "-p", str(port), "-F", "-U", "-t", "0", "-g", "0", packages,
                 *served], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env={**os.environ, "DEBUGINFOD_URLS": ""})
            try:
                found = cls(f"http://127.0.0.1:{port}")
                if not found.wait_until_indexed(server):
                    print("SKIP: no debug files: debuginfod does not index them")
                    found = None
                yield found
            finally:
                server.kill()
                server.wait()
