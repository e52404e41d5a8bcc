/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plain records that the kernel side sends: samples, counts, mappings and task events.
 *
 * There are no functions here. Everything that a record points to is borrowed for the call that hands it over.
 *
 * What the kernel side sends is split in two, because a stack is long and a count is short:
 *
 *	struct record	what a sample looked like (who, where, how large), sent once, when BPF
 *			meets it for the first time, under a 64-bit id;
 *	struct count	how often that id was seen, delivered by every drain. Counts add up.
 *
 * Three address words, never mixed: ip (a runtime address of one process), file_off (an offset in a file), elf_addr (an
 * address as the ELF file has it). Two task words: tgid (what users call the pid) and tid. Times are CLOCK_MONOTONIC
 * nanoseconds.
 */
#ifndef CPROF_STREAM_H
#define CPROF_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMM_BYTES 16 /* TASK_COMM_LEN, NUL included */

/*
 * Why a user stack ends. Whole are ROOT (an outermost frame: its return address is undefined) and
 * NO_USER (a kernel thread has none, nor has a task in the midst of execve or exit); the others have
 * a text, which follows "truncated: ".
 * X(id, text, does the text go on with the name of the file that the last frame is in?)
 */
#define STACK_ENDS(X)                                            \
	X(ROOT, 0, 0)                                            \
	X(NO_USER, 0, 0)                                         \
	X(NO_ROOT, "stack ends early, in", 1)                    \
	X(TOO_DEEP, "too deep to be walked to its root", 0)      \
	X(UNREADABLE, "stack not in memory, under", 1)           \
	X(BEYOND_COPY, "stack beyond what was copied, under", 1) \
	X(NO_CFI, "no unwind info for", 1)                       \
	X(NO_RULE, "unwind info not understood in", 1)           \
	X(NO_REG, "a register is not known in", 1)               \
	X(NO_MOVE, "stack pointer does not move in", 1)          \
	X(UNKNOWN_CODE, "code not known yet", 0)                 \
	X(NO_REGISTERS, "user registers not found", 0)           \
	X(FOREIGN, "a program of 32 bits", 0)

enum stack_end {
#define X(id, text, names_file) END_##id,
	STACK_ENDS(X)
#undef X
	NR_STACK_ENDS
};

#define STACK_MAX_FRAMES 512

/*
 * A stack of more frames has STACK_MAX_FRAMES ips: so many of the leaf's side, IP_ELIDED for all that
 * lie in between, then those of the root's side.
 */
#define STACK_LEAF_FRAMES 256
#define IP_ELIDED	  (1ull << 62)

/* In a user ip: the frame was found by a frame pointer in code that does not promise to keep one. */
#define IP_GUESSED (1ull << 63)

/*
 * In the ip of a caller: it is no return address, but where a signal interrupted the code, or the code that returns from a signal's
 * handler, which nobody calls. It may be a function's first byte, so that the byte before is another function's.
 */
#define IP_EXACT (1ull << 60)

/*
 * In a user ip: it is none, but stands for a Java method that is interpreted (UNWIND_METHOD_MARK in unwind_abi.h). Its name is
 * known to the one who knows the process's JVM.
 */
#define IP_METHOD	 (1ull << 61)
#define IP_IS_METHOD(ip) ((ip) >> 61 == 1)

/* The address in a user ip that stands for no method. */
#define IP_ADDRESS(ip) ((ip) & ~(IP_GUESSED | IP_EXACT))

/*
 * The address that such an ip is named by, and looked up: its instruction's. is_caller: not the leaf's; a return address is behind the
 * call, so that the byte before is one of the call's.
 */
static inline uint64_t ip_named(uint64_t ip, bool is_caller)
{
	uint64_t address = IP_ADDRESS(ip);

	return address - (is_caller && address && !(ip & IP_EXACT));
}

/* The name of code that may not be any more what it was at the sample. */
#define CODE_IS_GONE "[code is gone]"

#define STACK_COPY_BYTES (128 * 1024)
#define STACK_NR_REGS	 32 /* of any machine, by DWARF number */

