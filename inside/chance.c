// SPDX-License-Identifier: BSD-2-Clause
/*
 * The mathematical functions are made here, because libm may not be mapped in a target. Each is a series where it
 * converges quickly, and an identity that leads there:
 *
 *	ln(m 2^e) = e ln 2 + 2 (z + z^3/3 + z^5/5 ...), z = (m - 1) / (m + 1), 1 <= m < 2
 *	1 - e^-a  = a - a^2/2 + a^3/6 ..., a <= 1/4;  p(2a) = p(a) (2 - p(a))
 *
 * Both are right to 12 digits or more. The target's floating-point state stays as it is: it may look at the flags, or have
 * made errors of them.
 *
 * Random numbers are a counter, mixed well, which begins with how many there were before it and a number of its process. A forked child has
 * its parent's counters, and must draw other numbers: the kernel clears the number of the process in it (MADV_WIPEONFORK), and
 * each thread begins again. Rejected: the processor's clock in each number. It is slow on virtual machines, and a
 * process may be forbidden to read it.
 */
#include "inside/chance.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "inside/arch/machine.h"
#include "inside/systemcall.h"

#define LN2	  0.69314718055994530942
#define GOLDEN	  0x9e3779b97f4a7c15ull /* 2^64 / golden ratio */
#define FAR_BYTES 0x1p60
#define LOG_TERMS 12 /* (1/3)^25 / 25 < 1e-13 */
#define EXP_TERMS 10 /* (1/4)^10 / 10! < 1e-12 */

/* What is computed from value is computed after this, and what it was computed from before. */
#define KEEP_BETWEEN(value) __asm__ volatile("" : "+r"(value))

/* The finalizer of splitmix64, by Sebastiano Vigna. */
static uint64_t mix(uint64_t bits)
{
	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
	return bits ^ bits >> 31;
}

/* A page of its own, which is zeros in a forked child. */
static union {
	_Alignas(MACHINE_PAGE_BYTES) uint64_t number;
	char page[MACHINE_PAGE_BYTES];
} process;

/* By the time, and by what the kernel gave to the process at its start. */
static uint64_t new_number(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM); /* at any address */
	struct timespec now = {0};
	uint64_t given = 0;

	if (random)
		__builtin_memcpy(&given, random, sizeof(given));
	system_call(SYS_madvise, (long)&process, sizeof(process), MADV_WIPEONFORK, 0, 0);
	system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0);
	return mix((uint64_t)now.tv_sec * GOLDEN + (uint64_t)now.tv_nsec + given) | 1;
}

/* Not 0. */
static uint64_t number_of_process(void)
{
	uint64_t number = __atomic_load_n(&process.number, __ATOMIC_RELAXED), mine;

	if (number)
		return number;
	mine = new_number();
	return __atomic_compare_exchange_n(&process.number, &number, mine, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED)
		       ? mine
		       : number;
}

bool chance_is_seeded(const struct chance *chance)
{
	return chance->process && chance->process == number_of_process();
}

void chance_seed(struct chance *chance)
{
	static uint64_t nr_seeded;
	uint64_t nr = __atomic_add_fetch(&nr_seeded, 1, __ATOMIC_RELAXED);

	chance->process = number_of_process();
	chance->state = mix(chance->process + mix(nr));
}

static uint64_t random_bits(struct chance *chance)
{
	chance->state += GOLDEN;
	return mix(chance->state);
}

/* -ln(u / 2^53), 0 < u <= 2^53 */
static double minus_log(uint64_t u)
{
	int exponent = 63 - __builtin_clzll(u);
	double m = (double)u / (double)(1ull << exponent), z = (m - 1) / (m + 1);
	double power = z, sum = 0;

	for (int i = 0; i < LOG_TERMS; i++) {
		sum += power / (2 * i + 1);
		power *= z * z;
	}
	return (53 - exponent) * LN2 - 2 * sum;
}

/* At least 1, FAR_BYTES at most. */
static uint64_t round_up(double distance)
{
	uint64_t whole;

	if (distance >= FAR_BYTES)
		return FAR_BYTES;
	whole = distance > 0 ? (uint64_t)distance : 0;
	return whole + ((double)whole < distance || !whole);
}

uint64_t chance_distance(struct chance *chance, uint64_t rate_bytes)
{
	uint64_t u = (random_bits(chance) >> (64 - 53)) + 1, whole;
	struct machine_arithmetic before;

	if (rate_bytes <= 1)
		return 0;
	before = machine_begin_arithmetic();
	KEEP_BETWEEN(u);
	whole = round_up(minus_log(u) * (double)rate_bytes);
	KEEP_BETWEEN(whole);
	machine_end_arithmetic(before);
	return whole;
}

/* 1 - e^-a, a > 0 */
static double probability(double a)
{
	int nr_halved = 0;
	double term = 1, p = 0;

	if (a > 50)
		return 1;
	for (; a > 0.25; nr_halved++)
		a /= 2;
	for (int i = 1; i <= EXP_TERMS; i++) {
		term *= -a / i;
		p -= term;
	}
	while (nr_halved--)
		p *= 2 - p;
	return p;
}

uint64_t chance_weight(uint64_t size, uint64_t rate_bytes)
{
	struct machine_arithmetic before;
	uint64_t weight;

	if (rate_bytes <= 1)
		return size ? size : 1;
	before = machine_begin_arithmetic();
	KEEP_BETWEEN(size);
	weight = (uint64_t)((double)size / probability((double)size / (double)rate_bytes) + 0.5);
	KEEP_BETWEEN(weight);
	machine_end_arithmetic(before);
	return weight;
}
