#!/usr/bin/env bash
# Do the rooms link with what scripts/rooms.txt grants them, and nothing else? An include says what a file
# may know, a link what it uses: a program of the objects of a room, of the rooms that it may include, and
# of their libraries must have no undefined symbol. The rooms of a reader must do so without the libraries that
# parse programs or load BPF: what reads a profile that somebody sends cannot reach them. Speaks TAP.
#
# Needs a build (BUILD: where it is).
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 2
build=${BUILD:-build}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0 failures=0

# Not everybody builds with it (see Makefile).
zstd=$(printf '#include <zstd.h>\n' | "${CC:-gcc}" -E -x c - >/dev/null 2>&1 && echo -lzstd)
# The libraries behind a class of headers (see scripts/check.sh).
declare -A libraries=([c]=-lm [pprof]='-lprotobuf-c -lisal -lz' [elf]='-ldw -lelf -llzma' [zydis]=-lZydis [inflate]="-lisal $zstd"
	[iberty]=-liberty [bpf]=-lbpf)
# What parses programs or loads BPF: no reader may be linked to it.
not_for_readers='lib(elf|dw|Zydis|bpf|iberty)'

result() # NAME STATUS LOG
{
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		tail -n 20 "$3" | sed 's/^/# /'
		failures=1
	fi
}

grants_of() # ROOM, or a header of user/ that is named like its room
{
	awk -F '|' -v room="${1%.h}" '!/^#/ { gsub(/ /, "", $1); if ($1 == room) print $4 }' scripts/rooms.txt
}

# The rooms that ROOM... may include, directly or not, and themselves; and headers of user/ that have a .c.
closure() # ROOM...
{
	local all=" $* " new="$*" room word next
	while [ -n "$new" ]; do
		next=
		for room in $new; do
			for word in $(grants_of "$room"); do
				[[ -d user/$word || -e user/${word%.h}.c ]] && [[ $all != *" $word "* ]] &&
					all+="$word " next+=" $word"
			done
		done
		new=$next
	done
	echo "$all"
}

# The objects of rooms. Those of tools/ are without the one door to object/, a room of its own.
objects_of() # ROOM...
{
	local room source
	for room in "$@"; do
		case $room in
		*.h)
			for source in user/"${room%.h}"*.c; do
				echo "$build/${source%.c}.o"
			done
			;;
		*)
			for source in user/"$room"/*.c; do
				# what another machine has in the place of a room's files is not built
				[ "$source" = user/tools/localnames.c ] || [ ! -e "$build/${source%.c}.o" ] || echo "$build/${source%.c}.o"
			done
			;;
		esac
	done
}

# What the rooms are granted of libraries, as arguments of the linker.
libraries_of() # ROOM...
{
	local room word
	for room in "$@"; do
		for word in $(grants_of "$room"); do
			echo "${libraries[$word]:-}"
		done
	done | sort -u
}

# Links a program of all objects of the rooms that ROOM... may use.
link() # OUT ROOM...
{
	local out=$1 rooms libs schema=
	shift
	rooms=$(closure "$@")
	# shellcheck disable=SC2086 # words
	libs=$(libraries_of $rooms)
	# the schema's own code belongs to those who may know the format
	[[ $libs == *protobuf* ]] && schema=$build/gen/profile.pb-c.o
	# shellcheck disable=SC2046,SC2086 # words
	"${CC:-gcc}" $sanitized -Wl,--no-undefined -o "$out" "$dir/main.o" $(objects_of $rooms) $schema $libs
}

link_case() # ROOM
{
	link "$dir/program" "$1" >"$dir/log" 2>&1
	result "$1 links with what it is granted" $? "$dir/log"
}

# They need no room but base/. The program is not linked to the libraries, nor does it hold their code
# (libiberty is an archive), nor can it load them later.
readers_case()
{
	local status=0 rooms
	{
		rooms=$(closure profile input output gate | tr ' ' '\n' | sort | xargs)
		[ "$rooms" = 'base gate input output profile' ] || { echo "they may use $rooms" && status=1; }
		link "$dir/reader" profile input output gate || status=1
		readelf -dW "$dir/reader" | grep -E "NEEDED.*$not_for_readers" && status=1
		nm "$dir/reader" | grep -E ' [A-Za-z] (elf_|gelf_|dwarf_|dwfl_|Zydis|bpf_|btf_|cplus_demangle|dlopen)' && status=1
	} >"$dir/log" 2>&1
	result 'profile, input, output and gate: no libelf, libdw, Zydis, libbpf, libiberty' $status "$dir/log"
}

# A run asks the parser for whatever it takes from ELF files and from the memory of JVMs. A program of it, of what an archive
# adds, is complete without the libraries that parse them (libbpf has its own use for libelf) and without runtime/.
parser_case()
{
	local status=0
	{
		# shellcheck disable=SC2086 # words
		"${CC:-gcc}" $sanitized -Wl,--no-undefined -o "$dir/run" "$dir/main.o" -Wl,-u,run,-u,symbolizing_run \
			"$build/libcprof.a" -lbpf -lprotobuf-c -lisal -lz -liberty -lm || status=1
		nm "$dir/run" | grep -E ' [A-Za-z] (elf_|gelf_|dwarf_|dwfl_|Zydis|hotspot_|vmstructs_)' && status=1
	} >"$dir/log" 2>&1
	result 'record, heap and symbolize: main has no libelf, libdw, Zydis, and nothing of runtime/' $status "$dir/log"
}

# The one thing that reading commands have from object/ are the names of local binaries.
door_case()
{
	local status=0
	link "$dir/tools" tools >"$dir/log" 2>&1 && echo 'nothing was missing' >>"$dir/log"
	grep -oE 'undefined reference to .*' "$dir/log" | sort -u >"$dir/missing"
	grep -q . "$dir/missing" && ! grep -v '`localnames_' "$dir/missing" >>"$dir/log" || status=1
	result 'tools lacks nothing but the names of local binaries' $status "$dir/log"
}

# Can this test fail? An object that uses what it is not granted.
misfit_case() # NAME SYMBOL
{
	local status=0
	printf 'void %s(void);\nint main(void)\n{\n\t%s();\n\treturn 0;\n}\n' "$2" "$2" >"$dir/misfit.c"
	"${CC:-gcc}" -c -o "$dir/main.o" "$dir/misfit.c" || status=1
	link "$dir/misfit" profile input output gate >"$dir/log" 2>&1 && status=1
	grep -q "undefined reference to .$2" "$dir/log" || status=1
	result "$1 is noticed" $status "$dir/log"
}

[ -e "$build/user/base/alloc.o" ] || { echo "no build in $build: make all" && exit 77; }
sanitized=
nm "$build/user/base/alloc.o" | grep -q __asan_ && sanitized='-fsanitize=address,undefined'
echo 'int main(void) { return 0; }' >"$dir/main.c"
"${CC:-gcc}" -c -o "$dir/main.o" "$dir/main.c" || exit 1

for room in $(sed -nE 's/^([a-z]+) *\|.*/\1/p' scripts/rooms.txt); do
	[ -d "user/$room" ] && [ "$room" != tools ] && link_case "$room"
done
readers_case
parser_case
door_case
misfit_case 'a call of libelf' elf_begin
misfit_case 'a call of libbpf' bpf_object__open
misfit_case 'a call of the room of ELF files' object_elf

echo "1..$n"
exit $failures
