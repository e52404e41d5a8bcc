#!/usr/bin/env bash
# Unpacks Debian packages of another architecture, and all that they depend on, into a folder: a system to build against
# (--sysroot), to run programs of (qemu-user -L), or to boot.
#
#	scripts/foreign.sh ARCHITECTURE FOLDER SUITE PACKAGE...
#
# ARCHITECTURE is Debian's name of it (arm64). SUITE is a release, or "own" for what the machine's own sources are. Nothing is
# installed and the machine's dpkg hears of no architecture: apt-get works on lists and a cache of its own, FOLDER.apt, and
# needs no root. It checks the archive's signatures as always. A FOLDER that holds these packages needs no network.
#
# Exit code 0; 4 if something cannot be had: why is said.
set -u
export LC_ALL=C

failed()
{
	echo "foreign: $1" >&2
	[ ! -e "${state:-}/log" ] || grep -E '^(W|E|N):|^ ' "$state/log" | tail -n 5 >&2
	exit 4
}

# apt of that architecture, with nothing installed.
there() # COMMAND ARGUMENT...
{
	local command=$1
	shift
	"$command" -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State="$state" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" -o Debug::NoLocking=1 -o APT::Sandbox::User= \
		-o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::Check-Valid-Until=false "${sources[@]}" "$@" \
		>"$state/log" 2>&1
}

# The archive that the machine's own release comes from has the others, too.
sources_of() # SUITE
{
	local address keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed_by=
	address=$(apt-get --print-uris update 2>/dev/null | sed -n "s|^'\(.*\)/dists/[^/]*/InRelease'.*|\1|p" | head -n 1)
	[ -n "$address" ] || failed "no archive in this machine's sources"
	[ ! -r $keyring ] || signed_by=" signed-by=$keyring"
	echo "deb [arch=$architecture$signed_by] $address $1 main" >"$state/sources.list"
	sources=(-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/nonexistent
		-o Dir::Etc::preferences=/nonexistent -o Dir::Etc::preferencesparts=/nonexistent)
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
	for file in "$state"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner 2>"$state/log" ||
			failed "${file##*/} cannot be unpacked"
	done
}

[ $# -ge 4 ] || { echo 'usage: scripts/foreign.sh ARCHITECTURE FOLDER SUITE PACKAGE...' >&2; exit 2; }
architecture=$1 folder=$2 suite=$3
shift 3
wanted="$suite $*"
[ "$(cat "$folder/.complete" 2>/dev/null)" != "$wanted" ] || exit 0
command -v apt-get >/dev/null || failed "no apt-get here: put the packages of $architecture into $folder: $*"
mkdir -p "$folder" || exit 4
folder=$(cd "$folder" && pwd)
state=$folder.apt
sources=()
mkdir -p "$state"/{lists/partial,archives/partial} && : >"$state/status" || exit 4
[ "$suite" = own ] || sources_of "$suite"
there apt-get update && ! grep -qE '^E:' "$state/log" || failed "no list of the packages of $architecture"
there apt-get install -y --no-install-recommends --download-only "$@" || failed "cannot be had: $*"
unpack || exit 4
make_links_relative
rm -f "$state"/archives/*.deb
echo "$wanted" >"$folder/.complete"
