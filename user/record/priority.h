/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cprof's own share of the CPUs, where others leave it none.
 *
 * Three busy processes of nice -20 leave one of nice 0 four thousandths of their CPU: loading the BPF programs then takes
 * minutes, and so does the end of a run of a second. So cprof starts with nice -20, goes back to the nice value it was
 * given when sampling begins, and raises itself again only if it waits for a CPU most of the time. That takes from the
 * others what it needs, and no more: a real-time priority (perf record --realtime) could take all. A positive nice value is
 * the user's wish and stays.
 */
#ifndef CPROF_RECORD_PRIORITY_H
#define CPROF_RECORD_PRIORITY_H

/* Raises the priority for the start, of the calling thread and of what it creates from then on. */
void priority_begin(void);
/* fn is called with each nice value from now on, for processes that work for this one. ctx is borrowed; NULL: no more. */
void priority_share(void (*fn)(void *ctx, int nice), void *ctx);
/* Back to what was given, for the time of sampling, unless the start was starved already. */
void priority_settle(void);
/* Called often by the same thread: raises it if it is starved; where that is not permitted, warns once. */
void priority_look(void);
/* In a child, before its exec: back to what was given. Safe after fork(). */
void priority_restore(void);

#endif
