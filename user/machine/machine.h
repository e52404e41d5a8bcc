/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks what this machine lets cprof do: one check for each requirement, with the cause if it is not met, and the
 * remedy.
 *
 * If possible, a check tries the operation itself (loads a small BPF program, opens an event, places a probe on cprof's
 * own code) and reads settings only to explain a failure, because the result depends on more than settings:
 * capabilities, lockdown, seccomp filters and patches of distributions. A check leaves nothing behind and prints
 * nothing.
 *
 * A run makes the cheap checks first (machine_first_refusal()); `cprof doctor` makes all of them.
 */
#ifndef CPROF_MACHINE_MACHINE_H
#define CPROF_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* The commands that a finding concerns; or'ed. */
enum machine_use {
	MACHINE_PID = 1,  /* record -p, record -- COMMAND */
	MACHINE_ALL = 2,  /* record -a */
	MACHINE_HEAP = 4, /* heap */
	MACHINE_RECORD = MACHINE_PID | MACHINE_ALL,
	MACHINE_EVERY = MACHINE_RECORD | MACHINE_HEAP,
};

enum machine_verdict {
	MACHINE_OK,
	MACHINE_INFO,	/* missing or limited, without loss */
	MACHINE_LOSS,	/* the commands work, and something is lost */
	MACHINE_CANNOT, /* the commands do not work */
};

struct machine_finding {
	enum machine_verdict verdict;
	unsigned int uses; /* with MACHINE_LOSS and MACHINE_CANNOT: enum machine_use */
	bool lacks_kernel; /* the kernel lacks something; else a privilege or a setting */
	bool was_skipped;  /* not tried, because something that it needs is missing */
	char value[96];	   /* the value found: "2", "Linux 6.1.0"; may be empty */
	char why[224]; /* the cause and what is lost by it, without a full stop; "" with MACHINE_OK */
	char remedy[224]; /* what to type or to do; may be empty */
};

/* Features that depend on the kernel's version or on what a distribution has backported. */
struct kernel_features {
	bool current_task_btf; /* 5.11 */
	bool task_pt_regs;     /* 5.15 */
	bool attach_cookie;    /* 5.15 */
	bool map_allocator;    /* 6.1 */
	bool uprobe_multi;     /* 6.6; its pid filter is good from 6.10, which is what counts */
	bool uprobe_session;   /* 6.13 */
	/* BPF programs may call bpf_probe_read_kernel(), bpf_probe_read_user(): lockdown=confidentiality refuses the former. */
	bool kernel_reads, user_reads;
};

/* libbpf prints nothing from now on; without it, and in a session, messages go to stderr. */
void machine_silence_libbpf(void);

/* The checks are numbered from 0 to machine_nr_checks() - 1. A check's name is one of the texts below. */
size_t machine_nr_checks(void);
/* The name of a check, as `cprof doctor` prints it. Static. */
const char *machine_check_name(size_t check);
/* Makes a check; fills *finding. */
void machine_check(size_t check, struct machine_finding *finding);
/* Runs the check with this name, which must exist. */
void machine_check_named(const char *name, struct machine_finding *finding);

/*
 * Makes the cheap checks in their order, up to the first that says that uses (enum machine_use) cannot work. True: there
 * is one, in *finding. False: none; *features is filled.
 */
bool machine_first_refusal(unsigned int uses, struct kernel_features *features,
			   struct machine_finding *finding);

/*
 * The missing capabilities of those that opening other users' files needs: "CAP_SYS_PTRACE and
 * CAP_DAC_READ_SEARCH are missing". "": it has them all. Static, overwritten by the next call.
 */
const char *machine_lacks_for_files(void);

#endif
