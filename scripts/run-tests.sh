#!/usr/bin/env bash
# Runs what `make unit` or `make test` has built, and counts.
#
#	scripts/run-tests.sh unit	what needs neither root nor a kernel of any kind
#	scripts/run-tests.sh all	these, the fuzz targets, `make check`, and end to end (root)
#	scripts/run-tests.sh e2e	end to end alone (root)
#
# A test is a program. One that speaks TAP (the cmocka programs, tests/check, tests/e2e/harness.py)
# counts by its cases, any other by its exit code (77: skipped). A line for each test, the first and last
# lines of its output below one that failed, then which programs took longest, how many seconds of the
# processors each kind of them took, and at the very end "N passed, N failed, N skipped". Exit code 1 if
# anything failed or nothing ran.
#
# As many tests as there are processors run at once: none is about time, and each must hold on a machine
# that is busy with other things. Those of tests/e2e wait for half of their time: twice as many run at
# once. No kind waits for the end of another. One that takes much longer than all others says "# TEST_FIRST". The fuzz
# targets run beside all of them, one after another, with what CPU time the others leave.
#
# TEST_TIMEOUT	seconds after which a program hangs (1800): no limit on how fast it is. One that may need longer
#		says "# TEST_TIMEOUT: N" itself
# FUZZ_SECONDS	seconds for each fuzz target beyond the replay of its corpus (10; 0: replay only; CI: 60)
# FUZZ_SEED	what their new inputs are drawn from (1, so that a verdict depends on the tree alone; 0: another each time)
# TEST_LONG	not empty: more of what chance decides, all kernels with every lockdown; three times as long (CI)
# TESTS		pattern of the names to run, for a developer (unit/*, e2e/test_heap*)
# BUILD		where the programs are (build)
# EMULATOR	what runs programs for another machine (make ARCH=arm64 unit): the unit tests alone; tests/unit/emulated.txt
#		says which cannot run there
# SANITIZED	not empty: cprof is built with sanitizers (make asan-e2e), which have no filter of system calls and more memory. A
#		test that cannot work then says "# NOT_SANITIZED: why" itself, or skips cases
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
# The make above us is not the make of a test.
unset MAKEFLAGS MFLAGS MAKELEVEL

usage='usage: scripts/run-tests.sh unit|all|e2e'
passed=0 failed=0 skipped=0
started=() beside= running=0
processors=$(nproc)
at_once=$processors
began=$SECONDS

cd "$(dirname "$0")/.." || exit 2
export BUILD=${BUILD:-build}
dir=$(mktemp -d) || exit 2
chmod 711 "$dir" # for what tests run as nobody
trap 'rm -rf "$dir"' EXIT
trap 'end_jobs; rm -rf "$dir"; exit 130' INT TERM

# What runs in the background does not hear Ctrl-C; there timeout(1) ends the whole process group.
end_jobs()
{
	local pid
	for pid in $(jobs -p); do
		# shellcheck disable=SC2046 # words
		kill $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) "$pid" 2>/dev/null
	done
	wait
}

elapsed() # START_NS
{
	local ms=$((($(date +%s%N) - $1) / 1000000))
	printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

failure() # NAME WHY LOG
{
	failed=$((failed + 1))
	printf 'FAIL %s%s\n' "$1" "${2:+: $2}"
	grep -vE '^((not )?ok [0-9]|1\.\.[0-9]|#[0-9]+\s+(INITED|NEW|REDUCE|RELOAD|pulse) )' "$3" |
		awk '{ line[NR] = $0 }
			END { for (i = 1; i <= NR; i++) if (i <= 8 || i > NR - 25) print "     " line[i]; else if (i == 9) print "     ..." }'
}

success() # NAME [TIME]
{
	passed=$((passed + 1))
	printf 'ok %s%s\n' "$1" "${2:+ ($2)}"
}

skip() # NAME WHY
{
	skipped=$((skipped + 1))
	printf 'SKIP %s: %s\n' "$1" "$2"
}

# tap_case NAME LINE LOG: counts one case of a program, LOG being what it said about it. The lines are
# "ok N - case", "not ok N - case", "ok N - case # SKIP why" and, from cmocka, "not ok N # SKIP case".
tap_case()
{
	local text why=
	[ -n "$2" ] || return 0
	text=${2#not }
	text=${text#ok }
	text=${text#"${text%%[!0-9]*}"}
	text=${text# }
	text=${text#- }
	case $text in
	'# SKIP '*) skip "$1: ${text#\# SKIP }" "by the test itself" ;;
	*' # SKIP '*) why=${text##*# SKIP } && skip "$1: ${text% # SKIP *}" "$why" ;;
	*)
		case $2 in
		ok*) success "$1: $text" ;;
		*) failure "$1: $text" '' "$3" ;;
		esac
		;;
	esac
}

# The cases of a program that spoke TAP. What follows the line of a case is about that case.
tap_cases() # NAME LOG
{
	local line current=
	: >"$dir/about"
	while IFS= read -r line; do
		if [[ $line =~ ^(not\ )?ok\ [0-9]+ ]]; then
			tap_case "$1" "$current" "$dir/about"
			current=$line
			: >"$dir/about"
		else
			printf '%s\n' "$line" >>"$dir/about"
		fi
	done <"$2"
	tap_case "$1" "$current" "$dir/about"
}

# verdicts NAME STATUS TIME LOG: counts a program that has ended.
verdicts()
{
	local name=$1 status=$2 time=$3 log=$4 before=$failed planned cases=0
	planned=$(sed -nE 's/^1\.\.([0-9]+).*/\1/p' "$log" | head -n 1)
	if [ -n "$planned" ]; then
		cases=$(grep -cE '^(not )?ok [0-9]+' "$log")
		tap_cases "$name" "$log"
		[ "$cases" -eq "$planned" ] || failure "$name" "$cases of $planned cases ran" "$log"
	fi
	case $status in
	0) [ "$cases" -gt 0 ] || success "$name" "$time" ;;
	77) skip "$name" "$(tail -n 1 "$log")" ;;
	124 | 137) failure "$name" "still running after $time" "$log" ;;
	*) [ "$failed" -gt "$before" ] || failure "$name" "exit code $status" "$log" ;;
	esac
}

