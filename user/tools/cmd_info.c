// SPDX-License-Identifier: BSD-2-Clause
/* cprof info: what is in a profile, before any processing. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "cmd.h"
#include "exit.h"
#include "input/input.h"
#include "profile/algebra.h"
#include "tools/load.h"
#include "tools/view.h"

struct label_key {
	uint32_t key;		       /* string */
	size_t nr_strings, nr_numbers; /* different values */
	size_t nr_samples;
};

struct info {
	const char *path;
	size_t file_bytes, inflated_bytes; /* equal where it is not gzip'ed */
	enum input_format format;
	struct profile *profile;
	vec_of(struct label_key) keys;
	vec_of(struct profile_label) values; /* each different one once */
	struct hash key_index, value_index;
};

static void info_release(struct info *info)
{
	profile_free(info->profile);
	vec_release(&info->keys);
	vec_release(&info->values);
	hash_release(&info->key_index);
	hash_release(&info->value_index);
}

/* Labels ------------------------------------------------------------------------------------------ */

static bool same_key(const void *ctx, uint32_t value, const void *key)
{
	const struct info *info = ctx;

	return info->keys.at[value].key == *(const uint32_t *)key;
}

static bool same_value(const void *ctx, uint32_t value, const void *key)
{
	const struct info *info = ctx;
	const struct profile_label *a = &info->values.at[value], *b = key;

	return a->key == b->key && a->str == b->str && a->num == b->num &&
	       a->num_unit == b->num_unit;
}

static struct label_key *key_of(struct info *info, uint32_t key)
{
	uint64_t code = hash_combine(0, key);
	uint32_t i = hash_find(&info->key_index, code, same_key, info, &key);

	if (i == HASH_NONE) {
		i = info->keys.nr;
		vec_push(&info->keys, (struct label_key){.key = key});
		hash_insert(&info->key_index, code, i);
	}
	return &info->keys.at[i];
}

static void count_label(struct info *info, const struct profile_label *label)
{
	struct label_key *key = key_of(info, label->key);
	uint64_t code = hash_combine(hash_combine(label->key, label->str),
				     hash_combine(label->num_unit, label->num));

	key->nr_samples++;
	if (hash_find(&info->value_index, code, same_value, info, label) != HASH_NONE)
		return;
	hash_insert(&info->value_index, code, info->values.nr);
	vec_push(&info->values, *label);
	if (label->str)
		key->nr_strings++;
	else
		key->nr_numbers++;
}

/* Reading ----------------------------------------------------------------------------------------- */

static int read_into(struct info *info, struct input_error *error)
{
	uint8_t *bytes scoped(freep) = NULL, *inflated scoped(freep) = NULL;
	const struct input_limits *limits = &input_default_limits;
	int err = input_load(info->path, limits, &bytes, &info->file_bytes, error);

	if (!err)
		err = input_inflate(bytes, info->file_bytes, limits, &inflated,
				    &info->inflated_bytes, error);
	return err ? err
		   : input_parse(inflated ? inflated : bytes, info->inflated_bytes, limits,
				 &info->profile, &info->format, error);
}

static int info_read(struct info *info)
{
	struct input_error error;
	int err = read_into(info, &error);

	if (err)
		return load_fail(info->path, err, &error);
	vec_for_each(&info->profile->samples, sample)
		for (uint32_t i = 0; i < sample->nr_labels; i++)
			count_label(info, &sample->labels[i]);
	for (uint32_t i = 0; i < info->profile->nr_types; i++)
		load_warn_of_sums(info->profile, i);
	return 0;
}

/* For people -------------------------------------------------------------------------------------- */

static const char *string_of(const struct info *info, uint32_t id)
{
	return strtab_get(&info->profile->strings, id);
}

/* A string of the file, fit for a terminal; in one of a few rotating buffers. */
static const char *shown(const struct info *info, uint32_t id)
{
	static char buffers[4][1024];
	static unsigned int turn;
	char *buffer = buffers[turn++ % 4];

	return text_escape(string_of(info, id), buffer, sizeof(buffers[0]));
}

