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

# doctor CASE COMMAND...: what it says, as JSON.
doctor()
{
	local name=$1
	shift
	run "$name" "$@" cprof doctor --json
}

# An emulated machine on a busy one is slow: names may take their time.
record="cprof record -v --symbolize-timeout 100s"

echo "@verify"
verify >"$out/verify" 2>"$out/verify.err"
grep -q cprof.count /proc/cmdline && exit

doctor doctor

hot 600 >/dev/null &
target=$!
run record-pid $record -F 499 -d 2s -o "$out/record-pid.pb.gz" -p $target
run record-all $record -F 499 -a -o "$out/record-all.pb.gz" -d 2s
kill $target
run record-command $record -F 499 -o "$out/record-command.pb.gz" -- /bin/hot 1
run merge cprof merge -v -o "$out/merge.pb.gz" "$out/record-pid.pb.gz" "$out/record-command.pb.gz"
run top cprof top -v "$out/record-command.pb.gz"
run record-kernel $record -F 499 -o "$out/record-kernel.pb.gz" -- /bin/inkernel 1
run heap cprof heap -v --mode probe --rate 1 -o "$out/heap.pb.gz" -- /bin/allocs 5 now
run heap-fork cprof heap -v --mode probe --rate 1 --follow-fork -o "$out/heap-fork.pb.gz" -- /bin/forkserver 6 now
run heap-inside cprof heap -v --mode inside --rate 1 -o "$out/heap-inside.pb.gz" -- /bin/allocs 5 now
run heap-peak cprof heap -v --mode probe --rate 1 --peak -o "$out/heap-peak.pb.gz" -- /bin/peaks 2000 now

# wait_for TEXT FILE: for a minute at most.
wait_for()
{
	for _ in $(seq 600); do
		grep -q "$1" "$2" 2>/dev/null && break
		sleep 0.1
	done
}

# A processor goes away soon after sampling began, and comes back; what runs only there runs after that.
cat >hotplug.sh <<'end'
until [ -e /tmp/hotplug.done ]; do sleep 0.1; done
exec taskset 2 /bin/hot 3
end
# goes_and_comes CASE: once it samples.
goes_and_comes()
{
	wait_for '^cprof: sampling' "$out/$1.err"
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online
}
{
	goes_and_comes record-hotplug
	wait_for 'CPU 1 is online again' "$out/record-hotplug.err"
	touch hotplug.done
} &
run record-hotplug $record -F 99 -o "$out/record-hotplug.pb.gz" -- sh hotplug.sh

# The same beside heap: what allocates there as soon as the processor is back is counted whole.
mkfifo allocs.in
allocs 5 <allocs.in >allocs.out &
target=$!
exec 9>allocs.in
{
	goes_and_comes heap-hotplug
	taskset -p 2 $target >/dev/null
	echo >&9
	wait_for 'CPU 1 is online again' "$out/heap-hotplug.err"
	echo >&9
} &
run heap-hotplug cprof heap -v --rate 1 -o "$out/heap-hotplug.pb.gz" -p $target
exec 9>&-
grep site_ allocs.out >"$out/heap-hotplug.out"

# Somebody sets the clock forward by an hour while a run lasts, and then back by two. What it was, and when each was
# done by the machine's own time, is for the judge.
uptime()
{
	cut -d. -f1 /proc/uptime
}
before=$(uptime) now=$(date +%s) after=$(uptime)
epoch=$((now - after))
set_clock() # SECONDS OFF
{
	date -s "@$((epoch + $(uptime) + $1))" >/dev/null
	uptime
}
while :; do
	hot 0.2 >/dev/null
	sleep 2
done &
target=$!
{
	wait_for '^cprof: sampling' "$out/record-clock.err"
	set_clock 3600 >"$out/clock-forward"
	wait_for 'clock was set' "$out/record-clock.err"
	set_clock -3600 >"$out/clock-back"
} &
setter=$!
echo "$now $before $after $(uptime)" >"$out/clock-began"
run record-clock $record -F 99 -d 12s -o "$out/record-clock.pb.gz" -p $target
uptime >"$out/clock-ended"
kill $setter 2>/dev/null # it waits for a run that was refused
wait $setter
set_clock 0 >/dev/null
kill $target