/* What it takes to go on with a stack walk that came to code BPF has no table for. */
struct stack_copy {
	uint64_t ip, sp, fp, extra; /* of the frame whose ip is the record's last */
	bool ip_exact;		    /* ip is where it stopped, not a return address */
	bool extra_known;
	bool sp_lost;	      /* sp is only where the copy begins (bpf/arch/arm64_rule.h) */
	uint64_t pac_mask;    /* which bits of an address of code may be its signature */
	const uint64_t *leaf; /* all registers by DWARF number, NULL in a caller's frame */
	const uint8_t *bytes; /* of the stack, from sp on */
	uint32_t len_bytes;   /* at most STACK_COPY_BYTES, less where the stack ends */
	bool is_cut;	      /* it does not end there, but more was not copied */
};

/*
 * Runtimes of languages that keep a stack of their own, the shadow stack. Why it ends: the text follows "interpreter's stack ".
 */
#define SHADOW_ENDS(X)                         \
	X(ROOT, 0)                             \
	X(UNREADABLE, "not in memory")         \
	X(NO_CODE, "leads to what is no code") \
	X(TOO_DEEP, "too deep to be walked to its root")

enum shadow_end {
#define X(id, text) SHADOW_END_##id,
	SHADOW_ENDS(X)
#undef X
	NR_SHADOW_ENDS
};

/* A frame of a shadow stack. */
struct shadow_frame {
	uint64_t function; /* its identity, of its content, its address and its process */
	uint32_t place;	   /* in it */
	/*
	 * How many times native code called the runtime's loop for it. If it did, this is the last of those frames that one native
	 * frame stands for; of further native frames the functions have ended. Or SHADOW_PLACED.
	 */
	uint32_t entries;
};

/* It is native frame `place`, from the leaf on, that executes it. */
#define SHADOW_PLACED (1u << 31)

/*
 * A shadow stack of more frames has SHADOW_MAX_FRAMES of them: half of the leaf's side, then those of the root's side.
 */
#define SHADOW_MAX_FRAMES 512

/* Leaf first. */
struct shadow_stack {
	const struct shadow_frame *frames;
	uint32_t nr;
	uint32_t nr_elided;	    /* frames that are left out, in the middle */
	uint32_t nr_elided_entries; /* of these, in all */
	enum shadow_end end;
};

enum text_part {
	TEXT_OBJECT,
	TEXT_NAME,
	TEXT_QUALIFIED,
	TEXT_FILE,
	TEXT_LINES,
	NR_TEXT_PARTS
};

/* A part of what a frame's function consists of, as it was in the target's memory. TEXT_OBJECT is the last. */
struct runtime_text {
	uint32_t tgid;
	uint64_t start_ns; /* of the process */
	uint64_t function; /* as in its frames */
	uint32_t runtime;  /* its kind and version: ABI_RUNTIME() */
	enum text_part part;
	const void *bytes;
	uint32_t len_bytes;
};

struct record {
	uint64_t id;	       /* what the counts refer to */
	uint32_t tgid;	       /* 0 is never sent */
	uint32_t tid;	       /* 0 unless threads are recorded */
	uint64_t start_ns;     /* start of the process: with tgid its identity */
	uint64_t time_ns;      /* when the record was first met */
	char comm[COMM_BYTES]; /* of the thread where tid is set, else of the process */

	/* Leaf first. ips[0] is exact, the rest are return addresses; user_ips may be IP_GUESSED, and IP_EXACT. */
	const uint64_t *kernel_ips, *user_ips;
	uint32_t nr_kernel, nr_user;
	enum stack_end end;
	struct shadow_stack shadow;	  /* nr 0 and SHADOW_END_ROOT: there is none */
	const struct stack_copy *copy;	  /* only with END_UNKNOWN_CODE, and not even then always */
	const struct stack_copy *capture; /* what the walk began with, if that was asked for */

	uint64_t size_bytes; /* heap: the size asked for; CPU: 0 */
	/* How many classes its JVM had unloaded, and its collections: UNWIND_UNLOADS(); 0: not known. */
	uint64_t unloads, collections;
};

