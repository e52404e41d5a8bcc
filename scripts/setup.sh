#!/bin/sh
# Installs what is missing to build (build), to show (demo) or to test (all) cprof; or to build it for arm64 on another
# machine, and test it under emulation (arm64).
#
# A package counts as missing when what it is needed for is: a command on the PATH, a header, a
# compiler run-time. So a tool that you installed by other means is left alone, nothing is touched
# (and neither root nor a network is needed) when all is there, and this also works on distributions
# whose packages it cannot install: there it names them and stops.
#
# Exit codes: 0 everything is there; 2 wrong usage; 4 not root, or not a distribution with apt-get,
# or apt-get failed.
set -u

usage='usage: scripts/setup.sh build|demo|all|arm64'

# What cprof is linked with there, and what its tests run there: unpacked below build/, not installed.
arm64_root=build/arm64/root
arm64_libraries='libc6-dev libstdc++6 libbpf-dev libelf-dev libdw-dev libiberty-dev libprotobuf-c-dev libzydis-dev zlib1g-dev
	liblzma-dev libcurl4-openssl-dev libisal-dev libzstd-dev libcmocka-dev bpftool busybox-static util-linux'

# redis-check-rdb is redis-server by another name, in a package that starts no service.
# What pypi: names is fetched by pip, into a folder of its own. Only some tests need it: where it cannot be had, they are skipped.
#
# for    needed                       Debian                  Fedora                    Arch         openSUSE
table='
build    cmd:gcc                      gcc                     gcc                       gcc          gcc
build    cmd:g++                      g++                     gcc-c++                   gcc          gcc-c++
build    cmd:make                     make                    make                      make         make
build    cmd:clang                    clang                   clang                     clang        clang
build    cmd:bpftool                  bpftool                 bpftool                   bpf          bpftool
build    cmd:protoc-c                 protobuf-c-compiler     protobuf-c-compiler       protobuf-c   protobuf-c
build    cmd:pkg-config               pkg-config              pkgconf-pkg-config        pkgconf      pkg-config
build    header:bpf/libbpf.h          libbpf-dev              libbpf-devel              libbpf       libbpf-devel
build    header:gelf.h                libelf-dev              elfutils-libelf-devel     libelf       libelf-devel
build    header:elfutils/libdw.h      libdw-dev               elfutils-devel            elfutils     libdw-devel
build    header:libiberty/demangle.h  libiberty-dev           binutils-devel            binutils     binutils-devel
build    header:protobuf-c/protobuf-c.h  libprotobuf-c-dev    protobuf-c-devel          protobuf-c   libprotobuf-c-devel
build    header:Zydis/Zydis.h         libzydis-dev            zydis-devel               zydis        zydis-devel
build    header:zlib.h                zlib1g-dev              zlib-devel                zlib         zlib-devel
build    header:lzma.h                liblzma-dev             xz-devel                  xz           xz-devel
build    header:curl/curl.h           libcurl4-openssl-dev    libcurl-devel             curl         libcurl-devel
build    header:isa-l/igzip_lib.h     libisal-dev             isa-l-devel               isa-l        libisal-devel
build    header:zstd.h                libzstd-dev             libzstd-devel             zstd         libzstd-devel
arm64    cmd:aarch64-linux-gnu-gcc    gcc-aarch64-linux-gnu   gcc-aarch64-linux-gnu     aarch64-linux-gnu-gcc cross-aarch64-gcc13
arm64    cmd:aarch64-linux-gnu-g++    g++-aarch64-linux-gnu   gcc-c++-aarch64-linux-gnu aarch64-linux-gnu-gcc cross-aarch64-gcc13
arm64    cmd:qemu-aarch64             qemu-user               qemu-user                 qemu-user    qemu-linux-user
arm64    cmd:qemu-system-aarch64      qemu-system-arm         qemu-system-aarch64-core  qemu-system-aarch64 qemu-arm
arm64    cmd:/usr/bin/python3         python3                 python3                   python       python3
demo     cmd:go                       golang-go               golang                    go           go
all      cmd:protoc                   protobuf-compiler       protobuf-compiler         protobuf     protobuf-devel
all      cmd:clang-format             clang-format            clang-tools-extra         clang        clang-tools
all      cmd:/usr/bin/python3         python3                 python3                   python       python3
all      cmd:readelf                  binutils                binutils                  binutils     binutils
all      cmd:dwz                      dwz                     dwz                       dwz          dwz
all      cmd:llvm-symbolizer          llvm                    llvm                      llvm         llvm
all      cmd:debuginfod               debuginfod              elfutils-debuginfod       debuginfod   debuginfod
all      cmd:setpriv                  util-linux              util-linux-core           util-linux   util-linux
all      header:cmocka.h              libcmocka-dev           libcmocka-devel           cmocka       libcmocka-devel
all      cmd:qemu-system-x86_64      qemu-system-x86          qemu-system-x86-core      qemu-system-x86 qemu-x86
all      header:gperftools/profiler.h  libgoogle-perftools-dev google-perftools-devel  gperftools   gperftools-devel
all      cmd:perf                     linux-perf              perf                      perf         perf
all      cmd:google-pprof            google-perftools         gperftools                gperftools   gperftools
all      cmd:musl-gcc                 musl-tools              musl-gcc                  musl         musl-devel
all      cmd:busybox                 busybox-static           busybox                   busybox      busybox-static
all      cmd:chromium                chromium                chromium                  chromium     chromium
all      cmd:mandoc               mandoc                  mandoc                    mandoc       mandoc
all      cmd:jq                       jq                      jq                        jq           jq
all      cmd:zsh                      zsh                     zsh                       zsh          zsh
all      cmd:fish                     fish                    fish                      fish         fish
all      cmd:py-spy               pypi:py-spy             pypi:py-spy               pypi:py-spy  pypi:py-spy
all      numpy                    python3-numpy           python3-numpy             python-numpy python3-numpy
all      cmd:lua                  lua5.4                  lua                       lua          lua54
all      cmd:luajit               luajit                  luajit                    luajit       luajit
all      cmd:php                  php-cli                 php-cli                   php          php8-cli
all      path:/usr/sbin/php-fpm   php-fpm                 php-fpm                   php-fpm      php8-fpm
all      cmd:javac                default-jdk-headless    java-latest-openjdk-devel jdk-openjdk  java-devel
all      cmd:prove                perl                    perl                      perl         perl
all      cmd:ruby                 ruby                    ruby                      ruby         ruby
all      cmd:npm                  npm                     npm                       npm          npm
all      cmd:node                 nodejs                  nodejs                    nodejs       nodejs
all      cmd:strace               strace                  strace                    strace       strace
all      cmd:redis-check-rdb          redis-tools             redis                     redis        redis
all      cmd:xz                       xz-utils                xz                        xz           xz
all      fuzzer                       libclang-rt-CLANG-dev   compiler-rt               compiler-rt  clang-devel
'

