// SPDX-License-Identifier: BSD-2-Clause
/* Nothing is kept: main asks about each function once. */
#include "worker/functions.h"

#include <errno.h>
#include <string.h>

#include "runtime/perlcode.h"
#include "runtime/phpcode.h"
#include "runtime/pycode.h"
#include "runtime/rubycode.h"
#include "runtime/v8code.h"

_Static_assert(MESSAGE_FUNCNAME_BYTES == PYCODE_NAME_BYTES &&
		       MESSAGE_FUNCFILE_BYTES == PYCODE_FILE_BYTES &&
		       MESSAGE_MAX_LINES == PYCODE_MAX_ROWS &&
		       sizeof(struct message_line) == sizeof(struct pycode_row),
	       "what is read is what is sent");
_Static_assert(MESSAGE_FUNCNAME_BYTES == PHPCODE_NAME_BYTES &&
		       MESSAGE_FUNCFILE_BYTES == PHPCODE_FILE_BYTES,
	       "of PHP as well");
_Static_assert(MESSAGE_FUNCNAME_BYTES == V8CODE_NAME_BYTES &&
		       MESSAGE_FUNCFILE_BYTES == V8CODE_FILE_BYTES,
	       "and of V8");
_Static_assert(MESSAGE_FUNCNAME_BYTES == RUBYCODE_NAME_BYTES &&
		       MESSAGE_FUNCFILE_BYTES == RUBYCODE_FILE_BYTES &&
		       MESSAGE_MAX_LINES == RUBYCODE_MAX_ROWS &&
		       sizeof(struct message_line) == sizeof(struct rubycode_row),
	       "and of Ruby");

static int split(const struct message *request, const void *asked, uint32_t *runtime,
		 struct memory_copy parts[MESSAGE_NR_TEXTS])
{
	const uint8_t *at = (const uint8_t *)asked + sizeof(struct message_texts);
	struct message_texts head;
	size_t left_bytes;

	if (request->len_bytes < sizeof(head))
		return -EINVAL;
	memcpy(&head, asked, sizeof(head));
	left_bytes = request->len_bytes - sizeof(head);
	*runtime = head.runtime;
	for (size_t i = 0; i < MESSAGE_NR_TEXTS; i++) {
		if (head.lens_bytes[i] > left_bytes)
			return -EINVAL;
		parts[i] = (struct memory_copy){at, head.lens_bytes[i]};
		at += head.lens_bytes[i];
		left_bytes -= head.lens_bytes[i];
	}
	return left_bytes ? -EINVAL : 0;
}

static void put(struct payload *payload, const char *name, const char *file, uint32_t start_line,
		const void *lines, size_t nr_lines)
{
	struct message_function head = {
		.name_bytes = strlen(name), .file_bytes = strlen(file), .start_line = start_line};

	payload_append(payload, &head, sizeof(head));
	if (nr_lines)
		payload_append(payload, lines, nr_lines * sizeof(struct message_line));
	payload_append(payload, name, head.name_bytes);
	payload_append(payload, file, head.file_bytes);
}

static int answer_python(uint16_t version, const struct memory_copy *parts, struct payload *payload,
			 struct message *reply)
{
	const struct pycode_copies copies = {.version = version,
					     .object = parts[0],
					     .name = parts[1],
					     .qualified = parts[2],
					     .file = parts[3],
					     .lines = parts[4]};
	struct pycode code;

	if (!pycode_read(&copies, &code))
		return -ENOENT;
	put(payload, code.name, code.file, code.start_line, code.rows.at, code.rows.nr);
	reply->nr = code.rows.nr;
	pycode_release(&code);
	return 0;
}

static int answer_php(uint16_t version, const struct memory_copy *parts, struct payload *payload)
{
	const struct phpcode_copies copies = {.version = version,
					      .function = parts[0],
					      .name = parts[1],
					      .class_name = parts[2],
					      .file = parts[3]};
	struct phpcode code;

	if (!phpcode_read(&copies, &code))
		return -ENOENT;
	put(payload, code.name, code.file, code.start_line, NULL, 0);
	return 0;
}

static int answer_v8(const struct memory_copy *parts, struct payload *payload)
{
	const struct v8code_copies copies = {.function = parts[0],
					     .name = parts[1],
					     .rest = parts[2],
					     .last = parts[4],
					     .file = parts[3]};
	struct v8code code;

	if (!v8code_read(&copies, &code))
		return -ENOENT;
	put(payload, code.name, code.file, code.start_line, NULL, 0);
	return 0;
}

static int answer_ruby(uint16_t version, const struct memory_copy *parts, struct payload *payload,
		       struct message *reply)
{
	const struct rubycode_copies copies = {.version = version,
					       .body = parts[0],
					       .label = parts[1],
					       .index = parts[2],
					       .path = parts[3],
					       .lines = parts[4]};
	struct rubycode code;

	if (!rubycode_read(&copies, &code))
		return -ENOENT;
	put(payload, code.name, code.file, code.start_line, code.rows.at, code.rows.nr);
	reply->nr = code.rows.nr;
	rubycode_release(&code);
	return 0;
}

static int answer_perl(uint16_t version, const struct memory_copy *parts, struct payload *payload)
{
	const struct perlcode_copies copies = {.version = version,
					       .start = parts[0],
					       .name = parts[1],
					       .package = parts[2],
					       .file = parts[3],
					       .block = parts[4]};
	struct perlcode code;

	if (!perlcode_read(&copies, &code))
		return -ENOENT;
	put(payload, code.name, code.file, code.start_line, NULL, 0);
	return 0;
}

int functions_answer(const struct message *request, const void *asked, struct payload *payload,
		     struct message *reply)
{
	struct memory_copy parts[MESSAGE_NR_TEXTS];
	uint32_t runtime;
	int err = split(request, asked, &runtime, parts);

	if (err)
		return err;
	switch (ABI_RUNTIME_KIND(runtime)) {
	case ABI_RUNTIME_PYTHON:
		return answer_python(ABI_RUNTIME_VERSION(runtime), parts, payload, reply);
	case ABI_RUNTIME_PHP:
		return answer_php(ABI_RUNTIME_VERSION(runtime), parts, payload);
	case ABI_RUNTIME_RUBY:
		return answer_ruby(ABI_RUNTIME_VERSION(runtime), parts, payload, reply);
	case ABI_RUNTIME_PERL:
		return answer_perl(ABI_RUNTIME_VERSION(runtime), parts, payload);
	case ABI_RUNTIME_V8:
		return answer_v8(parts, payload);
	default:
		return -EINVAL;
	}
}
