#!/usr/bin/env bash
# Boots Debian kernels, one after another, and runs cprof in each of them.
#
#	tests/vm/run.sh [KERNEL...]	of fetch-kernels.sh; all of them
#	tests/vm/run.sh --count	only counts instructions, and writes tests/vm/instructions.txt (instructions-arm64.txt)
#	tests/vm/run.sh --boot KERNEL INITRAMFS FOLDER	only boots that, and leaves in FOLDER what it sent
#	tests/vm/run.sh --all [KERNEL...]	each with lockdown none, integrity and confidentiality, and without
#				lockdown with less than all privileges, too (`make kernels`)
#	tests/vm/run.sh --faults [KERNEL...]	the same; and the machine is suspended and woken up, and throttled
#
# A line for each kernel, "ok vm KERNEL ...", or "FAIL vm KERNEL ..." and what is wrong below it; then a table, and how many
# instructions each kernel's verifier went through for each BPF program. Exit code 1 if anything failed. A kernel that cannot
# be fetched fails, too; with OFFLINE=1 it is skipped, "SKIP vm KERNEL: why".
#
# qemu emulates the processor (TCG): slow, but it works everywhere, in a virtual machine without
# nested virtualisation, too. Both processors take turns in one thread: a kernel that rewrites its own
# code while another thread runs it was seen to die of its own breakpoint (text_poke). Without cx16:
# qemu 7.2 was seen to leave nonsense in the flags after a cmpxchg16b, and the kernel dies of it. The
# kernel gets a whole system as its initramfs, so no disk, no network and no driver is needed. What the
# guest wrote comes back as a tar file over a second serial port. What the machine said and sent
# stays in build/vm/KERNEL/.
#
# How many instructions each verifier goes through is held against tests/vm/instructions.txt (instructions-arm64.txt): more than a
# fifth above fails. Where a change of the BPF programs is worth it, --count writes the table anew.
#
# ARCH		x86 or arm64 (ours): of what machine BUILD's cprof is (build, or build/arm64), and the kernels. Of another machine than
#		ours, what else is there comes from build/ARCH/root (`make setup-arm64`)
# VM_TIMEOUT	seconds after which one kernel hangs (600)
# VM_MEMORY	in MB, another than is enough for the tests
# OFFLINE	not empty: there is no network, and kernels that were not fetched before are skipped
set -u
export LC_ALL=C

