// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads profiles and writes them again, many in one process, so that 10,000 of them take seconds:
 *
 *	reencode IN OUT [IN OUT]...	each IN as gzip'ed pprof to OUT
 *	reencode -d INDIR OUTDIR	each file of a folder, under its name
 *
 * Comments name no frames, as they do not for pprof.
 *
 * A line for each file that cannot be read: "path: message", and exit code 2 then.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "input/input.h"
#include "output/pprof.h"

static int write_to(void *ctx, const void *bytes, size_t len_bytes)
{
	return fwrite(bytes, 1, len_bytes, ctx) == len_bytes ? 0 : -1;
}

static int reencode(const char *in, const char *out)
{
	struct input_limits limits = input_default_limits;
	struct profile *profile;
	struct input_error error;
	FILE *file;
	int err;

	limits.names = false;
	err = input_read(in, &limits, &profile, NULL, &error);

	if (err) {
		printf("%s: %s\n", in, error.message);
		return err;
	}
	file = fopen(out, "wb");
	err = file ? pprof_encode(profile, write_to, file) : -1;
	if (file && fclose(file))
		err = -1;
	if (err)
		printf("%s: cannot be written\n", out);
	profile_free(profile);
	return err;
}

static int reencode_folder(const char *in, const char *out)
{
	DIR *dir = opendir(in);
	int err = dir ? 0 : -1;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		char from[4096], to[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(from, sizeof(from), "%s/%s", in, entry->d_name);
		snprintf(to, sizeof(to), "%s/%s", out, entry->d_name);
		if (reencode(from, to))
			err = -1;
	}
	if (dir)
		closedir(dir);
	return err;
}

int main(int argc, char **argv)
{
	int err = 0;

	if (argc == 4 && !strcmp(argv[1], "-d"))
		return reencode_folder(argv[2], argv[3]) ? 2 : 0;
	for (int i = 1; i + 1 < argc; i += 2)
		if (reencode(argv[i], argv[i + 1]))
			err = -1;
	return err ? 2 : 0;
}
