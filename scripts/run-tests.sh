#!/usr/bin/env bash
# Runs what `make unit` or `make test` has built, and counts.
#
#	scripts/run-tests.sh unit	what needs neither root nor a kernel of any kind
#	scripts/run-tests.sh all	that, the fuzz targets, `make check`, and end to end (root)
#
# A test is a program. One that speaks TAP (the cmocka programs, tests/check, tests/e2e/harness.py)
# counts by its cases, any other by its exit code (77: skipped). A line for each test, the last
# lines of its output below one that failed, and at the very end "N passed, N failed, N skipped".
# Exit code 1 if anything failed or nothing ran.
#
# TEST_TIMEOUT	seconds for one program (120); one that needs longer says "# TEST_TIMEOUT: N" itself
# FUZZ_SECONDS	seconds for each fuzz target beyond the replay of its corpus (10; 0: replay only)
# TESTS		pattern of the names to run, for a developer (unit/*, e2e/test_heap*)
# BUILD		where the programs are (build)
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
# The make above us is not the make of a test.
unset MAKEFLAGS MFLAGS MAKELEVEL

usage='usage: scripts/run-tests.sh unit|all'
passed=0 failed=0 skipped=0

cd "$(dirname "$0")/.." || exit 2
export BUILD=${BUILD:-build}
dir=$(mktemp -d) || exit 2
chmod 711 "$dir" # for what tests run as nobody
trap 'rm -rf "$dir"' EXIT
trap 'rm -rf "$dir"; exit 130' INT TERM

elapsed() # START_NS
{
	local ms=$((($(date +%s%N) - $1) / 1000000))
	printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

failure() # NAME WHY LOG
{
	failed=$((failed + 1))
	printf 'FAIL %s%s\n' "$1" "${2:+: $2}"
	grep -vE '^((not )?ok [0-9]|1\.\.[0-9])' "$3" | tail -n 25 | sed 's/^/     /'
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

# run NAME TIMEOUT_SECONDS COMMAND...: with a TMPDIR of its own, which goes with it.
run()
{
	local name=$1 limit=$2 start status
	wanted "$name" || return 0
	shift 2
	mkdir -m 1777 "$dir/tmp" || exit 2
	start=$(date +%s%N)
	# the shell's own word about a program that died is not wanted
	{ TMPDIR=$dir/tmp timeout --foreground -k 10 "$limit" "$@" >"$dir/log" 2>&1 </dev/null; } 2>/dev/null
	status=$?
	rm -rf "$dir/tmp"
	verdicts "$name" $status "$(elapsed "$start")" "$dir/log"
}

stem() # PATH
{
	local name=${1##*/}
	echo "${name%.*}"
}

unit_tests()
{
	local program
	for program in "$BUILD"/unit/test_*; do
		[[ -x $program && ! $program =~ \.d$ ]] || continue
		CMOCKA_MESSAGE_OUTPUT=TAP run "unit/${program##*/}" "${TEST_TIMEOUT:-120}" "$program"
	done
	for program in "$BUILD"/bpftest/test_*_bpf; do
		[ -x "$program" ] || continue
		CMOCKA_MESSAGE_OUTPUT=TAP run "bpf/${program##*/}" "${TEST_TIMEOUT:-120}" "$program"
	done
	[ -e tests/contract.py ] && run contract "${TEST_TIMEOUT:-120}" python3 tests/contract.py --self-test
	for program in tests/check/test_*.sh; do
		[ -e "$program" ] && run "check/$(stem "$program")" "${TEST_TIMEOUT:-120}" "$program"
	done
}

# One fuzz target: its corpus, then new inputs into a folder that is thrown away. A crash leaves its
# input in build/fuzz/.
fuzz_one() # PROGRAM WHAT
{
	local new=$dir/corpus-$2 corpus=tests/fuzz/corpus/$2
	local common=(-timeout=10 -rss_limit_mb=2048 -artifact_prefix="$BUILD/fuzz/$2-" -error_exitcode=1)
	mkdir -p "$new"
	[ -d "$corpus" ] || corpus=
	"$1" "${common[@]}" -runs=0 "$new" ${corpus:+"$corpus"} || return
	[ "$seconds" -eq 0 ] || "$1" "${common[@]}" -max_total_time="$seconds" "$new" ${corpus:+"$corpus"}
}

# As many at a time as there are processors: they do nothing but compute.
fuzz_tests()
{
	local seconds=${FUZZ_SECONDS:-10} program what running=0
	for program in "$BUILD"/fuzz/fuzz_*; do
		what=${program##*/fuzz_}
		[ -x "$program" ] && wanted "fuzz/$what" || continue
		[ $running -lt "$(nproc)" ] || { wait -n; running=$((running - 1)); }
		(
			start=$(date +%s%N)
			fuzz_one "$program" "$what" >"$dir/fuzz-$what.log" 2>&1 </dev/null
			echo "$? $(elapsed "$start")" >"$dir/fuzz-$what.status"
		) &
		running=$((running + 1))
	done
	wait
	for program in "$BUILD"/fuzz/fuzz_*; do
		what=${program##*/fuzz_}
		[ -e "$dir/fuzz-$what.status" ] || continue
		read -r status time <"$dir/fuzz-$what.status"
		verdicts "fuzz/$what" "$status" "$time" "$dir/fuzz-$what.log"
	done
}

e2e_tests()
{
	local program interpreter limit
	for program in tests/e2e/test_*.sh tests/e2e/test_*.py; do
		[ -e "$program" ] && wanted "e2e/$(stem "$program")" || continue
		case $program in
		*.py) interpreter=python3 ;;
		*) interpreter=bash ;;
		esac
		limit=$(sed -n 's/^# TEST_TIMEOUT: //p' "$program")
		if [ "$(id -u)" -eq 0 ]; then
			run "e2e/$(stem "$program")" "${limit:-${TEST_TIMEOUT:-120}}" $interpreter "$program"
		else
			skip "e2e/$(stem "$program")" 'NOT RUN: it needs root (sudo make test)'
		fi
	done
}

[ $# -eq 1 ] || { echo "$usage" >&2; exit 2; }
case $1 in
unit) unit_tests ;;
all)
	unit_tests
	run check 600 make -s check
	fuzz_tests
	e2e_tests
	;;
*) echo "$usage" >&2; exit 2 ;;
esac

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
