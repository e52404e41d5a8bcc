#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `cprof heap --mode inside` costs a launched command, beside probes and allocators that sample themselves (root).

Each row is the median of ROUNDS rounds (5), in which all contestants take turns: so others on the machine disturb all of
them alike. jq and a C++ compiler are timed by the shell that runs them, without cprof's own start and end; a loop of
malloc and free and redis-benchmark time themselves. Figures, no verdicts.
"""
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench_heap import BUILD, CPROF, Unavailable, jemalloc, write_json

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SOURCE = "".join(f"#include <{name}>\n" for name in ("algorithm", "iostream", "map", "regex", "string", "vector")) + """
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> all;
	for (int i = 0; i < argc; i++)
		if (std::regex_match(argv[i], std::regex("[a-z]+")))
			all[argv[i]].push_back(i);
	std::cout << all.size() << std::endl;
}
"""


def heap(*options):
    return [CPROF, "heap", "-o", "heap.pb.gz", "--allow-empty", *options, "--"]


def contestants():
    """Name: (what comes before the command, what is added to its environment)."""
    found = {"bare": ([], {}), "inside": (heap("--mode", "inside"), {}),
             "probe": (heap("--mode", "probe", "--follow-fork"), {})}
    for name, profile in (("jemalloc", False), ("jemalloc, prof", True)):
        try:
            found[name] = ([], jemalloc(profile).env)
        except Unavailable:
            pass
    if shutil.which("heaptrack"):
        found["heaptrack"] = (["heaptrack"], {})
    return found


def timed(prefix, env, folder, *command):
    """Seconds, by a shell that runs the command as its child. heaptrack sees one process alone: that command."""
    late = prefix if prefix and prefix[0] == "heaptrack" else []
    early = [] if late else prefix
    done = subprocess.run([*early, "bash", "-c", 'TIMEFORMAT="took %R"; time "$@" >/dev/null 2>&1', "bash", *late, *command],
                          cwd=folder, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"^took ([\d.]+)", done.stderr, re.M)
    if done.returncode or not found:
        raise Unavailable(done.stderr.strip()[:80])
    return float(found[1])


def pairs(prefix, env, folder, threads, key="pair_ns"):
    done = subprocess.run([*prefix, os.path.join(BUILD, "workloads", "pairs"), str(threads), "5000"], cwd=folder,
                          env={**os.environ, **env}, input="\n", capture_output=True, text=True, check=False)
    said = [line for line in done.stdout.splitlines() if "pair_ns" in line]
    if not said:
        raise Unavailable("it says nothing")
    return json.loads(said[0])[key]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis(prefix, env, folder):
    """Requests a second, of SET."""
    port = free_port()
    server = subprocess.Popen([*prefix, "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
                              cwd=folder, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        else:
            raise Unavailable("it does not listen")
        said = subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set", "-n", "300000", "-P", "16", "-r", "100000",
                               "-d", "100", "--csv"], capture_output=True, text=True, check=True).stdout
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], capture_output=True, check=False)
        server.wait(60)
        return float(said.splitlines()[-1].split('","')[1].strip('"'))
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()


def race(what, unit, measure, entrants, more_is_better=False):
    """Interleaved rounds; prints the medians, and the medians of what each took in terms of bare in its round."""
    results, lost = {name: [] for name in entrants}, {}
    for _ in range(ROUNDS):
        for name, (prefix, env) in entrants.items():
            if name in lost:
                continue
            with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
                os.chmod(folder, 0o755)
                try:
                    results[name].append(measure(prefix, env, folder))
                except Unavailable as reason:
                    lost[name] = reason
    print(f"{what}, {unit}{' (more is better)' if more_is_better else ''}")
    for name, values in results.items():
        if name in lost:
            print(f"    {name:16} cannot be measured here: {lost[name]}")
            continue
        ratio = statistics.median(value / bare for value, bare in zip(values, results["bare"]))
        print(f"    {name:16}{statistics.median(values):12.2f}   {ratio:6.3f} x bare", flush=True)


def main():
    if os.geteuid() != 0:
        sys.exit("bench-inside: probes need root")
    everybody = contestants()
    without = {name: entrant for name, entrant in everybody.items() if name != "heaptrack"}
    own = {name: entrant for name, entrant in without.items() if "jemalloc" not in name}
    with tempfile.TemporaryDirectory(prefix="cprof-bench-") as folder:
        os.chmod(folder, 0o755)
        path, source = os.path.join(folder, "file.json"), os.path.join(folder, "source.cc")
        write_json(path)
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        for threads in (1, 2, 16):
            race(f"a pair of malloc and free, {threads} thread{'s' * (threads > 1)}", "ns",
                 lambda prefix, env, where, n=threads: pairs(prefix, env, where, n), without)
        race("an allocation, each sampled (inside: --rate 1)", "ns",
             lambda prefix, env, where: pairs(prefix, env, where, 1, "malloc_ns"),
             {"bare": ([], {}), "inside": (heap("--mode", "inside", "--rate", "1"), {})})
        if shutil.which("jq"):
            race("jq, 16 MB", "s", lambda prefix, env, where: timed(prefix, env, where, "jq", "length", path), everybody)
        race("g++ -O1, five large headers", "s",
             lambda prefix, env, where: timed(prefix, env, where, "/usr/bin/g++", "-O1", "-S", "-o", "/dev/null", source), own)
        if shutil.which("redis-benchmark"):
            race("redis, SET", "requests/s", redis, own, True)  # Debian's is linked with jemalloc


if __name__ == "__main__":
    main()
