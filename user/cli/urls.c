// SPDX-License-Identifier: BSD-2-Clause
/* sudo(8) drops variables, which is the usual reason why one that the user has set is not there. */
#include "cli/urls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int urls_find(const char *option, const char *given, const char *variable, const char **urls)
{
	const char *found = strcmp(given, "-") != 0 ? given : getenv(variable);

	if (!found || !*found)
		return fail(-EINVAL, "%s: %s is not set (sudo drops it): give %s=URL.", option,
			    variable, option);
	if (!strstr(found, "http://") && !strstr(found, "https://"))
		return fail(-EINVAL, "%s: no URL begins with http:// or https://.", option);
	*urls = found;
	return 0;
}
