// SPDX-License-Identifier: BSD-2-Clause
/*
 * As in C++ (itanium.c) a name is a small program: a back reference (B4_) prints again what came before, so that a few
 * hundred bytes print gigabytes. Nearly all that takes time here prints as well, so that no thread is needed to end it.
 * Five bounds:
 *
 *	output	at 64 KiB a long jump ends the demangler. It may hold a buffer for the letters of an identifier in
 *		Punycode, a few times as large as the name, which is lost then
 *	loops	"G" and a number of lifetimes, where it is to print nothing, counts to 2^64: the name is looked through for
 *		such a number, and refused if that has more than one digit (62 lifetimes)
 *	input	2 KiB: references to a long path of empty names, which prints nothing, take a tenth of a second then. A
 *		clock could not tell: the worker's sandbox forbids it
 *	often	after MAX_CUT names that were cut no more are tried
 *	stack	libiberty nests 1,024 deep, then gives up
 */
#include "object/rustv0.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_CUT		    50
#define MAX_DEPTH	    1024
#define MAX_DIGITS	    11 /* of 64 bits, to the base of 62 */
#define MAX_LIFETIME_DIGITS 1

/* How many names were cut, in all threads. */
static unsigned int nr_cut;

struct output {
	char *bytes; /* RUSTV0_MAX_RESULT + 1 */
	size_t nr;
	jmp_buf full;
};

static void take(const char *piece, size_t len, void *ctx)
{
	struct output *output = ctx;
	size_t room = RUSTV0_MAX_RESULT - output->nr;
	size_t taken = len < room ? len : room;

	if (taken) /* else piece may be NULL */
		memcpy(output->bytes + output->nr, piece, taken);
	output->nr += taken;
	if (len > room)
		longjmp(output->full, 1);
}

/* The grammar of RFC 2603, to find what counts lifetimes. Back references are not followed. ------- */

struct scan {
	const char *at; /* NULL: it is not valid, or counts far */
	unsigned int depth;
};

static void scan_path(struct scan *scan);
static void scan_type(struct scan *scan);

static char peek(const struct scan *scan)
{
	return scan->at ? *scan->at : '\0';
}

