#!/usr/bin/env bash
# Profiles a bundled C++ program (tests/e2e/workloads/demo.cc) as one would one's own: it runs
# already, cprof attaches for 5 s of CPU and 5 s of heap. `make demo` installs and builds first.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}

if [ "$(id -u)" -ne 0 ]; then
	echo "demo: cprof needs root here: sudo make demo" >&2
	exit 4
fi

show() # COMMAND...: like a shell would look
{
	printf '\n$ %s\n' "$*"
	"$@"
}

. scripts/demo-target.sh

show "$build/cprof" record -p "$target" -d 5s -o "$dir/cpu.pb.gz"
show go tool pprof -top -nodecount=12 "$dir/cpu.pb.gz"
show "$build/cprof" heap -p "$target" --rate 65536 -d 5s -o "$dir/heap.pb.gz"
show go tool pprof -top -nodecount=12 -sample_index=alloc_space "$dir/heap.pb.gz"
show go tool pprof -top -nodecount=12 -sample_index=inuse_space "$dir/heap.pb.gz"
