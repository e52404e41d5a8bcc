#!/usr/bin/env bash
# Makes doc/flame.png: records the bundled demo workload and photographs its flame page with a headless Chromium.
#
#	make all workloads && sudo scripts/screenshot.sh [OUT.png]
#
# Exit codes: 0 done, 2 something is not there, 4 not root; else that of cprof or Chromium.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
out=${1:-doc/flame.png}

missing() # WHAT-TO-DO
{
	echo "screenshot: $1" >&2
	exit 2
}

[ "$(id -u)" -eq 0 ] || { echo "screenshot: recording needs root: sudo $0" >&2; exit 4; }
[ -x "$build/cprof" ] && [ -x "$build/workloads/demo" ] || missing "nothing built: run 'make all workloads' first"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	missing "no Chromium: install it, or run 'scripts/setup.sh all'"

. scripts/demo-target.sh

"$build/cprof" record -p "$target" -F 499 -d 8s -o "$dir/cpu.pb.gz"
"$build/cprof" flame "$dir/cpu.pb.gz" -o "$dir/cpu.html"
# A profile of its own, for Chromium refuses to share one, and no network.
HOME=$dir timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/chromium" \
	--host-resolver-rules='MAP * ~NOTFOUND' --window-size=1200,560 --screenshot="$dir/flame.png" \
	"file://$dir/cpu.html" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
[ -s "$dir/flame.png" ] || { cat "$dir/log" >&2; exit 1; }
install -m 0644 "$dir/flame.png" "$out"
echo "screenshot: wrote $out, $(stat -c %s "$out") bytes"
