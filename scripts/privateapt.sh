# shellcheck shell=bash
# apt for one suite and architecture of Debian, in a root of its own: neither the machine's lists, nor its cache, nor its packages
# are touched, no architecture is added to dpkg, and no root is needed. apt checks the archive's signatures as always. Where the
# archive is, the machine's own sources say, and so of a mirror and a proxy.
#
# To be sourced by scripts that set $root, the folder, and $arch, Debian's name of the architecture (arm64).

# The archive that a suite is in: security updates have one of their own, all else is where the machine's release itself
# comes from.
archive_of() # SUITE
{
	local own=
	# shellcheck source=/dev/null
	[ -r /etc/os-release ] && own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	case $1 in
	*-security) own=$own-security ;;
	esac
	apt-get --print-uris update 2>/dev/null |
		sed -n "s|^'\(.*\)/dists/\([^/]*\)/InRelease'.*|\2 \1|p" | awk -v own="$own" '$1 == own { print $2; exit }'
}

# Runs apt-get, or another of apt's commands, in $root.
private() # COMMAND ARGUMENT...
{
	local command=$1 sources=()
	shift
	[ ! -e "$root/sources.list" ] ||
		sources=(-o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/nonexistent
			-o Dir::Etc::preferences=/nonexistent -o Dir::Etc::preferencesparts=/nonexistent)
	"$command" "${sources[@]}" \
		-o Dir::State="$root/state" -o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User= \
		-o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=30 \
		-o Acquire::Check-Valid-Until=false "$@"
}

# Makes $root, and fetches the lists of a suite; "own" is what the machine's own sources are, whatever they lack of $arch. 1: the
# reason is in $why.
private_open() # SUITE
{
	local address signed_by='' bad='^(W|E):' keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$root"/state/lists/partial "$root"/cache/archives/partial && : >"$root/status" ||
		{ why="no room in $root"; return 1; }
	if [ "$1" = own ]; then
		bad='^E:'
	else
		address=$(archive_of "$1")
		[ -n "$address" ] || { why="no source of this machine has the archive of $1"; return 1; }
		[ ! -r $keyring ] || signed_by=" signed-by=$keyring"
		echo "deb [target=Packages arch=$arch$signed_by] $address $1 main" >"$root/sources.list"
	fi
	private apt-get -qq update >"$root/log" 2>&1 && ! grep -qE "$bad" "$root/log" && return 0
	why="$1: $(grep -E '^(W|E):' "$root/log" | head -n 1)"
	return 1
}
