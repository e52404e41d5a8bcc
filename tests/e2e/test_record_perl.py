#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Perl: its functions between the native frames, by package, name, file and line.

The main judge is a program whose every legal stack is known: each line that calls one of its functions says so
(`#> callee`); `#= name` begins a function, `#.` ends one.
PERL_SECONDS=20 records longer than the 0.8 seconds (3 with TEST_LONG); PERL="/x/ld.so --library-path /x/lib /x/perl -I/x/lib"
takes another interpreter."""
import os
import re
import shutil

import harness as h
import unwinding as u

SECONDS = float(os.environ.get("PERL_SECONDS", 3 if h.IS_LONG else 0.8))
PERL = os.environ.get("PERL", "/usr/bin/perl").split()
PROGRAM = r"""use strict;
use List::Util qw(first);
$| = 1;
sub spin { #= main::spin
    my $n = shift;
    my $x = 0;
    while ($n) {
        $x += $n * $n % 7;
        $n -= 1;
    }
    return $x;
} #.
sub f_1 { #= main::f_1
    my $n = shift;
    return spin($n) + 1; #> main::spin
} #.
sub f_2 { #= main::f_2
    my $y = f_1($_[0]); #> main::f_1
    return $y + spin(9); #> main::spin
} #.
package Shape;
sub new { #= Shape::new
    my ($class, $n) = @_;
    return bless { n => $n }, $class;
} #.
sub area { #= Shape::area
    my $self = shift;
    return main::f_2($self->{n}); #> main::f_2
} #.
sub make { #= Shape::make
    return $_[0]->new($_[1])->area; #> Shape::new #> Shape::area
} #.
our $AUTOLOAD;
sub AUTOLOAD { #= Shape::AUTOLOAD
    return main::spin(140); #> main::spin
} #.
sub DESTROY { #= Shape::DESTROY
    main::spin(60); #> main::spin
} #.
package Tied;
sub TIESCALAR { #= Tied::TIESCALAR
    return bless [];
} #.
sub FETCH { #= Tied::FETCH
    return main::f_1(150); #> main::f_1
} #.
package Number;
use overload '+' => sub { main::spin(90); 1 }; #> main::spin #=Number::__ANON__
package main;
sub compare { #= main::compare
    return f_1($a + 100) - f_1($b + 100); #> main::f_1
} #.
sub by_sort { #= main::by_sort
    my @x = sort compare 5, 3, 4, 2, 1; #> main::compare
} #.
sub by_block { #= main::by_block
    my @x = sort { spin($a + 50) <=> spin($b + 50) } 5, 3, 4, 2, 1; #> {sort} #> main::spin
} #.
sub by_first { #= main::by_first
    my $x = first { !spin($_ + 90) } 1 .. 5; #> main::__ANON__ #> main::spin #=main::__ANON__
} #.
sub by_regex { #= main::by_regex
    (my $text = 'some words') =~ s/([a-z])/f_1(80)/ge; #> main::f_1
} #.
sub by_eval { #= main::by_eval
    return eval { spin(130); die "so\n" } || 0; #> main::spin
} #.
sub by_guard { #= main::by_guard
    my @x = sort { by_eval(); $a <=> $b } 3, 2, 1; #> {sort} #> main::by_eval
} #.
sub by_nested { #= main::by_nested
    my $x = first { eval { by_sort(); 1 } && 0 } 1 .. 2; #> main::__ANON__ #> main::by_sort #=main::__ANON__
} #.
sub of_sorted { #= main::of_sorted
    my ($x, $y) = (join(',', sort @$a), join(',', sort @$b));
    return spin(20) && $x cmp $y; #> main::spin
} #.
sub by_sorted { #= main::by_sorted
    my @x = sort of_sorted [9, 7, 8], [6, 5, 4], [1, 3, 2]; #> main::of_sorted
} #.
sub pair { #= main::pair
    return spin(30) && $_[0] <=> $_[1]; #> main::spin
} #.
sub by_pair { #= main::by_pair
    my @x = sort { pair($a, $b) } 3, 2, 1; #> {sort} #> main::pair
} #.
sub by_code { #= main::by_code
    my $x = 'abc' =~ /(?:[abc](?{ spin(40) })){3}$/; #> {regex} #> main::spin
} #.
sub by_text { #= main::by_text
    return eval 'spin(130); f_1(40)'; #> (eval)
} #.
sub by_goto { #= main::by_goto
    @_ = (120);
    goto &f_1;
} #.
sub down { #= main::down
    my $n = shift;
    return spin(300) if !$n; #> main::spin
    return down($n - 1) + 1; #> main::down
} #.
my $closure = sub { return spin($_[0]) }; #> main::spin #=main::__ANON__
tie my $tied, 'Tied'; #> Tied::TIESCALAR
sub work { #= main::work
    by_sort(); #> main::by_sort
    by_block(); #> main::by_block
    by_first(); #> main::by_first
    by_regex(); #> main::by_regex
    by_eval(); #> main::by_eval
    by_guard(); #> main::by_guard
    by_nested(); #> main::by_nested
    by_sorted(); #> main::by_sorted
    by_code(); #> main::by_code
    by_pair(); #> main::by_pair
    by_text(); #> main::by_text
    by_goto(); #> main::by_goto #> main::f_1
    Shape->make(120); #> Shape::make
    Shape->other(1); #> Shape::AUTOLOAD #> Shape::DESTROY
    my $x = $tied; #> Tied::FETCH
    $x = bless([], 'Number') + 1; #> Number::__ANON__
    $closure->(110); #> main::__ANON__
    down(20); #> main::down
    do './part.pl'; #> part.pl
} #.
print "{}\n";
while (1) {
    work(); #> main::work
}
"""


def need_perl():
    if not shutil.which(PERL[0]):
        raise h.Skip("no perl")
    if not u.reads_perl(PERL):
        raise h.Skip("a perl that is not read")


# What native code calls for a function, so that its frames are between the two; and what functions call, so that none is.
CALLED_BY_NATIVE = {"main::compare", "main::of_sorted", "{sort}", "{regex}", "Tied::FETCH", "Number::__ANON__", "Shape::DESTROY"}
CALLED_BY_FUNCTIONS = re.compile(r"main::(spin|f_\d|pair|down|work|by_.*)|Shape::(new|area|make|AUTOLOAD)")


class Legal:
    """What the program's marks allow."""

    def __init__(self, text):
        self.ranges, self.calls, opened = {}, {}, []
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            self.calls[number] = re.findall(r"#> (\S+)", line)
            opened += [(name, number) for name in re.findall(r"#= (\S+)", line)]
            for name in re.findall(r"#=(\S+)", line):
                self.ranges[f"{name}[prog.pl:{number}]"] = (number, number)
            if line.endswith("#."):
                name, first = opened.pop()
                self.ranges[name] = (first, number)
        self.ranges["prog.pl"] = self.ranges["{sort}"] = self.ranges["{regex}"] = (1, len(lines))

    def why_not(self, frames):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        callee, root, natives = None, None, 0
        for frame in frames:
            if not frame["mapping"]["path"].startswith("[perl "):
                natives += 1
                continue
            name, line, file = frame["name"], frame["line"], os.path.basename(frame["file"])
            called = callee and re.sub(r"\[.*\]$", "", callee)
            root = name
            if called in CALLED_BY_NATIVE and not natives or called and CALLED_BY_FUNCTIONS.fullmatch(called) and natives:
                return f"{natives} native frames between {name} and {called}"
            natives = 0
            if file != "prog.pl":
                if name not in ("part.pl", "(eval)") or name == "part.pl" and file != name or name == "(eval)" and file[:6] != "(eval ":
                    return f"unknown function {name} of {file}"
                if called not in (None, "main::spin", "main::f_1"):
                    return f"{name} does not call {called}"
            elif name not in self.ranges:
                return f"unknown function {name}"
            else:
                first, last = self.ranges[name]
                if not first <= line <= last:
                    return f"{name}: line {line} is not one of {first} to {last}"
                if called and called not in self.calls[line]:
                    return f"{name} does not call {called} in line {line}"
            callee = name
        return None if root == "prog.pl" else f"its root is {root}: {[frame['name'] for frame in frames]}"


