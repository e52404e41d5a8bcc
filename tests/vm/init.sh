#!/bin/sh
# The first process of the virtual machine: makes a system of what mkinitramfs.py packed, runs the
# tests, sends what they left over the serial port that the kernel's command line names, and turns the machine off.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs trace /sys/kernel/tracing
mount -t securityfs security /sys/kernel/security
# 1: a warning or an oops is a result, too; it is in dmesg.
echo 1 >/proc/sys/kernel/printk

echo "@up $(uname -r) $(cat /proc/uptime)"
mkdir /run/out
sh /root/guest.sh /run/out
dmesg >/run/out/dmesg
echo "@sending"
port=/dev/$(sed -n 's/.*cprof\.port=\([^ ]*\).*/\1/p' /proc/cmdline)
stty -F "$port" raw 2>/dev/null
tar -c -z -C /run/out . >"$port"
echo "@sent"
poweroff -f