# Can it be used? Commands of the superuser (bpftool) are looked for where Debian puts them, too.
is_there()
{
	case $1 in
	cmd:*) PATH=$PATH:/usr/sbin:/sbin command -v "${1#cmd:}" >/dev/null ;;
	# cmocka.h wants to be preceded by these.
	header:*) printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "${1#header:}" |
		gcc -E -x c -o /dev/null - 2>/dev/null ;;
	path:*) [ -n "$(ls "${1#path:}"* 2>/dev/null)" ] ;;
	numpy) /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
	fuzzer) [ -n "$(ls "$(clang -print-resource-dir 2>/dev/null)"/lib/*/libclang_rt.fuzzer*.a 2>/dev/null)" ] ;;
	esac
}

# needed COLUMN: the packages whose purpose is not served, one a line, for the wanted stages.
needed()
{
	printf '%s' "$table" | while read -r stage need deb fedora arch suse; do
		case $what:$stage in
		*:build | demo:demo | arm64:arm64) ;;
		all:arm64) continue ;;
		all:*) ;;
		*) continue ;;
		esac
		is_there "$need" && continue
		case $1 in
		debian) echo "$deb" ;;
		fedora) echo "$fedora" ;;
		arch) echo "$arch" ;;
		suse) echo "$suse" ;;
		esac
	done | awk 'NF && !seen[$0]++'
}

