#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page of cprof flame: callers and callees of a function, filters, links, and the way to the raw file.

`go tool pprof -peek` is the judge of callers, callees and their values.
"""
import os
import re
import subprocess
import sys
import xml.dom.minidom

import browser
import harness as h
from flamepage import (flame, opened, shown, built, recorded, box, click, button, text, choose, search,
                       table, STACKS, TYPES, BASE, HEAD)


def pivot(page, name):
    """Its callers and callees, as one gets there: the function in the table, then a key."""
    page.js(f"""(() => {{ const row = [...document.querySelectorAll('#table tbody tr')].find(r => r.cells[2].textContent === {name!r});
        row.focus(); }})()""")
    page.key("p")
    page.settle()
    assert text(page, "pivot-name") == name, text(page, "pivot-name")


def edges(page):
    """({caller: value}, {callee: value}) of the function that is shown, and what is in itself."""
    found = page.js("""[page.sandwich.callersTable, page.sandwich.calleesTable].map(table => [...table.tBodies[0].rows]
        .map(row => row.cells[1].textContent))""")
    values = page.js("""(() => { const { callers, callees } = page.profile.edgesOf(page.sandwich.frame, page.measure.head);
        return [callers, callees].map(map => [...map].map(([frame, value]) => [page.profile.name(frame), value])); })()""")
    for names, pairs in zip(found, values):
        assert set(names) - {"(itself)", "(begins here)"} == {name for name, value in pairs if value}, (names, pairs)
    return tuple({name: value for name, value in pairs if value} for pairs in values)


def peeked(path, name, kind="samples"):
    """The same by pprof: callers, callees, flat, cum."""
    out = subprocess.run(h.pprof("-symbolize=none", f"-peek=^{re.escape(name)}$", f"-sample_index={kind}", "-unit=count", path),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout
    callers, callees, own = {}, {}, None
    for line in out.splitlines():
        if match := re.fullmatch(r" *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +\| (\S.*)", line):
            own = int(match[1]), int(match[2])
            assert match[3] == name, line
        elif match := re.fullmatch(r" *(\d+) +[\d.]+% \|   (\S.*)", line):
            (callees if own else callers)[match[2].removesuffix(" (inline)")] = int(match[1])
    assert own, out
    return callers, callees, own


RECURSIVE = {"main;f;g;f;h": [5], "main;f;f;g": [3], "main;g;f": [2], "start;f;h;f": [7], "f;g": [4], "main;h": [9]}


@h.test
def callers_and_callees_are_those_of_pprof():
    path = built(RECURSIVE)
    with shown(path) as page:
        for name in ("f", "g", "h", "main"):
            pivot(page, name)
            callers, callees, (flat, cum) = peeked(path, name)
            assert edges(page) == (callers, callees), (name, edges(page), callers, callees)
            tree = "page.sandwich.callees.tree"
            assert page.js(f"[{tree}.head(0), page.sandwich.callers.tree.head(0)]") == [cum, cum], name
            facts = text(page, "pivot-facts")
            assert facts.startswith(f"{cum} in and below, ") and facts.endswith(f"{flat} itself"), facts
            page.key("Escape")
            page.settle()
    path, profile = recorded()
    cums = h.by_function(profile, "samples")
    names = sorted(cums, key=cums.get)[-6:]
    with shown("--sample-type", "samples", path) as page:
        for name in names:
            pivot(page, name)
            assert edges(page) == peeked(path, name)[:2], name


@h.test
def shows_a_function_wherever_it_is_called():
    with shown(built(STACKS, TYPES)) as page:
        click(page, "work")
        click(page, "parse")
        button(page, "pivot-open")
        assert text(page, "pivot-name") == "parse" and page.js("document.getElementById('graph').hidden")
        assert text(page, "pivot-facts") == "65 B in and below, 48.1 % of all, 25 B itself", text(page, "pivot-facts")
        names = """(half => page.sandwich[half].rows.flat().map(({ id }) => {
            const { tree } = page.sandwich[half]; return `${page.profile.name(tree.frame(id))} ${tree.head(id)}`; }).sort().join())"""
        assert page.js(f"{names}('callers')") == "idle 5,main 5,main 60,parse 65,work 60"
        assert page.js(f"{names}('callees')") == "parse 65,read 40"
        # From function to function: a row of the callers, then one of the callees, by mouse and by keys.
        page.js("[...document.querySelectorAll('#callers-table tbody tr')].find(r => r.cells[1].textContent === 'work').click()")
        assert text(page, "pivot-name") == "work"
        page.js("document.querySelector('#callees-table tbody tr').focus()")
        page.key("ArrowDown")
        page.key("Enter")
        assert text(page, "pivot-name") == "parse"
        # A sample type, a search and another view go on from there.
        page.key("1")
        page.settle()
        assert text(page, "pivot-facts").startswith("9 in and below")
        search(page, "read")
        assert page.js("page.sandwich.callees.matches.reduce((a, b) => a + b)") == 1
        page.key("Escape")
        page.js("document.getElementById('callees').focus()")
        page.key("ArrowDown")
        page.settle()
        assert text(page, "callees-at").startswith("read, 4"), text(page, "callees-at")
        page.key("p")
        page.settle()
        assert text(page, "pivot-name") == "read"
        page.key("Escape")
        page.settle()
        assert not page.js("document.getElementById('graph').hidden") and text(page, "trail").endswith("parse"), "the zoom is lost"
    with shown("--base", built(BASE), built(HEAD)) as page:
        pivot(page, "main")
        found = page.js("[...document.querySelectorAll('#callees-table tbody tr')].map(r => r.textContent)")
        assert found[0].startswith("+60") and any(row.startswith("−30") and row.endswith("gone") for row in found), found


@h.test
def a_function_is_in_sight_between_its_callers_and_callees():
    stacks = {";".join(f"up{i}" for i in range(60)) + ";middle;" + ";".join(f"down{i}" for i in range(60)): [3]}
    for size in ({"width": 1280, "height": 800}, {"width": 390, "height": 800, "touch": True}):
        with shown(built(stacks), **size) as page:
            page.js("page.pivot([...page.table.frames].find(frame => page.profile.name(frame) === 'middle'))")
            page.settle()
            page.settle()
            assert page.js("page.sandwich.graphs.map(graph => graph.isInSight(0))") == [True, True], size
            assert page.js("document.documentElement.scrollWidth") <= size["width"]


LABELLED = {"main;work | thread=io pid=7": [4], "main;work | thread=cpu pid=7": [10], "main;idle | thread=cpu pid=8": [5],
            "main;work;deep | thread=<b>x pid=8 user=a:b": [20], "main;idle": [1]}


def keep(page, key, value):
    """Chooses it in the list."""
    page.js(f"""(() => {{ const option = [...document.querySelectorAll('#filter optgroup')].find(g => g.label === {key!r})
        .querySelectorAll('option'); const wanted = [...option].find(o => o.textContent.startsWith({value!r} + '  '));
        const select = document.getElementById('filter'); select.value = wanted.value; select.dispatchEvent(new Event('change')); }})()""")
    page.settle()


def total(page):
    return page.js("page.measure.total")


@h.test
def filters_by_any_label():
    with shown(built(LABELLED)) as page:
        groups = page.js("[...document.querySelectorAll('#filter optgroup')].map(g => [g.label, [...g.children].map(o => o.textContent)])")
        assert dict(groups) == {"thread": ["<b>x  50.0 %", "cpu  37.5 %", "io  10.0 %", "(none)  2.50 %"],
                                "pid": ["8  62.5 %", "7  35.0 %", "(none)  2.50 %"], "user": ["a:b  50.0 %", "(none)  50.0 %"]}, groups
        keep(page, "thread", "cpu")
        assert total(page) == 15 and "15 of 40 (37.5 %)" in text(page, "facts"), text(page, "facts")
        assert table(page)["work"] == (10, 10) and table(page)["deep"] == (0, 0)
        keep(page, "pid", "7")
        assert total(page) == 10, "two keys do not cut down"
        keep(page, "thread", "io")
        assert total(page) == 14, "two values of a key do not add up"
        # Together with a search, a zoom, callers and callees.
        assert search(page, "work").startswith("100 %")
        page.key("Escape")
        click(page, "work")
        assert box(page, "work")[2] == box(page, "all")[2]
        pivot(page, "work")
        assert text(page, "pivot-facts").startswith("14 in and below, 100 % of all")
        page.key("Escape")
        keep(page, "thread", "<b>x")
        assert page.js("[...document.querySelectorAll('#filters button')].map(b => b.textContent)") == [
            "thread: cpu", "pid: 7", "thread: io", "thread: <b>x"]
        page.js("document.querySelectorAll('#filters button')[1].click()")
        assert total(page) == 39
        button(page, "reset")
        assert total(page) == 40 and text(page, "filters") == ""
        keep(page, "user", "a:b")
        keep(page, "pid", "7")
        assert text(page, "empty") == "No sample has all of these labels."
    with shown("--base", built({"main;f | thread=a": [5], "main;g | thread=b": [3]}), built({"main;f | thread=a": [7], "main;g | thread=b": [1]})) as page:
        keep(page, "thread", "b")
        assert page.js("[page.measure.head[0], page.measure.base[0]]") == [1, 3]
    with shown(built(STACKS, TYPES)) as page:
        assert page.js("document.getElementById('filter-field').hidden"), "there is nothing to filter by"


@h.test
def labels_without_end_are_bounded():
    stacks = {f"main;f{i % 50} | request=r{i} thread=t{i % 3} size={i} x={i % 149} y={i // 149}": [1 + i % 7] for i in range(20000)}
    path, html = built(stacks), os.path.join(h.folder(), "x.html")
    flame(path, "-o", html)
    assert os.path.getsize(html) < 1 << 20, os.path.getsize(html)
    with opened(html) as page:
        assert "very many labels" in text(page, "facts")
        keep(page, "thread", "t1")
        assert total(page) == sum(1 + i % 7 for i in range(20000) if i % 3 == 1)


@h.test
def filters_threads_of_a_recording():
    run = h.cprof("record", "-t", "-F", "999", "--", h.workload("threads")).wait()
    profile = run.profile()
    by_tid = {}
    for sample in profile["samples"]:
        tid = str(sample["labels"]["tid"])
        by_tid[tid] = by_tid.get(tid, 0) + sample["values"]["samples"]
    with shown("--sample-type", "samples", run.output) as page:
        for tid, count in by_tid.items():
            button(page, "reset")
            keep(page, "tid", tid)
            assert total(page) == count, tid


@h.test
def a_link_restores_what_is_shown():
    path, html = built(LABELLED | {"main;work;x;y": [9]}), os.path.join(h.folder(), "x.html")
    flame(path, "-o", html)
    what = "[page.choices, page.graph.isFlame, document.getElementById('search').value, document.getElementById('found').textContent," \
           " document.getElementById('trail').textContent, document.getElementById('filters').textContent]"
    with opened(html) as page:
        page.grant("clipboardReadWrite", "clipboardSanitizedWrite")
        keep(page, "thread", "<b>x")
        keep(page, "user", "a:b")
        keep(page, "thread", "(none)")
        search(page, "work|&=#%")
        page.js("document.activeElement.blur()")
        page.key("f")
        choose(page, "colour", "package")
        click(page, "work")
        click(page, "deep")
        page.key("l")
        page.settle()
        link, shown_then = page.js("navigator.clipboard.readText()"), page.js(what)
        assert text(page, "link") == "Copied" and link.startswith("file://") and shown_then[4].endswith("deep"), (link, shown_then)
        pivot(page, "work")
        page.key("l")
        pivoted = page.js("navigator.clipboard.readText()")
        page.key("Escape")
        page.key("Escape")
        page.key("Escape")
        button(page, "reset")
        page.js(f"location.hash = {link.partition('#')[2]!r}")
        page.settle()
        assert page.js(what) == shown_then, "pasted into the same page"
    with opened(html, "#" + link.partition("#")[2]) as page:
        assert page.js(what) == shown_then, (page.js(what), shown_then)
        page.js("page.link.noteNow()")
        assert page.js("location.href") == link, "it makes another link of itself"
        page.key("Escape")
        page.key("Escape")
        page.js("page.link.noteNow()")
        assert "zoom" not in page.js("location.href") and "search" not in page.js("location.href")
    with opened(html, "#" + pivoted.partition("#")[2]) as page:
        assert text(page, "pivot-name") == "work"
    for inverted in ("", "&view=inverted"):
        flame(built(STACKS, TYPES), "-o", html)
        with opened(html, "#type=samples" + inverted) as page:
            click(page, "parse", "undefined")
            page.js("page.link.noteNow()")
            zoomed, link = text(page, "trail"), page.js("location.hash")
        with opened(html, link) as page:
            assert text(page, "trail") == zoomed and "samples 10" in text(page, "facts"), (link, text(page, "trail"))
    with opened(html) as page:
        page.js("page.link.noteNow()")
        assert page.js("location.hash") == "", "an untouched page has a long address"


@h.test
def a_link_of_anybody_does_no_harm():
    html = os.path.join(h.folder(), "x.html")
    flame(built(LABELLED), "-o", html)
    for link in ("#type=__proto__&view=x&zoom=zz.-1.e.NaN&pivot=zzzzz&of=5", "#tag=thread:none&tag=nokey:1&tag=:&tag=user:a:b&search=%3Cimg%20src=x%3E",
                 "#search=" + "(a%2B)%2B" * 300, "#%ff%00=&&&=&zoom=" + "1." * 20000 + "&of=6", "#constructor=1&colour=change&width=base&normalized=yes"):
        with opened(html, link) as page:
            assert page.js("document.querySelectorAll('img').length") == 0
            assert total(page) == (20 if "user" in link else 40), link
            assert page.js("document.getElementById('search').value.length") <= 500


@h.test
def says_how_to_get_the_raw_file():
    folder = h.folder()
    path = os.path.join(folder, "-it's <b>; $(touch x).pb.gz")
    with open(path, "wb") as to, open(built(STACKS | {"main;a;b\tc;": [2, 1]}, TYPES), "rb") as file:
        to.write(file.read())
    html = os.path.join(folder, "x.html")
    h.run_cprof("flame", "--sample-type", "samples", "-o", "x.html", "--", os.path.basename(path), cwd=folder, text=False)
    with opened(html) as page:
        click(page, "parse")
        button(page, "raw-open")
        assert os.path.basename(path) in text(page, "raw-files"), text(page, "raw-files")
        commands = page.js("[...document.querySelectorAll('#raw-commands code')].map(c => c.textContent)")
        assert [command.split()[1] for command in commands] == ["top", "peek", "tool"], commands
        for command in commands[:2]:
            said = subprocess.run(["sh", "-c", command.replace("cprof ", h.CPROF + " ", 1)], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            assert said.returncode == 0 and "parse" in said.stdout, (command, said.stderr)
        assert sorted(os.listdir(folder)) == sorted([os.path.basename(path), "x.html"]), "a name was run by the shell"
        page.js("window.blobs = []; URL.createObjectURL = blob => { blobs.push(blob); return 'about:blank'; };"
                " HTMLAnchorElement.prototype.click = function () { window.downloaded = this.download; }")
        button(page, "raw-download")
        folded = page.js("blobs[0].text()")
        assert page.js("downloaded") == "samples.folded"
    h.run_cprof("flame", "-o", "x.svg", "--", os.path.basename(path), cwd=folder, text=False)
    described = xml.dom.minidom.parse(os.path.join(folder, "x.svg")).getElementsByTagName("desc")[0].firstChild.data
    assert described.endswith(" " + os.path.basename(path)), described
    expected = os.path.join(folder, "y.folded")
    h.run_cprof("convert", "--sample-type", "samples", "-o", expected, "--", path, cwd=folder, text=False)
    with open(expected, encoding="utf-8") as file:
        assert sorted(folded.splitlines()) == sorted(file.read().splitlines()), folded
    with shown("--base", built(BASE), built(HEAD)) as page:
        button(page, "raw-open")
        assert "(base)" in text(page, "raw-files") and "cprof diff" in text(page, "raw-commands")
    made = os.path.join(folder, "run.html")
    h.run_cprof("record", "-F", "999", "-o", made, "--", h.workload("hot"), "1",
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=False)
    with opened(made) as page:
        button(page, "raw-open")
        assert "-o x.pb.gz" in text(page, "raw-files") and text(page, "raw-commands") == ""


if not browser.path():
    print("# chromium is not installed (scripts/setup.sh all): the pages are not looked at", file=sys.stderr)
h.main()
