// SPDX-License-Identifier: BSD-2-Clause
/*
 * lexer ROUNDS: reads a text of names, numbers and brackets. next() is called from two places and too large to be inlined
 * there, unless it is known that it is hot; what reports errors never runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum token {
	END,
	NAME,
	NUMBER,
	STRING,
	OPEN,
	CLOSE,
	OTHER
};

struct lexer {
	const char *at, *end;
	int line, depth, errors;
	long number;
	unsigned hash;
};

static void fail(struct lexer *lexer, const char *what)
{
	lexer->errors++;
	if (lexer->errors < 5)
		fprintf(stderr, "line %d: %s near %.5s\n", lexer->line, what, lexer->at);
}

static enum token string(struct lexer *lexer)
{
	for (lexer->at++; lexer->at < lexer->end; lexer->at++) {
		if (*lexer->at == '\\') {
			lexer->at++;
			if (lexer->at == lexer->end)
				break;
			if (!strchr("nrt\\\"", *lexer->at))
				fail(lexer, "unknown escape");
			continue;
		}
		if (*lexer->at == '"') {
			lexer->at++;
			return STRING;
		}
		if (*lexer->at == '\n')
			fail(lexer, "a string that goes on");
	}
	fail(lexer, "a string without end");
	return END;
}

static int is_letter(unsigned char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static enum token number(struct lexer *lexer)
{
	long number = 0;

	while (lexer->at < lexer->end) {
		unsigned char c = *lexer->at;

		if (c < '0' || c > '9')
			break;
		if (number > 1L << 58) {
			fail(lexer, "a large number");
			number = 0;
		}
		number = number * 10 + c - '0';
		lexer->at++;
	}
	lexer->number = number;
	return NUMBER;
}

static enum token name(struct lexer *lexer)
{
	unsigned hash = 5381;

	while (lexer->at < lexer->end) {
		unsigned char c = *lexer->at;

		if (!is_letter(c))
			break;
		hash = hash * 33 + c;
		lexer->at++;
	}
	lexer->hash = hash;
	return NAME;
}

static enum token next(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		unsigned char c = *lexer->at;

		if (c == '"')
			return string(lexer);
		if (c == '#') {
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
			continue;
		}
		if (c == '(' || c == '[' || c == '{') {
			lexer->depth++;
			lexer->at++;
			return OPEN;
		}
		if (c == ')' || c == ']' || c == '}') {
			if (!lexer->depth)
				fail(lexer, "a bracket too many");
			lexer->depth--;
			lexer->at++;
			return CLOSE;
		}
		if (c == '\n')
			lexer->line++;
		if (c >= 128)
			fail(lexer, "a strange byte");
		if (c >= '0' && c <= '9')
			return number(lexer);
		if (is_letter(c))
			return name(lexer);
		lexer->at++;
		if (c == '=')
			return OTHER;
	}
	return END;
}

static unsigned parse(struct lexer *lexer, int level)
{
	unsigned sum = 0;

	for (;;) {
		enum token token = next(lexer);

		if (token == NAME) {
			sum += lexer->hash;
			token = next(lexer);
			if (token == OTHER)
				token = next(lexer);
			if (token == NUMBER)
				sum ^= lexer->number;
		}
		if (token == OPEN) {
			if (level > 100)
				fail(lexer, "too many brackets");
			else
				sum += parse(lexer, level + 1);
		}
		if (token == CLOSE || token == END)
			return sum;
	}
}

int main(int argc, char **argv)
{
	static char text[1 << 16];
	size_t len = 0;
	unsigned random = 1, sum = 0;

	while (len < sizeof(text) - 64) {
		random = random * 1103515245 + 12345;
		len += sprintf(text + len, random >> 28 == 0 ? "f(x = %u) \n" : "abc = %u ",
			       (random >> 16) % 100);
	}
	for (int round = argc > 1 ? atoi(argv[1]) : 1000; round > 0; round--) {
		struct lexer lexer = {.at = text, .end = text + len, .line = 1};

		sum += parse(&lexer, 0);
	}
	printf("%u\n", sum);
	return 0;
}
