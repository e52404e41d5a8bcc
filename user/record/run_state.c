// SPDX-License-Identifier: BSD-2-Clause
/* What several steps of a run ask about it. */
#include "record/run_state.h"

#include "base/vec.h"
#include "output/file.h"

bool run_is_everybody(const struct run *run)
{
	return run->options->all && !targetset_judges(&run->targetset);
}

bool run_writes_to_stdout(const struct options *options)
{
	vec_for_each(&options->targets, target)
		if (target->file && output_is_stdout(target->file))
			return true;
	return false;
}

bool run_is_time_up(void *ctx)
{
	return workbudget_is_over(ctx);
}
