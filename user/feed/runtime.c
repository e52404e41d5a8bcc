// SPDX-License-Identifier: BSD-2-Clause
/* What a file says is by address in the file; BPF needs ips. A program that loads a second runtime keeps the first. */
#include "feed/runtime.h"

#include "base/log.h"
#include "base/text.h"

static void add_bias(enum abi_runtime kind, union abi_layout *layout, uint64_t bias)
{
	switch (kind) {
	case ABI_RUNTIME_PYTHON:
		layout->python.state += bias;
		layout->python.code_type += bias;
		break;
	case ABI_RUNTIME_PHP:
		layout->php.state += bias;
		break;
	case ABI_RUNTIME_RUBY:
		layout->ruby.state += bias;
		break;
	case ABI_RUNTIME_PERL:
		layout->perl.state += bias;
		break;
	default:
		break;
	}
}

void runtime_attach(struct runtime *runtime, struct session *session, uint32_t tgid,
		    const struct message_runtime *about, uint64_t bias)
{
	static const char *const names[ABI_NR_RUNTIMES] = {[ABI_RUNTIME_PYTHON] = "Python",
							   [ABI_RUNTIME_PHP] = "PHP",
							   [ABI_RUNTIME_V8] = "V8",
							   [ABI_RUNTIME_RUBY] = "Ruby",
							   [ABI_RUNTIME_PERL] = "Perl"};
	enum abi_runtime kind = ABI_RUNTIME_KIND(about->runtime);
	uint32_t version = ABI_RUNTIME_VERSION(about->runtime);
	union abi_layout layout = about->layout;

	if (runtime->number)
		return;
	add_bias(kind, &layout, bias);
	if (session_add_runtime(session, kind, &layout, &runtime->number)) {
		runtime->number = 0;
		return;
	}
	detail("process %u: %s %u.%u, whose functions are read", tgid, names[kind], version >> 8,
	       version & 0xff);
}

void runtime_detach(struct runtime *runtime, struct session *session)
{
	session_remove_runtime(session, runtime->number);
	*runtime = (struct runtime){0};
}

/* A program whose interpreter is in a library: both have been looked into. */
static uint32_t join_library(uint32_t unread, enum message_unread main, enum message_unread library,
			     enum message_unread program)
{
	const uint32_t both = 1u << main | 1u << library;

	return (unread & both) == both ? unread | 1u << program : unread;
}

void runtime_say_unread(uint32_t unread, uint32_t tgid, const char *comm, uint32_t *said)
{
	static const char *const what[MESSAGE_NR_UNREAD] = {
		[MESSAGE_UNREAD_RUBY] = "a Ruby process",
		[MESSAGE_UNREAD_PERL] = "a Perl process",
		[MESSAGE_UNREAD_PYTHON] = "a Python process (--no-python, another version, or no "
					  "GIL)",
		[MESSAGE_UNREAD_LUA] = "a Lua process",
		[MESSAGE_UNREAD_ERLANG] = "an Erlang process",
		[MESSAGE_UNREAD_MONO] = "a Mono process",
		[MESSAGE_UNREAD_DOTNET] = "a .NET process",
		[MESSAGE_UNREAD_V8] = "a V8 process whose pointers are compressed (as in "
				      "Electron), or of another version"};
	char name[4 * COMM_BYTES];

	unread = join_library(unread, MESSAGE_UNREAD_RUBY_MAIN, MESSAGE_UNREAD_RUBY_LIBRARY,
			      MESSAGE_UNREAD_RUBY);
	unread = join_library(unread, MESSAGE_UNREAD_PERL_MAIN, MESSAGE_UNREAD_PERL_LIBRARY,
			      MESSAGE_UNREAD_PERL);
	unread = join_library(unread, MESSAGE_UNREAD_PYTHON_MAIN, MESSAGE_UNREAD_PYTHON_LIBRARY,
			      MESSAGE_UNREAD_PYTHON);
	unread &= ~*said;
	for (uint32_t i = 0; i < MESSAGE_NR_UNREAD; i++) {
		if (!what[i] || !(unread >> i & 1))
			continue;
		*said |= 1u << i;
		warn("%u (%s): %s; its own functions are not visible", tgid,
		     text_escape(comm, name, sizeof(name)), what[i]);
	}
}