def attach(text, *options, seconds=SECONDS, pauses=True, name="prog.pl"):
    path = u.script(text, name)
    with open(os.path.join(os.path.dirname(path), "part.pl"), "w", encoding="utf-8") as file:
        file.write("spin(100);\nf_1(20);\n")
    return u.profile_of([*PERL, path], *options, seconds=seconds, hz=3999, pauses=pauses)


@h.test
def every_stack_is_legal():
    need_perl()
    legal = Legal(PROGRAM)
    os.chdir(h.folder())
    samples = attach(PROGRAM)["samples"]
    nr, wrong, names = u.count(samples), {}, set()
    for sample in samples:
        why = legal.why_not(sample["frames"])
        names |= {re.sub(r"\[.*", "", frame["name"]) for frame in sample["frames"]}
        if why:
            wrong[why] = wrong.get(why, 0) + sample["values"]["samples"]
    print(f"# {nr - sum(wrong.values())} of {nr} stacks are legal; {wrong}", flush=True)
    u.assert_enough(nr, "stacks")
    assert not [why for why in wrong if "unknown" in why], wrong
    assert sum(wrong.values()) <= max(2, nr / 1000), wrong
    assert {"main::compare", "main::of_sorted", "{sort}", "{regex}", "Tied::FETCH", "Shape::area", "main::__ANON__", "main::down", "(eval)"} <= names, names