cd "$(dirname "$0")/../.." || exit 2
ours=$(uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ARCH=$(sed 's/x86_64/x86/; s/aarch64/arm64/' <<<"${ARCH:-$ours}")
export ARCH
export BUILD=${BUILD:-build}
build=$BUILD root=
[ "$ARCH" = "$ours" ] || root=$PWD/build/$ARCH/root
home=$build/vm
table='kernel release boot off doctor loads record all in-kernel heap left dmesg'
modes=none
status=0

die()
{
	echo "tests/vm: $*" >&2
	exit 2
}

# What is emulated, and where its second serial port, "sent", is. Both processors of x86 take turns in one thread: see above.
machine_x86() # FOLDER
{
	qemu=(qemu-system-x86_64 -M pc -accel tcg,thread=single -cpu max,-cx16 -m "${VM_MEMORY:-768}" -serial "file:$1/console" -serial "file:$1/sent")
	console=ttyS0 port=ttyS1
}

# It has one serial port; the other is on a card. pauth-impdef: signatures of pointers that cost little.
machine_arm64() # FOLDER
{
	qemu=(qemu-system-aarch64 -M virt,gic-version=3 -accel tcg -cpu max,pauth-impdef=on -m "${VM_MEMORY:-1024}" -serial "file:$1/console"
		-chardev "file,id=sent,path=$1/sent" -device pci-serial,chardev=sent)
	console=ttyAMA0 port=ttyS0
}

uname_of() # ARCH
{
	sed 's/x86/x86_64/; s/arm64/aarch64/' <<<"$1"
}

check_tools()
{
	local tool
	for tool in "qemu-system-$(uname_of "$ARCH")" python3 go; do
		PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || die "$tool is missing: scripts/setup.sh all"
	done
	for tool in busybox bpftool setpriv; do
		[ -n "$(there $tool)" ] || die "$tool is missing: scripts/setup.sh ${root:+arm64}${root:-all}"
	done
	for tool in "$build"/{cprof,libcprof-heap.so,workloads/{hot,exiter,allocs,forkserver,peaks},vm/verify,vm/inkernel}; do
		[ -x "$tool" ] || die "$tool is not there: make all workloads $build/vm/verify $build/vm/inkernel"
	done
}

# there TOOL: its path, in the system that the machine gets.
there()
{
	PATH=${root:-$PATH:}/usr/sbin:${root:-/}/sbin:$root/usr/bin command -v "$1"
}

make_initramfs()
{
	local bpftool setpriv
	bpftool=$(there bpftool)
	setpriv=$(there setpriv) # busybox has one that knows less
	tests/vm/mkinitramfs.py ${root:+--root "$root"} "$home/initramfs" tests/vm/init.sh:/init:755 tests/vm/guest.sh:/root/guest.sh \
		"$build/cprof" "$build/libcprof-heap.so" "$build/workloads/hot" "$build/workloads/exiter" \
		"$build/workloads/allocs" "$build/workloads/forkserver" "$build/workloads/peaks" "$home/verify" "$home/inkernel" \
		"$bpftool:/bin/bpftool" "$setpriv:/bin/setpriv-full" || die "no initramfs"
}

seconds_since() # START_NS
{
	local ms=$((($(date +%s%N) - $1) / 1000000))
	printf '%d.%d' $((ms / 1000)) $((ms % 1000 / 100))
}

# with_faults MODE: is the machine suspended and throttled, too?
with_faults()
{
	[ -n "$faults" ] && [ "$1" = none ]
}

# wake_up CONSOLE: tells the monitor of a machine that is suspended for 2 s or longer to wake it up, until it is off.
wake_up()
{
	local is= was=
	while sleep 2 && kill -0 $$ 2>/dev/null; do
		is=$(tr -d '\r' <"$1" | grep -xE '@(suspending|woken)' | tail -n 1)
		[ "$is" != @suspending ] || [ "$was" != @suspending ] || echo system_wakeup >&"$monitor"
		was=$is
	done
}

# boot VMLINUZ FOLDER MODE [INITRAMFS]: until it turns itself off. 0, or the reason in $why. How long it took, by our
# clock, is in $off, and how long to its first process, by its own, in $up.
boot()
{
	local start code waker= monitor from=/dev/null with=none
	: >"$2/console"
	if with_faults "$3"; then
		from=$2/monitor with=stdio
		mkfifo "$from"
		exec {monitor}<>"$from"
		wake_up "$2/console" &
		waker=$!
	fi
	start=$(date +%s%N)
	"machine_$ARCH" "$2"
	timeout -k 5 "${VM_TIMEOUT:-600}" "${qemu[@]}" -nodefaults -no-user-config -display none -monitor "$with" -no-reboot -smp 2 \
		-kernel "$1" -initrd "${4:-$home/initramfs}" \
		-append "console=$console cprof.port=$port quiet panic=-1 oops=panic mitigations=off random.trust_cpu=on $patient $(parameters "$3")" \
		<"$from" >"$2/monitor.log" 2>"$2/qemu" &
	machine=$!
	wait "$machine"
	code=$?
	[ -z "$waker" ] || { kill "$waker" && exec {monitor}>&-; }
	machine=
	off=$(seconds_since "$start")
	up=$(tr -d '\r' <"$2/console" | sed -n 's/^.*@up [^ ]* \([0-9.]*\) .*/\1/p')
	why=
	if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
		why="still running after ${VM_TIMEOUT:-600} s"
	elif [ "$code" -ne 0 ]; then
		why="qemu: $(tail -n 1 "$2/qemu")"
	elif [ -z "$up" ]; then
		why="did not boot"
	elif ! tar -x -z -C "$2" -f "$2/sent" 2>/dev/null; then
		why="sent nothing that can be read"
	fi
	[ -z "$why" ]
}

boot_only() # KERNEL INITRAMFS FOLDER
{
	local release image up= off= why=
	mkdir -p "$3"
	read -r _ release image < <(tests/vm/fetch-kernels.sh "$1")
	[ "$release" != SKIP ] || die "$1: $image"
	boot "$image" "$3" none "$2" || die "$1: $why"
}

# What init.sh finds on the kernel's command line: nothing where there is no lockdown and no --all.
parameters() # MODE
{
	[ "$1" = none ] || echo "lockdown=$1"
	[ -z "$all" ] || [ "$1" != none ] || echo cprof.privileges
	! with_faults "$1" || echo cprof.faults
	[ -z "$count" ] || echo cprof.count
}

# run KERNEL RELEASE VMLINUZ MODE
run()
{
	local name=$1 folder verdict cases up= off= why=
	[ "$4" = none ] || name=$1-$4
	folder=$home/$name
	# A kernel that dies before its first process met the emulator, not us: it may try three times.
	for _ in 1 2 3; do
		rm -rf "$folder"
		mkdir -p "$folder"
		boot "$3" "$folder" "$4" || [ "$why" != "did not boot" ] || continue
		break
	done
	if [ -n "$why" ]; then
		echo "FAIL vm $name ($2): $why"
		tail -n 15 "$folder/console" | sed 's/^/     /'
		table+=$'\n'"$name $2 ${up:-FAIL} FAIL - - - - - - - -"
		status=1
		return
	fi
	[ -z "$count" ] || return
	# shellcheck disable=SC2046 # no word at all, or one
	python3 tests/vm/judge.py "$folder" "$1" "$4" $(with_faults "$4" && echo faults) >"$folder/verdict" 2>&1
	verdict=$?
	cases=$(head -n 1 "$folder/verdict")
	if [ $verdict -eq 0 ]; then
		echo "ok vm $name ($2): off after $off s"
	else
		echo "FAIL vm $name ($2): $cases"
		sed '1d; s/^/     /' "$folder/verdict"
		status=1
	fi
	table+=$'\n'"$name $2 $up $off $(summary "$cases")"
}

# skip KERNEL WHY: it cannot be fetched.
skip()
{
	if [ -n "${OFFLINE:-}" ] && [ -z "$count" ]; then
		echo "SKIP vm $1: $2"
		table+=$'\n'"$1 skipped"
		return
	fi
	echo "FAIL vm $1: cannot be fetched (OFFLINE=1 skips it): $2"
	table+=$'\n'"$1 FAIL"
	status=1
}

# summary CASES: the columns of the table. The two ways to name a target are one of them.
summary()
{
	local -A is
	local word
	for word in $1; do
		is[${word%%=*}]=${word#*=}
	done
	[ "${is[record_pid]:-ok}" = ok ] || is[record_command]=FAIL
	echo "${is[doctor]:-?} ${is[loads]:-?} ${is[record_command]:-?} ${is[record_all]:-?} ${is[record_kernel]:-?} ${is[heap]:-?}" \
		"${is[nothing_left]:-?} ${is[kernel_is_silent]:-?}"
}

# What the verifiers counted: a row for each program, a column for each kernel.
instructions() # KERNEL...
{
	local kernel
	for kernel; do
		[ -e "$home/$kernel/verify" ] && sed -nE "s/^(loaded|refused) (\S+) ?/$kernel \2 /p" "$home/$kernel/verify"
	done | awk -v kernels="$*" '
		{ if (!($2 in seen)) { seen[$2] = 1; order[++nr] = $2 } count[$1, $2] = $3 == "" ? "refused" : $3 }
		END {
			n = split(kernels, columns)
			printf "program"
			for (i = 1; i <= n; i++) printf " %s", columns[i]
			print ""
			for (j = 1; j <= nr; j++) {
				printf "%s", order[j]
				for (i = 1; i <= n; i++)
					printf " %s", ((columns[i], order[j]) in count) ? count[columns[i], order[j]] : "-"
				print ""
			}
		}'
}

aligned()
{
	awk '{ for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) }
		if (NF > columns) columns = NF }
		END { for (row = 1; row <= NR; row++) { line = ""
			for (i = 1; i <= columns; i++) line = line sprintf("%-*s  ", width[i], cell[row, i])
			sub(/ +$/, "", line); print line } }'
}

# A virtual machine does not outlive us.
machine=
instructions=tests/vm/instructions.txt
[ "$ARCH" = x86 ] || instructions=tests/vm/instructions-$ARCH.txt
trap '[ -n "$machine" ] && kill "$machine" 2>/dev/null; exit 143' INT TERM

# On a busy host an emulated processor may stand still for half a minute: no complaint of a kernel's about time counts.
patient='nosoftlockup rcupdate.rcu_cpu_stall_suppress=1'
all= count= faults=
case ${1:-} in
--all | --faults)
	[ "$1" = --all ] || faults=1
	shift
	all=1 modes='none integrity confidentiality'
	;;
--count) shift && count=1 ;;
esac
if [ "${1:-}" = --boot ]; then
	boot_only "$2" "$3" "$4"
	exit
fi
check_tools
mkdir -p "$home"
make_initramfs
kernels=()
while read -r kernel release image; do
	case $release in
	SKIP)
		skip "$kernel" "$image"
		;;
	*)
		for mode in $modes; do
			run "$kernel" "$release" "$image" "$mode"
		done
		kernels+=("$kernel")
		;;
	esac
done < <(tests/vm/fetch-kernels.sh "$@")

if [ -n "$count" ]; then
	[ $status -eq 0 ] && instructions "${kernels[@]}" | aligned | tee $instructions
	exit $status
fi
echo
aligned <<<"$table"
echo
echo "verified instructions"
instructions "${kernels[@]}" | aligned
exit $status
