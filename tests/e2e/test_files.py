#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# TEST_TIMEOUT: 400
"""The files of a recording: how each is called, what each covers, and that none is missing."""
import os

import harness as h


def first_bytes(path, nr=12):
    with open(path, "rb") as file:
        return file.read(nr)


@h.test
def a_name_never_lies_about_the_format():
    """Whatever formats, whatever -o: what is called .pb.gz is a pprof file, and .heap is text."""
    for formats, name, expected in (("legacy,proto", "q.pb.gz", {"q.heap", "q.pb.gz"}),
                                    ("legacy", "q.pb.gz", {"q.heap"}),
                                    ("proto,text", "q.txt", {"q.pb.gz", "q.txt"}),
                                    ("legacy,proto", "q", {"q", "q.pb.gz"})):
        folder = h.folder()
        run = h.cprof("record", "-F", "499", "--format", formats, "--", h.workload("exiter"), "0.3",
                      output=os.path.join(folder, name)).wait()
        assert run.code == 0, run.lines
        assert set(os.listdir(folder)) == expected, (formats, name, os.listdir(folder))
        for file in expected:
            path = os.path.join(folder, file)
            if file.endswith(".pb.gz"):
                assert h.total(h.judge(path), "samples") > 0
            else:
                assert b"profile:" in first_bytes(path), (file, first_bytes(path))


h.main()
