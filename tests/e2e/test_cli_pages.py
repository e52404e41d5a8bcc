#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man pages: each has the options that --help of its command has, and no others."""
import os
import re

import harness as h

DOC = os.path.join(h.ROOT, "doc")


def commands():
    said = h.run_cprof("--help").stdout
    return re.findall(r"^  (\w+) ", said, re.M)


def page_of(command):
    with open(os.path.join(DOC, f"cprof-{command}.1"), encoding="utf-8") as file:
        return file.read()


def helped(command):
    """The long options of its --help, without --help itself."""
    said = h.run_cprof(command, "--help").stdout
    return set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", said, re.M)) - {"help"}


def headed(page):
    """The long options that stand at the head of an item of a list, that is where they are explained."""
    found = set()
    for line in re.findall(r"^\.It (.*\bFl\b.*)$", page, re.M):
        found.update(re.findall(r"(?:Fl |, )-([a-z][\w-]+)", line))
    return found


def mentioned(page):
    """The long options that it names anywhere."""
    found = set()
    for line in re.findall(r"^\.(?:It|Op|Fl|Nm|Bq) ?(.*)$|^(\.Fl .*)$", page, re.M):
        found.update(re.findall(r"(?:Fl |, )-([a-z][\w-]+)", " " + "".join(line)))
    found.update(re.findall(r"^\.Fl -([\w-]+)", page, re.M))
    found.update(re.findall(r"Fl -([\w-]+)", page))
    return found


def shared():
    """The options that cprof-top(1) and cprof-check(1) explain for other commands, too."""
    return {"top": headed(page_of("top")), "check": headed(page_of("check"))}


@h.test
def each_option_of_help_is_in_the_man_page():
    common = shared()
    for command in commands():
        page = page_of(command)
        known = mentioned(page)
        for other, names in common.items():
            if f".Xr cprof-{other} 1" in page:
                known |= names
        assert helped(command) <= known, f"{command}: not in its man page: {sorted(helped(command) - known)}"


@h.test
def each_option_of_the_man_page_is_in_help():
    for command in commands():
        extra = headed(page_of(command)) - helped(command) - {"help"}
        assert not extra, f"{command}: only in its man page: {sorted(extra)}"


@h.test
def each_output_format_is_in_the_man_page_of_convert():
    heads = re.findall(r"^\.It Cm ([\w, -]+) Pq", page_of("convert"), re.M)
    explained = [name for head in heads for name in head.split(" , ")]
    assert sorted(h.formats()) == sorted(explained), (h.formats(), explained)

h.main()
