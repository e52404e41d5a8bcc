// SPDX-License-Identifier: BSD-2-Clause
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Classes that come and go. Each is a copy of Gen00000 under another name of the same length, which is made, runs for a moment,
 * and is unloaded. While it runs, the thread has its number for a name: so a sample says itself what its frames are.
 *
 * Arguments: how long each runs, in microseconds; after how many one stays for ever (0: never).
 */
public class Unload {
	public interface Work {
		long run(long endNs);
	}

	public static class Gen00000 implements Work {
		public long run(long endNs) {
			return outer00000(endNs);
		}

		long outer00000(long endNs) {
			long sum = 0;

			while (System.nanoTime() < endNs)
				sum += inner00000(sum);
			return sum;
		}

		long inner00000(long from) {
			long sum = from;

			for (int i = 0; i < 1000; i++)
				sum = sum * 31 + i;
			return sum;
		}
	}

	static class Loader extends ClassLoader {
		Class<?> define(byte[] bytes) {
			return defineClass(null, bytes, 0, bytes.length);
		}
	}

	static byte[] renamed(byte[] template, String digits) {
		String text = new String(template, StandardCharsets.ISO_8859_1);

		return text.replace("00000", digits).getBytes(StandardCharsets.ISO_8859_1);
	}

	static long generation(byte[] template, int nr, long runNs) throws Exception {
		String digits = String.valueOf(10000 + nr % 90000);
		Class<?> made = new Loader().define(renamed(template, digits));
		Work work = (Work) made.getDeclaredConstructor().newInstance();
		long sum;

		Thread.currentThread().setName("Gen" + digits);
		sum = work.run(runNs == Long.MAX_VALUE ? runNs : System.nanoTime() + runNs);
		Thread.currentThread().setName("between");
		return sum;
	}

	public static void main(String[] args) throws Exception {
		long runNs = Long.parseLong(args[0]) * 1000, sum = 0;
		int last = Integer.parseInt(args[1]);
		byte[] template;

		try (InputStream in = Unload.class.getResourceAsStream("Unload$Gen00000.class")) {
			template = in.readAllBytes();
		}
		for (int nr = 1;; nr++) {
			if (nr == Math.max(last, 1))
				System.out.println("{}");
			sum += generation(template, nr, nr == last ? Long.MAX_VALUE : runNs);
			System.gc();
		}
	}
}