static bool eat(struct scan *scan, char c)
{
	if (!scan->at || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* "_" or digits and "_". */
static void scan_number(struct scan *scan, size_t max_digits)
{
	size_t nr = 0;

	while (nr <= max_digits && isalnum((unsigned char)peek(scan)))
		scan->at++, nr++;
	if (nr > max_digits || !eat(scan, '_'))
		scan->at = NULL;
}

static void scan_tagged(struct scan *scan, char tag, size_t max_digits)
{
	if (eat(scan, tag))
		scan_number(scan, max_digits);
}

static void scan_identifier(struct scan *scan)
{
	size_t len = 0;

	eat(scan, 'u'); /* Punycode */
	if (!isdigit((unsigned char)peek(scan)))
		scan->at = NULL;
	if (!eat(scan, '0'))
		while (isdigit((unsigned char)peek(scan)) && len < RUSTV0_MAX_BYTES)
			len = len * 10 + (size_t)(*scan->at++ - '0');
	eat(scan, '_');
	if (scan->at)
		scan->at = strnlen(scan->at, len) == len ? scan->at + len : NULL;
}

static void scan_const(struct scan *scan)
{
	char type = peek(scan);

	if (type == 'B' || type == 'p') {
		scan->at++;
		if (type == 'B')
			scan_number(scan, MAX_DIGITS);
	} else if (islower((unsigned char)type)) {
		scan->at++;
		eat(scan, 'n'); /* minus */
		scan_number(scan, RUSTV0_MAX_BYTES);
	} else {
		scan->at = NULL;
	}
}

static void scan_generics(struct scan *scan)
{
	while (scan->at && !eat(scan, 'E')) {
		if (eat(scan, 'L'))
			scan_number(scan, MAX_DIGITS);
		else if (eat(scan, 'K'))
			scan_const(scan);
		else
			scan_type(scan);
	}
}

static void scan_function(struct scan *scan)
{
	scan_tagged(scan, 'G', MAX_LIFETIME_DIGITS);
	eat(scan, 'U'); /* unsafe */
	if (eat(scan, 'K') && !eat(scan, 'C'))
		scan_identifier(scan);
	while (scan->at && !eat(scan, 'E'))
		scan_type(scan);
	scan_type(scan);
}

static void scan_traits(struct scan *scan)
{
	scan_tagged(scan, 'G', MAX_LIFETIME_DIGITS);
	while (scan->at && !eat(scan, 'E')) {
		scan_path(scan);
		while (eat(scan, 'p')) {
			scan_identifier(scan);
			scan_type(scan);
		}
	}
	if (!eat(scan, 'L'))
		scan->at = NULL;
	scan_number(scan, MAX_DIGITS);
}

static void scan_compound_type(struct scan *scan, char tag)
{
	scan->at++;
	switch (tag) {
	case 'A':
		scan_type(scan);
		scan_const(scan);
		break;
	case 'T':
		while (scan->at && !eat(scan, 'E'))
			scan_type(scan);
		break;
	case 'F':
		scan_function(scan);
		break;
	case 'D':
		scan_traits(scan);
		break;
	default: /* R, Q, P, O, S */
		scan_tagged(scan, 'L', MAX_DIGITS);
		scan_type(scan);
	}
}

static void scan_type(struct scan *scan)
{
	char tag = peek(scan);

	if (++scan->depth > MAX_DEPTH)
		scan->at = NULL;
	else if (islower((unsigned char)tag))
		scan->at++;
	else if (tag && strchr("ATFDRQPOS", tag))
		scan_compound_type(scan, tag);
	else
		scan_path(scan);
	scan->depth--;
}

static void scan_path_of(struct scan *scan, char tag)
{
	if (tag == 'M' || tag == 'X') { /* the path of the impl */
		scan_tagged(scan, 's', MAX_DIGITS);
		scan_path(scan);
	}
	if (tag == 'M' || tag == 'X' || tag == 'Y')
		scan_type(scan);
	if (tag == 'N')
		scan->at = isalpha((unsigned char)peek(scan)) ? scan->at + 1 : NULL;
	if (tag && strchr("XYNI", tag))
		scan_path(scan);
	if (tag == 'N' || tag == 'C') {
		scan_tagged(scan, 's', MAX_DIGITS);
		scan_identifier(scan);
	}
	if (tag == 'I')
		scan_generics(scan);
	if (tag == 'B')
		scan_number(scan, MAX_DIGITS);
}

static void scan_path(struct scan *scan)
{
	char tag = peek(scan);

	if (++scan->depth > MAX_DEPTH || !tag || !strchr("CMXYNIB", tag)) {
		scan->at = NULL;
	} else {
		scan->at++;
		scan_path_of(scan, tag);
	}
	scan->depth--;
}

/* Whether it is a name that counts few lifetimes: the function's path, and that of the crate that made it. */
static bool is_harmless(const char *name)
{
	struct scan scan = {.at = name + 2};

	scan_path(&scan);
	if (peek(&scan) && peek(&scan) != '.')
		scan_path(&scan);
	return scan.at && (!*scan.at || *scan.at == '.');
}

/* Demangle --------------------------------------------------------------------------------------- */

/* false: it was cut. */
static bool run(const char *name, struct output *output, volatile bool *valid)
{
	if (setjmp(output->full))
		return false;
	*valid = rust_demangle_callback(name, DMGL_PARAMS, take, output);
	return true;
}

static bool is_valid(const char *name, struct output *output)
{
	volatile bool valid = true;

	if (!run(name, output, &valid))
		__atomic_add_fetch(&nr_cut, 1, __ATOMIC_RELAXED);
	return valid;
}

char *rustv0_demangle(const char *name, size_t len)
{
	struct output output = {.nr = 0};
	char *result = NULL;

	if (len < 4 || len > RUSTV0_MAX_BYTES || name[0] != '_' || name[1] != 'R' ||
	    !is_harmless(name) || __atomic_load_n(&nr_cut, __ATOMIC_RELAXED) >= MAX_CUT)
		return NULL;
	output.bytes = xmalloc(RUSTV0_MAX_RESULT + 1);
	if (is_valid(name, &output) && output.nr) {
		output.bytes[output.nr] = '\0';
		result = xstrdup(output.bytes);
	}
	free(output.bytes);
	return result;
}
