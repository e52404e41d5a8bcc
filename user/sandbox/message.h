/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between cprof's main process and the worker that parses the targets' files.
 *
 * Any process chooses the ELF files that cprof reads about it, so reading them is the dangerous act of a profiler that
 * runs as root. Main, which holds BPF and the capabilities, does not do it. There are three processes:
 *
 *	main ---- descriptors, questions ----> worker	nobody, no capability, few system calls
 *	  |  <--- numbers, rows, names -------    ^	parses; may die at any time
 *	  +------ "another worker" --> keeper ----+	forks workers; parses nothing
 *
 * A fourth opens what belongs to targets, in the same way (process/opening.h).
 *
 * The keeper (sandbox/keeper.h) is forked before anything is opened or loaded, so that it and its workers hold nothing:
 * no BPF map, no sample, no descriptor but their sockets. What a worker gives up is in sandbox/confine.h.
 *
 * A message is a header and len_bytes of payload on a stream socket; a request may carry one descriptor (SCM_RIGHTS).
 * Each request has one reply with its kind, key and serial. One request is under way at a time.
 *
 *	kind	 payload of the request		payload of the reply
 *	HELLO	 (never asked)			a worker's first message: status, nr = what is missing (confine.h)
 *	FILE	 -				message_file, nr message_segments
 *	TABLE	 -				message_table, pages, rows, extended rules
 *	NAMES	 what, companion, nr elf_addrs	message_names, nr message_name (fewer: ask again for the rest), their
 *						frames, the lengths of their texts, the texts
 *	SITES	 -				message_sites, nr message_site: where heap probes allocators
 *	VARIABLES -				nr elf_addrs: of what HotSpot's libjvm.so exports for debuggers
 *	CRC	 -				one number: the CRC-32 of the file
 *	SCRIPT	 -				message_script: of a file that is no ELF file
 *	SLOTS	 -				nr message_slot, their names: GOT slots of the file's IFUNCs
 *	LOOK	 message_jvm			message_look, nr message_heap, their tables as of TABLE
 *	CODE	 message_jvm, one ip		message_code, nr message_row: the rules of what is compiled there
 *	METHODS	 message_jvm, nr ips		nr message_method, message_method_frame of each, their texts
 *	PERF_MAP nr message_moment		nr message_jitsym, their names and files: JIT symbols
 *	JITDUMP	 the same			the same, from a file of another format
 *	COMPANION message_companion		-
 *	FUNCTION message_texts, the copies	message_function, nr message_line, name, file: of a function that a runtime interprets
 *	SPLITS	 companion, nr elf_addrs	message_splits, nr units from 1 on, message_split for each, their texts
 *
 * key is main's number of the file; MESSAGE_VDSO is the vdso, which the worker has mapped itself, MESSAGE_COMMAND the
 * command that will be launched. Each request carries
 * the file's descriptor again, so a new worker needs no introduction. The worker keeps what it has parsed.
 *
 * A companion is a further file that the DWARF of a file is in. It comes with COMPANION, whose key is that of the file and whose
 * descriptor is the companion's: -ESTALE, it is another file than the one with this id. The worker keeps one, the last. A
 * question of NAMES or SPLITS says which one it needs; a worker that has another answers -ENOKEY, and is sent the companion again.
 *
 * LOOK, CODE and METHODS are about the memory of a running JVM; then key is MESSAGE_JVM + its tgid, and the descriptor that of
 * its /proc/PID/mem, which the worker may read and could not open itself.
 *
 * Nothing in a reply is believed. Its length is checked against the bound of its kind before it is read, and its
 * content (sandbox/reply.h) before it is used: a worker that was taken over can give wrong names and rows for what it
 * was asked about, and cannot do more. A reply that breaks the rules ends the worker. A probe at a wrong place would crash
 * the processes that run that code, so only a worker that has seen no other file answers SITES.
 *
 * The time that a reply may take is bounded (sandbox/peer.h); main goes on draining while it waits. A worker that dies
 * is replaced and asked again once; a file that two workers died of, or that exceeded the time, is left out for the
 * rest of the run and named in the closing lines.
 *
 * Alternatives: tables in sealed memory files (one copy less, 5 ms for a table of 18 MB that takes 330 ms to build;
 * costs the worker three system calls and the right to allocate files, and what is checked must be copied anyhow);
 * a worker per file (0.5 ms each, and 1,000 files are common).
 *
 * The cache of names consists of such replies, which main reads itself (symbolize/namefile.h).
 *
 * Of what targets chose, main itself looks at a few bytes of machine code around a sampled address
 * (unwind/codestep.h). That is arithmetic on at most 16 bytes, the same that BPF does.
 */
