// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user part of a stack that has interpreted functions: both stacks joined (record/join.h).
 *
 * The interpreter's own frames between and below those of the program are left out: its loop, which each function would
 * have beside it, and what leads to it. What else is native stays, so that a builtin or an extension stands between
 * two functions of the program. pprof's drop_frames cannot say that: it drops what a frame calls as well.
 */
#include "record/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* CPython: calls, and how a program or a thread gets started. */
static const char glue[] =
	"_?PyEval_[A-Za-z]*([.].*)?|_?Py(Object|Function|CFunction|Method|Vectorcall|Stack)_?[A-Za-"
	"z_]*"
	"([Cc]all|CALL)[A-Za-z_]*([.].*)?"
	"|(object|method|cfunction|function|slot|type|wrapper|classmethod|instancemethod|bound)_"
	"[a-z_]*call[A-Za-z_]*([.].*)?|_?function_code_fastcall([.].*)?|call_(function|attribute|"
	"method)"
	"([.].*)?|do_call_core([.].*)?|gen_(send_ex2?|iternext)([.].*)?|_?PyGen_[A-Za-z]*([.].*)?"
	"|Py_(BytesMain|RunMain|Main)|pymain_[a-z_]*([.].*)?|_?PyRun_[A-Za-z]*([.].*)?"
	"|run_(mod|eval_code_obj)([.].*)?|thread_run([.].*)?|pythread_wrapper([.].*)?"
	"|t_bootstrap([.].*)?|py_trampoline_evaluator([.].*)?"
	/* PHP: the same */
	"|(dtrace_)?execute_ex([.].*)?|_?zend_call_(function|method|known_[a-z_]+)([.].*)?"
	"|zend_execute(_scripts?)?([.].*)?|php_execute_(script|simple_script)(_ex)?([.].*)?"
	"|_call_user_function_impl|zend_fcall_info_call([.].*)?|zend_generator_resume([.].*)?"
	/* Ruby: calls, blocks, and how a program or a thread gets started */
	"|(rb_)?(vm|ec)_exec(_core|_node)?([.].*)?|jit_exec([.].*)?|vm_(call|invoke|yield)_?[a-z0-"
	"9_]*"
	"([.].*)?|vm_sendish([.].*)?|invoke_(iseq_)?(i?func_)?(block|bmethod)[a-z_]*([.].*)?"
	"|(ractor_safe_)?call_cfunc_[a-z0-9_]*([.].*)?|rb_(call|call0|funcallv?[a-z_]*|yield[a-z_0-"
	"9]*"
	"|vm_call[a-z0-9_]*|vm_invoke[a-z_]*|iseq_eval[a-z_]*|check_funcall[a-z_]*)([.].*)?"
	"|ruby_(run|exec)_node|ruby_exec_internal([.].*)?|thread_(start_func_[12]|do_start(_proc)?)"
	"([.]"
	".*)?"
	/* Perl: calls, and how a program gets started */
	"|perl_run|Perl_call_(sv|list|method|argv|pv)([.].*)?|S_(run_body|docatch|call_body)([.].*)"
	"?"
	/* V8: the interpreter, and what leads from C++ to JavaScript and back */
	"|Builtins_([A-Za-z0-9]*Handler|Interpreter[A-Za-z0-9]*|Baseline[A-Za-z0-9]*|JSEntry[A-Za-"
	"z]*"
	"|CEntry_[A-Za-z0-9_]*|Call_[A-Za-z]*|CallFunction_[A-Za-z]*|Construct[A-Za-z]*)"
	"( [[]guessed[]])?";

void build_begin_frames(struct build *build)
{
	if (!build->order->all_frames)
		build->glue.rule = prune_rule_new(glue, NULL);
}

void build_end_frames(struct build *build)
{
	build_rule_release(&build->glue);
	vec_release(&build->items);
	vec_release(&build->is_loop);
	vec_release(&build->is_entered);
}

static bool is_whole(const struct entry *entry)
{
	return entry->end == END_ROOT || entry->end == END_NO_ROOT;
}

/*
 * Marks the native frames that functions stand for (SHADOW_PLACED): code that is compiled, and at a call the interpreter's. At the
 * leaf it may be any builtin, whose caller the function is.
 */
static void mark_placed(struct build *build, const struct entry *entry, const struct stack *user,
			const struct shadow_stack *shadow)
{
	for (uint32_t k = 0; k < shadow->nr; k++) {
		uint32_t i = shadow->frames[k].place;

		if (!(shadow->frames[k].entries & SHADOW_PLACED) || i >= user->nr)
			continue;
		build->is_loop.at[i] = i > 0 ||
				       !symbolize_runtime(build->symbolizer, entry->image,
							  user->ips[i], entry->time_ns, false);
	}
}

/* The interpreter that native frame i is in. 0: in none. */
static uint32_t runtime_at(struct build *build, const struct entry *entry, const struct stack *user,
			   uint32_t i)
{
	if (build_is_elided(user, i))
		return 0;
	return symbolize_runtime(build->symbolizer, entry->image, user->ips[i], entry->time_ns,
				 i > 0);
}

/* May a function have its frame before its loop is called? Of PHP and Ruby nothing is called in between; of Perl, others may be. */
static bool may_lack_loop(struct build *build, const struct entry *entry, const struct stack *user)
{
	uint32_t runtime = 0, kind;

	for (uint32_t i = 0; i < user->nr && !runtime; i++) {
		runtime = runtime_at(build, entry, user, i);
		kind = ABI_RUNTIME_KIND(runtime);
		if (kind == ABI_RUNTIME_PERL ||
		    (!i && (kind == ABI_RUNTIME_PHP || kind == ABI_RUNTIME_RUBY)))
			return true;
	}
	return false;
}

