#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cprof flame: the page in a real browser, used as people use it, and what it says against the files.

Every page that is opened must ask the network for nothing but itself and have no word on its console.
What a function costs is computed from the file by tests/contract.py, or said by `go tool pprof`.
"""
import os
import random
import re
import subprocess
import sys
import time
import xml.dom.minidom

import browser
import harness as h
from flamepage import (flame, opened, shown, built, recorded, box, row, click, button, text, choose, search,
                       percent, table, rows, STACKS, TYPES, ODD_UNIT, BASE, HEAD)

HOSTILE = ["</script><img src=x onerror=alert(1)>", "<!--<script>", "a\"b'c&amp", "\x1b[31mred\x07",
           "\u202eevil", "\u2028line", "名前::メソッド", "]]></script></svg>", "${alert(1)}", "\uffff"]


def escaped(name):
    """As base/text.h shows what would work on the reader: control characters, right-to-left overrides."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
                  lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode()), name)


@h.test
def says_what_the_file_says():
    path, profile = recorded()
    with shown(path) as page:
        assert text(page, "title").startswith("hot ("), text(page, "title")
        assert "taken" in text(page, "accounts"), text(page, "accounts")
        for type_index, kind in enumerate(profile["types"]):
            choose(page, "type", str(type_index))
            flat, cum, seen = h.by_leaf(profile, kind), h.by_function(profile, kind), table(page)
            for name, (flat_seen, cum_seen) in seen.items():
                assert (flat_seen, cum_seen) == (flat.get(name, 0), cum[name]), (kind, name)
            assert set(cum) == set(seen)
            for names in (["hot_a"], ["hot_b"], ["hot_a", "hot_b"], ["main"]):
                shown_share = percent(search(page, f"^({'|'.join(names)})$"))
                h.near(shown_share, 100 * h.share(profile, kind, *names), 0.01, f"share of {names}")


@h.test
def agrees_with_pprof():
    path, _ = recorded()
    top = subprocess.run(h.pprof("-top", "-sample_index=samples", "-nodecount=5", path),
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    lines = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.+)$", top, re.M)
    assert lines, top
    with shown("--sample-type", "samples", path) as page:
        seen = table(page)
        for flat, cum, name in lines:
            assert seen[name] == (int(flat), int(cum)), (name, seen[name], flat, cum)
        assert rows(page)[0][2] == lines[0][2], "the table is sorted otherwise"


@h.test
def zooms_and_comes_back():
    with shown(built(STACKS, TYPES)) as page:
        whole = box(page, "all")[2]
        click(page, "work")
        assert box(page, "work")[2] == whole and text(page, "trail").endswith("main›work")
        assert "idle" not in page.js("page.graph.rows.flat().map(b => page.profile.name(page.graph.tree.frame(b.id))).join()")
        click(page, "parse")
        assert text(page, "trail").endswith("work›parse")
        page.js("document.getElementById('graph').focus()")
        page.key("Backspace")
        page.settle()
        assert text(page, "trail").endswith("main›work"), text(page, "trail")
        page.js("document.querySelector('#trail button').click()")
        page.settle()
        assert text(page, "trail") == "" and box(page, "work")[2] < whole
        click(page, "idle")
        button(page, "reset")
        assert text(page, "trail") == "", "Reset does not zoom out"
    with shown(built(STACKS, TYPES), reduced_motion=False) as page:
        whole = box(page, "all")[2]
        click(page, "work")
        end = time.monotonic() + h.HANGS
        while box(page, "work")[2] != whole and time.monotonic() < end:
            page.settle()
        assert box(page, "work")[2] == whole, "a zoom that moves does not arrive"


@h.test
def tells_all_about_a_box():
    with shown(built(STACKS, TYPES)) as page:
        x, y, _ = box(page, "parse")
        page.move(x, y)
        page.settle()
        tip = text(page, "tip")
        for part in ("parse", "/src/app.c:", "/bin/app", "60 B", "44.4 %", "46.2 %", "20 B"):
            assert part in tip, f"{part} is not in {tip}"
        page.move(5, 5)
        page.settle()
        assert page.js("document.getElementById('tip').hidden")