#ifndef CPROF_SANDBOX_MESSAGE_H
#define CPROF_SANDBOX_MESSAGE_H

#include <stdint.h>

#include "runtime_abi.h"

#define MESSAGE_VDSO	UINT32_MAX
#define MESSAGE_COMMAND (UINT32_MAX - 1)
#define MESSAGE_JVM	(1u << 31) /* files' numbers and tgids are less */

enum message_kind {
	MESSAGE_HELLO,
	MESSAGE_FILE,
	MESSAGE_TABLE,
	MESSAGE_NAMES,
	MESSAGE_SITES,
	MESSAGE_VARIABLES,
	MESSAGE_CRC,
	MESSAGE_SLOTS,
	MESSAGE_LOOK,
	MESSAGE_CODE,
	MESSAGE_METHODS,
	MESSAGE_PERF_MAP,
	MESSAGE_JITDUMP,
	MESSAGE_COMPANION,
	MESSAGE_FUNCTION,
	MESSAGE_SPLITS,
	MESSAGE_SCRIPT,
	NR_MESSAGE_KINDS,
};

struct message {
	uint32_t kind;
	int32_t status; /* of a reply: 0 or -errno; then there is no payload */
	uint32_t key;
	uint32_t nr; /* items in the payload */
	uint64_t serial;
	uint64_t len_bytes; /* of the payload */
};

/* Bounds. */
#define MESSAGE_MAX_NAMES      512	   /* in one request */
#define MESSAGE_NAME_MAX_BYTES (64u << 10) /* longer names are cut; no NUL inside */
#define MESSAGE_MAX_FRAMES     64	   /* of one name */
#define MESSAGE_NAMES_BYTES    (1u << 20)  /* a worker ends a reply early rather than exceed it */
#define MESSAGE_NR_VARIABLES   12
#define MESSAGE_TABLE_BYTES    (128u << 20)
#define MESSAGE_NAMES_ABOUT    3 /* numbers before the addresses of a request of NAMES */
#define MESSAGE_SPLITS_ABOUT   1
#define MESSAGE_REQUEST_BYTES  (sizeof(struct message_texts) + MESSAGE_TEXTS_BYTES)

#define MESSAGE_BUILD_ID_BYTES 136 /* two hexadecimal digits for each byte, and a NUL */

#define MESSAGE_INTERP_BYTES 256
#define MESSAGE_LINK_BYTES   256 /* DEBUGLINK_NAME_BYTES */
#define MESSAGE_ALT_BYTES    512 /* ALTLINK_PATH_BYTES */

#define MESSAGE_MAX_LOOPS 4 /* LOOP_MAX_PIECES */

/* enum unread_runtime */
enum message_unread {
	MESSAGE_UNREAD_NONE,
	MESSAGE_UNREAD_RUBY,
	MESSAGE_UNREAD_RUBY_MAIN,
	MESSAGE_UNREAD_RUBY_LIBRARY,
	MESSAGE_UNREAD_PERL,
	MESSAGE_UNREAD_PERL_MAIN,
	MESSAGE_UNREAD_PERL_LIBRARY,
	MESSAGE_UNREAD_PYTHON,
	MESSAGE_UNREAD_PYTHON_MAIN,
	MESSAGE_UNREAD_PYTHON_LIBRARY,
	MESSAGE_UNREAD_LUA,
	MESSAGE_UNREAD_ERLANG,
	MESSAGE_UNREAD_MONO,
	MESSAGE_UNREAD_DOTNET,
	MESSAGE_UNREAD_V8,
	MESSAGE_NR_UNREAD
};

/* The runtime in a file (runtime/python.h, runtime/unread.h). */
struct message_runtime {
	uint32_t runtime; /* ABI_RUNTIME(): its kind and version; 0: there is none */
	uint32_t unread;  /* enum message_unread: what it is if it is not read */
	union abi_layout layout;
	uint64_t loops[MESSAGE_MAX_LOOPS][2];
	uint64_t inner[MESSAGE_MAX_LOOPS][2]; /* what a loop always calls, and is shown as little */
};

