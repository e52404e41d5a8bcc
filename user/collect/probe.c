// SPDX-License-Identifier: BSD-2-Clause
/* One line for the first check that fails: the later ones may fail for the same reason. */
#include "collect/probe.h"

#include <errno.h>

#include "base/log.h"

int probe_kernel(unsigned int uses, struct kernel_features *features)
{
	struct machine_finding finding;

	if (machine_first_refusal(uses, features, &finding))
		return fail(finding.lacks_kernel ? -ENOTSUP : -EPERM, "%s: %s.", finding.why,
			    finding.remedy);
	detail("kernel: kernel reads %d, current task BTF %d, task_pt_regs %d, attach cookie %d, "
	       "map allocator %d, uprobe multi %d, "
	       "uprobe session %d",
	       features->kernel_reads, features->current_task_btf, features->task_pt_regs,
	       features->attach_cookie, features->map_allocator, features->uprobe_multi,
	       features->uprobe_session);
	machine_check_named("lockdown", &finding);
	if (finding.verdict == MACHINE_LOSS && finding.uses & uses)
		warn("%s: %s.", finding.why, finding.remedy);
	return 0;
}
