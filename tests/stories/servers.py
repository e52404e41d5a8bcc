# SPDX-License-Identifier: BSD-2-Clause
"""Stock servers of Debian for the stories: installs what is missing, starts them with a folder of their own, and ends them.

They listen on the loopback interface only, or on a socket in that folder. What is installed is neither started nor enabled as a
service.
"""
import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(FOLDER), "e2e"))
import harness as h  # noqa: E402 (its folder is known only now)

POLICY = "/usr/sbin/policy-rc.d"  # Debian's packages ask it before they start a service; 101: they must not
SECONDS_TO_END = 20


# Packages ----------------------------------------------------------------------------------------

@contextlib.contextmanager
def no_service_starts():
    """What is installed meanwhile starts nothing."""
    is_ours = not os.path.exists(POLICY)
    if is_ours:
        with open(POLICY, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(POLICY, 0o755)
    try:
        yield
    finally:
        if is_ours:
            os.unlink(POLICY)


def apt_get(*arguments):
    """None, or the last that it said."""
    done = subprocess.run(["apt-get", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
    return " ".join(done.stdout.strip().splitlines()[-2:]) if done.returncode else None


def need(program, package, service=None):
    """The path of a program, by a pattern; its package is installed if it is not there."""
    if not glob.glob(program):
        if not shutil.which("apt-get"):
            raise h.Skip(f"no {program}, and no apt-get to install {package}")
        install = "install", "-y", "--no-install-recommends", package
        with no_service_starts():
            why = apt_get(*install) and (apt_get("update") or apt_get(*install))
        if service and shutil.which("systemctl"):
            subprocess.run(["systemctl", "--quiet", "disable", service], stderr=subprocess.DEVNULL, check=False)
        if why or not glob.glob(program):
            raise h.Skip(f"{package} cannot be installed: {why or f'it has no {program}'}")
    return sorted(glob.glob(program))[-1]


# Servers -----------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """One that runs, in a folder that is its own."""

    def __init__(self, folder, *command, end_by=signal.SIGTERM, **options):
        self.folder, self.end_by, self.log = folder, end_by, os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
        self.pid = self.process.pid
        h.running.append(self.process)

    def awaits(self, is_ready):
        end = time.monotonic() + h.HANGS
        while not is_ready():
            assert self.process.poll() is None and time.monotonic() < end, f"it does not begin: {self.said()}"
            time.sleep(0.05)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-800:]

    def workers(self):
        """Its child processes that live."""
        return h.children(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        workers = self.workers()
        self.process.send_signal(self.end_by)
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            for pid in [self.pid, *workers]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def gunicorn(nr_workers):
    """The server, and its port."""
    program, port, folder = need("/usr/bin/gunicorn", "gunicorn"), free_port(), h.folder()
    server = Server(folder, program, "--workers", str(nr_workers), "--bind", f"127.0.0.1:{port}", "--chdir", FOLDER,
                    "--worker-tmp-dir", folder, "app:application", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    server.awaits(lambda: answers(port) and len(server.workers()) == nr_workers)
    return server, port


NGINX = """
daemon off; worker_processes {nr}; pid {folder}/pid; error_log {folder}/errors;
events {{ }}
http {{
    access_log off; gzip on; gzip_types *; gzip_comp_level 6; gzip_proxied any; root {folder};
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{ listen 127.0.0.1:{port} reuseport; }}
}}
"""


def nginx(nr_workers):
    """The server, and its port. It has a file page.txt to send."""
    program, port, folder = need("/usr/sbin/nginx", "nginx-light", "nginx.service"), free_port(), h.folder()
    os.chmod(folder, 0o755)
    for name, text in (("nginx.conf", NGINX.format(nr=nr_workers, folder=folder, port=port)),
                       ("page.txt", "".join(f"line {i * 7919 % 1000} of some length\n" for i in range(2000)))):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    server = Server(folder, program, "-p", folder, "-c", os.path.join(folder, "nginx.conf"))
    server.awaits(lambda: answers(port) and len(server.workers()) == nr_workers)
    return server, port


class Postgres(Server):
    """With a database for pgbench, of scale 2, behind a socket in its folder."""

    def __init__(self):
        postgres = need("/usr/lib/postgresql/*/bin/postgres", "postgresql", "postgresql.service")
        self.tools = os.path.dirname(postgres)
        user, folder = pwd.getpwnam("postgres"), h.folder()
        self.as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
        data = os.path.join(folder, "data")
        h.silent([os.path.join(self.tools, "initdb"), "-D", data, "-A", "trust", "-N", "-E", "UTF8", "--locale", "C"], data,
                 cwd=folder, **self.as_user)
        super().__init__(folder, postgres, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off",
                         end_by=signal.SIGINT, **self.as_user)
        self.awaits(lambda: "ready to accept connections" in self.said())
        subprocess.run([*self.pgbench(), "-i", "-q", "-s", "2", "postgres"], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def pgbench(self, *options):
        """Its command line."""
        return [os.path.join(self.tools, "pgbench"), "-h", self.folder, "-U", "postgres", *map(str, options)]

    def starts_pgbench(self, *options):
        process = subprocess.Popen(self.pgbench(*options), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        h.running.append(process)
        return process

    def seconds_of_ended(self):
        """The CPU time of its children that have ended, as the kernel charged it."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def backends(self):
        """The processes that serve a client."""
        return {pid for pid in self.workers() if "[local]" in h.leftovers.command_line(pid)}

    def awaits_backends(self, nr, before=frozenset()):
        """Waits until there are so many more, and no other that is about to end: pgbench asks for the tables before it begins. These."""
        found = None

        def are_the_same():
            nonlocal found
            last, found = found, self.backends() - before
            time.sleep(0.2)
            return len(found) == nr and found == last

        self.awaits(are_the_same)
        return found
