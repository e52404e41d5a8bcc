// SPDX-License-Identifier: BSD-2-Clause
/*
 * Bytes pass three gates: the size of the file, the size and ratio of what it inflates to, and the
 * limits of the reader that is chosen; what comes of them passes a fourth, the size of its stacks when
 * they are written out (input/expansion.h). One table holds the formats; the first row whose detect()
 * accepts the bytes reads them, so that rows stand from the most particular to the most general.
 * Files that people take for profiles (perf.data, an executable, other compressions) are
 * recognised to say what they are.
 *
 * The whole file is read before it is parsed. Rejected: mmap(), since a file that is cut short
 * meanwhile would kill the process with SIGBUS; and streaming, since pprof's tables may follow
 * what uses them.
 */
#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "input/expansion.h"
#include "input/folded.h"
#include "input/gunzip.h"
#include "input/legacy.h"
#include "input/perfscript.h"
#include "input/pprof.h"
#include "input/reader.h"

#define STREAM_BYTES (256 * 1024)

const struct input_limits input_default_limits = {
	.max_file_bytes = 1ul << 30,
	.max_inflated_bytes = 2ul << 30,
	.max_ratio = 250,
	.max_items = 64ul << 20,
	.max_memory_bytes = 4ul << 30,
	.names = true,
};

/*
 * A text, or what was one, has no control characters but white space and ESC. A pprof file has the
 * empty string of its table: field 6, length 0.
 */
static bool is_text(const struct source *source)
{
	size_t len = source->len < 4096 ? source->len : 4096;

	for (size_t i = 0; i < len; i++)
		if (source->bytes[i] < ' ' && !memchr("\t\n\v\f\r\033", source->bytes[i], 6))
			return false;
	return true;
}

static bool is_no_text(const struct source *source)
{
	return !is_text(source);
}

/*
 * The first row whose detect() says yes reads the file: what begins with a word of its own first, what
 * begins with anything last.
 */
static const struct format {
	enum input_format id;
	const char *name; /* for people */
	bool (*detect)(const struct source *source);
	int (*read)(const struct source *source, struct profile *profile,
		    struct input_error *error);
} formats[] = {
	{INPUT_LEGACY_CPU, "gperftools' CPU profile", legacy_cpu_detect, legacy_cpu_read},
	{INPUT_PPROF, "pprof", is_no_text, pprof_read},
	{INPUT_LEGACY_HEAP, "heap profile as text", legacy_heap_detect, legacy_heap_read},
	{INPUT_LEGACY_JAVA, "profile of a Java program as text", legacy_java_detect,
	 legacy_java_read},
	{INPUT_LEGACY_CONTENTION, "contention profile as text", legacy_contention_detect,
	 legacy_contention_read},
	{INPUT_LEGACY_THREADS, "threads as text", legacy_threads_detect, legacy_threads_read},
	{INPUT_LEGACY_COUNT, "counts as text", legacy_count_detect, legacy_count_read},
	{INPUT_PERF_SCRIPT, "perf script", perfscript_detect, perfscript_read},
	{INPUT_FOLDED, "folded stacks", folded_detect, folded_read},
};

#define NR_FORMATS (sizeof(formats) / sizeof(formats[0]))

const char *input_format_name(enum input_format format)
{
	for (size_t i = 0; i < NR_FORMATS; i++)
		if (formats[i].id == format)
			return formats[i].name;
	return "unknown";
}

static const struct format *format_of(const struct source *source)
{
	for (size_t i = 0; i < NR_FORMATS; i++)
		if (formats[i].detect(source))
			return &formats[i];
	return NULL;
}

/* What people have at hand and take for a profile. NULL: nothing that is known. */
static const char *mistaken_for(const struct source *source)
{
#define DRAWN                                                                                 \
	"a page or a picture, not a profile: of a flame graph, give the profile that it was " \
	"drawn from"
#define VIEWED "a file for a viewer: give the profile that it was made from"
	static const struct {
		bool is_text;
		const char *magic, *what;
	} rows[] = {
		{false, "PERFILE2", "a perf.data file: convert it to text first (perf script)"},
		{false, "\177ELF", "an ELF file, not a profile"},
		{false, "PK\003\004", "a zip archive, not a profile"},
		{false,
		 "\xfd"
		 "7zXZ",
		 "compressed with xz: decompress it first (xz -d)"},
		{false, "BZh", "compressed with bzip2: decompress it first (bzip2 -d)"},
		{false, "\x28\xb5\x2f\xfd", "compressed with zstd: decompress it first (zstd -d)"},
		{true, "<!DOCTYPE html", DRAWN},
		{true, "<!doctype html", DRAWN},
		{true, "<html", DRAWN},
		{true, "<?xml", DRAWN},
		{true, "<svg", DRAWN},
		{true, "{\"$schema\":\"https://www.speedscope.app", VIEWED},
		{true, "{\"meta\":{", VIEWED},
		{true, "goroutine 1 [",
		 "a dump of goroutines (debug=2): fetch it with debug=1, or without debug"},
	};

	if (!source->bytes) /* an empty file */
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].magic);

		if (rows[i].is_text == is_text(source) && source->len >= len &&
		    !memcmp(source->bytes, rows[i].magic, len))
			return rows[i].what;
	}
	return NULL;
}

