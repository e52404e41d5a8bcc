// SPDX-License-Identifier: BSD-2-Clause
/*
 * The test is about the steps from one piece of time to the next in the second half, not about the totals: totals are a
 * sum of steps, so that a straight line through them looks significant for any random walk. The mean step over its standard
 * error is Student's t. A steady leak of n sampled blocks has t = sqrt(n), about; one large step, however high, has t = 1.
 *
 * t must exceed 4 + 16 / pieces: with 8, 16 and 32 pieces that is once in 4,000, 12,000 and 22,000 stacks that do not grow. A program
 * has thousands of stacks, so the more are tested, the larger t must be (Bonferroni): of a thousand programs that do not leak
 * one shows a stack.
 * Growth has to go on: a cache that has become full in the meantime grew steadily before.
 */
#include "record/leaktest.h"

#include <math.h>

#define EXCEPTION 0.1 /* at most this part of the blocks is left */
#define ALPHA \
	0.001 /* the probability that any of the stacks of a program is suspected that do not grow */

static double sum_of(const double *at, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += at[i];
	return sum;
}

/* The last nr_last of nr pieces grew by at least so much of their share. */
static bool goes_on(const double *at, size_t nr, size_t nr_last, double part)
{
	double share = sum_of(at, nr) * nr_last / nr;

	return sum_of(at + nr - nr_last, nr_last) >= part * share;
}

/* The probability that Student's t of n degrees of freedom is larger (Abramowitz and Stegun, 26.7.3 and 26.7.4). t > 0 */
static double tail(double t, size_t n)
{
	double angle = atan(t / sqrt(n)), cosine = cos(angle), term, sum, within;
	size_t odd = n % 2;

	term = odd ? cosine : 1;
	sum = n > 1 ? term : 0;
	for (size_t i = 2 + odd; i < n; i += 2) {
		term *= cosine * cosine * (i - 1) / i;
		sum += term;
	}
	within = odd ? 2 / M_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
	return (1 - within) / 2;
}

static bool is_steady(const double *at, size_t nr, uint64_t nr_tested, double *mean, double *error)
{
	double squares = 0;

	*mean = sum_of(at, nr) / nr;
	for (size_t i = 0; i < nr; i++)
		squares += (at[i] - *mean) * (at[i] - *mean);
	*error = sqrt(squares / (nr - 1) / nr);
	return *mean > 0 && *mean > *error * (4 + 16.0 / nr) &&
	       tail(*mean / *error, nr - 1) * (double)nr_tested <= ALPHA;
}

static bool is_exception(const struct leak_stack *stack)
{
	return stack->nr_taken - stack->nr_freed <= EXCEPTION * stack->nr_taken &&
	       stack->oldest_freed_ns < stack->age_ns;
}

bool leak_is_testable(const struct leak_stack *stack)
{
	return stack->nr_pieces >= LEAK_LEAST_PIECES && stack->nr_old >= LEAK_LEAST_OLD &&
	       stack->nr_freed < stack->nr_taken;
}

struct leak_verdict leak_judge(const struct leak_stack *stack, uint64_t nr_tested)
{
	size_t nr = stack->nr_pieces / 2;
	const double *half = stack->growth_bytes + stack->nr_pieces - nr;
	struct leak_verdict verdict = {LEAK_NONE};

	if (!leak_is_testable(stack) ||
	    !is_steady(half, nr, nr_tested, &verdict.slope, &verdict.error) ||
	    !goes_on(half, nr, nr / 2, 1.0 / 3) || !goes_on(half, nr, nr / 4, 1.0 / 6))
		return verdict;
	verdict.slope /= stack->piece_s;
	verdict.error /= stack->piece_s;
	if (is_exception(stack))
		verdict.kind = LEAK_EXCEPTION;
	else if (!stack->is_over)
		verdict.kind = LEAK_GROWTH;
	return verdict;
}
