#!/usr/bin/env bash
# Proves what a reader relies on: which room may include what (scripts/rooms.txt), that every header compiles
# alone and documents what it declares, that every file says what it is, that doc/architecture.md is what the
# files say and names files that exist, that leaf rooms are silent, and the format.
#
#	scripts/check.sh [TREE]		TREE: this one
#
# One line for each broken rule, exit code 1 if there is any, 2 if a tool is missing.
# The rules themselves are tested on toy trees by tests/check/test_check.sh.
set -u
export LC_ALL=C

# Which class does a header of a library belong to? One that is in none is refused everywhere.
libraries='
c        assert.h ctype.h endian.h errno.h float.h inttypes.h limits.h math.h setjmp.h stdarg.h stdbool.h stddef.h stdint.h
c        stdio.h stdlib.h string.h strings.h time.h sys/auxv.h
files    dirent.h dlfcn.h fcntl.h sys/stat.h sys/types.h sys/sysmacros.h sys/mman.h sys/uio.h sys/sendfile.h linux/magic.h sys/vfs.h sys/statvfs.h unistd.h
thread   pthread.h signal.h
children grp.h pwd.h sys/prctl.h sys/resource.h sys/wait.h poll.h malloc.h
kernel   linux/capability.h linux/futex.h linux/membarrier.h linux/types.h sys/auxv.h sys/epoll.h sys/eventfd.h sys/ioctl.h sys/syscall.h poll.h
kernel   x86intrin.h link.h elf.h cpuid.h sys/ptrace.h sys/user.h
kernel   linux/openat2.h sys/file.h sys/fsuid.h
kernel   sys/mount.h sys/resource.h sys/prctl.h sys/socket.h sched.h linux/audit.h linux/filter.h linux/seccomp.h
terminal getopt.h sys/ioctl.h
random   sys/random.h
regex    regex.h
iberty   libiberty/demangle.h
elf      libelf.h gelf.h elf.h elfutils/* dwarf.h lzma.h sys/auxv.h
zydis    Zydis/*
bpf      bpf/* linux/bpf.h linux/btf.h linux/perf_event.h *.skel.h
curl     curl/curl.h dlfcn.h
pprof    protobuf-c/* *.pb-c.h zlib.h isa-l/*
inflate  isa-l/* zstd.h
bpfside  vmlinux.h bpf/bpf_helpers.h bpf/bpf_core_read.h bpf/bpf_tracing.h linux/types.h
'

# Our own headers that belong to no room: a room must be granted each by name.
contracts='stream.h allocsite.h cprof_abi.h unwind_abi.h runtime_abi.h python_abi.h php_abi.h v8_abi.h ruby_abi.h perl_abi.h code_abi.h gapstep_abi.h rulestep_abi.h cmd.h exit.h options.h options_parts.h targetspec.h flame_page.h'

# These words stand for what base must not know; a part of an identifier between underscores.
domain_words='profile|pprof|stack|frame|symbol|sample|mapping|pid|tgid|tid|elf|dwarf|bpf|perf|uprobe'

# Who may speak to the user: these, and the files at the top of user/. The rest returns errors.
speakers='user/base/log.* user/cli/* user/collect/* user/feed/* user/record/* user/heap/prober.c user/tools/* user/output/file.c user/output/folder.c'

broken=0

broken()
{
	printf 'check: %s\n' "$*"
	broken=1
}

# The rooms of scripts/rooms.txt, of the tree that is checked, and what each may include.
declare -A rights_of

read_rights()
{
	local room place about rights class
	while read -r class _; do
		[[ -n $class && -d user/$class ]] && broken "user/$class: a room is named like a class of headers"
	done <<<"$libraries"
	while IFS='|' read -r room place about rights; do
		[[ $room == '#'* || -z $rights ]] || rights_of[${room// /}]=$rights
	done <scripts/rooms.txt
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

room_of() # FILE
{
	case ${1#user/} in
	bpf/*) echo bpf ;;
	inside/*) echo inside ;;
	tools/localnames.c) echo localnames ;; # the one door from tools/ to object/
	*/*) local room=${1#user/} && echo "${room%%/*}" ;;
	cmd_*.c) echo commands ;;
	options.[hc] | options_*.[hc] | targetspec.[hc]) echo options ;;
	main.c) echo main ;;
	*.h) echo "${1#user/}" ;; # a contract
	*) echo '?' ;;
	esac
}