wanted() # NAME
{
	# shellcheck disable=SC2053 # a pattern
	[[ -z ${TESTS:-} || $1 == $TESTS ]]
}

# one NAME COMMAND...: runs it, with a TMPDIR of its own, which goes with it. What it wrote is in
# $dir/NAME/log, the seconds that it was on processors are in $dir/NAME/cpu, its exit code and its time in
# $dir/NAME/status.
one()
{
	local home=$dir/$1 start TIMEFORMAT='%U %S'
	shift
	mkdir -p "$home" && mkdir -m 1777 "$home/tmp" || exit 2
	start=$(date +%s%N)
	# the shell's own word about a program that died stands there, too
	{ time TMPDIR=$home/tmp "$@" >"$home/log" 2>&1 </dev/null; } 2>"$home/cpu"
	echo "$? $(elapsed "$start")" >"$home/status.new"
	rm -rf "$home/tmp"
	mv "$home/status.new" "$home/status" # now it has ended
}

# counted NAME: one() has run it.
counted()
{
	local status time
	read -r status time <"$dir/$1/status"
	echo "$time $1 $(grep -E '^[0-9.]+ [0-9.]+$' "$dir/$1/cpu")" >>"$dir/times"
	verdicts "$1" "$status" "$time" "$dir/$1/log"
	rm -rf "${dir:?}/$1"
}

# run NAME TIMEOUT_SECONDS COMMAND...: in the foreground, where Ctrl-C is heard.
run()
{
	local name=$1 limit=$2
	wanted "$name" || return 0
	shift 2
	one "$name" timeout --foreground -k 10 "$limit" "$@"
	counted "$name"
}

# Of those that were started, the ones that have ended are counted.
count_ended()
{
	local name left=()
	for name in "${started[@]}"; do
		if [ -e "$dir/$name/status" ]; then
			counted "$name"
		else
			left+=("$name")
		fi
	done
	started=("${left[@]}")
}

# start NAME COMMAND...: beside what was started before, as soon as fewer than $at_once run.
start()
{
	wanted "$1" || return 0
	count_running
	while [ $running -ge "$at_once" ]; do
		wait -n
		count_ended
		count_running
	done
	one "$@" &
	started+=("$1")
}

# How many of those that were started have not ended; the fuzz targets are beside them.
count_running()
{
	local pid
	running=0
	for pid in $(jobs -rp); do
		[ "$pid" = "$beside" ] || running=$((running + 1))
	done
}

# All that was started has ended and is counted.
finish()
{
	local name
	wait
	count_ended
	for name in "${started[@]}"; do
		failure "$name" 'it did not end properly' /dev/null
	done
	started=()
}