ALLOCATING = r"""use strict;
$| = 1;
my @kept;
sub leaf { my $x = 'x' x $_[0]; push @kept, \$x }
package Box;
sub fill { my ($self, $n) = @_; main::leaf($_) for $n, $n; }
package main;
sub outer {
    @kept = ();
    Box->fill(300000);
}
print "{}\n";
<STDIN>;
outer() for 1 .. 100;
print "{\"times\": 100}\n";
<STDIN>;
"""


@h.test
def heap_shows_functions():
    need_perl()
    profile, times = u.allocations_of(*PERL, u.script(ALLOCATING, "prog.pl"), run_as=h.AHEAD_OF_OTHERS)
    found = {}
    for sample in profile["samples"]:
        if sample["values"]["alloc_space"] < 300000:
            continue
        frames = tuple((frame["name"], frame["line"]) for frame in sample["frames"]
                       if frame["mapping"]["path"].startswith("[perl "))
        found[frames] = found.get(frames, 0) + sample["values"]["alloc_objects"]
    print(f"# {found}", flush=True)
    stack = (("main::leaf", 4), ("Box::fill", 6), ("main::outer", 10), ("prog.pl", 14))
    assert set(found) == {stack} and found[stack] >= 2 * times, found


@h.test
def which_frames_are_shown():
    need_perl()
    os.chdir(h.folder())
    shown = {}
    for options in ((), ("--all-frames",), ("--no-native",), ("--no-perl",)):
        samples = attach(PROGRAM, *options, seconds=0.25)["samples"]
        joined = [sample for sample in samples if options == ("--no-perl",) or u.is_joined(sample, "perl")]
        assert u.count(joined) > max(100, 0.98 * u.count(samples)), (options, u.count(joined), u.count(samples))
        shown[options] = {name for sample in joined for name in sample["stack"]}
    loop = "Perl_runops_standard"
    assert {"main::compare", "Perl_sortsv_flags"} <= shown[()] and loop not in shown[()], shown[()]
    assert {"main::compare", loop} <= shown["--all-frames",], shown
    assert not {"__libc_start_main", loop} & shown["--no-native",], shown["--no-native",]
    assert loop in shown["--no-perl",] and "main::compare" not in shown["--no-perl",], shown


CHURN = r"""use strict;
$| = 1;
open my $comm, '>', '/proc/self/comm' or die;
sub called {
    my ($i, $f) = @_;
    syswrite $comm, $i;
    &$f(2000);
    syswrite $comm, '-';
}
print "{}\n";
my $body = 'my $n = shift; my $x = 0; while ($n) { $x += $n; $n -= 1; }';
for (my $i = 1; ; $i++) {
    no strict 'refs';
    if (int($i / 64) % 3 == 0) {
        called($i, eval "#line 1 \"m_$i.pl\"\nsub { $body }");
    } elsif (int($i / 64) % 3 == 1) {
        eval "#line 1 \"names.pl\"\nsub g_$i { $body }";
        called($i, \&{"g_$i"});
        delete $main::{"g_$i"};
    } else {
        called($i, eval "#line $i \"lines.pl\"\nsub { $body }");
    }
}
"""


def number_of_made(frame):
    found = re.search(r"(?:^|/)(m_(\d+)|names|lines)\.pl$", frame["file"])
    if not found or not re.search("__ANON__|::g_", frame["name"]):
        return None
    assert frame["line"] == frame["start_line"], frame
    if found[1] == "names":
        return int(re.fullmatch(r"main::g_(\d+)", frame["name"])[1])
    assert frame["name"] == f"main::__ANON__[{found[1]}.pl:{frame['start_line']}]", frame
    return int(found[2] or frame["start_line"])


@h.test
def functions_that_come_and_go():
    """They differ in their files, in their names, or in their first lines."""
    need_perl()
    u.check_made(attach(CHURN, "--threads", name="churn.pl", pauses=False)["samples"], number_of_made)


@h.test
def names_of_any_script():
    """Perl keeps a name in Latin-1 where it can."""
    need_perl()
    text = "use utf8; $| = 1;\nprint \"{}\\n\";\nsub caf\u00e9 { my $x = 0; $x += $_ for 1 .. 1000 }\n" \
        "sub \u540d\u524d { caf\u00e9() }\n\u540d\u524d() while 1;\n"
    names = {name for sample in u.profile_of([*PERL, u.script(text, "prog.pl")], seconds=0.25, hz=3999)["samples"] for name in sample["stack"]}
    assert {"main::caf\u00e9", "main::\u540d\u524d"} <= names, names


