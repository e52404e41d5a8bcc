// SPDX-License-Identifier: BSD-2-Clause
/*
 * The main object's programs are loaded by then and call through a map of programs, so that the slot of a runtime is all
 * that changes for them. The shared maps are handed to libbpf before the load (bpf_map__reuse_fd()), which then makes none of
 * these names.
 *
 * Their maps have the same names in all kinds, so that one function loads each of them.
 *
 * A layout is written before the entry of a process that names its place (collect/tables.c), and read by that place.
 */
#include "collect/runtimes.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "cprof_abi.h"
#include "perl.skel.h"
#include "php.skel.h"
#include "python.skel.h"
#include "ruby.skel.h"
#include "v8.skel.h"

static const struct kind {
	const char *name, *at_tick, *at_probe; /* its programs */
	const void *(*object)(size_t *len_bytes);
} kinds[ABI_NR_RUNTIMES] = {
	[ABI_RUNTIME_PYTHON] = {"Python", "python_at_tick", "python_at_probe",
				python_bpf__elf_bytes},
	[ABI_RUNTIME_PHP] = {"PHP", "php_at_tick", "php_at_probe", php_bpf__elf_bytes},
	[ABI_RUNTIME_V8] = {"V8", "v8_at_tick", "v8_at_probe", v8_bpf__elf_bytes},
	[ABI_RUNTIME_RUBY] = {"Ruby", "ruby_at_tick", "ruby_at_probe", ruby_bpf__elf_bytes},
	[ABI_RUNTIME_PERL] = {"Perl", "perl_at_tick", "perl_at_probe", perl_bpf__elf_bytes},
};

void runtimes_open(struct runtimes *runtimes, const struct runtimes_maps *maps,
		   struct runtimes_caller caller)
{
	*runtimes = (struct runtimes){
		.maps = *maps, .caller = caller, .places.limit = ABI_MAX_RUNTIMES};
}

void runtimes_release(struct runtimes *runtimes)
{
	for (size_t i = 0; i < ABI_NR_RUNTIMES; i++) {
		bpf_object__close(runtimes->programs[i].object);
		runtimes->programs[i].object = NULL;
	}
	rangealloc_release(&runtimes->places);
}

static int share_map(struct bpf_object *object, const char *name, int fd)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	return map ? bpf_map__reuse_fd(map, fd) : -ENOENT;
}

static const char *name_of_program(const struct runtimes *runtimes, uint32_t kind)
{
	return runtimes->caller.is_tick ? kinds[kind].at_tick : kinds[kind].at_probe;
}

/* Selects the program of an object that programs of the main object can call. */
static struct bpf_program *choose_program(const struct runtimes *runtimes, uint32_t kind,
					  const struct bpf_object *object)
{
	const char *name = name_of_program(runtimes, kind);
	struct bpf_program *chosen = NULL, *program;

	bpf_object__for_each_program(program, object)
	{
		if (!strcmp(bpf_program__name(program), name))
			chosen = program;
		bpf_program__set_autoload(program, program == chosen);
	}
	if (chosen && runtimes->caller.attach_type)
		bpf_program__set_expected_attach_type(chosen, runtimes->caller.attach_type);
	return chosen;
}

static int put_in_place(const struct runtimes *runtimes, uint32_t kind,
			const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);

	return fd < 0 ? fd : bpf_map_update_elem(runtimes->maps.walks_fd, &kind, &fd, BPF_ANY);
}

static int load(struct runtimes *runtimes, enum abi_runtime kind)
{
	struct runtime_program *program = &runtimes->programs[kind];
	struct bpf_object_open_opts options = {.sz = sizeof(options),
					       .object_name = kinds[kind].name};
	size_t len_bytes;
	const void *bytes = kinds[kind].object(&len_bytes);
	struct bpf_program *walk;
	struct bpf_object *object = bpf_object__open_mem(bytes, len_bytes, &options);
	int err;

	if (!object)
		return -errno;
	walk = choose_program(runtimes, kind, object);
	err = walk ? share_map(object, "shadows", runtimes->maps.shadows_fd) : -ENOENT;
	err = err ? err : share_map(object, "events", runtimes->maps.events_fd);
	if (!err && bpf_object__find_map_by_name(object, "scratch_slots"))
		err = share_map(object, "scratch_slots", runtimes->maps.scratch_fd);
	err = err ? err : bpf_object__load(object);
	err = err ? err : put_in_place(runtimes, kind, walk);
	if (err) {
		bpf_object__close(object);
		return err;
	}
	program->object = object;
	program->layouts_fd = bpf_object__find_map_fd_by_name(object, "layouts");
	return 0;
}

static int need(struct runtimes *runtimes, enum abi_runtime kind)
{
	struct runtime_program *program = &runtimes->programs[kind];
	int err;

	if (program->object)
		return 0;
	if (program->is_refused)
		return -ENOTSUP;
	err = load(runtimes, kind);
	if (!err)
		return 0;
	warn("this kernel refuses the BPF program for %s (%s): its functions are not in the "
	     "profile",
	     kinds[kind].name, strerror(-err));
	program->is_refused = true;
	return -ENOTSUP;
}

int runtimes_add(struct runtimes *runtimes, enum abi_runtime kind, const union abi_layout *layout,
		 uint32_t *runtime)
{
	uint32_t place;
	int err = need(runtimes, kind);

	err = err ? err : rangealloc_take(&runtimes->places, 1, &place);
	if (err)
		return err;
	err = bpf_map_update_elem(runtimes->programs[kind].layouts_fd, &place, layout, BPF_ANY);
	if (err) {
		rangealloc_free(&runtimes->places, place, 1);
		return err;
	}
	*runtime = ABI_RUNTIME(kind, place);
	return 0;
}

void runtimes_remove(struct runtimes *runtimes, uint32_t runtime)
{
	if (runtime)
		rangealloc_free(&runtimes->places, ABI_RUNTIME_PLACE(runtime), 1);
}

void runtimes_settle(struct runtimes *runtimes)
{
	rangealloc_settle(&runtimes->places);
}
