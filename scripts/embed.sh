#!/usr/bin/env bash
# Writes a C header with the page of a flame graph: the bytes of its HTML, style and script, and the
# hashes by which the page's Content-Security-Policy knows the latter two.
#
#	scripts/embed.sh PAGE.html STYLE.css SCRIPT.js... >flame_page.h
#
# The scripts become one, in the order given. A C array instead of the assembler's .incbin, so that a
# dependency on the sources is the make rule's, and not hidden in an object file.
set -eu
export LC_ALL=C

array() # NAME FILE...
{
	printf 'static const unsigned char %s[] = {\n' "$1"
	shift
	cat "$@" | od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	printf '};\n'
}

hash() # NAME FILE...: SHA-256 in base 64, as CSP level 3 has it
{
	local hex name=$1
	shift
	hex=$(cat "$@" | sha256sum | cut -c 1-64)
	# shellcheck disable=SC2059 # the bytes are the format
	printf 'static const char %s[] = "sha256-%s";\n' "$name" "$(printf "$(sed 's/../\\x&/g' <<<"$hex")" | base64)"
}

[ $# -ge 3 ] || { echo "usage: scripts/embed.sh PAGE.html STYLE.css SCRIPT.js..." >&2; exit 2; }
page=$1 style=$2
shift 2
array flame_page_html "$page"
array flame_page_style "$style"
array flame_page_script "$@"
hash flame_style_hash "$style"
hash flame_script_hash "$@"