/* Negative ones, too. */
static const char *number(int64_t value)
{
	static char buffers[4][40];
	static unsigned int turn;
	char *buffer = buffers[turn++ % 4];
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;

	snprintf(buffer, sizeof(buffers[0]), "%s%s", value < 0 ? "-" : "", text_count(magnitude));
	return buffer;
}

/* "" if it is not known. */
static const char *time_text(int64_t time_ns, char *out, size_t out_bytes)
{
	time_t seconds = time_ns / 1000000000;
	struct tm tm;

	out[0] = '\0';
	if (time_ns > 0 && gmtime_r(&seconds, &tm))
		strftime(out, out_bytes, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}

static void print_head(const struct info *info)
{
	const struct profile *profile = info->profile;
	char name[512], when[40];

	printf("%s: %s, %s bytes",
	       strcmp(info->path, "-") ? text_escape(info->path, name, sizeof(name)) : "stdin",
	       input_format_name(info->format), text_count(info->file_bytes));
	if (info->inflated_bytes != info->file_bytes)
		printf(" (%s inflated)", text_count(info->inflated_bytes));
	putchar('\n');
	for (uint32_t i = 0; i < profile->nr_types; i++)
		printf("  %-12s  %s/%s: total %s%s\n", i ? "" : "sample types",
		       shown(info, profile->types[i].type), shown(info, profile->types[i].unit),
		       number(profile_total(profile, i, false)),
		       profile->nr_types > 1 && i == profile_main_type(profile) ? ", shown first"
										: "");
	printf("  period        %s %s/%s\n", number(profile->period),
	       shown(info, profile->period_type.type), shown(info, profile->period_type.unit));
	if (*time_text(profile->time_ns, when, sizeof(when)))
		printf("  time          %s\n", when);
	if (profile->duration_ns)
		printf("  duration      %.3f s\n", profile->duration_ns / 1e9);
	for (size_t i = 0; i < profile->comments.nr; i++)
		printf("  %-12s  %s\n", i ? "" : "comments", shown(info, profile->comments.at[i]));
	if (profile->drop_frames)
		printf("  drop frames   %s\n", shown(info, profile->drop_frames));
	if (profile->keep_frames)
		printf("  keep frames   %s\n", shown(info, profile->keep_frames));
	if (profile->doc_url)
		printf("  doc           %s\n", shown(info, profile->doc_url));
}

static void print_tables(const struct info *info)
{
	const struct profile *profile = info->profile;

	printf("  samples       %s\n", text_count(profile->samples.nr));
	printf("  locations     %s\n", text_count(profile->locations.nr));
	printf("  functions     %s\n", text_count(profile->functions.nr));
	printf("  strings       %s\n", text_count(strtab_nr(&profile->strings)));
	for (size_t i = 0; i < info->keys.nr; i++) {
		const struct label_key *key = &info->keys.at[i];

		printf("  %-12s  %s: ", i ? "" : "labels", shown(info, key->key));
		if (key->nr_strings)
			printf("%s different strings, ", text_count(key->nr_strings));
		if (key->nr_numbers)
			printf("%s different numbers, ", text_count(key->nr_numbers));
		printf("%s times\n", text_count(key->nr_samples));
	}
	for (size_t i = 0; i < profile->mappings.nr; i++) {
		const struct profile_mapping *mapping = &profile->mappings.at[i];

		printf("  %-12s  0x%" PRIx64 "-0x%" PRIx64 " %s%s%s\n", i ? "" : "mappings",
		       mapping->start, mapping->limit, shown(info, mapping->path),
		       mapping->build_id ? ", build id " : "", shown(info, mapping->build_id));
	}
}

/* For programs ------------------------------------------------------------------------------------ */

static void put_head(struct json *json, const struct info *info)
{
	const struct profile *profile = info->profile;

	json_key(json, "file"), json_string(json, info->path);
	json_key(json, "format"), json_string(json, input_format_name(info->format));
	json_key(json, "bytes"), json_int(json, info->file_bytes);
	json_key(json, "inflated_bytes"), json_int(json, info->inflated_bytes);
	json_key(json, "sample_types"), json_array(json);
	for (uint32_t i = 0; i < profile->nr_types; i++) {
		json_object(json);
		json_key(json, "type"), json_string(json, string_of(info, profile->types[i].type));
		json_key(json, "unit"), json_string(json, string_of(info, profile->types[i].unit));
		json_key(json, "total"), json_int(json, profile_total(profile, i, false));
		json_end(json);
	}
	json_end(json);
	json_key(json, "default_type");
	if (profile->nr_types)
		json_string(json, string_of(info, profile->types[profile_main_type(profile)].type));
	else
		json_null(json);
	json_key(json, "period_type"), json_object(json);
	json_key(json, "type"), json_string(json, string_of(info, profile->period_type.type));
	json_key(json, "unit"), json_string(json, string_of(info, profile->period_type.unit));
	json_end(json);
	json_key(json, "period"), json_int(json, profile->period);
	json_key(json, "time_ns"), json_int(json, profile->time_ns);
	json_key(json, "duration_ns"), json_int(json, profile->duration_ns);
	json_key(json, "drop_frames"), json_string(json, string_of(info, profile->drop_frames));
	json_key(json, "keep_frames"), json_string(json, string_of(info, profile->keep_frames));
	json_key(json, "doc_url"), json_string(json, string_of(info, profile->doc_url));
	json_key(json, "comments"), json_array(json);
	vec_for_each(&profile->comments, comment)
		json_string(json, string_of(info, *comment));
	json_end(json);
}

static void put_tables(struct json *json, const struct info *info)
{
	const struct profile *profile = info->profile;

	json_key(json, "samples"), json_int(json, profile->samples.nr);
	json_key(json, "locations"), json_int(json, profile->locations.nr);
	json_key(json, "functions"), json_int(json, profile->functions.nr);
	json_key(json, "strings"), json_int(json, strtab_nr(&profile->strings));
	json_key(json, "labels"), json_array(json);
	vec_for_each(&info->keys, key) {
		json_object(json);
		json_key(json, "key"), json_string(json, string_of(info, key->key));
		json_key(json, "strings"), json_int(json, key->nr_strings);
		json_key(json, "numbers"), json_int(json, key->nr_numbers);
		json_key(json, "times"), json_int(json, key->nr_samples);
		json_end(json);
	}
	json_end(json);
	json_key(json, "mappings"), json_array(json);
	vec_for_each(&profile->mappings, mapping) {
		json_object(json);
		json_key(json, "path"), json_string(json, string_of(info, mapping->path));
		json_key(json, "build_id"), json_string(json, string_of(info, mapping->build_id));
		json_key(json, "start"), json_uint(json, mapping->start);
		json_key(json, "limit"), json_uint(json, mapping->limit);
		json_key(json, "offset"), json_uint(json, mapping->file_off);
		json_end(json);
	}
	json_end(json);
}

static enum exit_code show(const char *path, struct json *json)
{
	struct info info scoped(info_release) = {.path = path};

	if (info_read(&info))
		return EXIT_USAGE;
	if (!json) {
		print_head(&info);
		print_tables(&info);
		return EXIT_DONE;
	}
	json_object(json);
	put_head(json, &info);
	put_tables(json, &info);
	json_end(json);
	return EXIT_DONE;
}

int cmd_info(int argc, char **argv)
{
	static const struct view_command command = {
		.name = "info",
		.about = "Show what profiles contain: format, sample types and their totals, "
			 "period, time, counts, "
			 "labels and mappings. - is stdin.",
		.epilog = "Exit codes: 0 success, 2 usage error or a file cannot be read.",
		.show = show,
	};

	return view_command_run(&command, argc, argv);
}