@h.test
def switches_the_sample_type():
    with shown(built(STACKS, TYPES)) as page:
        assert "135 B" in text(page, "facts") and "write" == rows(page)[0][2]
        page.key("1")
        page.settle()
        assert "samples 10" in text(page, "facts") and "parse" == rows(page)[0][2], text(page, "facts")
        h.near(box(page, "work")[2] / box(page, "all")[2], 0.7, 0.02, "width of work")
        choose(page, "type", "1")
        h.near(box(page, "work")[2] / box(page, "all")[2], 130 / 135, 0.02, "width of work")


@h.test
def inverts_by_callee():
    with shown(built(STACKS, TYPES)) as page:
        button(page, "invert")
        assert row(page, 1) == [["write", 70], ["read", 40], ["parse", 25]], row(page, 1)
        click(page, "parse", 1)
        assert row(page, 2) == [["work", 20], ["idle", 5]], row(page, 2)
        assert percent(search(page, "parse")) == 48.1, "the share of a search is not that of the other view"
        page.key("Escape")
    with shown("--inverted", built(STACKS, TYPES)) as page:
        assert page.js("document.getElementById('invert').getAttribute('aria-pressed')") == "true"


@h.test
def searches():
    recursive = {"main;f;g;f;g": [6], "main;h": [3], "main;lib@/opt/libz.so": [1]}
    with shown(built(recursive)) as page:
        assert search(page, "f|g").startswith("60.0 %"), "recursion is counted twice"
        assert [row[2] for row in rows(page)] == ["g", "f"], "the table shows what does not match"
        assert search(page, "mapping:libz").startswith("10.0 %")
        assert search(page, "F") == "no match", "a capital letter is one"
        assert search(page, "(") == "no match", "not a regular expression"
        search(page, "g")
        page.key("Enter")
        page.settle()
        assert text(page, "details-text").startswith("g, 6"), text(page, "details-text")
        page.key("Escape")
        page.settle()
        assert text(page, "found") == "" and len(rows(page)) == 5


@h.test
def is_worked_by_keys():
    with shown(built(STACKS, TYPES)) as page:
        page.grant("clipboardReadWrite", "clipboardSanitizedWrite")
        tree = "document.getElementById('at')"
        page.js("document.getElementById('graph').focus()")
        for key, name, level in (("ArrowDown", "main", 2), ("ArrowDown", "work", 3), ("ArrowRight", "idle", 3),
                                 ("ArrowLeft", "work", 3), ("ArrowDown", "write", 4), ("ArrowRight", "parse", 4),
                                 ("ArrowUp", "work", 3)):
            page.key(key)
            page.settle()
            said = page.js(f"[{tree}.textContent, {tree}.getAttribute('aria-level')]")
            assert said[0].startswith(name + ",") and said[1] == str(level), (key, said)
        page.key("f")  # the root is below now: up leads to the leaves
        page.key("ArrowUp")
        page.settle()
        assert page.js(f"{tree}.textContent").startswith("write,")
        page.key("Enter")
        page.settle()
        assert text(page, "trail").endswith("write")
        page.key("Escape")
        page.settle()
        assert text(page, "trail") == ""
        click(page, "idle")
        page.key("c")
        page.settle()
        assert text(page, "copy") == "Copied" and page.js("navigator.clipboard.readText()") == "idle"
        page.key("t")
        assert page.js("document.getElementById('table-pane').hidden")
        page.key("?")
        assert page.js("document.getElementById('help').open")
        page.key("Escape")
        assert page.js("document.getElementById('graph').getAttribute('role')") == "tree"
        unnamed = page.js("""[...document.querySelectorAll('button, select, input')]
            .filter(e => !(e.textContent || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.id)""")
        assert unnamed in ([], ["more"]), f"without a name: {unnamed}"


@h.test
def table_and_graph_are_one():
    with shown(built(STACKS, TYPES)) as page:
        x, y = page.js("""(() => { const r = [...document.querySelectorAll('#table tbody tr')]
            .find(r => r.cells[2].textContent === 'parse').getBoundingClientRect(); return [r.left + 9, r.top + 9]; })()""")
        page.click(x, y)
        page.settle()
        assert text(page, "found").startswith("48.1 %"), text(page, "found")
        assert text(page, "details-text").startswith("parse, 60 B")
        page.js("document.querySelector('#table th:nth-child(2) button').click()")
        assert rows(page)[0][2] == "main", "not sorted by cum"
        page.js("document.querySelector('#table th:nth-child(3) button').click()")
        assert [row[2] for row in rows(page)] == ["idle", "main", "parse", "read", "work", "write"]


