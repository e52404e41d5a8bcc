# Runs inside the virtual machine (busybox sh): cprof records the programs of another system, which is in /truth, and the judge
# walks each stack again. truth.py says what ran, and counts.
#
#	guest.sh OUT
#
# For each line "NAME HZ COMMAND" of /truth/work/cases: OUT/NAME.err is what cprof said, NAME.out what the judge said, as JSON.
out=$1
mkdir -p /truth/proc /truth/dev /truth/tmp /truth/sys
mount -t proc proc /truth/proc
mount -t devtmpfs dev /truth/dev
mount -t tmpfs tmp /truth/tmp
# The judge runs there, too: it opens the files that the programs have mapped.
while read -r name hz command; do
	echo "@case $name"
	timeout 200 cprof record -v --symbolize-timeout 100s -F "$hz" --limit events=134217728 --captures /truth/tmp/captures \
		-o "$out/$name.pb.gz" -- chroot /truth /usr/bin/bash -c "cd /work && exec $command" \
		>"$out/$name.said" 2>"$out/$name.err" </dev/null
	echo $? >"$out/$name.code"
	timeout 200 chroot /truth /work/dwfl_compare /tmp/captures >"$out/$name.out" 2>>"$out/$name.err"
	rm -f /truth/tmp/captures
done </truth/work/cases
