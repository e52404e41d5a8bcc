# SPDX-License-Identifier: BSD-2-Clause
"""The CPythons of this machine whose functions cprof reads: pyenv's, the system's, and those that PYTHONS names (with ':')."""
import functools
import glob
import os

import harness as h

PYENV = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
SYSTEM = "/usr/bin/python3"
OLDEST, NEWEST = (3, 8), (3, 14)
ABOUT = "import sys, sysconfig; print(*sys.version_info[:2], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"


@functools.cache
def about(path):
    """((major, minor), whether it has no GIL)."""
    *version, has_no_gil = map(int, h.run(path, "-c", ABOUT).stdout.split())
    return tuple(version), bool(has_no_gil)


def version_of(path):
    return about(path)[0]


def interpreters():
    """[(version, path)], one a version and way to build: the system's is static, pyenv's are shared."""
    found = {}
    for path in PYENV + [SYSTEM] + [path for path in os.environ.get("PYTHONS", "").split(":") if path]:
        if os.path.exists(path) and OLDEST <= version_of(path) <= NEWEST and not about(path)[1]:
            found.setdefault((version_of(path), path in PYENV), path)
    return [(version, path) for (version, _), path in sorted(found.items())]


def some_interpreters():
    """Of them the oldest, that of the system, and the newest; all with TEST_LONG."""
    found = interpreters()
    if not found:
        raise h.Skip("no Python whose functions cprof reads")
    system = [one for one in found if one[1] == SYSTEM]
    return found if h.IS_LONG else list(dict.fromkeys(found[:1] + system + found[-1:]))