enum input_format input_format_of(const void *bytes, size_t len)
{
	const struct source source = {.bytes = bytes, .len = len};
	const struct format *format = mistaken_for(&source) ? NULL : format_of(&source);

	return format ? format->id : INPUT_UNKNOWN;
}

static int parse_source(const struct source *source, struct profile **profile,
			enum input_format *id, struct input_error *error)
{
	const struct format *format = format_of(source);
	const char *mistaken = mistaken_for(source);
	struct profile *made;
	int err;

	if (mistaken)
		return input_fail(error, -EBADMSG, INPUT_NO_OFFSET, "%s", mistaken);
	if (!format)
		return input_fail(error, -EBADMSG, INPUT_NO_OFFSET,
				  "not a profile in any format that cprof reads");
	made = profile_new();
	err = format->read(source, made, error);
	if (!err)
		err = expansion_check(made, error);
	if (err) {
		profile_free(made);
		return err;
	}
	*profile = made;
	if (id)
		*id = format->id;
	return 0;
}

int input_inflate(const void *bytes, size_t len, const struct input_limits *limits,
		  uint8_t **inflated, size_t *inflated_len, struct input_error *error)
{
	uint8_t *made scoped(freep) = NULL;
	size_t made_len = len;

	if (gunzip_detect(bytes, len)) {
		int err = gunzip(bytes, len, limits, &made, &made_len, error);

		if (err)
			return err;
		if (gunzip_detect(made, made_len))
			return input_fail(
				error, -EBADMSG, INPUT_NO_OFFSET,
				"compressed twice with gzip: decompress it first (gzip -d)");
	}
	if (!made_len)
		return input_fail(error, -EBADMSG, INPUT_NO_OFFSET,
				  made ? "the gzip data is empty" : "the file is empty");
	*inflated = made;
	*inflated_len = made_len;
	made = NULL;
	return 0;
}

int input_parse(const void *bytes, size_t len, const struct input_limits *limits,
		struct profile **profile, enum input_format *format, struct input_error *error)
{
	uint8_t *inflated scoped(freep) = NULL;
	struct source source = {.bytes = bytes, .len = len, .limits = limits};
	int err = input_inflate(bytes, len, limits, &inflated, &source.len, error);

	if (err)
		return err;
	if (inflated)
		source.bytes = inflated;
	return parse_source(&source, profile, format, error);
}

static int too_large(const struct input_limits *limits, struct input_error *error)
{
	return input_fail(error, -EFBIG, INPUT_NO_OFFSET, "larger than the limit of %zu MB",
			  limits->max_file_bytes >> 20);
}

/* Reads to the end. A regular file says how much there is; what it says may be out of date. */
static int read_all(int fd, const struct input_limits *limits, uint8_t **bytes, size_t *len,
		    struct input_error *error)
{
	vec_of(uint8_t) all = {0};
	uint8_t *at scoped(freep) = NULL;
	struct stat st;
	ssize_t n;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		if (st.st_size > 0 && (size_t)st.st_size > limits->max_file_bytes)
			return too_large(limits, error);
		vec_reserve(&all, st.st_size + 1);
	}
	do {
		vec_reserve(&all, all.nr < all.cap ? 1 : STREAM_BYTES);
		at = all.at; /* freed with this function, whichever way it ends */
		n = TEMP_FAILURE_RETRY(read(fd, all.at + all.nr, all.cap - all.nr));
		if (n < 0)
			return input_fail(error, -errno, INPUT_NO_OFFSET, "%s", strerror(errno));
		all.nr += n;
		if (all.nr > limits->max_file_bytes)
			return too_large(limits, error);
	} while (n);
	*bytes = at;
	*len = all.nr;
	at = NULL;
	return 0;
}

int input_load(const char *path, const struct input_limits *limits, uint8_t **bytes, size_t *len,
	       struct input_error *error)
{
	int opened scoped(closep) = -1;

	if (!strcmp(path, "-"))
		return read_all(STDIN_FILENO, limits, bytes, len, error);
	opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (opened < 0)
		return input_fail(error, -errno, INPUT_NO_OFFSET, "%s", strerror(errno));
	return read_all(opened, limits, bytes, len, error);
}

int input_read(const char *path, const struct input_limits *limits, struct profile **profile,
	       enum input_format *format, struct input_error *error)
{
	uint8_t *bytes scoped(freep) = NULL, *inflated scoped(freep) = NULL;
	struct source source = {.limits = limits};
	size_t len = 0;
	int err = input_load(path, limits, &bytes, &len, error);

	if (!err)
		err = input_inflate(bytes, len, limits, &inflated, &source.len, error);
	if (err)
		return err;
	source.bytes = bytes;
	if (inflated) { /* then the file itself is not needed beside the profile */
		free(bytes);
		bytes = NULL;
		source.bytes = inflated;
	}
	return parse_source(&source, profile, format, error);
}
