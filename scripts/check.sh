#!/usr/bin/env bash
# Proves what a reader relies on: which room knows what, that every header compiles alone, that the
# README's tour names every file and no other, that leaf rooms are silent, and the format.
#
#	scripts/check.sh [TREE]		TREE: this one
#
# One line for each broken rule, exit code 1 if there is any, 2 if a tool is missing.
# The rules themselves are tested on toy trees by tests/check/test_check.sh.
set -u
export LC_ALL=C

# The rooms. Whatever is not granted here is refused; every room may include the C library and
# itself. What no room is granted (cmocka, say) belongs to nobody.
#
# room     rooms and headers it may include                        libraries
rooms='
base       -                                                       -
process    base stream.h                                           -
object     base stream.h                                           elf zydis iberty
profile    base process object stream.h                            -
collect    base stream.h cprof_abi.h                               bpf
output     base profile                                            pprof
input      base profile                                            pprof
gate       base profile                                            -
tools      base profile input output gate cmd.h exit.h             -
localnames base profile object tools                               -
main       base options.h cmd.h exit.h                             -
options    base output whom.h                                      -
top        base process object profile collect output input top stream.h -
'

# Which library does an included header belong to? Anything else is the C library's.
libraries='
elf     libelf.h gelf.h elfutils/* dwarf.h lzma.h
zydis   Zydis/*
iberty  libiberty/demangle.h
bpf     bpf/* linux/bpf.h linux/btf.h linux/perf_event.h *.skel.h
pprof   protobuf-c/* *.pb-c.h zlib.h isa-l/*
cmocka  cmocka.h
'

# These words stand for what base must not know; a part of an identifier between underscores.
domain_words='profile|pprof|stack|frame|symbol|sample|mapping|pid|tgid|tid|elf|dwarf|bpf|perf|uprobe'

# Who may speak to the user: these, and the files at the top of user/. The rest returns errors.
speakers='user/base/log.* user/collect/* user/tools/* user/output/file.c'

broken=0

broken()
{
	printf 'check: %s\n' "$*"
	broken=1
}

row() # TABLE NAME: the words of that row
{
	awk -v name="$2" '$1 == name { $1 = ""; print }' <<<"$1"
}

files() # FOLDER... -- NAME_PATTERN...: the files of the tree, without what tools leave behind
{
	local folders=() names=()
	while [ "$1" != -- ]; do
		[ -e "$1" ] && folders+=("$1")
		shift
	done
	shift
	for pattern in "$@"; do
		names+=(-o -name "$pattern")
	done
	[ ${#folders[@]} -gt 0 ] || return 0
	find "${folders[@]}" -name __pycache__ -prune -o -type f \( "${names[@]:1}" \) -print | sort
}

matches() # WORD PATTERN...
{
	local word=$1 pattern
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $word == $pattern ]] && return 0
	done
	return 1
}

room_of() # FILE under user/
{
	case ${1#user/} in
	tools/localnames.c) echo localnames ;; # the one door from tools/ to object/
	*/*) local room=${1#user/} && echo "${room%%/*}" ;;
	main.c) echo main ;;
	options.[hc] | whom.[hc]) echo options ;;
	*) echo top ;;
	esac
}

library_of() # HEADER as included
{
	local name patterns
	while read -r name patterns; do
		set -f
		# shellcheck disable=SC2086 # patterns
		matches "$1" $patterns && echo "$name" && set +f && return
		set +f
	done <<<"$libraries"
}

check_rooms()
{
	local file header room rights wanted
	while read -r file header; do
		room=$(room_of "$file")
		rights=" $(row "$rooms" "$room") "
		[ "$rights" != "  " ] || { broken "$file: no such room in the table of scripts/check.sh"; continue; }
		wanted=$(library_of "$header")
		if [ -z "$wanted" ]; then
			case $header in
			cprof_abi.h | stream.h) wanted=$header ;;
			*/*) [ -d "user/${header%%/*}" ] && wanted=${header%%/*} ;;
			*.h) [ -e "user/$header" ] && wanted=$header ;;
			esac
		fi
		# a header at the top of user/ that has no row of its own
		[[ $room == top && -e user/$wanted && -f user/$wanted ]] && wanted=top
		[[ -z $wanted || $wanted == "$room" || ${wanted%.h} == "$room" ]] && continue
		[[ $rights == *" $wanted "* ]] || broken "$file: room '$room' must not include $header"
	done < <(files user -- '*.[hc]' |
		xargs -r sed -n -s -E 's/^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"].*/\1/;T;F;p' |
		paste -d ' ' - -)
}

# Comments and strings may say anything: what counts is the code.
code_of()
{
	"${CC:-gcc}" -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null | sed -E 's/"([^"\\]|\\.)*"//g; /^#include/d'
}

check_base_words()
{
	local file word
	for file in $(files user/base -- '*.[hc]'); do
		word=$(code_of "$file" | grep -oE '[A-Za-z_][A-Za-z0-9_]*' |
			grep -iE "(^|_)($domain_words)s?(_|\$)" | head -n 1)
		[ -z "$word" ] || broken "$file: base must not know what a '$word' is"
	done
}