@h.test
def fits_a_phone():
    path, _ = recorded()
    with shown(path, width=360, height=740, touch=True) as page:
        assert page.js("document.documentElement.scrollWidth") <= 360, "it scrolls sideways"
        assert page.js("document.getElementById('graph').clientHeight") > 250
        x, y, _ = box(page, "hot_b")
        page.tap(x, y)
        page.settle()
        assert text(page, "trail").endswith("hot_b"), text(page, "trail")
        page.js("document.getElementById('table-toggle').click()")
        page.settle()
        assert page.js("document.documentElement.scrollWidth") <= 360, "it scrolls sideways with the table"
    with shown(path, width=740, height=340, touch=True) as page:
        assert page.js("document.getElementById('graph').clientHeight") > 200, "turned, it has no room"
        assert page.js("document.documentElement.scrollWidth") <= 740


def pixel(page, x, y):
    """Red, green, blue and opacity; of a copy, since reading the graph's own canvas makes it slow."""
    return page.js(f"""(() => {{ const from = page.graph.canvas, area = from.getBoundingClientRect();
        const to = Object.assign(document.createElement('canvas'), {{ width: 1, height: 1 }}).getContext('2d');
        to.drawImage(from, {x} - area.left, {y} - area.top, 1, 1, 0, 0, 1, 1);
        return [...to.getImageData(0, 0, 1, 1).data]; }})()""")


@h.test
def knows_the_dark():
    path = built(STACKS, TYPES)
    brightness = {}
    for dark in (False, True):
        with shown(path, dark=dark) as page:
            x, y, width = box(page, "work")
            paper = page.js("getComputedStyle(document.body).backgroundColor")
            brightness[dark] = (sum(map(int, re.findall(r"\d+", paper)[:3])) / 3,
                                sum(pixel(page, x + width / 2 - 8, y)[:3]) / 3)
    assert brightness[False][0] > 240 and brightness[True][0] < 40, brightness
    assert brightness[False][1] > 170 and brightness[True][1] < 120, brightness


@h.test
def hostile_names_stay_text():
    stacks = {";".join(HOSTILE): [5], "main;" + HOSTILE[0] + "@/tmp/" + HOSTILE[0].replace("/", "|"): [3]}
    path = built(stacks, mapping="/tmp/<b>&\"'")
    with shown("--title", "<i>t</i>", path) as page:
        assert text(page, "title") == "<i>t</i>" and page.js("document.title") == "<i>t</i>"
        seen = table(page)
        for name in HOSTILE:
            assert escaped(name) in seen, name
        for name in HOSTILE[:3]:
            x, y, _ = box(page, name)
            page.move(x, y)
            page.settle()
            assert name in text(page, "tip")
            page.click(x, y)
            page.settle()
            assert name in text(page, "trail")
        assert page.js("document.querySelectorAll('img, i:not(#trail i), b:not(#facts b, #tip b, #pivot b)').length") == 0
        assert page.js("document.scripts.length") == 1
    picture = path.replace(".pb.gz", ".svg")
    flame("--title", "<i>t</i>", path, "-o", picture)
    names = [node.firstChild.data.split("\n")[0] for node in xml.dom.minidom.parse(picture).getElementsByTagName("title")]
    assert HOSTILE[0] in names and names[0] == "<i>t</i>", names
    with opened(picture) as page:
        assert page.js("document.querySelectorAll('img').length + document.querySelectorAll('script').length") == 1


def is_red(colour):
    return colour[0] > colour[2] + 30


