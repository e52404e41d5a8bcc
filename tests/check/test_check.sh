#!/usr/bin/env bash
# Does `make check` see what it says it sees? A clean toy tree must pass scripts/check.sh; each rule
# broken in a copy of it must give exit code 1 and a line about it. Speaks TAP.
set -u
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0 failures=0

plant() # TREE: a tree in which every rule holds
{
	mkdir -p "$1"/{user/{base,object,collect,output},bpf,proto,vmlinux,scripts,doc,tests/unit,build/gen} "$1/user/output/flame"
	cp "$(dirname "$check")/../.clang-format" "$1"
	cat >"$1/scripts/rooms.txt" <<'END'
# room | runs in | what it is | may include
bpf      | the kernel | programs | bpfside
base     | all        | text     | c
object   | worker     | files    | base
tools    | reader     | commands | base
localnames | reader   | the door | base object
collect  | main       | the kernel's side | cprof_abi.h bpf
output   | main       | formats  | pprof
commands | main       | commands | collect output
options  | main       | options  | -
main     | main       | main     | options.h
END
	printf '/* Text. */\n#include <stdint.h>\n\n/* Of a text, in bytes. */\nuint32_t text_len(void);\n' >"$1/user/base/text.h"
	printf '/* Made of words; printf() */\n#include "base/text.h"\n\nuint32_t text_len(void)\n{\n\treturn 1;\n}\n' \
		>"$1/user/base/text.c"
	printf '/* ELF files. */\n#include "base/text.h"\n' >"$1/user/object/elf.h"
	printf '/* The format. */\n#include <zlib.h>\n' >"$1/user/output/pprof.h"
	printf '/* A session. */\n#include <bpf/libbpf.h>\n\n#include "cprof_abi.h"\n' >"$1/user/collect/session.h"
	printf '/* The contract. */\n#include <linux/types.h>\n' >"$1/bpf/cprof_abi.h"
	printf '/* Unwind tables. */\nstruct unwind_rule;\n' >"$1/bpf/unwind_abi.h"
	printf '/* Records. */\n#include "collect/session.h"\n#include "output/pprof.h"\n' >"$1/user/cmd_record.c"
	printf '/* Options. */\nint options;\n' >"$1/user/options.h"
	printf '/* Begins. */\n#include "options.h"\n\nint main(void)\n{\n\treturn 0;\n}\n' >"$1/user/main.c"
	printf '// The schema\nsyntax = "proto3";\n' >"$1/proto/profile.proto"
	printf '# toy\n\nPage of all.\n\n<!-- files -->\n\n`tests/unit/`: one program for each module\n' >"$1/doc/architecture.in.md"
	architecture "$1"
}

architecture() # TREE
{
	: >"$1/doc/architecture.md"
	"$(dirname "$check")/architecture.sh" "$1" >"$1/new.md" && mv "$1/new.md" "$1/doc/architecture.md"
}

