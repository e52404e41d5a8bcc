#!/usr/bin/env bash
# Runs the fuzz targets for a given time or number of executions, as many at once as there are processors.
#
#	scripts/fuzz-long.sh [TARGET...]	all of them; TARGET is a name without fuzz_
#
# Each begins with the corpus of the tree (tests/fuzz/corpus/) and what earlier runs have found beyond it, which stays in
# build/fuzz/corpus/ and is first reduced to what still reaches code that the rest does not. The end, and Ctrl-C, print a
# table: executions, how many a second, inputs that were kept, crashes. What crashed a target stays in build/fuzz/, too, and
# the target goes on. Exit code 1 if anything crashed, or ran less than it should.
#
# SECONDS_EACH	for each target (600)
# RUNS		as many executions of each target, however long that takes
# MIN_RUNS	a target that had fewer executions than this fails (0)
# FUZZ_SEED	what the new inputs are drawn from (another one each time)
# BUILD		where the programs are (build)
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 2
build=$(realpath -m "${BUILD:-build}") # reduce() changes the folder
seconds=${SECONDS_EACH:-600}
slice=100 # seconds between two looks at how far a target is
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# reduce NAME FOLDER: FOLDER holds what the corpus of the tree does not reach.
reduce()
{
	local fresh=$dir/merge-$1 corpus=tests/fuzz/corpus/$1
	mkdir -p "$2" "$fresh"
	[ ! -d "$corpus" ] || cp "$corpus"/* "$fresh"
	find "$fresh" -type f -printf '%f\n' | sort >"$dir/$1.tree"
	if "$build/fuzz/fuzz_$1" -merge=1 -rss_limit_mb=2048 "$fresh" "$2" >"$dir/$1.merge" 2>&1; then
		rm -rf "$2.new"
		mkdir "$2.new"
		find "$fresh" -type f -printf '%f\n' | sort | comm -13 "$dir/$1.tree" - | (cd "$fresh" && xargs -r mv -t "$2.new") &&
			rm -rf "$2" && mv "$2.new" "$2"
	fi
	rm -rf "$fresh"
}

# one NAME: notes in $dir/NAME.sum the executions, the seconds and the crashes so far.
one()
{
	local name=$1 found=$build/fuzz/corpus/$1 corpus=tests/fuzz/corpus/$1 executions=0 crashes=0 began=$SECONDS new left
	reduce "$name" "$found"
	while :; do
		left=$((seconds - (SECONDS - began)))
		[ -z "${RUNS:-}" ] || left=$((executions < RUNS ? slice : 0))
		[ $left -gt 0 ] || break
		[ -d "$corpus" ] || corpus=
		"$build/fuzz/fuzz_$name" -timeout=60 -rss_limit_mb=2048 -artifact_prefix="$build/fuzz/$name-" \
			-seed="${FUZZ_SEED:-$RANDOM}" -print_final_stats=1 -max_total_time=$((left < slice ? left : slice)) \
			"$found" ${corpus:+"$corpus"} >"$dir/$name.log" 2>&1 || crashes=$((crashes + 1))
		new=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log")
		executions=$((executions + ${new:-0}))
		echo "$name $executions $((SECONDS - began)) $crashes" >"$dir/$name.sum"
		[ $crashes -lt 10 ] || break
	done
}

table()
{
	local name executions took crashes
	for name in "${names[@]}"; do
		read -r name executions took crashes < <(cat "$dir/$name.sum" 2>/dev/null || echo "$name 0 0 0")
		echo "$name $executions $((executions / (took > 0 ? took : 1))) $(find "$build/fuzz/corpus/$name" -type f 2>/dev/null | wc -l) $crashes"
	done | awk -v least="${MIN_RUNS:-0}" '
		BEGIN { printf "%-20s %14s %10s %8s %8s\n", "target", "executions", "a second", "kept", "crashes" }
		{ printf "%-20s %14d %10d %8d %8d\n", $1, $2, $3, $4, $5; all += $2; crashes += $5 }
		$2 < least { few = few " " $1 }
		END { printf "%-20s %14d %10s %8s %8d\n", "all", all, "", "", crashes
			if (few) print "fewer than " least " executions:" few
			exit crashes > 0 || few != "" }'
}

end()
{
	local pid
	for pid in $(jobs -p); do
		# shellcheck disable=SC2046 # words
		kill $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) "$pid" 2>/dev/null
	done
	wait
	table
	exit 130
}
trap end INT TERM

[ $# -gt 0 ] || set -- $(find "$build/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x -printf '%f\n' | sed 's/^fuzz_//' | sort)
names=("$@")
running=0
for name; do
	[ -x "$build/fuzz/fuzz_$name" ] || { echo "fuzz-long: no target $name: make fuzz" >&2; exit 2; }
	if [ $running -ge "${JOBS:-$(nproc)}" ]; then
		wait -n
		running=$((running - 1))
	fi
	one "$name" &
	running=$((running + 1))
done
wait
table