/*
 * Native frame i, a loop: was a function called with it? Perl runs an eval { } in a loop of its own, if native code called what it
 * is in (S_docatch()): then no function is between the two loops, but that one.
 */
static bool is_entered(struct build *build, const struct entry *entry, const struct stack *user,
		       uint32_t i)
{
	return i + 2 >= build->is_loop.nr || !build->is_loop.at[i + 2] ||
	       ABI_RUNTIME_KIND(runtime_at(build, entry, user, i + 1)) != ABI_RUNTIME_PERL;
}

static void join(struct build *build, const struct entry *entry, const struct stack *user,
		 const struct shadow_stack *shadow)
{
	struct join_native native = {
		.nr = user->nr, .elided = user->nr, .is_whole = is_whole(entry)};

	native.may_lack_loop = may_lack_loop(build, entry, user);
	build->items.nr = build->is_loop.nr = build->is_entered.nr = 0;
	for (uint32_t i = 0; i < user->nr; i++) {
		bool is_elided = build_is_elided(user, i);

		if (is_elided)
			native.elided = i;
		vec_push(&build->is_loop,
			 !is_elided && symbolize_is_loop(build->symbolizer, entry->image,
							 user->ips[i], entry->time_ns, i > 0));
	}
	mark_placed(build, entry, user, shadow);
	for (uint32_t i = 0; i < user->nr; i++)
		vec_push(&build->is_entered,
			 build->is_loop.at[i] && is_entered(build, entry, user, i));
	native.is_loop = build->is_entered.at;
	builder_count_joined(build->builder, entry, join_stacks(&native, shadow, &build->items));
}

static uint32_t locate_frame(struct build *build, const struct entry *entry,
			     const struct shadow_frame *frame)
{
	bool may_ask = symbolize_has_time(build->symbolizer);
	struct framename name;

	switch (framenames_find(build->builder->options.framenames, entry->tgid, entry->start_ns,
				frame, may_ask, &name)) {
	case FRAMENAME_FOUND:
		return symbolize_frame(build->symbolizer, build->profile, &name);
	case FRAMENAME_NO_TIME:
		return symbolize_note(build->symbolizer, build->profile,
				      "[interpreted function, not looked up]");
	default:
		builder_count_gone(build->builder, entry);
		return symbolize_note(build->symbolizer, build->profile, CODE_IS_GONE);
	}
}

/*
 * Is native frame i a trampoline of CPython? Under -X perf each function has one, in no file, which calls the loop and says once more
 * what the function is called, if anybody has told its name: py::spin:/srv/a.py.
 */
static bool is_trampoline(struct build *build, const struct entry *entry, const struct stack *user,
			  uint32_t i)
{
	const char *text;

	if (!i || !build->is_loop.at[i - 1] ||
	    ABI_RUNTIME_KIND(runtime_at(build, entry, user, i - 1)) != ABI_RUNTIME_PYTHON)
		return false;
	symbolize_user_name(build->symbolizer, entry->image, user->ips[i], entry->time_ns, true,
			    &text);
	return !strncmp(text, "py::", strlen("py::")) || !strncmp(text, "[anon]", strlen("[anon]"));
}

/* Is native frame i one that is left out? */
static bool is_left_out(struct build *build, const struct entry *entry, const struct stack *user,
			uint32_t i)
{
	uint32_t name, runtime;
	const char *text;

	if (build->order->no_native)
		return true;
	if (!build->glue.rule || build_is_elided(user, i))
		return false;
	if (build->is_loop.at[i] || is_trampoline(build, entry, user, i))
		return true;
	runtime = runtime_at(build, entry, user, i);
	if (!runtime)
		return false;
	/* What Perl's loop calls is an operation, such as an addition: others have these in their loops. */
	if (ABI_RUNTIME_KIND(runtime) == ABI_RUNTIME_PERL && i + 1 < user->nr &&
	    build->is_loop.at[i + 1])
		return true;
	if (symbolize_is_inner(build->symbolizer, entry->image, user->ips[i], entry->time_ns,
			       i > 0))
		return true;
	name = symbolize_user_name(build->symbolizer, entry->image, user->ips[i], entry->time_ns,
				   i > 0, &text);
	return build_rule_drops(&build->glue, name, text);
}

/* A frame that says what is missing, or why the frames on its two sides are not joined. */
static uint32_t note(struct build *build, const struct shadow_stack *shadow, enum join_kind kind)
{
	static const char *const ends[] = {
#define X(id, text) text,
		SHADOW_ENDS(X)
#undef X
	};
	const char *end = ends[shadow->end];
	char *text scoped(freep) = end ? xasprintf("[interpreter's stack %s]", end) : NULL;
	const char *shown = text ? text : "[interpreted frames, not paired with native ones]";

	return symbolize_note(build->symbolizer, build->profile,
			      kind == JOIN_ELIDED ? "[... frames elided]" : shown);
}

void build_add_joined(struct build *build, struct entry *entry, const struct stack *user)
{
	const struct shadow_stack *shadow = &build->builder->shadows.at[entry->shadow];

	join(build, entry, user, shadow);
	for (size_t k = 0; k < build->items.nr; k++) {
		struct join_item item = build->items.at[k];

		if (item.kind == JOIN_NATIVE &&
		    (item.i < build->nr_cut || is_left_out(build, entry, user, item.i)))
			continue;
		if (item.kind == JOIN_NATIVE) {
			build_add_user(build, entry, user, item.i);
			continue;
		}
		vec_push(&build->locations,
			 item.kind == JOIN_SHADOW
				 ? locate_frame(build, entry, &shadow->frames[item.i])
				 : note(build, shadow, item.kind));
		vec_push(&build->call_ips, 0);
	}
	entry->nr_joined = entry->nr_taken;
}
