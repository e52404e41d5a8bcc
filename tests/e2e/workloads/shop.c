// SPDX-License-Identifier: BSD-2-Clause
/*
 * shop ROUNDS: a program of five functions, as a branch finds it; or built as branches leave it:
 *
 *	-DIMPROVED	lookup() does a third of its work
 *	-DRENAMED	lookup() is find_item(), and the loop of price() is a helper of its own
 *	-DREGRESSED	discount() does three times its work
 *
 * By time, lookup : price : render : tax : discount is 8 : 6 : 4 : 3 : 3.
 */
#include <stdint.h>
#include <stdlib.h>

#define UNIT 20000 /* iterations; about 20 us */

#ifdef IMPROVED
#define LOOKUP 8 / 3
#else
#define LOOKUP 8
#endif
#ifdef REGRESSED
#define DISCOUNT 9
#else
#define DISCOUNT 3
#endif

static volatile uint64_t sink;

#define STEP(name)                                                      \
	static __attribute__((noinline)) void name(unsigned int rounds) \
	{                                                               \
		uint64_t x = rounds | 1;                                \
                                                                        \
		for (unsigned int i = 0; i < rounds; i++) {             \
			x = x * 6364136223846793005u + 1;               \
			__asm__ volatile("" : "+r"(x));                 \
		}                                                       \
		sink += x;                                              \
	}

#ifdef RENAMED
STEP(find_item)
#define lookup find_item
STEP(price_all)

static __attribute__((noinline)) void price(unsigned int rounds)
{
	price_all(rounds);
	sink++; /* so that it is no tail call */
}
#else
STEP(lookup)
STEP(price)
#endif
STEP(render)
STEP(tax)
STEP(discount)

static __attribute__((noinline)) void serve(void)
{
	lookup(LOOKUP * UNIT);
	price(6 * UNIT);
	render(4 * UNIT);
	tax(3 * UNIT);
	discount(DISCOUNT * UNIT);
	sink++;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;

	while (rounds--)
		serve();
	return 0;
}
