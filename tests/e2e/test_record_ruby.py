#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Ruby: its functions between the native frames, by name, file and line.

The main judge is a program whose every legal stack is known: each line that calls one of its functions says so
(`#> callee`; `#c> callee` if a function of Ruby's own calls it); `#= name` begins a function, `#.` ends one.
RUBY_SECONDS=20 records longer than the 0.5 seconds of it (3 with TEST_LONG); RUBY=PATH takes another interpreter."""
import os
import re
import shutil

import harness as h
import unwinding as u

SECONDS = float(os.environ.get("RUBY_SECONDS", 3 if h.IS_LONG else 0.5))
RUBY = os.environ.get("RUBY", "/usr/bin/ruby")
PROGRAM = """#= <main>
def spin(n) #= spin
  x = 0
  while n > 0
    x += n * n % 7
    n -= 1
  end
  x
end #.

def f_1(n) #= f_1
  spin(n) + 1 #> spin
end #.

def f_2(n) #= f_2
  y = f_1(n) #> f_1
  y + spin(9) #> spin
end #.

class Shape #= <class:Shape>
  def area(n) #= area
    f_2(n) #> f_2
  end #.
  def self.make(n) #= make
    new.area(n) #> area #c> initialize
  end #.
  def initialize #= initialize
    spin(30) #> spin
  end #.
  define_method(:defined) { |n| spin(n) } #> spin #= block in <class:Shape> #.
  def method_missing(name, *rest) #= method_missing
    spin(140) #> spin
  end #.
  def <=>(other) #= <=>
    spin(40) #> spin
    0
  end #.
  include Comparable
end #.

def compare(a, b) #= compare
  f_1(a + 100) - f_1(b + 100) #> f_1
end #.

def by_sort(n) #= by_sort
  (1..n).to_a.sort { |a, b| compare(a, b) } #c> block in by_sort #> compare #= block in by_sort #.
end #.

def by_each(n) #= by_each
  [1, 2].each do |x| #c> block in by_each #= block in by_each
    {x => n}.each do |k, v| #c> block (2 levels) in by_each #= block (2 levels) in by_each
      spin(v + k) #> spin
    end #.
  end #.
end #.

def by_map(n) #= by_map
  (1..n).map { |x| spin(x + 90) } #c> block in by_map #> spin #= block in by_map #.
end #.

def by_inject(n) #= by_inject
  (1..n).inject(0) { |a, x| a + f_1(x) } #c> block in by_inject #> f_1 #= block in by_inject #.
end #.

def by_gsub #= by_gsub
  "some words".gsub(/[a-z]/) { |m| f_1(80).to_s } #c> block in by_gsub #> f_1 #= block in by_gsub #.
end #.

def by_yield(n) #= by_yield
  yields(n) { |x| spin(x) } #> yields #> spin #= block in by_yield #.
end #.

def yields(n) #= yields
  yield n #> block in by_yield
  yield n + 1 #> block in by_yield
end #.

def by_proc(n) #= by_proc
  l = ->(x) { spin(x) } #> spin #= block in by_proc #.
  l.call(n) #> block in by_proc
  [n, n].each(&l) #c> block in by_proc
end #.

def by_send(n) #= by_send
  send(:f_1, n) #> f_1
  Shape.new.public_send(:area, n) #c> area #c> initialize #> initialize
  method(:f_1).call(n) #c> f_1
  [n].map(&:to_s)
  [n, n].map(&method(:f_1)) #c> f_1
end #.

def fails(n) #= fails
  spin(n) #> spin
  raise ArgumentError, "no"
end #.

def by_rescue(n) #= by_rescue
  begin #> rescue in by_rescue
    fails(n) #> fails #> rescue in by_rescue
  rescue ArgumentError #> rescue in by_rescue
    f_1(n) #> f_1
  ensure
    spin(50) #> spin
  end
end #.

def by_ensure(n) #= by_ensure
  [n].each do |x| #c> block in by_ensure #= block in by_ensure
    begin
      return f_1(x) #> f_1
    ensure
      spin(60) #> spin #> ensure in block in by_ensure
    end
  end #.
end #.

def by_catch(n) #= by_catch
  catch(:done) do #c> block in by_catch #= block in by_catch
    [n].each { |x| f_1(x); throw :done } #c> block (2 levels) in by_catch #> f_1 #= block (2 levels) in by_catch #.
  end #.
end #.

def by_times(n) #= by_times
  n.times { |i| spin(i + 50) } #c> block in by_times #> spin #= block in by_times #.
  i = 0
  loop do #c> block in by_times #= block in by_times
    spin(30) #> spin
    i += 1
    break if i > 3
  end #.
end #.

def by_fiber(n) #= by_fiber
  f = Fiber.new do #= block in by_fiber
    spin(n) #> spin
    Fiber.yield 1
    f_1(n) #> f_1
  end #.
  f.resume
  f.resume
end #.

def by_thread(n) #= by_thread
  t = Thread.new do #= block in by_thread
    f_1(n * 3) #> f_1
  end #.
  f_1(n * 3) #> f_1
  t.join
end #.

def down(n) #= down
  return spin(300) if n == 0 #> spin
  down(n - 1) + 1 #> down
end #.

def down_c(n) #= down_c
  return spin(100) if n == 0 #> spin
  [n].each { |x| down_c(x - 1) } #c> block in down_c #> down_c #= block in down_c #.
end #.

def work #= work
  by_sort(5) #> by_sort
  by_each(50) #> by_each
  by_map(5) #> by_map
  by_inject(5) #> by_inject
  by_gsub #> by_gsub
  by_yield(80) #> by_yield
  by_proc(80) #> by_proc
  by_send(60) #> by_send
  by_rescue(60) #> by_rescue
  by_ensure(60) #> by_ensure
  by_catch(60) #> by_catch
  by_times(5) #> by_times
  by_fiber(100) #> by_fiber
  by_thread(100) #> by_thread
  Shape.make(120) #> make
  shape = Shape.new #c> initialize #> initialize
  shape.defined(90) #c> block in <class:Shape> #> block in <class:Shape>
  shape.other(1) #> method_missing
  shape < 1 #c> <=>
  down(20) #> down
  down_c(8) #> down_c
  eval("spin(130)", binding, "made.rb", 77) #c> work
  instance_eval { spin(40) } #c> block in work #> spin #= block in work #.
end #.

STDOUT.puts "{}"
STDOUT.flush
while true
  work #> work
end
#.
"""
THREADS = ("block in by_thread", "block in by_fiber")


def script(text, name="prog.rb"):
    return u.script(text, name)


def need_ruby():
    if not shutil.which(RUBY):
        raise h.Skip("no ruby")


class Legal:
    """What the program's marks allow."""

    def __init__(self, text):
        self.ranges, self.calls, opened = {}, {}, []
        for number, line in enumerate(text.splitlines(), 1):
            self.calls[number] = [(kind, name.strip()) for kind, name in re.findall(r"#(c?>) ([^#]+)", line)]
            for mark in re.findall(r"#= [^#]+|#\.", line):
                if mark.startswith("#="):
                    opened.append((mark[3:].strip(), number))
                else:
                    name, first = opened.pop()
                    self.ranges.setdefault(name, []).append((first, number))

    def is_in(self, name, line):
        if name.startswith(("rescue in ", "ensure in ")):
            name = name.split(" in ", 1)[1]
        return any(first <= line <= last for first, last in self.ranges.get(name, ()))

    def why_not(self, frames):
        """Why a sample's frames, leaf first, cannot be; None: they can."""
        callee, natives, root = None, 0, None
        for frame in frames:
            if not frame["mapping"]["path"].startswith("[ruby "):
                natives += 1
                continue
            name, line, file = frame["name"], frame["line"], os.path.basename(frame["file"])
            if frame["file"].startswith("<internal:"):
                natives += 1  # what Ruby has of its own functions in Ruby
                continue
            root = name
            if file == "made.rb":
                if name not in ("work", "<compiled>") or line != 77 or callee not in (None, "spin"):
                    return f"{name}:{line} of made.rb does not call {callee}"
                callee, natives = "work", 0
                continue
            if file != "prog.rb":
                return f"unknown function {name} of {file}"
            if not self.is_in(name, line):
                return f"unknown function {name}:{line}"
            may = [kind for kind, called in self.calls[line] if called == callee]
            if callee and not (natives and "c>" in may or not natives and ">" in may):
                return f"{name} does not call {callee} in line {line} with {natives} between"
            callee, natives = name, 0
        if root != "<main>" and root not in THREADS:
            return f"its root is {root}: {[frame['name'] for frame in frames]}"
        return None


def attach(options, file, *more, seconds=SECONDS, pauses=True):
    """options are the interpreter's; None: file is a command."""
    return u.profile_of([RUBY, *options, file] if options is not None else file, *more, seconds=seconds,
                        hz=3999, pauses=pauses)


@h.test
def every_stack_is_legal():
    need_ruby()
    legal = Legal(PROGRAM)
    samples = attach((), script(PROGRAM))["samples"]
    # Threads' waiting and the like run no Ruby.
    nr, wrong, others = 0, {}, 0
    for sample in samples:
        if not any(frame["mapping"]["path"].startswith("[ruby ") for frame in sample["frames"]):
            others += sample["values"]["samples"]
            continue
        nr += sample["values"]["samples"]
        why = legal.why_not(sample["frames"])
        if why:
            wrong[why] = wrong.get(why, 0) + sample["values"]["samples"]
    print(f"# {nr - sum(wrong.values())} of {nr} stacks are legal, {others} have no Ruby; {wrong}", flush=True)
    u.assert_enough(nr, "stacks")
    assert not [why for why in wrong if "unknown" in why], wrong
    assert sum(wrong.values()) <= max(2, nr / 1000), wrong


@h.test
def which_frames_are_shown():
    need_ruby()
    shown = {}
    for options in ((), ("--all-frames",), ("--no-native",), ("--no-ruby",)):
        samples = attach((), script(PROGRAM), *options, seconds=0.25)["samples"]
        joined = [sample for sample in samples if options == ("--no-ruby",) or u.is_joined(sample, "ruby")]
        assert u.count(joined) > max(100, 0.75 * u.count(samples)), (options, u.count(joined), u.count(samples))
        shown[options] = {name for sample in joined for name in sample["stack"]}
    assert {"spin", "rb_str_gsub"} & shown[()] and "rb_vm_exec" not in shown[()], shown[()]
    assert "spin" in shown["--all-frames",], shown
    assert "spin" in shown["--no-native",] and "__libc_start_main" not in shown["--no-native",], shown["--no-native",]
    assert "spin" not in shown["--no-ruby",] and "__libc_start_main" in shown["--no-ruby",], shown["--no-ruby",]


CHURN = """
BODY = "x = 0; while n > 0; x += n; n -= 1; end; x"
COMM = File.open("/proc/self/comm", "w")
COMM.sync = true
class Made; end
def called(i)
  COMM.syswrite(i.to_s)
  yield
  COMM.syswrite("-")
end
def by_path(i)
  f = eval("proc do |n| #{BODY} end", nil, "m_%07d.rb" % i, 1)
  called(i) { f.call(1500) }
end
def by_name(i)
  name = "m_%07d" % i
  Made.class_eval("def #{name}(n) #{BODY} end", "names.rb", 1)
  made = Made.new
  called(i) { made.__send__(name, 1500) }
  Made.class_eval { remove_method(name) }
end
def by_line(i)
  Made.class_eval("def m(n) #{BODY} end", "lines.rb", i)
  made = Made.new
  called(i) { made.m(1500) }
  Made.class_eval { remove_method(:m) }
end
STDOUT.puts "{}"
STDOUT.flush
i = 1
while true
  by_path(i)
  by_name(i)
  by_line(i)
  GC.start if i % 40 == 0
  GC.compact if i % 400 == 399 && RUBY_VERSION >= "3"
  i += 1
end
"""


def number_of_made(frame):
    file = os.path.basename(frame["file"])
    if not frame["mapping"]["path"].startswith("[ruby ") or not re.fullmatch(r"(m_\d+|names|lines)\.rb", file) or frame["name"] == "<compiled>":
        return None
    assert frame["line"] == frame["start_line"], frame
    if file == "lines.rb":
        assert frame["name"] == "m", frame
        return frame["start_line"]
    assert frame["start_line"] == 1, frame
    if file == "names.rb":
        return int(re.fullmatch(r"m_(\d+)", frame["name"])[1])
    return int(re.fullmatch(r"m_(\d+)\.rb", file)[1]) if "block in" in frame["name"] else None


@h.test
def functions_that_come_and_go():
    """They differ in their files alone, in their names, or in their first lines alone."""
    need_ruby()
    u.check_made(attach((), script(CHURN, "churn.rb"), "--threads", pauses=False)["samples"], number_of_made)


@h.test
def forged_interpreter():
    frames, _ = u.check_forged("forgedruby", "[ruby 3.1]", "made_up")
    assert {frame["start_line"] for frame in frames} == {5}, frames[:3]


ALLOCATING = """def leaf(n)
  "x" * n
end
class Box
  def fill(n)
    [n, n].map { |size| leaf(size) }
  end
end
def outer
  Box.new.fill(300_000)
end
$stdout.sync = true
puts "{}"
gets
100.times { outer }
puts '{"times": 100}'
gets
"""


@h.test
def heap_shows_functions():
    """Those that lead to malloc."""
    need_ruby()
    profile, times = u.allocations_of(RUBY, u.script(ALLOCATING, "prog.rb"), run_as=h.AHEAD_OF_OTHERS)
    found = {}
    for sample in profile["samples"]:
        if sample["values"]["alloc_space"] < 300000:
            continue
        frames = tuple((frame["name"], frame["line"]) for frame in sample["frames"] if frame["file"].endswith("/prog.rb"))
        found[frames] = found.get(frames, 0) + sample["values"]["alloc_objects"]
    print(f"# {found}", flush=True)
    assert found == {(("leaf", 2), ("block in fill", 6), ("fill", 6), ("outer", 10), ("block in <main>", 15),
                      ("<main>", 15)): 2 * times}


@h.test
def what_is_said():
    """Nothing of a Ruby that is read; test_record_unread.py has the others."""
    need_ruby()
    for command, *options in ("record",), ("heap",), ("record", "--no-ruby"), ("heap", "--no-ruby"):
        run = h.cprof(command, *options, "--", RUBY, "-e", "3_000_000.times { |i| 'a' * 100 }").wait()
        said = [line for line in run.lines if "a Ruby process; its own" in line]
        assert len(said) == len(options), (command, run.lines)


h.main()
