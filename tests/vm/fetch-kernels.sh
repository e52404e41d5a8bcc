#!/usr/bin/env bash
# Fetches the Debian kernels that tests/vm boots.
#
#	tests/vm/fetch-kernels.sh [KERNEL...]	of the table below; all of it
#
# For the machine that ARCH names, x86 or arm64 (as in the Makefile; ours). Says a line for each: "KERNEL RELEASE PATH", or
# "KERNEL SKIP reason". What was fetched before stays and needs no network; `make clean` forgets it. Exit code 0 if each line is of the first kind.
#
# apt-get itself does the work, in a root of its own under build/ for each kernel (scripts/privateapt.sh). The newest kernel of a
# suite is taken, never a version written down here: archives drop the old ones.
#
# The cloud flavour: a third of the size, and its few drivers hold the serial ports, all we need. There is none with pages of
# 16 KB.
set -u
export LC_ALL=C

# kernel  releases  flavour      suites, the first that has it
case ${ARCH:-$(uname -m)} in
x86 | x86_64)
	arch=amd64
	kernels='
5.10      5.10.     cloud-amd64  bullseye-security bullseye
6.1       6.1.      cloud-amd64  bookworm-security bookworm
6.12      6.12.     cloud-amd64  bookworm-security bookworm-backports trixie
sid       -         cloud-amd64  sid
'
	;;
*)
	arch=arm64
	kernels='
5.10      5.10.     cloud-arm64  bullseye-security bullseye
6.1       6.1.      cloud-arm64  bookworm-security bookworm
6.12      6.12.     cloud-arm64  bookworm-security bookworm-backports trixie
6.12-16k  6.12.     arm64-16k    trixie-security trixie
sid       -         cloud-arm64  sid
'
	;;
esac

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=scripts/privateapt.sh
. scripts/privateapt.sh
home=$PWD/${BUILD:-build}/vm/kernels

# The newest package that holds a kernel. In some releases that is linux-image-*, in others
# linux-binary-*, and then linux-image-* has no file that we want.
newest_package() # RELEASES FLAVOUR
{
	private apt-cache pkgnames | sed -nE "s/^(linux-(image|binary)-([0-9].*)-$2)$/\3 \2 \1/p" |
		awk -v begins="${1#-}" 'index($1, begins) == 1' | sort -k1,1V -k2,2r | tail -n 1 | cut -d' ' -f3
}

# try KERNEL RELEASES FLAVOUR SUITE: fetches into $home/KERNEL, or leaves the reason in $why.
try()
{
	local root package
	root=$(mktemp -d "$home/apt.XXXXXX") || { why="no room in $home"; return 1; }
	if ! private_open "$4"; then
		: # why is said
	elif package=$(newest_package "$2" "$3") && [ -z "$package" ]; then
		why="$4 has no such kernel"
	elif ! (cd "$root" && private apt-get -qq download "$package") >"$root/log" 2>&1; then
		why="$4: $package: $(grep -E '^(W|E):' "$root/log" | tail -n 1)"
	elif ! keep_image "$root"/*.deb "$home/$1"; then
		why="$4: $package holds no vmlinuz"
	else
		rm -rf "$root"
		return 0
	fi
	rm -rf "$root"
	return 1
}

# keep_image DEB FOLDER: vmlinuz, and its release in a file.
keep_image()
{
	local image
	mkdir "$root/files" && dpkg-deb --fsys-tarfile "$1" | tar -x -C "$root/files" --wildcards '*/vmlinuz*' 2>/dev/null
	image=$(find "$root/files" -type f -name 'vmlinuz*' | head -n 1)
	[ -n "$image" ] || return 1
	mkdir -p "$2"
	basename "$1" | sed -E 's/^linux-(image|binary)-//; s/_.*//' >"$2/release"
	mv "$image" "$2/vmlinuz"
}

# fetch KERNEL: says its line.
fetch()
{
	local kernel=$1 releases flavour suites suite why=
	read -r _ releases flavour suites < <(awk -v kernel="$kernel" '$1 == kernel' <<<"$kernels")
	[ -n "${suites:-}" ] || { echo "$kernel SKIP not in the table of fetch-kernels.sh"; return 1; }
	if [ ! -e "$home/$kernel/vmlinuz" ]; then
		for suite in $suites; do
			try "$kernel" "$releases" "$flavour" "$suite" && break
		done
	fi
	if [ ! -e "$home/$kernel/vmlinuz" ]; then
		echo "$kernel SKIP $why"
		return 1
	fi
	echo "$kernel $(cat "$home/$kernel/release") $home/$kernel/vmlinuz"
}

command -v apt-get >/dev/null || { echo "all SKIP no apt-get here"; exit 1; }
mkdir -p "$home" || exit 2
trap 'rm -rf "$home"/apt.*; exit 130' INT TERM
# shellcheck disable=SC2046 # words
[ $# -gt 0 ] || set -- $(awk '{ print $1 }' <<<"$kernels")
status=0
for name; do
	fetch "$name" || status=1
done
exit $status
