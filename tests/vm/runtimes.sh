#!/usr/bin/env bash
# Does cprof find the same of an interpreter in its arm64 build as in its x86-64 one? Prints a table of Debian's, which
# tests/vm/fetch-runtimes.sh fetches.
#
#	tests/vm/runtimes.sh [RUNTIME...]	of the table there; all of it
#
# The same: the version, where fields are, and a loop of at least a fifth of the other's size (that of the wrong function
# would be much smaller). Exit code 0 if all are the same, and none was skipped.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 2
show=${BUILD:-build}/vm/runtimes.bin

# what RUNTIME ARCHITECTURE: what cprof finds in its file, or nothing.
what()
{
	local path
	path=$(awk -v name="$1" -v arch="$2" '$1 == name && $2 == arch && $3 != "SKIP" { print $3 }' <<<"$files")
	[ -n "$path" ] && "$show" "$path"
}

files=$(tests/vm/fetch-runtimes.sh "$@")
grep SKIP <<<"$files"
status=0
printf '%-11s %-12s %9s %9s %7s %7s  %s\n' RUNTIME VERSION X86-LOOP ARM-LOOP X86-AT ARM-AT FIELDS
for runtime in $(awk '{ print $1 }' <<<"$files" | uniq | grep -v '^java'); do
	read -r name version loop state layout < <(what "$runtime" amd64)
	read -r other_name other_version other_loop other_state other_layout < <(what "$runtime" arm64)
	verdict=same
	if [ "$name $version $layout" != "$other_name $other_version $other_layout" ]; then
		verdict=DIFFERENT
	elif ((other_loop * 5 < loop || loop * 5 < other_loop)); then
		verdict='LOOP DIFFERENT'
	fi
	[ "$verdict" = same ] || status=1
	printf '%-11s %-12s %9s %9s %7s %7s  %s\n' "$runtime" "$other_name $other_version" "$loop" \
		"$other_loop" "$state" "$other_state" "$verdict"
done
grep -q SKIP <<<"$files" && status=1
exit $status