# expect NAME LINE_PATTERN...: the tree in $tree, changed by the function change(), must be found broken, with
# one line for each pattern and no other; without a pattern it must pass in silence
expect()
{
	local name=$1 pattern tree=$dir/tree out status good=1
	shift
	rm -rf "$tree" && cp -a "$dir/clean" "$tree" && (cd "$tree" && change)
	out=$("$check" "$tree" 2>&1)
	status=$?
	n=$((n + 1))
	[ $status -eq $(($# > 0)) ] && [ "$(grep -c . <<<"$out")" -eq $# ] || good=
	for pattern in "$@"; do
		grep -qE "^check: $pattern" <<<"$out" || good=
	done
	if [ "$good" ]; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		printf '# exit code %s, wanted: %s\n' "$status" "${*:-silence}"
		printf '%s\n' "${out:-(silence)}" | sed 's/^/# /'
		failures=1
	fi
}

plant "$dir/clean"
change() { :; }
expect 'a clean tree passes'
change() { sed -i 's/<stdint.h>/<libelf.h>/; $d' user/base/text.h; sed -i '2i #include <stdlib.h>' user/base/text.h; sed -i 2d user/base/text.c; printf 'int x;\n' >>user/base/text.h; sed -i 's/^uint32_t/int/' user/base/text.c; }
expect 'a library in a room that must not know it' "user/base/text.h: room 'base' must not include libelf.h"
change() { sed -i '2i #include "output/pprof.h"' user/object/elf.h; }
expect 'a room that must not be known' "user/object/elf.h: room 'object' must not include output/pprof.h"
change() { sed -i '2i #include <fcntl.h>' user/object/elf.h; }
expect 'a part of the C library that is not granted' "user/object/elf.h: room 'object' must not include fcntl.h"
change() { sed -i '2i #include <search.h>' user/object/elf.h; }
expect 'a header that no class lists' "user/object/elf.h: search.h is in no class"
change() { sed -i 's/^output .*/& elf/' scripts/rooms.txt; }
expect 'a grant that no file needs' "scripts/rooms.txt: room 'output' has no need of elf"
change() { mkdir user/children; }
expect 'a room named like a class of headers' "user/children: a room is named like a class of headers"
change() { printf '/* A program. */\n#include "vmlinux.h"\n#include <stdio.h>\n' >bpf/walk.bpf.c; architecture .; }
expect 'the C library in a BPF program' "bpf/walk.bpf.c: room 'bpf' must not include stdio.h"
change() { sed -i '2i #include "output/pprof.h"' user/options.h; }
expect 'a contract that includes a room' "user/options.h: room 'options' must not include output/pprof.h"
change() { sed -i '2i #define OTHER "object/elf.h"\n#include OTHER' user/main.c; }
expect 'an include that is computed' "user/main.c: what it includes is not written there"
change() { mkdir user/attic && printf '/* Old. */\n#include <stdint.h>\n' >user/attic/old.h; }
expect 'a room that is not in the table' "user/attic/old.h: no such room"
change() { printf '/* New. */\n#include <stdint.h>\n' >user/new.h; architecture .; }
expect 'a header at the top that is no contract' "user/new.h: no such room"
change() { sed -i '2i #include <bpf/bpf.h>' user/cmd_record.c; }
expect 'libbpf outside collect' "user/cmd_record.c: room 'commands' must not include bpf/bpf.h"
change() { sed -i '2i #include "cprof.skel.h"' user/cmd_record.c; }
expect 'a skeleton outside collect' "user/cmd_record.c: room 'commands' must not include cprof.skel.h"
change() { sed -i '2i #include "cprof_abi.h"' user/output/pprof.h; }
expect 'the BPF contract outside collect' "user/output/pprof.h: room 'output' must not include cprof_abi.h"
change() { sed -i '2i #include "unwind_abi.h"' user/output/pprof.h; }
expect 'the shape of unwind tables is a contract, too' "user/output/pprof.h: room 'output' must not include unwind_abi.h"
change() { sed -i '2i #include "object/elf.h"' user/main.c; }
expect 'main knows options and base only' "user/main.c: room 'main' must not include object/elf.h"
change() {
	mkdir user/tools
	printf '/* Names. */\n#include "object/elf.h"\n#include "base/text.h"\n' | tee user/tools/localnames.c >user/tools/load.c
	architecture .
}
expect 'the names of local binaries come through one door' "user/tools/load.c: room 'tools' must not include object/elf.h"
change() { echo 'int stack_len;' >>user/base/text.c; }
expect 'a word of the domain in base' "user/base/text.c: base must not know what a 'stack_len' is"
change() { sed -i 's/return 1/return puts("x")/' user/base/text.c; }
expect 'a leaf room that prints' 'user/base/text.c: a leaf room must not print \(puts'
change() { echo 'extern nothing x;' >>user/output/pprof.h; }
expect 'a header that needs another one' 'user/output/pprof.h: does not compile alone'
change() { echo 'typo x;' >>bpf/unwind_abi.h; }
expect 'a BPF contract does not compile alone' 'bpf/unwind_abi.h: does not compile alone'
change() { printf '/* New. */\n' >user/object/new.c; }
expect 'a file that the page does not have' "doc/architecture.md is not what the files say"
change() { rm user/object/elf.h; }
expect 'a file that is gone' "doc/architecture.md is not what the files say"
change() { sed -i '1s/Text/Words/' user/base/text.h; }
expect 'a file that says something else of itself' "doc/architecture.md is not what the files say"
change() {
	printf '#!/bin/sh\n# Does one\n# thing\n#\n#	do.sh FILE\n#\n# And how.\n' >scripts/do.sh
	architecture .
	grep -qx -- '- `do.sh`: Does one thing' doc/architecture.md || : >doc/architecture.md
}
expect 'the page has the first sentence of a script, without its usage'
change() { mkdir tests/e2e; }
expect 'a folder of tests that the page does not name' "tests/e2e/: doc/architecture.in.md does not say"
change() { : >tests/tool.py; }
expect 'a tool of the tests that the page does not name' "tests/tool.py: doc/architecture.in.md does not say"
change() {
	printf '`user/main.c`, `base/text.[hc]`, `text.h`, `tests/*/`, `tests/unit/run 7`, `user/NAME.c`, `build/x`, `/proc/x`\n' \
		>>doc/architecture.in.md
	printf '```\n`no/such`\n```\n`a/`\n' >CONTRIBUTING.md
	mkdir a
	: >tests/unit/run
	architecture .
}
expect 'paths of every kind that exist'
change() {
	printf 'See `user/gone.c` and `main.c`.\n' >>doc/architecture.in.md
	printf 'Run `tests/gone.sh all`, see `gone.[hc]`.\n' >CONTRIBUTING.md
	architecture .
}
expect 'paths that do not exist' 'doc/architecture.in.md: there is no user/gone.c' 'CONTRIBUTING.md: there is no tests/gone.sh' \
	'CONTRIBUTING.md: there is no gone'
change() { rm doc/architecture.in.md; }
expect 'no page' 'doc/architecture.in.md is missing'
change() { sed -i 1d user/cmd_record.c; architecture .; }
expect 'a file that does not say what it is' 'user/cmd_record.c: no opening comment' 'doc/architecture.md: .*no first sentence'
change() { printf '/* SPDX-License-Identifier: BSD-2-Clause */\nint x;\n' >tests/unit/test_x.c; }
expect 'a test that does not say what it is' 'tests/unit/test_x.c: no opening comment'
change() { sed -i 4d user/base/text.h; }
expect 'a function without a contract' 'user/base/text.h:4: text_len\(\): not documented'
change() { printf '/* TO''DO: later */\n' >>user/options.h; }
expect 'work left for later' 'user/options.h:3:TO''DO'
change() { yes | head -c 10241 >README.md; }
expect 'a README that is too long' 'README.md: 10241 bytes'
change() { sed -i 's/^\treturn/    return/' user/main.c; }
expect 'a file that is not formatted' 'user/main.c: not formatted'

echo "1..$n"
exit $failures