struct message_file {
	char build_id[MESSAGE_BUILD_ID_BYTES]; /* "" if there is none; lower-case hex */
	char interp[MESSAGE_INTERP_BYTES];     /* the loader that it names; "" if there is none */
	char debuglink
		[MESSAGE_LINK_BYTES]; /* the debug file that it names, "" if there is none; no path */
	char altlink[MESSAGE_ALT_BYTES]; /* the alternate file that it names, "" if there is none */
	char altlink_id[MESSAGE_BUILD_ID_BYTES];
	uint64_t debuglink_crc;
	uint64_t is_go; /* Go's linker made it */
	struct message_runtime runtime;
};

struct message_segment { /* struct elf_segment */
	uint64_t elf_addr, mem_bytes, file_off, file_bytes, executable;
};

/* pages: nr_pages + 1 numbers of 4 bytes; rows: 4 bytes each; extended: 16 bytes each (bpf/unwind_abi.h). */
struct message_table {
	uint64_t start;
	uint32_t nr_pages, nr_rows, nr_extended;
	uint32_t tracks_extra, truncated, nr_extended_dropped;
	uint64_t e_machine;
	uint64_t nr_fdes;
};

/* What the kernel would run a script with. */
struct message_script {
	char interp[MESSAGE_INTERP_BYTES]; /* not "" */
};

enum message_name_kind {
	MESSAGE_NAME_NONE,  /* nothing is known */
	MESSAGE_NAME_START, /* where the function begins */
	MESSAGE_NAME_SYMBOL /* its name */
};

/* What is asked besides names: a set. */
enum message_names_what {
	MESSAGE_NAMES_LINES = 1,   /* files and lines */
	MESSAGE_NAMES_INLINED = 2, /* with LINES: the functions that are inlined there */
};

enum message_companion_kind {
	MESSAGE_COMPANION_ALT = 1, /* the alternate file of dwz(1); id: altlink_id */
	MESSAGE_COMPANION_SPLIT,   /* split units, in a .dwo or .dwp file; id "" */
};

struct message_companion {
	uint64_t kind, number;		 /* number: main's, not 0; each is of one companion */
	char id[MESSAGE_BUILD_ID_BYTES]; /* lower-case hex */
};

enum message_names_flags {
	MESSAGE_NAMES_CUT = 1,	  /* there was no time for all lines */
	MESSAGE_NAMES_UNREAD = 2, /* not all of the file's debug information could be read */
	MESSAGE_NAMES_ALL_FLAGS = 3,
};

struct message_names {
	uint32_t nr_frames, nr_texts; /* of all names */
	uint32_t nr_split; /* addresses of the question in split units that are not there */
	uint32_t flags;	   /* a set of message_names_flags */
};

#define MESSAGE_SPLIT_BYTES 1024 /* of a path; longer ones are left out */

struct message_splits {
	uint32_t nr_units, zero;
};

/* A split unit that is not there. */
struct message_split {
	uint64_t dwo_id;
	uint32_t name_bytes,
		dir_bytes; /* of its .dwo file's path, and of the folder that this counts from */
};

/* Texts are numbered from 1 on, each is there once; 0: none. */
struct message_name {
	uint64_t start;
	uint32_t kind;
	uint32_t raw, display; /* texts; display 0: it is the same as raw */
	uint32_t nr_frames;    /* 0: no line is known */
};

/* A struct source_frame with numbers of texts; raw is 0 only for the outermost frame, whose name is that of the address. */
struct message_frame {
	uint32_t raw, display, file, line, start_line;
};

#define MESSAGE_FUNCTION_BYTES 48

struct message_sites {
	uint64_t is_go, is_nameless; /* probes/allocator.h */
};

struct message_site {
	uint64_t file_off, semaphore_off;
	uint32_t shape, is_leaf, offset, zero; /* offset: from the function's entry */
	char function[MESSAGE_FUNCTION_BYTES]; /* letters, digits and _ */
};

#define MESSAGE_MAX_SLOTS	1024 /* GOTSLOTS_MAX */
#define MESSAGE_SLOT_NAME_BYTES 256  /* GOTSLOTS_NAME_BYTES */