stem() # PATH
{
	local name=${1##*/}
	echo "${name%.*}"
}

cannot_be_emulated() # NAME
{
	local why
	[ -n "${EMULATOR:-}" ] || return
	why=$(sed -nE "s/^$1\s+//p" tests/unit/emulated.txt)
	[ -n "$why" ] && skip "unit/$1" "$why"
}

# They compute and read files.
unit_tests()
{
	local program limit=${TEST_TIMEOUT:-1800}
	local within=(timeout -k 10 "$limit")
	export CMOCKA_MESSAGE_OUTPUT=TAP
	for program in "$BUILD"/unit/test_*; do
		[[ -x $program && ! $program =~ \.d$ ]] || continue
		cannot_be_emulated "${program##*/}" && continue
		# shellcheck disable=SC2086 # words
		start "unit/${program##*/}" "${within[@]}" ${EMULATOR:-} "$program"
	done
	[ -z "${EMULATOR:-}" ] || return
	for program in "$BUILD"/bpftest/test_*_bpf; do
		[ -x "$program" ] && start "bpf/${program##*/}" "${within[@]}" "$program"
	done
	[ -e tests/contract.py ] && start contract "${within[@]}" python3 tests/contract.py --self-test
	for program in tests/check/test_*.sh; do
		[ -e "$program" ] && start "check/$(stem "$program")" "${within[@]}" "$program"
	done
}

# One fuzz target: its corpus, then new inputs into a folder that is thrown away. A crash leaves its
# input in build/fuzz/. An input hangs after 10 minutes: of these it may get few for itself.
fuzz_one() # PROGRAM WHAT
{
	local new=$dir/corpus-$2 corpus=tests/fuzz/corpus/$2
	local common=(-timeout=600 -rss_limit_mb=2048 -artifact_prefix="$BUILD/fuzz/$2-" -error_exitcode=1 -seed="${FUZZ_SEED:-1}")
	mkdir -p "$new"
	[ -d "$corpus" ] || corpus=
	"$1" "${common[@]}" -runs=0 "$new" ${corpus:+"$corpus"} || return
	[ "$seconds" -eq 0 ] || "$1" "${common[@]}" -max_total_time="$seconds" "$new" ${corpus:+"$corpus"}
}

seconds=${FUZZ_SECONDS:-10}

fuzz_tests()
{
	local program names=()
	for program in "$BUILD"/fuzz/fuzz_*; do
		[ -x "$program" ] && wanted "fuzz/${program##*/fuzz_}" && names+=("${program##*/fuzz_}")
	done
	started+=("${names[@]/#/fuzz/}")
	{
		renice -n 10 "$BASHPID" >"$dir/renice" 2>&1
		for name in "${names[@]}"; do
			one "fuzz/$name" fuzz_one "$BUILD/fuzz/fuzz_$name" "$name"
		done
	} &
	beside=$!
}

e2e_test() # PROGRAM
{
	local name interpreter=bash limit
	name=e2e/$(stem "$1")
	[[ $1 == *.py ]] && interpreter=python3
	limit=$(sed -n 's/^# TEST_TIMEOUT: //p' "$1")
	limit=${limit:-${TEST_TIMEOUT:-1800}}
	if [ "$(id -u)" -ne 0 ]; then
		wanted "$name" && skip "$name" 'NOT RUN: it needs root (sudo make test)'
	elif [ -n "${SANITIZED:-}" ] && grep -q '^# NOT_SANITIZED: ' "$1"; then
		wanted "$name" && skip "$name" "$(sed -n 's/^# NOT_SANITIZED: //p' "$1")"
	else
		start "$name" timeout -k 10 "$limit" $interpreter "$1"
	fi
}

# Those that take much longer than all others begin before them, and end beside them.
first_tests()
{
	local program
	for program in $(grep -l '^# TEST_FIRST$' tests/e2e/test_*.{sh,py}); do
		e2e_test "$program"
	done
}

# While several cprofs run, nobody knows which of them left a map; when all have ended, that is known.
e2e_tests()
{
	local program before=$dir/kernel-objects
	[ "$(id -u)" -ne 0 ] || python3 tests/e2e/nothing_left.py before "$before"
	at_once=$((2 * processors))
	for program in $(grep -L '^# TEST_FIRST$' tests/e2e/test_*.{sh,py}); do
		e2e_test "$program"
	done
	finish
	[ ! -e "$before" ] || run e2e/nothing_left 120 python3 tests/e2e/nothing_left.py after "$before"
}

slowest()
{
	[ -e "$dir/times" ] || return
	echo "slowest: $(sort -rn "$dir/times" | head -n 10 |
		awk '{ printf "%s%s %s s", separator, $3, $1; separator = ", " }')"
	echo "busiest: $(awk '{ printf "%.1f %s\n", $4 + $5, $3 }' "$dir/times" | sort -rn | head -n 20 |
		awk '{ printf "%s%s %s s", separator, $2, $1; separator = ", " }')"
	echo "on processors: $(awk '{ sub(/\/.*/, "", $3); spent[$3] += $4 + $5 }
		END { for (kind in spent) printf "%s %.0f s\n", kind, spent[kind] }' "$dir/times" | sort -k2,2rn | paste -sd, |
		sed 's/,/, /g') in $((SECONDS - began)) s"
}

[ $# -eq 1 ] || { echo "$usage" >&2; exit 2; }
case $1 in
unit) unit_tests; finish ;;
all)
	export TEST_JUDGES=all # scripts/setup.sh has installed them: none is passed over
	TEST_PPROF=$(go tool -n pprof 2>/dev/null) && export TEST_PPROF
	fuzz_tests
	first_tests
	start check timeout -k 10 900 make -s check
	unit_tests
	e2e_tests
	;;
e2e)
	first_tests
	e2e_tests
	;;
*) echo "$usage" >&2; exit 2 ;;
esac

slowest
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
