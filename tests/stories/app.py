# SPDX-License-Identifier: BSD-2-Clause
"""A web application whose functions are known. Nearly all of a request's time is in score(), which rank() calls through sorted()."""


def score(word):
    x = 7
    for letter in word * 300:
        x = (x * 31 + ord(letter)) % 1000003
    return x


def rank(words):
    return sorted(words, key=score)


def page(path):
    words = [f"{path}-{i}" for i in range(40)]
    return "\n".join(rank(words))


def application(environ, start_response):
    body = page(environ["PATH_INFO"]).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
