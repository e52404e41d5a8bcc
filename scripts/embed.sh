#!/usr/bin/env bash
# Writes a C header with the sources of the flame graphs (user/output/flame/): the HTML page, its style
# and its script with the hashes by which the page's Content-Security-Policy knows them, and style and
# script of an SVG.
#
#	scripts/embed.sh FOLDER SCRIPT...	>flame_page.h
#
# The scripts of the page become one, in the order given. A C array instead of the assembler's .incbin,
# so that a dependency on the sources is the make rule's, and not hidden in an object file.
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

[ $# -ge 2 ] || { echo "usage: scripts/embed.sh FOLDER SCRIPT..." >&2; exit 2; }
cd "$1"
shift
array flame_page_html page.html
array flame_page_style page.css
array flame_page_script "$@"
hash flame_style_hash page.css
hash flame_script_hash "$@"
array flame_svg_style svg.css
array flame_svg_script svg.js
