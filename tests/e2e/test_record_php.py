#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PHP: its functions between the native frames, by name, file and line.

The main judge is a program whose every legal stack is known: each line that calls one of its functions says so
(`//> callee`, `//> internal callee` for what a function of PHP's own calls); `//= name` begins a function, `//.` ends one.
PHP_SECONDS=20 records longer than the 0.4 seconds of each way to run it (3 with TEST_LONG); PHP=PATH takes another
interpreter."""
import os
import re
import shutil

import harness as h
import unwinding as u

SECONDS = float(os.environ.get("PHP_SECONDS", 3 if h.IS_LONG else 0.4))
PHP = os.environ.get("PHP", "/usr/bin/php")
WAYS = (("-d", "opcache.enable_cli=0"), ("-d", "opcache.enable_cli=1"))
PROGRAM = """<?php
function spin($n) { //= spin
    $x = 0;
    while ($n) {
        $x += $n * $n % 7;
        $n -= 1;
    }
    return $x;
} //.

function f_1($n) { //= f_1
    return spin($n) + 1; //> spin
} //.

function f_2($n) { //= f_2
    $y = f_1($n); //> f_1
    return $y + spin(9); //> spin
} //.

class Shape { //-
    function area($n) { //= Shape::area
        return f_2($n); //> f_2
    } //.
    static function make($n) { //= Shape::make
        return (new self)->area($n); //> Shape::area
    } //.
    function __get($name) { //= Shape::__get
        return f_1(150); //> f_1
    } //.
    function __call($name, $arguments) { //= Shape::__call
        return spin(140); //> spin
    } //.
} //-

function compare($a, $b) { //= compare
    return f_1($a + 100) - f_1($b + 100); //> f_1
} //.

function by_usort($n) { //= by_usort
    $all = range(1, $n);
    usort($all, 'compare'); //> usort compare
} //.

function by_map($n) { //= by_map
    array_map(function ($x) { return spin($x + 90); }, range(1, $n)); //> array_map {closure} //> spin //={closure}
} //.

function by_regex() { //= by_regex
    preg_replace_callback('/[a-z]/', fn($m) => f_1(80), 'some words'); //> preg_replace_callback {closure} //> f_1 //={closure}
} //.

function numbers($n) { //= numbers
    for ($i = 0; $i < $n; $i++)
        yield f_1($i + 80); //> f_1
} //.

function by_loop($n) { //= by_loop
    foreach (numbers($n) as $each) //> numbers
        spin($each % 7); //> spin
} //.

function by_iterator($n) { //= by_iterator
    iterator_to_array(numbers($n)); //> iterator_to_array numbers //> numbers
} //.

function down($n) { //= down
    if (!$n)
        return spin(300); //> spin
    return down($n - 1) + 1; //> down
} //.

function work() { //= work
    by_usort(5); //> by_usort
    by_map(5); //> by_map
    by_regex(); //> by_regex
    by_loop(5); //> by_loop
    by_iterator(5); //> by_iterator
    Shape::make(120); //> Shape::make
    $shape = new Shape;
    $shape->size; //> Shape::__get
    $shape->other(1); //> Shape::__call //> Shape::other
    call_user_func('f_1', 110); //> call_user_func f_1 //> f_1
    down(20); //> down
    include __DIR__ . '/inc.php'; //> inc.php
    eval('spin(130);'); //> eval
} //.

echo "{}\\n";
while (true)
    work(); //> work
"""


def script(text, name="prog.php"):
    return u.script(text, name)


def need_php():
    if not shutil.which(PHP):
        raise h.Skip("no php")


class Legal:
    """What the program's marks allow."""

    def __init__(self, text):
        self.ranges, self.calls, opened = {}, {}, []
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            self.calls[number] = [mark.split() for mark in re.findall(r"//> ([^/]*)", line)]
            for name in re.findall(r"//= (\S+)", line):
                opened.append((name, number))
            if "//={closure}" in line:
                self.ranges[f"{{closure:prog.php:{number}}}"] = (number, number)
            if "//." in line:
                name, first = opened.pop()
                self.ranges[name] = (first, number)
        self.ranges["prog.php"] = self.ranges["Shape::other"] = (1, len(lines))

    def may_call(self, line, callees):
        """callees: innermost last, functions of PHP's own before it."""
        known = [re.sub(r"^\{closure.*\}$", "{closure}", name) for name in callees]
        return known in self.calls[line] or ["eval"] in self.calls[line] and known[-1].endswith("eval()'d code")

    def why_not(self, frames):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        chain, natives, root = [], 0, None
        for frame in frames:
            if not frame["mapping"]["path"].startswith("[php "):
                natives += 1
                continue
            name, line, file = frame["name"], frame["line"], os.path.basename(frame["file"])
            root = name
            if not file:
                if chain and not natives and name != "call_user_func":
                    return f"nothing native between {name} and {chain[0]}"
                chain, natives = [name] + chain, 0
                continue
            if file != "prog.php":
                if not (name == file and (file == "inc.php" or file.endswith("eval()'d code"))):
                    return f"unknown function {name} of {file}"
                if chain and chain != ["spin"]:
                    return f"{name} does not call {chain}"
                chain, natives = [name], 0
                continue
            if name not in self.ranges:
                return f"unknown function {name}"
            first, last = self.ranges[name]
            if not first <= line <= last:
                return f"{name}: line {line} is not one of {first} to {last}"
            if (set(chain) & set(self.ranges) or chain and chain[-1].startswith(("inc.php", "prog.php("))) and \
                    not self.may_call(line, chain):
                return f"{name} does not call {chain} in line {line}"
            chain, natives = [name], 0
        if root != "prog.php":
            return f"its root is {root}: {[frame['name'] for frame in frames]}"
        return None


def attach(options, file, *more, seconds=SECONDS, pauses=True):
    """options are the interpreter's; None: file is a command."""
    return u.profile_of([PHP, *options, file] if options is not None else file, *more, seconds=seconds,
                        hz=3999, pauses=pauses)


def program():
    path = script(PROGRAM)
    with open(os.path.join(os.path.dirname(path), "inc.php"), "w", encoding="utf-8") as file:
        file.write("<?php\nspin(100);\n")
    return path


@h.test
def every_stack_is_legal():
    need_php()
    legal = Legal(PROGRAM)
    for way in WAYS:
        samples = attach(way, program())["samples"]
        nr, wrong = u.count(samples), {}
        for sample in samples:
            why = legal.why_not(sample["frames"])
            if why:
                wrong[why] = wrong.get(why, 0) + sample["values"]["samples"]
        print(f"# {way[1]}: {nr - sum(wrong.values())} of {nr} stacks are legal; {wrong}", flush=True)
        u.assert_enough(nr, way[1])
        assert not [why for why in wrong if "unknown" in why], wrong
        assert sum(wrong.values()) <= max(2, nr / 1000), wrong


ALLOCATING = """<?php
function leaf($n) { return str_repeat('x', $n); }
class Box {
    function fill($n) { return array_map(fn($size) => leaf($size), [$n, $n]); }
}
function outer() {
    $box = new Box;
    return $box->fill(300000);
}
echo "{}\\n";
fgets(STDIN);
for ($i = 0; $i < 100; $i++)
    outer();
echo "{\\"times\\": 100}\\n";
fgets(STDIN);
"""


@h.test
def heap_shows_functions():
    """Those that lead to malloc, which PHP's own allocator calls for each block with USE_ZEND_ALLOC=0."""
    need_php()
    profile, times = u.allocations_of(PHP, script(ALLOCATING), env={"USE_ZEND_ALLOC": "0"}, run_as=h.AHEAD_OF_OTHERS)
    found = {}
    for sample in profile["samples"]:
        if sample["values"]["alloc_space"] < 300000:
            continue
        frames = tuple((re.sub(r"\{closure.*\}$", "{closure}", frame["name"]), frame["line"]) for frame in sample["frames"]
                       if frame["mapping"]["path"].startswith("[php ") and frame["file"])
        found[frames] = found.get(frames, 0) + sample["values"]["alloc_objects"]
    print(f"# {found}", flush=True)
    assert found == {(("leaf", 2), ("Box::{closure}", 4), ("Box::fill", 4), ("outer", 8), ("prog.php", 13)): 2 * times}


@h.test
def which_frames_are_shown():
    need_php()
    shown = {}
    for options in ((), ("--all-frames",), ("--no-native",), ("--no-php",)):
        samples = attach(WAYS[0], program(), *options, seconds=0.25)["samples"]
        joined = [sample for sample in samples if options == ("--no-php",) or u.is_joined(sample, "php")]
        assert u.count(joined) > max(100, 0.98 * u.count(samples)), (options, u.count(joined), u.count(samples))
        shown[options] = {name for sample in joined for name in sample["stack"]}
    assert {"compare", "usort"} <= shown[()] and "execute_ex" not in shown[()], shown[()]
    assert {"compare", "execute_ex"} <= shown["--all-frames",], shown
    assert not {"__libc_start_main", "execute_ex"} & shown["--no-native",], shown["--no-native",]
    assert "execute_ex" in shown["--no-php",] and "compare" not in shown["--no-php",], shown


CHURN = """<?php
const TEXT = 'return function ($n) { $x = 0; while ($n) { $x += $n; $n -= 1; } };';
$comm = fopen('/proc/self/comm', 'w');
stream_set_write_buffer($comm, 0);

function included($path, $text) {
    file_put_contents($path, "<?php\n$text");
    $made = include $path;
    unlink($path);
    return $made;
}

function called($comm, $i, $f) {
    fwrite($comm, $i);
    $f(4000);
    fwrite($comm, '-');
}

echo "{}\n";
for ($i = 1; ; $i++) {
    // many of a kind in turn: so most stand where one of the same kind was
    $path = sprintf('%s/m_%07d.php', __DIR__, $i);
    if (intdiv($i, 64) % 3 == 0)
        called($comm, $i, included($path, TEXT));
    elseif (intdiv($i, 64) % 3 == 1)
        called($comm, $i, included($path, 'return eval("' . addcslashes(TEXT, '$') . '");'));
    else
        called($comm, $i % 1000 + 1, eval(str_repeat("\n", $i % 1000) . TEXT));
}
"""


def number_of_made(frame):
    if "closure" not in frame["name"]:
        return None
    assert frame["line"] == frame["start_line"], frame
    found = re.search(r"/m_(\d+)[.]php(?:[(]2[)] : eval[(][)]'d code)?$", frame["file"])
    if not found:
        assert re.search(r"/churn[.]php[(]\d+[)] : eval[(][)]'d code$", frame["file"]), frame
        return frame["start_line"]
    assert found[1] in frame["name"], frame
    return int(found[1])


@h.test
def functions_that_come_and_go():
    """They differ in their files alone, or in their first lines alone."""
    need_php()
    u.check_made(attach(WAYS[0], script(CHURN, "churn.php"), "--threads", pauses=False)["samples"], number_of_made)


@h.test
def forged_interpreter():
    _, notes = u.check_forged("forgedphp", "[php 8.2]", "made_up")
    assert notes, notes


@h.test
def name_that_cannot_be_read():
    u.check_hidden("forgedphp", "[php 8.2]", "made_up")


h.main()