# kinds_of HEADER ROOM: what may grant it: a contract's own name, a room, or the classes of a library
kinds_of()
{
	local name patterns
	[[ $2 == bpf && -e bpf/$1 ]] && echo bpf && return
	set -f
	# shellcheck disable=SC2086 # words
	matches "$1" $contracts && echo "$1" && set +f && return
	while read -r name patterns; do
		# shellcheck disable=SC2086 # patterns
		[ -n "$name" ] && matches "$1" $patterns && echo "$name"
	done <<<"$libraries"
	set +f
	[[ $1 == inside/* ]] && echo inside
	[[ $1 == */* && -d user/${1%%/*} ]] && echo "${1%%/*}"
}

check_rooms()
{
	local file='' header room rights kind granted known next
	local -A used=() seen=() kinds=()
	[ -e scripts/rooms.txt ] || { broken 'scripts/rooms.txt is missing'; return; }
	read_rights
	while read -r next header; do
		[ "$next" = "$file" ] || room=$(room_of "$next")
		file=$next
		rights=" ${rights_of[$room]:-} "
		if matches "$room" $contracts; then
			rights=' base stream.h c ' # a contract is plain data
		elif [ "$rights" = "  " ]; then
			broken "$file: no such room in scripts/rooms.txt"
			continue
		fi
		known='' granted='' seen[$room]=1
		[ -n "${kinds[$room/$header]+set}" ] || kinds[$room/$header]=$(kinds_of "$header" "$room")
		for kind in ${kinds[$room/$header]}; do
			known=1
			[[ $kind == "$room" || $rights == *" $kind "* ]] && granted=1 used[$room/$kind]=1
		done
		if [ -z "$known" ]; then
			broken "$file: $header is in no class of scripts/check.sh"
		elif [ -z "$granted" ]; then
			broken "$file: room '$room' must not include $header"
		fi
	done < <(files user inside bpf -- '*.[hc]' |
		xargs -r sed -n -s -E 's/^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"].*/\1/;T;F;p' |
		paste -d ' ' - -)
	while read -r file; do
		broken "$file: what it includes is not written there"
	done < <(files user inside bpf -- '*.[hc]' | xargs -r grep -lE '^[ \t]*#[ \t]*include[ \t]*[^<" \t]')
	for room in "${!seen[@]}"; do
		for kind in ${rights_of[$room]:-}; do
			[[ $kind == - || -n ${used[$room/$kind]:-} ]] || broken "scripts/rooms.txt: room '$room' has no need of $kind"
		done
	done
}

# Comments and strings may say anything: what counts is the code.
code_of()
{
	{ "${CC:-gcc}" -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null || cat "$1"; } | sed -E 's/"([^"\\]|\\.)*"//g; /^#include/d'
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

# What may print at all is looked at more closely.
check_silence()
{
	local file what
	for file in $(files user/*/ inside -- '*.[hc]' | xargs -r grep -lE 'printf|puts|putchar|perror|stdout|stderr|base/log\.h'); do
		set -f
		# shellcheck disable=SC2086 # patterns
		matches "$file" $speakers && set +f && continue
		set +f
		what=$(code_of "$file" | grep -oE '\b(v?printf|puts|putchar|perror) ?\(|\bstdout\b|\bstderr\b' |
			head -n 1)
		# running out of memory cannot be reported in another way
		[[ $file == user/base/alloc.c && $what == stderr ]] && continue
		[ -z "$what" ] || broken "$file: a leaf room must not print ($what)"
		grep -q '^#include "base/log.h"' "$file" && broken "$file: a leaf room must not print (base/log.h)"
	done
}

check_headers_alone()
{
	local header machine arch
	# clang for BPF does not look where Debian keeps <asm/types.h>
	machine=/usr/include/$("${CC:-gcc}" -print-multiarch 2>/dev/null)
	for header in $(files user inside -- '*.h') $(files bpf -- '*_abi.h'); do
		"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -I. -Iuser -Ibpf -I"${BUILD:-build}/gen" -Wall -Werror \
			-fsyntax-only -x c "$header" 2>/dev/null || broken "$header: does not compile alone"
	done
	for header in $(files bpf -- '*.bpf.h'); do
		arch=x86
		[[ $header == bpf/arch/arm64* ]] && arch=arm64
		"${CLANG:-clang}" -target bpf -g -O2 -D__TARGET_ARCH_$arch -Ivmlinux -Ibpf \
			-idirafter "$machine" -Wno-everything -fsyntax-only -x c "$header" 2>/dev/null ||
			broken "$header: does not compile alone"
	done
}

# doc/architecture.md is made of the first sentences of the files themselves.
check_architecture()
{
	local path
	[ -e doc/architecture.in.md ] || { broken 'doc/architecture.in.md is missing'; return; }
	"$home/architecture.sh" . | cmp -s - doc/architecture.md ||
		broken 'doc/architecture.md is not what the files say (make architecture)'
	sed -n 's/^- `[^`]*`: *$/&/p' doc/architecture.md | while read -r path; do
		echo "check: doc/architecture.md: $path has no first sentence"
	done | { ! grep .; } || broken=1
	while read -r path; do
		grep -qF "\`$path" doc/architecture.in.md || broken "$path: doc/architecture.in.md does not say what it is for"
	done < <(find tests -mindepth 1 -maxdepth 1 -type d ! -name __pycache__ -printf '%p/\n' 2>/dev/null | sort
		find tests -maxdepth 1 -type f \( -name '*.py' -o -name '*.sh' \) 2>/dev/null | sort)
}

# Every path in backquotes exists: below the root or user/ where it has a slash, else anywhere. A pattern (a.[hc], a*.py)
# needs one match. Left out: code between fences, what a reader is to write (NAME), and what make writes (build/).
check_paths() # PAGE...
{
	local page path
	while read -r page path; do
		if [[ $path == */* ]]; then
			compgen -G "$path" >/dev/null || compgen -G "user/$path" >/dev/null
		else
			[ -n "$(find . -name .git -prune -o -path ./build -prune -o -name "$path" -print -quit)" ]
		fi || broken "$page: there is no $path"
	done < <(for page in "$@"; do
		[ -e "$page" ] || continue
		sed '/^```/,/^```/d' "$page" | grep -oE '`[^`]+`' | sed 's/^`//; s/[ `].*//' |
			grep -E '^[A-Za-z0-9_.*-]*(/|[A-Za-z0-9_*-]\.([hc]|\[hc\]|py|sh|js|txt|md)$)' | grep -vE '^/|^build/|NAME' |
			sort -u | sed "s|^|$page |"
	done)
}

# Every .c, of the tests too, opens with a comment that says what it is, or how it goes about it.
check_openings()
{
	local file
	while read -r file; do
		broken "$file: no opening comment"
	done < <(files user bpf inside tests -- '*.c' | xargs -r awk '
		FNR == 1 { begun = 0 }
		begun || /^\/\/ SPDX/ || /^\/\* SPDX.*\*\/$/ || /^$/ { next }
		{ begun = 1 }
		!/^\/\*/ { print FILENAME }')
}

# Every function that a header declares has its contract: a comment above it, or above the block of lines,
# without a blank one, that it stands in.
check_contracts()
{
	while IFS= read -r line; do
		broken "$line: not documented"
	done < <(files user bpf inside -- '*.h' | grep -vE 'cmd\.h$' | xargs -r awk '
		FNR == 1 { depth = commented = within = macro = 0; declared = "" }
		/^[ \t]*$/ && !within && !depth { commented = 0; declared = ""; next }
		macro || /^[ \t]*#/ { macro = /\\$/; next }
		{
			line = $0; code = ""
			while (line != "") {
				if (within) {
					at = index(line, "*/")
					line = at ? substr(line, at + 2) : ""
					within = !at
				} else if ((at = index(line, "/*"))) {
					code = code substr(line, 1, at - 1)
					line = substr(line, at + 2)
					within = 1
					if (!depth)
						commented = 1
				} else {
					code = code line
					line = ""
				}
			}
			if (code ~ /^[ \t]*$/)
				next
			if (!depth && declared == "")
				start = FNR
			declared = declared " " code
			depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
			if (depth || code !~ /[;}][ \t]*$/)
				next
			name = declared
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (declared ~ /\(/ && declared !~ /\{|=|^ *typedef|_Static_assert|\(\*/ && !commented)
				print FILENAME ":" start ": " name "()"
			declared = ""
		}')
}

check_leftovers()
{
	local words='TO''DO|FIX''ME|XX''X|HA''CK'
	while IFS= read -r line; do
		broken "$line"
	done < <(files bpf user inside tests scripts proto doc -- '*.[hc]' '*.cc' '*.py' '*.sh' '*.proto' '*.1' |
		xargs -r grep -nHoE "\b($words)\b")
}

# The first page is short.
check_readme()
{
	local size most=10240

	[ -f README.md ] || return
	size=$(wc -c <README.md)
	[ "$size" -le $most ] || broken "README.md: $size bytes, at most $most"
}

check_format()
{
	local file
	files bpf user inside tests -- '*.[hc]' | xargs -r clang-format --dry-run -Werror 2>/dev/null && return
	for file in $(files bpf user inside tests -- '*.[hc]'); do
		clang-format --dry-run -Werror "$file" 2>/dev/null || broken "$file: not formatted (make fmt)"
	done
}

home=$(cd "$(dirname "$0")" && pwd) || exit 2
cd "${1:-$home/..}" || exit 2
for tool in "${CC:-gcc}" "${CLANG:-clang}" clang-format; do
	command -v "$tool" >/dev/null || { echo "check: $tool is missing: scripts/setup.sh all" >&2; exit 2; }
done

check_rooms
check_base_words
check_silence
check_headers_alone
check_architecture
check_paths doc/architecture.in.md CONTRIBUTING.md
check_openings
check_contracts
check_leftovers
check_readme
check_format
exit $broken
