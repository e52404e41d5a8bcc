#!/usr/bin/env bash
# cprof on Debian's kernels, from the oldest that it promises to run on to the newest there is, in
# emulated machines: tests/vm/run.sh, told in TAP. A kernel that cannot be fetched is a failure; where there is no network,
# OFFLINE=1 skips it, loudly.
#
# The oldest without lockdown; with TEST_LONG=1 what `make kernels` does: all, with every lockdown, and with
# less than all privileges.
#
# TEST_TIMEOUT: 3600
# NOT_SANITIZED: the emulated machines have too little memory
# TEST_FIRST
set -u
cd "$(dirname "$0")/../.." || exit 2

log=$(mktemp) || exit 2
run=
trap 'rm -f "$log"' EXIT
trap '[ -n "$run" ] && kill "$run" 2>/dev/null; exit 143' INT TERM
kernels=(5.10)
[ -z "${TEST_LONG:-}" ] || kernels=(--all)
tests/vm/run.sh "${kernels[@]}" >"$log" 2>&1 &
run=$!
wait "$run"
status=$?

# What follows the line of a case is about that case.
awk '
	/^(ok|FAIL|SKIP) vm / {
		nr++
		name = $0
		sub(/^[A-Za-z]+ vm /, "", name)
		if ($1 == "SKIP") {
			why = name
			sub(/^[^:]*: /, "", why)
			print "ok " nr " - " $3 " # SKIP " why
		} else {
			print ($1 == "ok" ? "ok " : "not ok ") nr " - " name
		}
		next
	}
	{ print "# " $0 }
	END { print "1.." nr + 0 }' "$log"
exit $status
