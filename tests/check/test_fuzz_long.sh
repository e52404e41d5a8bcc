#!/usr/bin/env bash
# scripts/fuzz-long.sh with a target that only says how much it ran: what earlier runs found stays, wherever the programs
# are, and a target that ran too little fails. Speaks TAP.
set -u
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/fuzz-long.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0 failures=0

# As libFuzzer: -merge=1 TO FROM copies, anything else finds an input more in the first folder.
mkdir -p "$dir/build/fuzz"
cat >"$dir/build/fuzz/fuzz_toy" <<'END'
#!/bin/sh
for word; do
	case $word in
	-merge=1) merge=1 ;;
	-*) ;;
	*) if [ "${to-}" ]; then from=$word; else to=$word; fi ;;
	esac
done
if [ "${merge-}" ]; then
	cp "$from"/* "$to" 2>/dev/null
	exit 0
fi
touch "$to/input$(ls "$to" | wc -l)"
echo 'stat::number_of_executed_units: 100'
END
chmod +x "$dir/build/fuzz/fuzz_toy"

# expect NAME STATUS NR_INPUTS PATTERN VARIABLE=VALUE...: runs it once more
expect()
{
	local name=$1 status=$2 inputs=$3 pattern=$4 out got found
	shift 4
	out=$(env BUILD="$dir/build" RUNS=100 "$@" "$script" toy 2>&1)
	got=$?
	found=$(find "$dir/build/fuzz/corpus/toy" -type f | wc -l)
	n=$((n + 1))
	if [ $got -eq "$status" ] && [ "$found" -eq "$inputs" ] && grep -qE "$pattern" <<<"$out"; then
		echo "ok $n - $name"
	else
		failures=$((failures + 1))
		echo "not ok $n - $name"
		sed 's/^/# /' <<<"exit code $got, $found inputs: $out"
	fi
}

echo 1..4
expect 'what it found is kept' 0 1 '^toy +100 '
expect 'also by the next run' 0 2 '^toy +100 '
expect 'enough executions' 0 3 '^all +100 ' MIN_RUNS=100
expect 'too few executions' 1 4 '^fewer than 101 executions: toy$' MIN_RUNS=101
exit $((failures > 0))
