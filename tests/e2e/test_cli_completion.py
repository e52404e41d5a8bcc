#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The shells' completions: all that --help says is offered, and all that is offered is taken."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import harness as h
from madeup import madeup

SCRIPTS = os.path.join(h.ROOT, "doc", "completion")
ENV = {**os.environ, "PATH": os.path.dirname(h.CPROF) + ":" + os.environ["PATH"]}
BASH = """source %s
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_cprof "$1" "${@: -1}" "${@: -2:1}"
printf '%%s\\n' "${COMPREPLY[@]}"
""" % os.path.join(SCRIPTS, "cprof.bash")


def said(*arguments):
    done = h.run_cprof(*arguments)
    return done.stdout


def commands():
    return re.findall(r"^  (\w+) ", said("--help"), re.M) + ["report", "help", "version"]


def options(command):
    """Of its --help: {option: is there a value behind it?}"""
    found = {}
    for letter, name, value in re.findall(r"^  (?:(-\w), |    )(--[\w-]+)(\[?=?[ =]?\S*)", said(command, "--help"), re.M):
        found.update({word: bool(value.strip()) for word in (letter, name) if word})
    assert len(found) > 1, command
    return found


def bash(*words, folder=None):
    done = subprocess.run(["bash", "-c", BASH, "bash", *words], capture_output=True, text=True, timeout=h.HANGS, env=ENV,
                          check=True, cwd=folder)
    assert not done.stderr, done.stderr
    return sorted(filter(None, done.stdout.split("\n")))


def fish(*words):
    line = " ".join(words)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {SCRIPTS}/cprof.fish; complete -C '{line}'"],
                          capture_output=True, text=True, timeout=h.HANGS, env={**ENV, "HOME": h.folder()}, check=True)
    assert not done.stderr, done.stderr
    return sorted(line.split("\t")[0] for line in done.stdout.splitlines())


def offers_all(ask):
    assert ask("cprof", "") == sorted(commands()) == ask("cprof", "help", "")
    assert ask("cprof", "re") == ["record", "report"]
    for command in commands()[:-2]:
        assert set(ask("cprof", command, "-")) == set(options(command)), command
    assert ask("cprof", "top", "--f") == ["--focus", "--full-names"]
    assert ask("cprof", "top", "--by", "t") == ["thread", "tid"]
    assert ask("cprof", "flame", "--format", "") == ["html", "svg"]
    assert str(os.getpid()) in ask("cprof", "record", "-p", "")


@h.test
def bash_offers_all():
    offers_all(bash)
    assert bash("cprof", "top", "--by", "=", "t") == bash("cprof", "top", "--by", "t")
    assert bash("cprof", "top", "--by", "=") == bash("cprof", "top", "--by", "")
    assert "sha256sum" in bash("cprof", "record", "-d", "3", "--", "sha256")
    assert not bash("cprof", "record", "--", "ls", "-")  # its own options are not ours
    assert not bash("cprof", "top", "-o") and not bash("cprof", "top", "")  # files, by readline
    assert not bash("cprof", "nosuch", "-")


@h.test
def fish_offers_all():
    if not shutil.which("fish"):
        raise h.Skip("no fish here")
    offers_all(fish)


class Zsh:
    """An interactive one, with the completion system and nothing else. What is typed before its prompt is there
    would be read by the terminal, not by its editor."""
    PROMPT = "zsh is waiting> "

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENV, "TERM": "dumb", "HOME": "/nonexistent"})
        self.type(f"fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt automenu; LISTMAX=1000; "
                  f"COLUMNS=400; PS1='{self.PROMPT[:5]}''{self.PROMPT[5:]}'\n")
        self.until(self.PROMPT)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, expected):
        text, end = "", time.monotonic() + h.HANGS
        while expected not in text:
            assert time.monotonic() < end and select.select([self.terminal], [], [], h.HANGS)[0], (expected, text)
            text += os.read(self.terminal, 65536).decode(errors="replace")
        return text

    def offers(self, line, expected):
        """What ^D lists, then ^U and an empty line."""
        self.type(line + "\x04\x15print LIS''TED\n")
        text = self.until("LISTED\r\n")
        text += "" if self.PROMPT in text.split("LISTED\r\n")[1] else self.until(self.PROMPT)
        missing = [word for word in expected if not re.search(rf"(^|\s){re.escape(word)}(\s|$)", text)]
        assert not missing, (line, missing, text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@h.test
def zsh_offers_all():
    if not shutil.which("zsh"):
        raise h.Skip("no zsh here")
    with Zsh() as zsh:
        zsh.offers("cprof ", commands())
        zsh.offers("cprof help ", commands())
        for command in commands()[:-2]:
            zsh.offers(f"cprof {command} -", options(command))
        zsh.offers("cprof top --by ", ["thread", "pid", "function"])
        zsh.offers("cprof record -- sha", ["sha256sum", "sha1sum"])


@h.test
def words_that_are_offered_are_taken():
    path = os.path.join(h.folder(), "p.pb.gz")
    with open(path, "wb") as file:
        file.write(madeup(1, comms=["a", "b"]))
    words = {}
    for command in commands()[:-3]:
        for line in said(command, "--list-options").splitlines():
            name, _, _, values, _ = line.split("\t")
            words.update({(command, name): values.split()} if values != "-" else {})
    assert {("top", "--by"), ("convert", "--to"), ("check", "--as"), ("record", "--format")} <= set(words), words
    for (command, name), values in words.items():
        for value in values if command != "bench" else ():  # it has check's, and would run commands
            operands = {"record": ["--bad"], "heap": ["--bad"], "check": ["--base", path, "--head", path],
                        "peek": ["main", path], "diff": [path, path]}.get(command, [path])
            refusal, answer = (h.run_cprof(command, name, word, *operands,
                                           status=None, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL).stderr
                               for word in ("bogus", value))
            assert "bogus" in refusal or command == "flame", (command, name, refusal)
            assert answer != refusal.replace("bogus", value), (command, answer)


@h.test
def install_and_uninstall():
    """Where shells look for them; and nothing is left."""
    root = h.folder()
    make = ["make", "-s", "-C", h.ROOT, f"DESTDIR={root}", "PREFIX=/usr"]
    subprocess.run([*make, "install"], check=True, capture_output=True, timeout=h.HANGS)
    found = {os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names}
    assert {"usr/bin/cprof", "usr/share/man/man1/cprof.1", "usr/share/man/man1/cprof-top.1",
            "usr/share/bash-completion/completions/cprof", "usr/share/zsh/site-functions/_cprof",
            "usr/share/fish/vendor_completions.d/cprof.fish"} <= found, found
    subprocess.run([*make, "uninstall"], check=True, capture_output=True, timeout=h.HANGS)
    left = [name for _, _, names in os.walk(root) for name in names]
    assert not left, left


h.main()
