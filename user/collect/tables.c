// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writers never change what a reader may be reading: a new run of vmas or a new table is written
 * where nobody looks, then made visible by one small update, that of the process's entry, and what it replaces rests
 * for two grace periods (rangealloc.h).
 *
 * The fence before that update is all the order that there is on this side. BPF's is that of dependencies: the entry says where
 * the vmas are, a vma which table it has, a table where its pages are, a page where its rows are. Each is the index of the next
 * load, so no CPU makes one before the other, and no program may come to one of them by another way.
 */
#include "collect/tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/alloc.h"
#include "base/log.h"

#define SLAB_BYTES (ABI_SLAB_WORDS * sizeof(uint32_t))

/* Rows go in blocks of at most this many words, so that large tables find room in used slabs. */
#define BLOCK_WORDS 32768

_Static_assert(BLOCK_WORDS >= UNWIND_PAGE_MAX_ROWS, "a page's rows fit into a block");

static void *map_shared(int fd, size_t len_bytes)
{
	void *memory = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int tables_open(struct tables *tables, int processes_fd, int vmas_fd, int tables_fd, int slabs_fd)
{
	tables->processes_fd = processes_fd;
	tables->slabs_fd = slabs_fd;
	tables->vma_space.limit = ABI_MAX_VMAS;
	tables->table_space.limit = ABI_MAX_TABLES;
	tables->word_space.limit = (uint32_t)ABI_MAX_SLABS * ABI_SLAB_WORDS;
	tables->word_space.boundary = ABI_SLAB_WORDS;
	tables->vmas = map_shared(vmas_fd, ABI_MAX_VMAS * sizeof(*tables->vmas));
	tables->tables = map_shared(tables_fd, ABI_MAX_TABLES * sizeof(*tables->tables));
	if (!tables->vmas || !tables->tables)
		return fail(-errno, "cannot map the unwind tables");
	return 0;
}

void tables_release(struct tables *tables)
{
	if (tables->vmas)
		munmap(tables->vmas, ABI_MAX_VMAS * sizeof(*tables->vmas));
	if (tables->tables)
		munmap(tables->tables, ABI_MAX_TABLES * sizeof(*tables->tables));
	vec_for_each(&tables->slabs, slab)
		munmap(*slab, SLAB_BYTES);
	vec_for_each(&tables->stored, stored)
		vec_release(&stored->words);
	vec_release(&tables->slabs);
	vec_release(&tables->stored);
	rangealloc_release(&tables->vma_space);
	rangealloc_release(&tables->table_space);
	rangealloc_release(&tables->word_space);
}

/* Makes slabs until there is one with this number. */
static int add_slabs(struct tables *tables, uint32_t number)
{
	struct bpf_map_create_opts opts = {.sz = sizeof(opts), .map_flags = BPF_F_MMAPABLE};

	while (tables->slabs.nr <= number) {
		uint32_t i = tables->slabs.nr;
		int fd scoped(closep) = bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t),
						       SLAB_BYTES, 1, &opts);
		void *memory;

		if (fd < 0)
			return fd;
		memory = map_shared(fd, SLAB_BYTES);
		if (!memory)
			return -errno;
		vec_push(&tables->slabs, memory);
		if (bpf_map_update_elem(tables->slabs_fd, &i, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

static uint32_t *word_at(struct tables *tables, uint32_t word)
{
	return tables->slabs.at[word / ABI_SLAB_WORDS] + word % ABI_SLAB_WORDS;
}

/* Room for nr words in one slab, noted as the table's. */
static int take_words(struct tables *tables, struct stored_table *stored, uint32_t nr, uint32_t *at)
{
	int err = rangealloc_take(&tables->word_space, nr, at);

	if (err)
		return err;
	vec_push(&stored->words, (struct range){*at, nr});
	return add_slabs(tables, *at / ABI_SLAB_WORDS);
}

/* How many pages from first on have their rows in one block. At least one. */
static uint32_t pages_in_block(const struct table_image *image, uint32_t first)
{
	uint32_t i = first + 1;

	while (i < image->nr_pages && image->pages[i + 1] - image->pages[first] <= BLOCK_WORDS)
		i++;
	return i - first;
}

/* The rows, block by block, and for each page where they went. */
static int copy_rows(struct tables *tables, struct stored_table *stored,
		     const struct table_image *image, uint32_t pages_at)
{
	for (uint32_t page = 0, nr; page < image->nr_pages; page += nr) {
		uint32_t first_row, nr_rows, at;
		int err;

		nr = pages_in_block(image, page);
		first_row = image->pages[page];
		nr_rows = image->pages[page + nr] - first_row;
		err = take_words(tables, stored, nr_rows, &at);
		if (err)
			return err;
		memcpy(word_at(tables, at), image->rows + first_row, nr_rows * sizeof(uint32_t));
		for (uint32_t i = page; i < page + nr; i++) {
			uint32_t *entry = word_at(tables, pages_at + 2 * i);

			entry[0] = at + image->pages[i] - first_row;
			entry[1] = image->pages[i + 1] - image->pages[i];
		}
	}
	return 0;
}

static int copy_table(struct tables *tables, struct stored_table *stored,
		      const struct table_image *image)
{
	struct abi_table table = {.start = image->start,
				  .nr_pages = image->nr_pages,
				  .nr_extended = image->nr_extended};
	int err = take_words(tables, stored, 2 * image->nr_pages, &table.pages_at);

	if (!err)
		err = take_words(tables, stored, 4 * image->nr_extended, &table.extended_at);
	if (!err)
		err = copy_rows(tables, stored, image, table.pages_at);
	if (err)
		return err;
	memcpy(word_at(tables, table.extended_at), image->extended, 16ul * image->nr_extended);
	tables->tables[stored->id] = table;
	return 0;
}

static void drop(struct tables *tables, struct stored_table *stored)
{
	vec_for_each(&stored->words, range)
		rangealloc_free(&tables->word_space, range->at, range->nr);
	vec_release(&stored->words);
	rangealloc_free(&tables->table_space, stored->id, 1);
}

int tables_add(struct tables *tables, const struct table_image *image, uint32_t *id)
{
	struct stored_table stored = {0};
	int err;

	if (!image->nr_pages || !image->nr_extended)
		return -EINVAL;
	if (2 * image->nr_pages > ABI_SLAB_WORDS || 4 * image->nr_extended > ABI_SLAB_WORDS)
		return -EFBIG;
	err = rangealloc_take(&tables->table_space, 1, &stored.id);
	if (err)
		return err;
	err = copy_table(tables, &stored, image);
	if (err) {
		drop(tables, &stored);
		return err;
	}
	*id = stored.id;
	vec_push(&tables->stored, stored);
	return 0;
}

void tables_remove(struct tables *tables, uint32_t id)
{
	for (size_t i = 0; i < tables->stored.nr; i++) {
		if (tables->stored.at[i].id != id)
			continue;
		drop(tables, &tables->stored.at[i]);
		tables->stored.at[i] = tables->stored.at[--tables->stored.nr];
		return;
	}
}

int tables_set_process(struct tables *tables, uint32_t tgid, const struct unwind_vma *vmas,
		       uint32_t nr, uint32_t runtime, struct jvm_counters counters,
		       struct vma_run *run)
{
	struct abi_process process = {.nr_vmas = nr < ABI_MAX_PROCESS_VMAS ? nr
									   : ABI_MAX_PROCESS_VMAS,
				      .runtime = runtime,
				      .unloads_at = counters.unloads_at,
				      .collections_at = counters.collections_at};
	int err = nr ? rangealloc_take(&tables->vma_space, process.nr_vmas, &process.first_vma) : 0;

	if (err)
		return err;
	for (uint32_t i = 0; i < process.nr_vmas; i++)
		tables->vmas[process.first_vma + i] = (struct abi_vma){
			.start = vmas[i].start,
			.limit = vmas[i].limit,
			.bias = vmas[i].bias,
			.table = vmas[i].table,
			.flags = vmas[i].gap_by_fp ? ABI_VMA_GAP_BY_FP : 0,
		};
	__atomic_thread_fence(__ATOMIC_RELEASE); /* tables, layouts and vmas before the entry */
	err = bpf_map_update_elem(tables->processes_fd, &tgid, &process, BPF_ANY);
	if (err) {
		rangealloc_free(&tables->vma_space, process.first_vma, process.nr_vmas);
		return err;
	}
	rangealloc_free(&tables->vma_space, run->at, run->nr);
	*run = (struct vma_run){process.first_vma, process.nr_vmas};
	return 0;
}

void tables_remove_process(struct tables *tables, uint32_t tgid, struct vma_run *run)
{
	bpf_map_delete_elem(tables->processes_fd, &tgid);
	rangealloc_free(&tables->vma_space, run->at, run->nr);
	*run = (struct vma_run){0};
}

void tables_settle(struct tables *tables)
{
	rangealloc_settle(&tables->vma_space);
	rangealloc_settle(&tables->table_space);
	rangealloc_settle(&tables->word_space);
}