check_silence()
{
	local file what
	for file in $(files user/*/ -- '*.[hc]'); do
		set -f
		# shellcheck disable=SC2086 # patterns
		matches "$file" $speakers && set +f && continue
		set +f
		what=$(code_of "$file" | grep -oE '\b(v?printf|puts|putchar|perror) ?\(|\bstdout\b|\bstderr\b' |
			head -n 1)
		# out of memory has no other way to be told
		[[ $file == user/base/alloc.c && $what == stderr ]] && continue
		[ -z "$what" ] || broken "$file: a leaf room must not print ($what)"
		grep -q '^#include "base/log.h"' "$file" && broken "$file: a leaf room must not print (base/log.h)"
	done
}

check_headers_alone()
{
	local header machine
	# clang for BPF does not look where Debian keeps <asm/types.h>
	machine=/usr/include/$("${CC:-gcc}" -print-multiarch 2>/dev/null)
	for header in $(files user -- '*.h') $(files bpf -- cprof_abi.h); do
		"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Iuser -Ibpf -I"${BUILD:-build}/gen" -Wall -Werror \
			-fsyntax-only -x c "$header" 2>/dev/null || broken "$header: does not compile alone"
	done
	for header in $(files bpf -- '*.bpf.h'); do
		"${CLANG:-clang}" -target bpf -g -O2 -D__TARGET_ARCH_x86 -Ivmlinux -Ibpf \
			-idirafter "$machine" -Wno-everything -fsyntax-only -x c "$header" 2>/dev/null ||
			broken "$header: does not compile alone"
	done
}

# The tour is the section "The house" of README.md. A line whose first word ends in "/" opens a folder
# (bpf/, or base/ when it stands below user/); words of it and of the lines below name files of that
# folder, `x.[hc]` both x.h and x.c, until a line opens another. A path from the top of the tree
# (user/base/vec.h) is good anywhere. A line that begins with the name of a file that is not there
# tells of something that was moved or removed.
tour()
{
	sed -n '/^##* *The house/,$p' README.md | sed '1d' | sed '/^## /,$d' |
		tr -c 'A-Za-z0-9_./\[\]\n-' ' ' | awk '
		function is_folder(path) { return path !~ /^\// && system("test -d \"" path "\"") == 0 }
		function within(word) { return top != "" && is_folder(top word) ? top word : word }
		function tell(path, leads) { print (leads ? "leads" : "named"), path }
		{
			first = 1
			for (i = 1; i <= NF; i++) {
				word = $i
				sub(/[.-]+$/, "", word)
				if (word !~ /[A-Za-z0-9]/)
					continue
				path = word ~ /\// ? word : folder word
				if (word ~ /\/$/) {
					path = within(word)
					if (first && is_folder(path)) {
						if (path == word)
							top = word
						folder = path
						tell(path, 0)
						continue # the first file may follow on the same line
					}
					tell(path, 0)
				} else if (sub(/\.\[hc\]$/, "", path)) {
					tell(path ".h", first)
					tell(path ".c", first)
				} else {
					tell(path, first)
				}
				first = 0
			}
		}' | sort -u
}

check_tour()
{
	local toured path
	[ -e README.md ] || { broken "README.md is missing"; return; }
	toured=$(tour)
	while read -r path; do
		grep -qxF -e "named $path" -e "leads $path" <<<"$toured" || broken "$path: not in README.md's tour (The house)"
	done < <(files bpf user proto vmlinux scripts doc -- '*'
		find tests -maxdepth 1 -type f \( -name '*.py' -o -name '*.sh' \) 2>/dev/null | sort
		find tests -mindepth 1 -maxdepth 1 -type d ! -name __pycache__ -printf '%p/\n' 2>/dev/null | sort)
	while read -r path; do
		[ -e "$path" ] || broken "README.md's tour names $path, which is not there"
	done < <(sed -n 's/^leads \(.*\.\(c\|h\|cc\|sh\|py\|proto\)\)$/\1/p' <<<"$toured")
}

check_leftovers()
{
	local words='TO''DO|FIX''ME|XX''X|HA''CK'
	while IFS= read -r line; do
		broken "$line"
	done < <(files bpf user tests scripts proto doc -- '*.[hc]' '*.cc' '*.py' '*.sh' '*.proto' '*.1' |
		xargs -r grep -nHoE "\b($words)\b")
}

check_format()
{
	local file
	for file in $(files bpf user tests -- '*.[hc]'); do
		clang-format --dry-run -Werror "$file" 2>/dev/null || broken "$file: not formatted (make fmt)"
	done
}

cd "${1:-$(dirname "$0")/..}" || exit 2
for tool in "${CC:-gcc}" "${CLANG:-clang}" clang-format; do
	command -v "$tool" >/dev/null || { echo "check: $tool is missing: scripts/setup.sh all" >&2; exit 2; }
done

check_rooms
check_base_words
check_silence
check_headers_alone
check_tour
check_leftovers
check_format
exit $broken
