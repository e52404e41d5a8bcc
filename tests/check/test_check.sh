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
	mkdir -p "$1"/{user/{base,process,object,profile,collect,output},bpf,proto,scripts,doc,tests/unit,build/gen}
	cp "$(dirname "$check")/../.clang-format" "$1"
	printf '#include <stdint.h>\n\nuint32_t text_len(void);\n' >"$1/user/base/text.h"
	printf '#include "base/text.h"\n\n/* a stack of words; printf() */\nuint32_t text_len(void)\n{\n\treturn 1;\n}\n' \
		>"$1/user/base/text.c"
	printf '#include "base/text.h"\n' >"$1/user/object/elf.h"
	printf '#include <zlib.h>\n' >"$1/user/output/pprof.h"
	printf '#include <bpf/libbpf.h>\n\n#include "cprof_abi.h"\n' >"$1/user/collect/session.h"
	printf '#include <linux/types.h>\n' >"$1/bpf/cprof_abi.h"
	printf '#include "collect/session.h"\n#include "output/pprof.h"\n' >"$1/user/cmd_record.c"
	printf 'int options;\n' >"$1/user/options.h"
	printf '#include "options.h"\n\nint main(void)\n{\n\treturn 0;\n}\n' >"$1/user/main.c"
	printf 'syntax = "proto3";\n' >"$1/proto/profile.proto"
	cat >"$1/README.md" <<'END'
# toy

## The house

```
bpf/     cprof_abi.h    what both worlds know; user/ reads /proc/ and base/
user/    main.c         argv in, exit code out
         options.h      and cmd_record.c
  base/  text.[hc]      words
user/object/elf.h       files, under tests/ of their own
  output/
         pprof.h
  collect/ session.h    like pprof.h, but not
proto/   profile.proto  the schema
tests/   unit/ one program for each module
```

## Next

user/base/ghost.h
END
}

# expect NAME LINE_PATTERN: the tree in $tree, changed by the function change(), must be found broken
expect()
{
	local name=$1 pattern=$2 tree=$dir/tree out status
	rm -rf "$tree" && plant "$tree" && (cd "$tree" && change)
	out=$("$check" "$tree" 2>&1)
	status=$?
	n=$((n + 1))
	if [ -z "$pattern" ] && [ $status -eq 0 ] && [ -z "$out" ]; then
		echo "ok $n - $name"
	elif [ -n "$pattern" ] && [ $status -eq 1 ] && grep -qE "^check: $pattern" <<<"$out" &&
		[ "$(wc -l <<<"$out")" -eq 1 ]; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		printf '# exit code %s, wanted: %s\n' "$status" "${pattern:-silence}"
		printf '%s\n' "${out:-(silence)}" | sed 's/^/# /'
		failures=1
	fi
}

put() # FILE, text on stdin
{
	cat >"$1"
}

change() { :; }
expect 'a clean tree passes' ''
change() { echo '#include <libelf.h>' | put user/base/text.h; echo 'int x;' >>user/base/text.h; sed -i 2d user/base/text.c; }
expect 'a library in a room that must not know it' "user/base/text.h: room 'base' must not include libelf.h"
change() { echo '#include "output/pprof.h"' | put user/object/elf.h; }
expect 'a room that must not be known' "user/object/elf.h: room 'object' must not include output/pprof.h"
change() { echo '#include <bpf/bpf.h>' | put user/cmd_record.c; }
expect 'libbpf outside collect' "user/cmd_record.c: room 'top' must not include bpf/bpf.h"
change() { echo '#include "cprof.skel.h"' | put user/cmd_record.c; }
expect 'a skeleton outside collect' "user/cmd_record.c: room 'top' must not include cprof.skel.h"
change() { echo '#include "cprof_abi.h"' | put user/output/pprof.h; }
expect 'the BPF contract outside collect' "user/output/pprof.h: room 'output' must not include cprof_abi.h"
change() { sed -i '1i #include "base/text.h"' user/options.h; sed -i '1i #include "object/elf.h"' user/main.c; }
expect 'main knows options and base only' "user/main.c: room 'main' must not include object/elf.h"
change() {
	mkdir user/tools
	echo '#include "object/elf.h"' | tee user/tools/localnames.c >user/tools/load.c
	sed -i 's|^  output/$|  tools/ load.c and localnames.c\n  output/|' README.md
}
expect 'the names of local binaries come through one door' "user/tools/load.c: room 'tools' must not include object/elf.h"
change() { echo 'int stack_len;' >>user/base/text.c; }
expect 'a word of the domain in base' "user/base/text.c: base must not know what a 'stack_len' is"
change() { sed -i 's/return 1/return puts("x")/' user/base/text.c; }
expect 'a leaf room that prints' 'user/base/text.c: a leaf room must not print \(puts'
change() { echo 'extern struct nothing x;' | sed 's/struct nothing/nothing/' | put user/output/pprof.h; }
expect 'a header that needs another one' 'user/output/pprof.h: does not compile alone'
change() { echo 'typo x;' | put bpf/cprof_abi.h; : >user/collect/session.h; }
expect 'the BPF contract does not compile alone' 'bpf/cprof_abi.h: does not compile alone'
change() { : >user/object/new.c; }
expect 'a file that the tour does not name' "user/object/new.c: not in README.md's tour"
change() { mkdir tests/e2e; }
expect 'a folder of tests that the tour does not name' "tests/e2e/: not in README.md's tour"
change() { : >tests/tool.py; }
expect 'a tool of the tests that the tour does not name' "tests/tool.py: not in README.md's tour"
change() { : >user/ghost.h; echo '#include "base/text.h"' | put user/ghost.h; }
expect 'a file named only outside the tour' "user/ghost.h: not in README.md's tour"
change() { rm user/object/elf.h; }
expect 'a file that is gone' "README.md's tour names user/object/elf.h, which is not there"
change() { rm README.md; }
expect 'no README' 'README.md is missing'
change() { printf '/* TO''DO: later */\n' >>user/options.h; }
expect 'work left for later' 'user/options.h:2:TO''DO'
change() { sed -i 's/^\treturn/    return/' user/main.c; }
expect 'a file that is not formatted' 'user/main.c: not formatted'

echo "1..$n"
exit $failures
