#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man pages: valid mdoc, the options that commands take, and no page that is not there."""
import glob
import os
import re
import shutil
import subprocess

import harness as h

PAGES = sorted(glob.glob(os.path.join(h.ROOT, "doc", "*.1")))


def source(command):
    with open(os.path.join(h.ROOT, "doc", f"cprof-{command}.1"), encoding="utf-8") as file:
        return file.read()


def documented(command):
    """Options that have an entry in the command's page."""
    return {name for entry in re.findall(r"^\.It (Fl .*)", source(command), re.M)
            for name in re.findall(r" -([a-z][a-z0-9-]+)", entry)}


def taken(command):
    """Options that the command's --help shows."""
    text = h.run_cprof(command, "--list-options").stdout
    return {line.split("\t")[0].removeprefix("--") for line in text.splitlines()}


@h.test
def options_are_documented():
    """Every option of --help has an entry, and every entry is an option."""
    for command in ("record", "heap", "check"):
        assert documented(command) == taken(command), (command, documented(command) ^ taken(command))
    # The page of bench refers to check for the options that both take.
    own = documented("bench")
    assert own <= taken("bench") and taken("bench") - own <= taken("check"), own ^ taken("bench")


@h.test
def collecting_commands_have_their_sections():
    """The page of a command that profiles says how, with examples, and what it cannot do."""
    for command in ("record", "heap"):
        found = re.findall(r"^\.Sh (.*)", source(command), re.M)
        for section in ("DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO", "CAVEATS"):
            assert section in found, (command, section, found)


@h.test
def references_exist():
    """A page of cprof that another names is there; cprof(1) names them all."""
    there = {os.path.basename(page).removesuffix(".1") for page in PAGES}
    for page in PAGES:
        with open(page, encoding="utf-8") as file:
            named = set(re.findall(r"^\.Xr (cprof[a-z-]*) 1", file.read(), re.M))
        assert named <= there, (page, named - there)
        if os.path.basename(page) == "cprof.1":
            assert named == there - {"cprof"}, there - named


@h.test
def pages_are_valid():
    """mandoc finds no error."""
    if not shutil.which("mandoc"):
        raise h.Skip("mandoc is not installed")
    lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *PAGES], capture_output=True, text=True,
                          timeout=h.HANGS, check=False)
    assert not lint.returncode and not lint.stdout, lint.stdout + lint.stderr


if __name__ == "__main__":
    h.main()