@h.test
def shows_what_changed_and_what_is_gone():
    with shown("--base", built(BASE), built(HEAD)) as page:
        assert "100 → 170, +70.0 %" in text(page, "facts"), text(page, "facts")
        # Widths: 50, 30, 80 and 40 of 200.
        assert page.js("page.graph.tree.width(0)") == 200
        h.near(box(page, "gone")[2] / box(page, "all")[2], 0.15, 0.03, "width of what is gone")
        box(page, "below")
        x, y, width = box(page, "grew")
        assert is_red(pixel(page, x + width / 2 - 8, y)), "what grew is not red"
        x, y, width = box(page, "gone")
        inner, edge = pixel(page, x + width / 2 - 8, y), [pixel(page, x + i, y - 9) for i in range(5)]
        assert inner[3] == 0 and any(colour[2] > colour[0] + 30 for colour in edge), \
            f"what is gone is not an empty blue outline: {inner} {edge}"
        page.move(x, y)
        page.settle()
        for part in ("before", "after", "30", "gone", "−30"):
            assert part in text(page, "tip"), f"{part} is not in {text(page, 'tip')}"
        kept = box(page, "kept")
        grey = pixel(page, kept[0] + kept[2] / 2 - 8, kept[1])
        assert max(grey[:3]) - min(grey[:3]) < 12, f"what stayed is coloured: {grey}"
        assert text(page, "legend").count("gone") == 1
        changes = {row[2]: row[1] for row in rows(page)}
        assert changes["grew"].startswith("+60") and changes["gone"].startswith("−30"), changes
        choose(page, "layout", "head")
        assert page.js("page.graph.tree.width(0)") == 170
        choose(page, "layout", "base")
        assert page.js("page.graph.tree.width(0)") == 100
        choose(page, "layout", "union")
        page.js("document.getElementById('normalize').click()")
        page.settle()
        assert page.js("page.graph.tree.base(0)") == 170, "the base is not scaled"
        assert abs(page.js("page.measure.base[0] - page.measure.head[0]")) < 1e-6
        page.key("i")
        page.settle()
        box(page, "below")


@h.test
def shows_a_difference_that_is_a_file():
    with shown(built({"main;less": [-30], "main;more": [10], "main;same;x": [2]})) as page:
        assert not page.js("document.getElementById('difference').hidden")
        box(page, "less")
        assert page.js("page.graph.tree.base(0)") == 30 and page.js("page.graph.tree.head(0)") == 12


@h.test
def holds_many_and_deep_stacks():
    rng, stacks = random.Random(5), {}
    while len(stacks) < 200_000:
        stacks[";".join(f"f{depth}_{int(rng.expovariate(0.7))}" for depth in range(rng.randint(6, 12)))] = [1]
    stacks[";".join(f"deep{i % 7}" for i in range(8192))] = [100_000]
    path = built(stacks)
    html = os.path.join(h.folder(), "x.html")
    flame(path, "-o", html)
    with opened(html) as page:
        print(f"# {os.path.getsize(html) >> 20} MB opened in {page.seconds_to_load:.1f} s")
        assert page.js("page.graph.tree.head(0)") == 300_000
        took = page.js("(() => { const a = performance.now(); for (let i = 0; i < 10; i++) page.graph.draw();"
                       " return (performance.now() - a) / 10; })()")
        print(f"# a drawing takes {took:.1f} ms")
        assert page.js("document.getElementById('graph').scrollHeight") > 8192 * 18
        page.js("document.getElementById('graph').scrollTop = 1e9")
        page.settle()
        assert page.js("page.graph.rows.length") == 8193, "the end of the deep stack is not drawn"
        page.key("f")
        page.key("i")
        page.settle()
        assert search(page, "^deep3$").startswith("33.3 %")


@h.test
def an_empty_profile_says_so():
    with shown(built({})) as page:
        assert text(page, "empty") == "The profile has no samples."
        page.key("i")
        page.key("f")
        page.settle()
    with shown(built({"main": [7, 0]}, TYPES)) as page:
        assert text(page, "empty") == "Nothing was seen of this sample type."
        choose(page, "type", "0")
        assert page.js("document.getElementById('empty').hidden")
        box(page, "main")


WIDTHS = "[...document.querySelectorAll('g.f rect')].map(rect => rect.getAttribute('width')).join()"


