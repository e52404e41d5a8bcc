# SPDX-License-Identifier: BSD-2-Clause
"""How far a count may be off by chance alone.

A test of something random fails now and then although nothing is wrong, and a suite of hundreds of such
tests does so often. So every bound here is that of the exact distribution, and so wide that chance
leaves it once in a billion (ALPHA) times. It is computed from the counts of the run at hand: a run on
a slow or busy machine has fewer samples and wider bounds, and needs no other test.
"""
import math

ALPHA = 1e-9
# Poisson and normal bounds in standard errors, where no exact distribution is at hand
SIGMAS = 6.11


def probability(n, k, p):
    """Of k successes in n trials."""
    if p in (0, 1):
        return float(k == n * p)
    return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                    + k * math.log(p) + (n - k) * math.log1p(-p))


def edge(n, p, start, step):
    """The last count, from start on outward, beyond which all together are less likely than ALPHA / 2."""
    likely = []
    for k in range(start, n + 1 if step > 0 else -1, step):
        likely.append(probability(n, k, p))
        if likely[-1] < ALPHA * 1e-6:
            break
    beyond = 0.0
    while len(likely) > 1 and beyond + likely[-1] < ALPHA / 2:
        beyond += likely.pop()
    return start + step * (len(likely) - 1)


def binomial(n, p):
    """The least and the most successes in n trials that are not unlikely."""
    mode = min(int((n + 1) * p), n)
    return edge(n, p, mode, -1), edge(n, p, mode, 1)


def part_is(count, of, p, what):
    """count of so many fell where they fall with probability p."""
    low, high = binomial(of, p)
    assert of and low <= count <= high, f"{what}: {count} of {of}, not {low} to {high} ({p:.1%})"


def at_least(count, of, p, what):
    """The same where they fall with probability p or more."""
    low, _ = binomial(of, p)
    assert of and count >= low, f"{what}: {count} of {of}, not {low} or more ({p:.1%})"


def ratio_is(a, b, ratio, what):
    """a and b, counted together, are as ratio to 1."""
    part_is(a, a + b, ratio / (1 + ratio), what)
