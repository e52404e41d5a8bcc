// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints with stdio straight to stderr, which is not buffered. The status line needs no cursor addressing: a
 * carriage return and "erase to the end of the line" remove it before anything else is printed.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool verbose_on, status_shown;

static void wipe_status(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

static void print_line(const char *fmt, va_list ap)
{
	wipe_status();
	fputs("cprof: ", stderr);
	vfprintf(stderr, fmt, ap);
}

int fail(int err, const char *fmt, ...)
{
	size_t len = strlen(fmt);
	va_list ap;

	va_start(ap, fmt);
	print_line(fmt, ap);
	va_end(ap);
	if (!len || !strchr(".!?", fmt[len - 1]))
		fprintf(stderr, ": %s", strerror(err < 0 ? -err : err));
	fputc('\n', stderr);
	return err;
}

#define DEFINE_PRINTER(name, condition) \
	void name(const char *fmt, ...) \
	{                               \
		va_list ap;             \
                                        \
		if (!(condition))       \
			return;         \
		va_start(ap, fmt);      \
		print_line(fmt, ap);    \
		va_end(ap);             \
		fputc('\n', stderr);    \
	}

DEFINE_PRINTER(warn, true)
DEFINE_PRINTER(say, true)
DEFINE_PRINTER(detail, verbose_on)

void log_set_verbose(bool verbose)
{
	verbose_on = verbose;
}

bool log_is_verbose(void)
{
	return verbose_on;
}

void log_status(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	wipe_status();
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
	status_shown = true;
}
