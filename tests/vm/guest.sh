# Runs inside the virtual machine (busybox sh): cprof against workloads with a known answer. It judges
# nothing, the host has the better tools for that (judge.py): for each case OUT/CASE.pb.gz is what
# was written, CASE.err what cprof said, CASE.out the workload's own account, CASE.code the exit code.
#
#	guest.sh OUT
out=$1
cd /tmp || exit 1

# run CASE COMMAND...: of cprof's, with a limit, because a hang shall not take the other cases along.
run()
{
	local name=$1
	shift
	echo "@case $name"
	timeout 200 "$@" >"$out/$name.out" 2>"$out/$name.err" </dev/null
	echo $? >"$out/$name.code"
}

echo "@verify"
verify >"$out/verify" 2>"$out/verify.err"

hot 60 >/dev/null &
target=$!
run record-pid cprof record -v -F 499 -d 2s -o "$out/record-pid.pb.gz" -p $target
run record-all cprof record -v -F 499 -a -o "$out/record-all.pb.gz" -d 2s
kill $target
run record-command cprof record -v -F 499 -o "$out/record-command.pb.gz" -- /bin/hot 1
run record-kernel cprof record -v -F 499 -o "$out/record-kernel.pb.gz" -- /bin/inkernel 1
run heap cprof heap -v --rate 1 -o "$out/heap.pb.gz" -- /bin/allocs 5 now
run heap-fork cprof heap -v --rate 1 --follow-fork -o "$out/heap-fork.pb.gz" -- /bin/forkserver 6 now

# Nothing may be left in the kernel once cprof has gone. It frees in its own time: 5 s.
for _ in $(seq 25); do
	bpftool -j prog list >"$out/left-programs" 2>/dev/null
	bpftool -j map list >"$out/left-maps" 2>/dev/null
	[ "$(cat "$out/left-programs" "$out/left-maps" | tr -d '\n')" = "[][]" ] && break
	sleep 0.2
done
cat /sys/kernel/tracing/uprobe_events >"$out/left-uprobes" 2>/dev/null
