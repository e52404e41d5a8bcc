#!/usr/bin/env bash
# Fetches Debian's packages of interpreters for two architectures, for tests/vm/runtimes.sh.
#
#	tests/vm/fetch-runtimes.sh [RUNTIME...]		of the table below; all of it
#
# Says a line for each: "RUNTIME ARCHITECTURE PATH", or "RUNTIME ARCHITECTURE SKIP reason". PATH is of the one file that the
# runtime is in; what else is in the package lies beside it. What was fetched before stays and needs no network; `make
# clean` forgets it. Exit code 0 if each line is of the first kind.
#
# apt-get works in a root of its own for each suite and architecture (scripts/privateapt.sh).
set -u
export LC_ALL=C

# runtime  suite  package  the file, a pattern below the package's root
runtimes='
python3.9   bullseye  python3.9-minimal        usr/bin/python3.9
python3.11  bookworm  python3.11-minimal       usr/bin/python3.11
python3.13  trixie    python3.13-minimal       usr/bin/python3.13
python3.14  sid       python3.14-minimal       usr/bin/python3.14
java17      bookworm  openjdk-17-jre-headless  usr/lib/jvm/*/lib/server/libjvm.so
java21      trixie    openjdk-21-jre-headless  usr/lib/jvm/*/lib/server/libjvm.so
java25      trixie    openjdk-25-jre-headless  usr/lib/jvm/*/lib/server/libjvm.so
node18      bookworm  libnode108               usr/lib/*/libnode.so.108
node20      trixie    libnode115               usr/lib/*/libnode.so.115
ruby3.1     bookworm  libruby3.1               usr/lib/*/libruby-3.1.so.3.1.*
ruby3.3     trixie    libruby3.3               usr/lib/*/libruby-3.3.so.3.3.*
php7.4      bullseye  php7.4-cli               usr/bin/php7.4
php8.2      bookworm  php8.2-cli               usr/bin/php8.2
php8.4      trixie    php8.4-cli               usr/bin/php8.4
perl5.32    bullseye  perl-base                usr/bin/perl
perl5.36    bookworm  perl-base                usr/bin/perl
perl5.40    trixie    perl-base                usr/bin/perl
perl5.42    sid       perl-base                usr/bin/perl
'

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=scripts/privateapt.sh
. scripts/privateapt.sh
home=$PWD/${BUILD:-build}/vm/runtimes

# The file that $pattern means, below $to.
find_file()
{
	# shellcheck disable=SC2086 # a pattern
	(cd "$to" 2>/dev/null && find $pattern -type f 2>/dev/null | head -n 1)
}

# Fetches $package into $to. Else the reason is in $why.
try()
{
	[ -e "$root/status" ] || private_open "$suite" || { rm -rf "$root"; return 1; }
	rm -rf "$to.new" && mkdir -p "$to.new"
	if ! (cd "$to.new" && private apt-get -qq download "$package") >"$root/log" 2>&1; then
		why="$suite: $package: $(grep -E '^(W|E):' "$root/log" | tail -n 1)"
	elif ! dpkg-deb -x "$to.new"/*.deb "$to.new"; then
		why="$package cannot be unpacked"
	else
		rm -rf "$to.new"/*.deb "$to" && mv "$to.new" "$to"
		return 0
	fi
	rm -rf "$to.new"
	return 1
}

# fetch RUNTIME ARCHITECTURE: says its line.
fetch()
{
	local runtime=$1 arch=$2 suite package pattern root to why="no such file in it" path
	read -r _ suite package pattern < <(awk -v name="$runtime" '$1 == name' <<<"$runtimes")
	[ -n "${suite:-}" ] || { echo "$runtime $arch SKIP not in the table of fetch-runtimes.sh"; return 1; }
	to=$home/$runtime/$arch root=$home/apt/$suite-$arch
	path=$(find_file)
	[ -n "$path" ] || { try && path=$(find_file); }
	[ -n "$path" ] || { echo "$runtime $arch SKIP $why"; return 1; }
	echo "$runtime $arch $to/$path"
}

command -v apt-get >/dev/null || { echo "all all SKIP no apt-get here"; exit 1; }
mkdir -p "$home" || exit 2
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(awk '{ print $1 }' <<<"$runtimes")
status=0
for name; do
	for arch in amd64 arm64; do
		fetch "$name" $arch || status=1
	done
done
rm -rf "$home/apt"
exit $status
