#!/usr/bin/env bash
# Unpacks Debian packages of another architecture, and all that they depend on, into a folder: a system to build against
# (--sysroot), to run programs of (qemu-user -L), or to boot.
#
#	scripts/foreign.sh ARCHITECTURE FOLDER SUITE PACKAGE...
#
# ARCHITECTURE is Debian's name of it (arm64). SUITE is a release, or "own" for what the machine's own sources are. Nothing is
# installed: apt-get works in a root of its own, FOLDER.apt (scripts/privateapt.sh). A FOLDER that holds these packages needs no
# network.
#
# Exit code 0; 4 if something cannot be had: why is said.
set -u
export LC_ALL=C

failed()
{
	echo "foreign: $1" >&2
	[ ! -e "${root:-}/log" ] || grep -E '^(W|E|N):|^ ' "$root/log" | tail -n 5 >&2
	exit 4
}

# What points to /lib/... means the folder's.
make_links_relative()
{
	local link
	find "$folder" -type l -lname '/*' | while read -r link; do
		ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
	done
}

# As usr-merge has it: packages of any release may then put files into either.
unpack()
{
	local name file
	for name in bin sbin lib; do
		mkdir -p "$folder/usr/$name" && ln -sfn "usr/$name" "$folder/$name" || return
	done
	for file in "$root"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner 2>"$root/log" ||
			failed "${file##*/} cannot be unpacked"
	done
}

[ $# -ge 4 ] || { echo 'usage: scripts/foreign.sh ARCHITECTURE FOLDER SUITE PACKAGE...' >&2; exit 2; }
arch=$1 folder=$2 suite=$3
shift 3
wanted="$suite $*"
[ "$(cat "$folder/.complete" 2>/dev/null)" != "$wanted" ] || exit 0
command -v apt-get >/dev/null || failed "no apt-get here: put the packages of $arch into $folder: $*"
# shellcheck source=scripts/privateapt.sh
. "$(dirname "$0")/privateapt.sh"
mkdir -p "$folder" || exit 4
folder=$(cd "$folder" && pwd)
root=$folder.apt
private_open "$suite" || { rm -f "$root/log"; failed "no list of the packages of $arch: $why"; }
private apt-get -qq -o Debug::NoLocking=1 install -y --no-install-recommends --download-only "$@" >"$root/log" 2>&1 ||
	failed "cannot be had: $*"
unpack || exit 4
make_links_relative
rm -f "$root"/cache/archives/*.deb
echo "$wanted" >"$folder/.complete"