@h.test
def draws_a_picture():
    path = built(STACKS, TYPES)
    picture = path.replace(".pb.gz", ".svg")
    flame(path, "-o", picture, "--sample-type", "samples", "--width", "800")
    document = xml.dom.minidom.parse(picture)
    assert document.documentElement.getAttribute("width") == "800"
    widths = {}
    for group in document.getElementsByTagName("g"):
        name = group.getElementsByTagName("title")[0].firstChild.data.split("\n")[0]
        widths[name] = widths.get(name, 0) + float(group.getElementsByTagName("rect")[0].getAttribute("width"))
    for name, part in (("all", 10), ("work", 7), ("idle", 3), ("parse", 9), ("read", 4)):
        h.near(widths[name], 78.0 * part, 0.001, f"width of {name}")
    with opened(picture) as page:
        x, y = page.js("(() => { const r = [...document.querySelectorAll('g.f')].find(g => g.textContent.startsWith('idle'))"
                       ".querySelector('rect').getBoundingClientRect(); return [r.left + r.width / 2, r.top + 9]; })()")
        page.click(x, y)
        page.settle()
        width = page.js("[...document.querySelectorAll('g.f')].find(g => g.textContent.startsWith('idle'))"
                        ".querySelector('rect').getAttribute('width')")
        assert float(width) == 780, "a click does not zoom"
        page.js("window.prompt = () => 'parse'")
        page.key("/")
        assert page.js("document.getElementById('found').textContent") == "found: 90.00 %"
        link, zoomed, boxes = page.js("location.hash"), page.js(WIDTHS), page.js("document.querySelectorAll('g.f').length")
    with opened(picture, link) as page:
        assert page.js(WIDTHS) == zoomed and page.js("document.getElementById('found').textContent") == "found: 90.00 %"
    with opened(picture, f"#zoom=map&of={boxes}&search=(") as page:
        assert page.js("document.getElementById('found').textContent") == "not a regular expression"
    flame("--inverted", path, "-o", picture)
    first = [t.firstChild.data.split("\n")[0] for t in xml.dom.minidom.parse(picture).getElementsByTagName("title")[1:3]]
    assert first == ["all", "write"], first
    flame("--base", built(BASE), built(HEAD), "-o", picture)
    gone = [g for g in xml.dom.minidom.parse(picture).getElementsByTagName("g")
            if g.getElementsByTagName("rect")[0].getAttribute("stroke-dasharray")]
    assert len(gone) == 2, "gone and below are not dashed"


@h.test
def takes_any_unit():
    with shown(built(STACKS, ODD_UNIT)) as page:
        assert "x 135 constructor" in text(page, "facts"), text(page, "facts")


@h.test
def equal_profiles_make_equal_files():
    path, folder = built(STACKS, TYPES), h.folder()
    for name in ("x.html", "x.svg"):
        files = []
        for _ in range(2):
            flame(path, "-o", os.path.join(folder, name))
            with open(os.path.join(folder, name), "rb") as file:
                files.append(file.read())
        assert files[0] == files[1], name


@h.test
def base_with_other_sample_types():
    """What both have is compared, in whatever unit."""
    base = built({"main;f": [4000, 7, 1]}, (("cpu", "microseconds"), ("more", "bytes"), ("samples", "count")))
    head = built({"main;f": [9_000_000, 2]}, (("cpu", "nanoseconds"), ("samples", "count")))
    with shown("--sample-type", "cpu", "--base", base, head) as page:
        assert page.js("[page.measure.head[0], page.measure.base[0]]") == [9_000_000, 4_000_000]


@h.test
def refuses_in_one_line():
    path, folder = built(STACKS, TYPES), h.folder()
    for arguments, why in (((), "flame: no FILE given"), (("/nonexistent",), "No such file"), ((path, "-o", folder + "/x.png"), "html"),
                           (("--base", built(BASE, (("other", "count"),)), path, "-o", folder + "/x.html"), "no sample type in common"),
                           (("--base", built({"main;f": [1]}, (TYPES[1],)), "--sample-type", TYPES[0][0], path, "-o", folder + "/x.html"),
                            f"no sample type '{TYPES[0][0]}'"),
                           (("--sample-type", "none", path, "-o", folder + "/x.html"), "no sample type"),
                           ((path, "-o", "/nonexistent/x.html"), "write"), ((__file__, "-o", folder + "/x.html"), "")):
        said = flame(*arguments, code=2, cwd=folder)
        assert said.count("\n") == 1 and said.startswith("cprof: ") and why in said, said
    assert not os.listdir(folder), "something was left"


if not browser.path():
    print("# chromium is not installed (scripts/setup.sh all): the pages are not looked at", file=sys.stderr)
h.main()
