#!/usr/bin/env bash
# What reads and writes profiles does not depend on the machine: the rooms base, profile, input, output and gate, built
# for s390x, which is big-endian, and run by qemu-user.
#
#	tests/portable/run.sh		(make portable)
#
# Their unit tests must pass there. Then profiles of every format are read and written again there and here: each file
# must be the same to the byte but for its compression, and what is refused here is refused there, with the same words.
#
# Installs the cross compiler and qemu-user where they are missing (root, Debian); the libraries of s390x are unpacked
# into build/s390x/ and not installed. What cannot be had is one test skipped. The last line is "N passed, N failed, N
# skipped"; exit code 1 if anything failed.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 2
top=$PWD
machine=s390x triplet=s390x-linux-gnu rooms='base profile input output gate'
packages='gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user'
libraries='libcmocka0 libcmocka-dev libiberty-dev libisal2 libisal-dev libprotobuf-c1 libprotobuf-c-dev libzstd1 libzstd-dev
	zlib1g zlib1g-dev'
build=build/$machine root=build/$machine/root
passed=0 failed=0 skipped=0

cannot()
{
	echo "SKIP portable: $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

no_build() # FOR
{
	tail -n 20 $build/log
	echo "FAIL portable: no build for $1"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

# apt-get for the other machine, with lists and a cache of its own.
apt_there()
{
	local state=$top/$build/apt
	mkdir -p "$state"/{lists/partial,archives/partial} && touch "$state/status" || return
	apt-get -qq -o APT::Architecture=$machine -o APT::Architectures=$machine -o Dir::State="$state" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" -o Debug::NoLocking=1 -o APT::Sandbox::User=root "$@"
}

set_up()
{
	local file
	if ! command -v $triplet-gcc qemu-$machine >/dev/null; then
		[ "$(id -u)" -eq 0 ] || cannot "run as root, or install $packages"
		# shellcheck disable=SC2086 # words
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages >/dev/null ||
			cannot "$packages cannot be installed"
	fi
	[ -e $root/complete ] && return
	mkdir -p $root
	apt_there update >/dev/null || cannot "no list of the packages of $machine"
	# shellcheck disable=SC2086 # words
	(cd $build/apt/archives && apt_there download $libraries >/dev/null) || cannot "the libraries of $machine cannot be had"
	for file in $build/apt/archives/*.deb; do
		dpkg-deb -x "$file" $root || cannot "$file cannot be unpacked"
	done
	touch $root/complete
}

there() # PROGRAM ARGUMENT...
{
	timeout -k 10 900 qemu-$machine -L /usr/$triplet \
		-E LD_LIBRARY_PATH="$PWD/$root/usr/lib/$triplet:$PWD/$root/lib/$triplet" "$@"
}

make_there() # TARGET...
{
	make --no-print-directory -j"$(nproc)" BUILD=$build CC=$triplet-gcc ROOMS="$rooms" LIBS='-lprotobuf-c -lisal -lzstd -lz -liberty -lm' \
		CFLAGS="-O1 -g -isystem $root/usr/include -isystem $root/usr/include/$triplet -L$root/usr/lib/$triplet -L$root/lib/$triplet -Wl,-rpath-link,$root/usr/lib/$triplet:$root/lib/$triplet" \
		"$@" >$build/log 2>&1 || no_build $machine
}

# Tests of nothing but these rooms: everything of user/ that they include stands there.
wanted_tests()
{
	local file used
	for file in tests/unit/test_*.c; do
		used=$(gcc -std=gnu11 -D_GNU_SOURCE -I. -Iuser -Ibpf -Ibuild/gen -Itests -MM "$file" | grep -oE '(user|bpf|inside)/[^ ]*' |
			grep -vE "^user/(${rooms// /|})/")
		[ -n "$used" ] || basename "$file" .c
	done
}

unit_tests()
{
	local name
	for name in $tests; do
		case $name in
		test_fileview) # 7.2: si_addr has its halves exchanged
			echo "SKIP $name: qemu-user says wrongly which page was lost"
			skipped=$((skipped + 1))
			continue
			;;
		test_gate_simulation)
			echo "SKIP $name: half an hour of floating-point arithmetic, emulated"
			skipped=$((skipped + 1))
			continue
			;;
		esac
		CMOCKA_MESSAGE_OUTPUT=TAP there $build/unit/"$name" >$build/log 2>&1 </dev/null
		if [ $? -eq 0 ] && grep -q '^ok ' $build/log; then
			passed=$((passed + $(grep -c '^ok ' $build/log)))
			echo "ok $name ($(grep -c '^ok ' $build/log) cases)"
		else
			failed=$((failed + 1))
			echo "FAIL $name"
			grep -A4 '^not ok' $build/log | head -n 20
		fi
	done
}

# Files of every format that is read, good and bad: the corpora of the fuzz targets, the data that tests use, and
# profiles that pprof's own package makes up.
collect_profiles() # FOLDER
{
	local folder file n=0
	for folder in tests/fuzz/corpus/{pprof,gzip_pprof,merge,folded,perfscript,legacy_*,gunzip} ../shared/corpus; do
		[ -d "$folder" ] || { echo "# no $folder"; continue; }
		while read -r file; do
			cp "$file" "$1/$(printf '%05d' $n)"
			n=$((n + 1))
		done < <(find "$folder" -type f | sort)
	done
	mkdir -p $build/made/{profiles,legacy} && rm -f $build/made/*/*
	build/oracle/oracle generate 20261126 300 $build/made/profiles
	build/oracle/oracle legacy 20261126 300 $build/made/legacy
	for folder in profiles legacy; do
		for file in $build/made/$folder/*; do
			cp "$file" "$1/$folder-${file##*/}"
		done
	done
}

same_files()
{
	local said n nr_read
	mkdir -p $build/in $build/here $build/there
	rm -rf $build/in/* $build/here/* $build/there/*
	collect_profiles $build/in
	build/oracle/reencode -d $build/in $build/here >$build/here.said 2>&1
	there $build/oracle/reencode -d $build/in $build/there >$build/there.said 2>&1
	n=$(find $build/in -type f | wc -l)
	nr_read=$(find $build/here -type f | wc -l)
	# isa-l compresses elsewhere in other ways: what is compressed must be the same
	find $build/here $build/there -type f -exec mv {} {}.gz \; -exec gunzip {}.gz \;
	if said=$(diff -rq $build/here $build/there && diff <(sort $build/here.said) <(sort $build/there.said)) && [ $nr_read -gt 0 ]; then
		passed=$((passed + 1))
		echo "ok profiles: $nr_read of $n files read and written, $((n - nr_read)) refused: no byte and no word differs"
	else
		failed=$((failed + 1))
		echo "FAIL profiles, $nr_read of $n files read:"
		head -n 10 <<<"$said"
	fi
}

mkdir -p $build || exit 2
make --no-print-directory -j"$(nproc)" build/oracle/reencode build/oracle/oracle >$build/log 2>&1 || no_build 'this machine'
set_up
tests=$(wanted_tests)
# shellcheck disable=SC2046 # words
make_there $(printf "$build/unit/%s " $tests) $build/oracle/reencode
unit_tests
same_files
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