if grep -q cprof.faults /proc/cmdline; then
	# The machine sleeps until run.sh wakes it up; exiter runs after that. For 3 s of wall-clock time: an emulated
	# machine's CPU time jumps when it wakes up.
	cat >suspend.sh <<'end'
until [ -e /tmp/suspend.done ]; do hot 0.1; done
timeout 3 exiter 1000
exit 0
end
	{
		wait_for '^cprof: sampling' "$out/record-suspend.err"
		sleep 1
		echo "@suspending"
		echo mem >/sys/power/state
		echo "@woken"
		touch suspend.done
	} &
	run record-suspend $record -F 99 -o "$out/record-suspend.pb.gz" -- sh suspend.sh

	# The kernel's limit falls below the rate of a run, and has risen again when the run ends.
	limit=/proc/sys/kernel/perf_event_max_sample_rate
	before=$(cat $limit)
	cat >throttled.sh <<'end'
hot 3
touch /tmp/throttled.done
until [ -e /tmp/throttled.over ]; do sleep 0.1; done
end
	{
		wait_for '^cprof: sampling' "$out/record-throttled.err"
		echo 500 >$limit
		wait_for 'limit fell to 500' "$out/record-throttled.err"
		until [ -e throttled.done ]; do sleep 0.1; done
		echo "$before" >$limit
		touch throttled.over
	} &
	run record-throttled $record -F 1999 -o "$out/record-throttled.pb.gz" -- sh throttled.sh
	echo "$before" >$limit
fi

# trial CASE COMMAND...: what doctor says under the command, and whether a record and a heap agree.
trial()
{
	local name=$1
	shift
	doctor "privileges-$name" "$@"
	# The kernel does the target's work: whether its functions have names is said when one is met.
	run "privileges-$name-record" "$@" cprof record -F 499 --allow-empty -o "$name.cpu.pb.gz" -- /bin/inkernel 0.1
	run "privileges-$name-heap" "$@" cprof heap --mode probe --allow-empty -o "$name.heap.pb.gz" -- /bin/allocs 5 now
}

# limited CASE CAPABILITY...: as nobody with these alone.
limited()
{
	local name=$1 set=-all
	shift
	for capability; do
		set=$set,+$capability
	done
	trial "$name" setpriv-full --reuid 65534 --regid 65534 --clear-groups --bounding-set $set --inh-caps $set --ambient-caps $set
}

if grep -q cprof.privileges /proc/cmdline; then
	mkdir -m 777 /tmp/nobody
	cd /tmp/nobody || exit 1
	files='sys_ptrace dac_read_search checkpoint_restore'
	# shellcheck disable=SC2086 # words
	{
		echo 2 >/proc/sys/kernel/perf_event_paranoid
		limited nothing
		limited bpf bpf
		limited perfmon perfmon
		limited two bpf perfmon
		limited two-memory bpf perfmon sys_resource
		limited whole bpf perfmon $files syslog sys_resource
		limited admin sys_admin sys_resource
		echo 3 >/proc/sys/kernel/perf_event_paranoid
		cat /proc/sys/kernel/perf_event_paranoid >"$out/paranoid"
		trial paranoid-root
		limited paranoid-two bpf perfmon sys_resource
		limited paranoid-admin sys_admin sys_resource
		echo 2 >/proc/sys/kernel/perf_event_paranoid
		echo 2 >/proc/sys/kernel/kptr_restrict
		trial hidden-symbols
		echo 0 >/proc/sys/kernel/kptr_restrict
	}
	cd /tmp || exit 1
fi

# Nothing may be left in the kernel once cprof has gone. It frees in its own time: 5 s.
for _ in $(seq 25); do
	bpftool -j prog list >"$out/left-programs" 2>/dev/null
	bpftool -j map list >"$out/left-maps" 2>/dev/null
	bpftool -j link list >"$out/left-links" 2>/dev/null
	cat /proc/[0-9]*/comm >"$out/left-processes" 2>/dev/null
	[ "$(cat "$out/left-programs" "$out/left-maps" "$out/left-links" | tr -d '\n')" = "[][][]" ] &&
		! grep -q ^cprof "$out/left-processes" && break
	sleep 0.2
done
cat /sys/kernel/tracing/uprobe_events >"$out/left-uprobes" 2>/dev/null