def methods_of_classes():
    """Their first operation is none that says file and line. A case for Perls that have classes only."""
    need_perl()
    text = "use v5.38; no warnings; use experimental 'class'; $| = 1;\nclass Pt {\n  field $n = 1000;\n  method sum {\n" \
        "    my $x = 0; $x += $_ for 1 .. $n;\n    return $x }\n}\nprint \"{}\\n\";\nmy $p = Pt->new;\n$p->sum while 1;\n"
    samples = u.profile_of([*PERL, u.script(text, "prog.pl")], seconds=0.25, hz=3999)["samples"]
    found = {(frame["name"], frame["start_line"], os.path.basename(frame["file"])) for sample in samples for frame in sample["frames"]
             if frame["mapping"]["path"].startswith("[perl ")}
    assert found == {("Pt::sum", 5, "prog.pl"), ("prog.pl", 0, "prog.pl")}, found


if shutil.which(PERL[0]) and u.ask_perl(PERL)[0] >= "5.038":
    h.test(methods_of_classes)


@h.test
def recursion():
    """While a call is at work, one frame is left out, and not all that call the same at the same place."""
    need_perl()
    text = "$| = 1;\nprint \"{}\\n\";\nsub r { return $_[0] ? r($_[0] - 1) + 1 : 0 }\nr(60) while 1;\n"
    samples = u.profile_of([*PERL, u.script(text, "prog.pl")], seconds=SECONDS, hz=3999)["samples"]
    depths = {}
    for sample in samples:
        depth = sample["stack"].count("main::r")
        depths[depth] = depths.get(depth, 0) + sample["values"]["samples"]
    few = sum(nr for depth, nr in depths.items() if depth < 4)
    print(f"# {few} of {u.count(samples)} have less than four", flush=True)
    assert max(depths) <= 61 and few < 0.2 * u.count(samples), depths


@h.test
def files_that_are_read():
    """While Perl reads a file, the statement that runs is the interpreter's own, whatever file it is."""
    need_perl()
    os.chdir(h.folder())
    for name in ("one", "two"):
        with open(f"{name}.pl", "w", encoding="utf-8") as file:
            file.write("".join(f"sub {name}_{i} {{ my $x = shift; return $x * {i} + 1 }}\n" for i in range(300)) + "1;\n")
    text = "$| = 1;\nprint \"{}\\n\";\n" + "".join(f"sub read_{name} {{ do './{name}.pl' }}\n" for name in ("one", "two")) + \
        "while (1) { read_one(); read_two() }\n"
    samples = u.profile_of([*PERL, u.script(text, "prog.pl")], seconds=SECONDS, hz=3999)["samples"]
    nr, wrong = 0, {}
    for sample in samples:
        names = [frame["name"] for frame in sample["frames"] if frame["mapping"]["path"].startswith("[perl ")]
        if names[:1] in (["one.pl"], ["two.pl"]):
            nr += sample["values"]["samples"]
            if names[1] != f"main::read_{names[0][:3]}":
                wrong[tuple(names)] = wrong.get(tuple(names), 0) + sample["values"]["samples"]
    print(f"# {nr} samples of files, {wrong}", flush=True)
    u.assert_enough(nr, "samples of files")
    assert not wrong, (nr, wrong)


@h.test
def threads():
    """Each thread has an interpreter of its own."""
    need_perl()
    text = r"""use strict;
use threads;
$| = 1;
sub spin { my $x = 0; $x += $_ for 1 .. 1000; return $x }
sub one { spin() while 1 }
sub two { spin() while 1 }
threads->create(\&one);
threads->create(\&two);
print "{}\n";
sleep 3600;
"""
    samples = attach(text, seconds=0.5)["samples"]
    roots = {}
    for sample in samples:
        names = [frame["name"] for frame in sample["frames"] if frame["mapping"]["path"].startswith("[perl ")]
        if names[-1:]:
            roots[names[-1]] = roots.get(names[-1], 0) + sample["values"]["samples"]
    print(f"# {roots}", flush=True)
    u.assert_enough(min(roots.get("main::one", 0), roots.get("main::two", 0)), "samples of a thread")
    assert roots["main::one"] + roots["main::two"] >= 0.98 * u.count(samples), (roots, u.count(samples))


@h.test
def forged_interpreter():
    _, notes = u.check_forged("forgedperl", "[perl 5.36]", "Made::made_up")
    assert notes, notes


@h.test
def what_is_said():
    """Nothing of a Perl that is read; test_record_unread.py has the others."""
    need_perl()
    for options in (), ("--no-perl",):
        run = h.cprof("record", *options, "--", *PERL, "-e", "$x += $_ * $_ for 1 .. 3e6").wait()
        said = [line for line in run.lines if "a Perl process; its own" in line]
        assert len(said) == len(options), run.lines


h.main()
