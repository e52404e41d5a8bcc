#!/usr/bin/env bash
# Writes doc/architecture.md's list of files: for each room of scripts/rooms.txt a heading, and for each file the
# first sentence of its opening comment, so that the list says what the files say of themselves.
#
#	scripts/architecture.sh [TREE]		the whole page on stdout: doc/architecture.in.md with the list in it
#
# `make architecture` writes the page, `make check` refuses one that is not up to date.
set -eu
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}"

# The first sentence of the opening comment of a file, without its end.
first_sentence() # FILE
{
	case $1 in
	*.sh | *.py | *.txt) sed -n '/^#!/d; /^# SPDX/d; /^#[[:space:]]*$/q; /^#/!q; s/^#[[:space:]]*//p' "$1" ;;
	*.1) sed -n 's/^\.Nd //p' "$1" | head -n 1 ;;
	*.md) sed -n '/^[^#<]/{p;q}' "$1" ;;
	*.html) sed -n 's/^<!-- *\(.*\) *-->$/\1/p' "$1" | head -n 1 ;;
	*.js | *.css | *.proto) sed -n '/SPDX/d; /^\(\/\/\|\/\*\)/!q; s#^\(//\|/\*\) *##; s# *\*/$##; /^$/q; p' "$1" ;;
	*) awk '/^\/\/ SPDX/ || /^\/\* SPDX.*\*\/$/ { next }
		/^\/\*/ { on = 1 }
		!on { exit }
		{ last = index($0, "*/"); gsub(/^[ \t]*\/?\*+\/?[ \t]?|[ \t]*\*\/.*$/, "") }
		$0 == "" && said { exit }
		$0 != "" { print; said = 1 }
		last { exit }' "$1" ;;
	esac | awk '{ all = all (NR > 1 ? " " : "") $0 }
		END {
			gsub(/[ \t]+/, " ", all)
			if (match(all, /[.?!] +[A-Z`]/))
				all = substr(all, 1, RSTART)
			sub(/[.: ;]+$/, "", all)
			print all
		}'
}

# One line for x.h and x.c together; the header speaks for both.
line() # FOLDER NAME...
{
	local path=$1/$2 shown=$2
	case $2 in
	*.h) [ -e "${path%.h}.c" ] && shown=${2%.h}.'[hc]' ;;
	*.c) [ -e "${path%.c}.h" ] && return 0 ;;
	esac
	printf -- '- `%s`: %s\n' "$shown" "$(first_sentence "$path")"
}

folder() # FOLDER
{
	local file
	# -f: folders have headings of their own. This page does not list itself, nor pictures.
	for file in "$1"/*; do
		[[ -f $file && $file != doc/architecture.* && $file != *.png ]] && line "$1" "${file##*/}"
	done
	return 0
}

rooms()
{
	local room place about rest
	while IFS='|' read -r room place about rest; do
		room=${room// /} place=$(sed 's/^ *//; s/ *$//' <<<"$place") about=$(sed 's/^ *//; s/ *$//' <<<"$about")
		case $room in
		'' | '#'*) continue ;;
		bpf)
			printf '\n### bpf/: %s\n\nRuns in %s.\n\n' "$about" "$place" && folder bpf
			[ -d bpf/arch ] || continue
			printf '\n### bpf/arch/: what machines differ in\n\n' && folder bpf/arch
			;;
		inside)
			[ -d inside ] || continue
			printf '\n### inside/: %s\n\nRuns in: %s.\n\n' "$about" "$place"
			folder inside
			;;
		*)
			[ -d "user/$room" ] || continue
			printf '\n### user/%s/: %s\n\nRuns in: %s.\n\n' "$room" "$about" "$place"
			folder "user/$room"
			;;
		esac
	done <scripts/rooms.txt
	printf '\n### user/: what knows every room\n\nRuns in: main; the headers and main.c in every process.\n\n' && folder user
	printf '\n### user/output/flame/: the sources of flame graphs that are not C\n\nRuns in: a web browser.\n\n' && folder user/output/flame
	printf '\n### proto/, vmlinux/, scripts/, doc/\n\n' && folder proto && folder vmlinux && folder scripts && folder doc
}

while IFS= read -r text; do
	if [ "$text" = '<!-- files -->' ]; then
		rooms
	else
		printf '%s\n' "$text"
	fi
done <doc/architecture.in.md