packages()
{
	needed "$1" | grep -v '^pypi:'
}

# Those that pip fetches: into folders of their own, and never a reason to fail.
fetch_from_pypi()
{
	[ "$(id -u)" -eq 0 ] || return 0
	for name in $(needed debian | sed -n 's/^pypi://p'); do
		into=/usr/local/lib/$name
		if python3 -m pip install --quiet --no-deps --root-user-action=ignore --target "$into" --upgrade "$name"; then
			ln -sf "$into/bin/$name" "/usr/local/bin/$name" || :
		else
			echo "setup: no $name: the tests that need it will be skipped" >&2
		fi
	done
}

# What stands in folders and is not installed.
unpacked()
{
	case $what in
	all) fetch_from_pypi ;;
	arm64)
		# shellcheck disable=SC2086 # a list of names
		scripts/foreign.sh arm64 $arm64_root own $arm64_libraries || exit 4
		;;
	esac
}

# Debian starts and enables what a package has as a service, unless this file says no.
policy=/usr/sbin/policy-rc.d
install_without_services()
{
	if [ ! -e "$policy" ]; then
		trap 'rm -f "$policy"' EXIT
		trap 'exit 130' HUP INT TERM # not every sh runs what EXIT has when a signal ends it
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	apt-get install -y --no-install-recommends "$@" || failed "$*"
	case " $* " in
	*' php-fpm '*) ;;
	*) return 0 ;;
	esac
	for unit in /lib/systemd/system/php*-fpm.service; do
		systemctl --quiet disable "${unit##*/}" 2>/dev/null
	done
}

# The libFuzzer package carries clang's version: that of clang, or of the one that will be installed.
with_clang_version()
{
	version=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
	[ -n "$version" ] || version=$(apt-cache depends clang 2>/dev/null |
		sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
	sed "s/CLANG/${version:-14}/"
}

one_line()
{
	tr '\n' ' ' | sed 's/ $//'
}

other_distribution()
{
	echo "setup: no apt-get here; please install what is missing yourself:" >&2
	echo "  Fedora:   dnf install $(packages fedora | one_line)" >&2
	echo "  Arch:     pacman -S --needed $(packages arch | one_line)" >&2
	echo "  openSUSE: zypper install $(packages suse | one_line)" >&2
	echo "then run this again." >&2
	exit 4
}

failed()
{
	echo "setup: apt-get could not install $1; its message is above." >&2
	exit 4
}

[ $# -eq 1 ] || { echo "$usage" >&2; exit 2; }
what=$1
cd "$(dirname "$0")/.." || exit 2
case $what in
build | demo | all | arm64) ;;
*) echo "$usage" >&2; exit 2 ;;
esac

missing=$(packages debian | one_line)
if [ -z "$missing" ]; then
	unpacked
	exit 0
fi
command -v apt-get >/dev/null || other_distribution
if [ "$(id -u)" -ne 0 ]; then
	echo "setup: missing: $(packages debian | with_clang_version | one_line)" >&2
	echo "setup: run as root: scripts/setup.sh $what" >&2
	exit 4
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update || failed "a list of packages"
missing=$(packages debian | with_clang_version | one_line)
echo "setup: installing $missing"
# shellcheck disable=SC2086 # a list of names
install_without_services $missing
still=$(packages debian | one_line)
[ -z "$still" ] || { echo "setup: installed, but still not usable: $still" >&2; exit 4; }
unpacked
