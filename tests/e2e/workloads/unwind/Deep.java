// SPDX-License-Identifier: BSD-2-Clause
import java.util.ArrayList;
import java.util.List;

/** Stacks of known methods: interpreted and compiled, deep, with exceptions thrown and garbage made. */
public class Deep {
	static volatile long sink;

	static void spin() {
		long sum = sink;

		for (int i = 0; i < 2_000_000; i++)
			sum = sum * 31 + (sum >>> 7) + i;
		sink = sum;
	}

	static void dive(int depth) {
		if (depth > 0)
			dive(depth - 1);
		else
			spin();
		sink++; // not a tail call
	}

	static int sum(List<Integer> list) {
		int sum = 0;

		for (int i : list)
			sum += i;
		return sum;
	}

	/** As many objects as it takes to keep the collector at work. */
	static void litter() {
		for (int n = 0; n < 20; n++) {
			List<Integer> list = new ArrayList<>();

			for (int i = 0; i < 5000; i++)
				list.add(i * 1000);
			sink += sum(list);
		}
	}

	static int thrower(int depth) {
		if (depth == 0)
			throw new IllegalStateException("of " + sink);
		return thrower(depth - 1) + 1;
	}

	static void catcher() {
		for (int i = 0; i < 50; i++) {
			try {
				sink += thrower(20);
			} catch (IllegalStateException expected) {
				sink += expected.getMessage().length();
			}
		}
	}

	static void work(long end, int depth) {
		while (System.nanoTime() < end) {
			dive(depth);
			litter();
			catcher();
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + (long) (1e9 * Double.parseDouble(args[0]));
		Thread[] threads = {new Thread(() -> work(end, 50)), new Thread(() -> work(end, 100))};

		for (Thread thread : threads)
			thread.start();
		work(end, 20);
		for (Thread thread : threads)
			thread.join();
	}
}
