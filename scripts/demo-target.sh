#!/usr/bin/env bash
# Starts the bundled demo workload for a script that sources this, with a temporary folder; both are gone when it exits.
#
#	. scripts/demo-target.sh	sets $dir and $target, the pid of the workload; wants $build

dir=$(mktemp -d)
target=
finish()
{
	[ -z "$target" ] || kill "$target" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

"$build/workloads/demo" 60 >/dev/null &
target=$!
disown "$target"
