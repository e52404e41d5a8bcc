# SPDX-License-Identifier: BSD-2-Clause
"""Stock programs under a real load, for benchmarks that profile them.

Nothing is installed: what is missing is named and left out. Servers listen on loopback only and keep
their data in a temporary folder; whatever is started here is ended here, by pid.
"""
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

LOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loads")


class Missing(Exception):
    """A program that is not installed; says the packages that have it."""


def need(program, packages, *places):
    """The path of a program, the Debian one rather than what PATH begins with."""
    for path in [*places, f"/usr/bin/{program}", f"/usr/sbin/{program}", shutil.which(program)]:
        if path and os.access(path, os.X_OK):
            return path
    raise Missing(f"{program} is not installed (apt-get install {packages})")


def load(name):
    return os.path.join(LOADS, name)


class Bench:
    """One program's run: its work folder, and what was started for it."""

    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds
        self.lasting = str(seconds + 20)  # how long a load would go on if it were not ended
        self.children = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def run(self, *argv, **options):
        """To its end."""
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stdout[-800:]}")
        return done.stdout

    def start(self, *argv, **options):
        """In the background, in a process group of its own. Returns its pid."""
        child = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, **options)
        self.children.append(child)
        return child.pid

    def end(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        self.children = []

    def wait_for_port(self, port):
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError(f"nothing listens on port {port}")

    def loop(self, command):
        """A command to run again and again, to be given to cprof."""
        return ["timeout", str(self.seconds + 1), "/bin/sh", "-c", f"while :; do {command}; done"]


def children_of(pid):
    return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]


# The programs ------------------------------------------------------------------------------------
# Each returns what to profile: a list of pids, or of strings: a command.

def python3(bench):
    pid = bench.start(need("python3", "python3"), load("load.py"), bench.lasting)
    return [pid]


def perl(bench):
    return [bench.start(need("perl", "perl"), load("load.pl"), bench.lasting)]


def make_repository(bench, git):
    """A thousand commits to forty files, written by fast-import."""
    stream, mark = [], 0
    for i in range(1000):
        lines = [f"{i * j % 97} some text {j * (i // 40) % 89}\n" for j in range(300)]
        blob = "".join(lines)
        mark += 1
        stream.append(f"blob\nmark :{mark}\ndata {len(blob)}\n{blob}\n"
                      f"commit refs/heads/master\ncommitter a <a@b> {1600000000 + i} +0000\n"
                      f"data 6\nmore {i % 10}\nM 100644 :{mark} dir{i % 5}/file{i % 40}.c\n\n")
    bench.run(git, "init", "-q", "repo")
    subprocess.run([git, "-C", bench.path("repo"), "fast-import", "--quiet"], check=True,
                   input="".join(stream), text=True)
    bench.run(git, "-C", "repo", "reset", "-q", "--hard", "master")


def git(bench):
    program = need("git", "git")
    make_repository(bench, program)
    return bench.loop(f"{program} -C repo log -p --stat >/dev/null; {program} -C repo gc -q "
                      f"--aggressive --prune=now; {program} -C repo blame dir0/file0.c >/dev/null; "
                      f"{program} -C repo grep -c 'some.*[0-9]8$' HEAD~3 >/dev/null")


def cc1plus(bench):
    program = need("g++", "g++")
    return bench.loop(f"{program} -O2 -g -std=c++17 -c -o x.o {load('load.cc')}")


def clang(bench):
    program = need("clang++", "clang")
    return bench.loop(f"{program} -O2 -g -std=c++17 -c -o x.o {load('load.cc')}")


def redis(bench):
    server = need("redis-server", "redis-server")
    client = need("redis-benchmark", "redis-tools")
    port = "16399"
    pid = bench.start(server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir",
                      bench.folder)
    bench.wait_for_port(int(port))
    bench.start(client, "-p", port, "-l", "-q", "-n", "20000", "-c", "20", "-t",
                "set,get,lpush,lrange_300,zadd,sadd,hset,mset", "-r", "10000")
    bench.start(client, "-p", port, "-l", "-q", "-n", "10000", "-c", "2", "eval",
                "local s = {} for i = 1, 200 do s[i] = cjson.encode({i, tostring(i)}) end "
                "redis.call('sort', 'mylist', 'limit', 0, 5, 'alpha') "
                "return table.concat(s):gsub('%d', 'x')", "0")
    return [pid]


def postgres(bench):
    tools = "/usr/lib/postgresql/15/bin"
    initdb = need("initdb", "postgresql", f"{tools}/initdb")
    server = need("postgres", "postgresql", f"{tools}/postgres")
    pgbench = need("pgbench", "postgresql-contrib", f"{tools}/pgbench")
    user = pwd.getpwnam("postgres")
    options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    os.chown(bench.folder, user.pw_uid, user.pw_gid)
    bench.run(initdb, "-D", bench.path("data"), "-A", "trust", "-N", **options)
    pid = bench.start(server, "-D", bench.path("data"), "-p", "25439", "-h", "127.0.0.1", "-k",
                      bench.folder, "-c", "fsync=off", **options)
    bench.wait_for_port(25439)
    login = ["-h", "127.0.0.1", "-p", "25439", "-U", "postgres"]
    time.sleep(1)
    bench.run(pgbench, *login, "-i", "-q", "-s", "2", "postgres", **options)
    heavy = bench.write("heavy.sql", "select bid, count(*), avg(abalance), max(md5(filler || aid)) "
                        "from pgbench_accounts a join pgbench_branches b using (bid) "
                        "where aid % 7 < 3 group by bid order by 2;\n")
    for what in ["-S"], ["-N"], ["-f", heavy]:
        bench.start(pgbench, *login, "-n", *what, "-T", bench.lasting, "postgres", **options)
    time.sleep(1)
    return children_of(pid)