struct message_slot {
	uint64_t elf_addr, initial;
	uint32_t name_bytes, zero; /* 1 to MESSAGE_SLOT_NAME_BYTES - 1 */
};

/* JIT symbols: runtime/jitsymquery.h has the terms. */

#define MESSAGE_MAX_MOMENTS 256

struct message_moment {
	uint64_t ip, time_ns;
};

struct message_jitsym {
	uint64_t start, limit, since_ns; /* ips of the code */
	uint32_t name_bytes, file_bytes; /* less than MESSAGE_METHOD_BYTES; the name is not empty */
	uint32_t line, zero;		 /* 0: not known, and no file */
};

/* Functions that a runtime interprets; of CPython: runtime/pycode.h has the terms. */

#define MESSAGE_NR_TEXTS       5	   /* object, name, qualified name, file, lines */
#define MESSAGE_TEXTS_BYTES    (24u << 10) /* of all of them */
#define MESSAGE_MAX_LINES      16384	   /* PYCODE_MAX_ROWS */
#define MESSAGE_FUNCNAME_BYTES 512	   /* with a NUL: PYCODE_NAME_BYTES */
#define MESSAGE_FUNCFILE_BYTES 1024	   /* with a NUL: PYCODE_FILE_BYTES */

struct message_texts {
	uint32_t runtime; /* ABI_RUNTIME(): its kind and version */
	uint32_t lens_bytes[MESSAGE_NR_TEXTS];
};

struct message_function {
	uint32_t name_bytes, file_bytes; /* less than the above; the name is not empty */
	uint32_t start_line, zero;
};

/* struct pycode_row; limits ascend. */
struct message_line {
	uint32_t limit, line;
};

/* JVMs: runtime/hotspot.h has the terms. */

#define MESSAGE_MAX_HEAPS     8
#define MESSAGE_MAX_ROWS      65536	  /* of one piece of code */
#define MESSAGE_LOOK_BYTES    (64u << 20) /* the tables of a JVM */
#define MESSAGE_METHOD_BYTES  512	  /* of a name, or of a file's */
#define MESSAGE_MISSING_BYTES 64

enum message_look_what {
	MESSAGE_LOOK_READ = 1, /* read the code cache */
	MESSAGE_LOOK_PACK = 2, /* make new tables for the heaps that changed */
};

struct message_jvm {
	uint64_t instance;			  /* another one at the same key is another JVM */
	uint64_t variables[MESSAGE_NR_VARIABLES]; /* ips, as of VARIABLES; 0: not there */
	/* METHODS only: when the sample was taken, and its JVM's count of unloaded classes then. */
	uint64_t time_ns, unloads, collections;
	/* LOOK only. */
	uint64_t what;				 /* a set of message_look_what */
	uint64_t max_bytes;			 /* of new code to analyze */
	uint64_t generations[MESSAGE_MAX_HEAPS]; /* of the tables that main has */
};

struct message_look {
	char missing[MESSAGE_MISSING_BYTES]; /* not "": what this VM lacks; then it has no heaps */
	uint64_t nr_blobs, nr_analyzed, code_bytes;
	uint64_t is_partial; /* some of it could not be read, or does not exist yet */
	uint64_t is_changed; /* there are changes that are not in tables yet */
	uint64_t unloads_at, collections_at; /* struct jvm_counters */
};

struct message_heap {
	uint64_t start, limit, reserved;
	uint64_t generation; /* 0: there is no table yet */
	uint64_t has_table;  /* it follows, since main has another generation */
	uint64_t table_bytes;
};

struct message_code {
	uint64_t start, limit; /* ips */
};

struct message_row {
	uint32_t offset; /* from the code's start; the first is 0, the others ascend */
	uint32_t zero;
	uint8_t rule[16]; /* struct unwind_rule */
};

/* The frames of all pieces follow the pieces, then come the texts of each frame. */
struct message_method {
	uint64_t start, limit; /* ips of the code, or what stands for an interpreted frame */
	uint32_t nr_frames;    /* 1 to MESSAGE_MAX_FRAMES; innermost first */
	uint32_t zero;
};

struct message_method_frame {
	uint32_t name_bytes, file_bytes; /* less than MESSAGE_METHOD_BYTES; the name is not empty */
	uint32_t line, start_line;	 /* 0: not known */
};

#endif