/* An unwind table as user space packs it (bpf/unwind_abi.h has the layout); arrays are borrowed. */
struct table_image {
	uint64_t start; /* elf_addr of the first page of text */
	uint32_t nr_pages, nr_rows, nr_extended;
	const uint32_t *pages; /* nr_pages + 1 */
	const uint32_t *rows;
	const void *extended; /* 16 bytes each */
};

#define TABLE_UNBUILT UINT32_MAX       /* code not sampled yet: its stacks are copied */
#define TABLE_NO_CFI  (UINT32_MAX - 1) /* code without unwind information */

/* An executable mapping of a process, for the BPF unwinder; below 2^63. */
struct unwind_vma {
	uint64_t start, limit;
	uint64_t bias;	/* elf_addr = ip - bias */
	uint32_t table; /* of session_add_table(), or one of the above */
	bool gap_by_fp; /* code the table does not describe keeps frame pointers by its ABI */
};

/* The addresses of a JVM's counters of unloaded classes and of garbage collections, 4 bytes each. 0: not known. */
struct jvm_counters {
	uint64_t unloads_at, collections_at;
};

/* The position of a process's vmas in the table; all 0: it has none yet. */
struct vma_run {
	uint32_t at, nr;
};

/* A piece of a target's memory that is wanted. */
struct memory_piece {
	uint64_t addr;
	void *to; /* borrowed */
	size_t len_bytes;
	bool was_read; /* out: all of it */
};

/* Heap: ages at which blocks are freed, below 100 us, 1 ms, ... 10 s, and above. */
#define LIFE_FIRST_AGE_NS 100000
#define LIFE_NR_AGES	  7

/* Heap: what happened to the blocks of an id since the last time, if the session keeps lives. */
struct life {
	uint64_t peak_ns;  /* the last peak of their image before one of them was counted */
	int64_t peak_live; /* what nr_taken - nr_freed was then, beginning with 0 at the last time */
	uint64_t oldest_freed_ns;	  /* the greatest age at which one was freed */
	uint64_t nr_by_age[LIFE_NR_AGES]; /* of nr_freed */
};

struct count {
	uint64_t id;
	uint64_t nr_taken; /* CPU: ticks; heap: sampled allocations */
	uint64_t nr_freed; /* heap: how many of them are gone again; CPU: 0 */
	struct life life;  /* zero unless the session keeps lives */
};

/* Heap: the most that an image of a process (what it runs between two execs) held so far. */
struct peak {
	uint32_t tgid, exec_id;
	uint64_t bytes; /* estimated */
	uint64_t at_ns;
};

enum task_event_kind {
	TASK_FORK, /* tgid is a new process, child of parent_tgid (new threads are not reported) */
	TASK_EXEC, /* tgid runs a new image: all its mappings are gone; comm is its new name */
	TASK_COMM, /* the process (tid == tgid) or a thread has a new name */
	TASK_MAP,  /* an executable mapping was made */
	TASK_EXIT, /* a task ended; the process lives on while other threads do */
	TASK_LOST, /* the kernel dropped events: what is known of every process may be old */
	KERNEL_CODE_CAME, /* code was made in the kernel: a BPF program, a trampoline; of no task */
	KERNEL_CODE_WENT, /* and it is gone */
};

/* Code that is made in the kernel at run time. */
struct kernel_code {
	uint64_t start, limit; /* ips [start, limit) */
	const char *name;
};

/* One executable mapping, as the kernel announces it or /proc/PID/maps lists it. */
struct map_event {
	uint64_t start, limit; /* ips [start, limit) */
	uint64_t file_off;     /* of start */
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: not a file */
	const char
		*path; /* "" if none, "[vdso]", "//anon", or the path in the target's namespace */
};

struct task_event {
	enum task_event_kind kind;
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint32_t parent_tgid;	 /* TASK_FORK */
	char comm[COMM_BYTES];	 /* TASK_EXEC, TASK_COMM */
	struct map_event map;	 /* TASK_MAP */
	uint64_t nr_lost;	 /* TASK_LOST */
	struct kernel_code code; /* KERNEL_CODE_* */
};

#endif