def nginx(bench):
    server = need("nginx", "nginx-light")
    ab = need("ab", "apache2-utils")
    openssl = need("openssl", "openssl")
    os.chmod(bench.folder, 0o755)
    bench.run(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
              "-keyout", "key.pem", "-out", "cert.pem")
    bench.write("page.html", "<p>A page of some length.</p>\n" * 400)
    conf = bench.write("nginx.conf", f"""
        daemon off; worker_processes 1; pid {bench.folder}/pid; error_log {bench.folder}/log;
        events {{ }}
        http {{
            access_log {bench.folder}/access; gzip on; gzip_types *; root {bench.folder};
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {{
                listen 127.0.0.1:18089; listen 127.0.0.1:18449 ssl;
                ssl_certificate cert.pem; ssl_certificate_key key.pem;
                location ~ ^/proxy/(.*)$ {{ proxy_pass http://127.0.0.1:18089/$1; }}
            }}
        }}""")
    pid = bench.start(server, "-p", bench.folder, "-c", conf)
    bench.wait_for_port(18089)
    for argv in (["-k", "-c", "10", "http://127.0.0.1:18089/page.html"],
                 ["-c", "4", "http://127.0.0.1:18089/proxy/page.html"],
                 ["-c", "4", "https://127.0.0.1:18449/page.html"]):
        bench.start(ab, "-q", "-H", "Accept-Encoding: gzip", "-t", bench.lasting, "-n", "10000000",
                    *argv)
    return children_of(pid)


def sqlite3(bench):
    return bench.loop(f"{need('sqlite3', 'sqlite3')} :memory: <{load('load.sql')} >/dev/null")


def node(bench, program=None):
    pid = bench.start(program or need("node", "nodejs"), load("load.js"), bench.lasting)
    time.sleep(1)
    return [pid]


def java(bench, *flags):
    bench.run(need("javac", "default-jdk-headless"), "-d", bench.folder, load("Load.java"))
    pid = bench.start(need("java", "default-jre-headless"), *flags, "-cp", bench.folder,
                      "Load", bench.lasting)
    time.sleep(1)
    return [pid]


def java_fp(bench):
    return java(bench, "-XX:+PreserveFramePointer")


def ruby(bench):
    return [bench.start(need("ruby", "ruby"), load("load.rb"), bench.lasting)]


def php(bench):
    return [bench.start(need("php", "php-cli"), load("load.php"), bench.lasting)]


def openssl(bench):
    program = need("openssl", "openssl")
    bench.write("data", "some text " * 2_000_000)
    return bench.loop(f"{program} dgst -sha256 data >/dev/null; {program} genrsa -out key 2048 2>/dev/null; "
                      f"{program} enc -aes-256-cbc -pbkdf2 -k x -in data -out out; {program} speed -seconds 1 ecdsap256 "
                      f">/dev/null 2>&1")


def go(bench, *flags):
    bench.run(need("go", "golang-go"), "build", *flags, "-o", bench.path("load"), load("load.go"))
    return [bench.start(bench.path("load"), bench.lasting)]


def go_stripped(bench):
    return go(bench, "-trimpath", "-ldflags=-s -w")


def rust(bench, *flags):
    bench.run(need("rustc", "rustc"), "-O", *flags, "-o", bench.path("load"), load("load.rs"))
    return [bench.start(bench.path("load"), bench.lasting)]


def rust_stripped(bench):
    return rust(bench, "-C", "strip=symbols")


# Half of the code of these is assembler without call frame information.


def ffmpeg(bench, make, use):
    """Makes a film of a few seconds with an encoder, and reads it again and again."""
    program = need("ffmpeg", "ffmpeg")
    bench.run(program, "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=6", *make, "film.mkv")
    return [bench.start(program, "-v", "error", "-stream_loop", "-1", *use, "-f", "null", "-")]


def encode(bench, codec):
    return ffmpeg(bench, ("-c:v", "libx264", "-preset", "veryfast"), ("-i", "film.mkv", "-c:v", codec))


def x264(bench):
    return encode(bench, "libx264")


def x265(bench):
    return encode(bench, "libx265")


def dav1d(bench):
    return ffmpeg(bench, ("-c:v", "libsvtav1", "-preset", "10"), ("-c:v", "libdav1d", "-i", "film.mkv"))


PROGRAMS = {"python3": python3, "perl": perl, "ruby": ruby, "php": php, "git": git, "openssl": openssl, "cc1plus": cc1plus, "clang": clang,
            "redis-server": redis, "postgres": postgres, "nginx": nginx, "sqlite3": sqlite3,
            "node": node, "java": java, "java-frame-pointers": java_fp, "go": go,
            "go-stripped": go_stripped, "rust": rust, "rust-stripped": rust_stripped,
            "x264": x264, "x265": x265, "dav1d": dav1d}
