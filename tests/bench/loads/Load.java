// SPDX-License-Identifier: BSD-2-Clause
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import java.util.stream.*;
import java.util.zip.*;

/** A JVM at work: interpreter, both compilers, stubs, the collector, threads, native libraries. */
public class Load {
	interface Shape { double area(); }
	record Square(double a) implements Shape { public double area() { return a * a; } }
	record Circle(double r) implements Shape { public double area() { return 3.14 * r * r; } }

	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

	static double turn(int i) throws Exception {
		List<Shape> shapes = IntStream.range(0, 2000)
			.mapToObj(n -> n % 2 == 0 ? new Square(n) : new Circle(n))
			.collect(Collectors.toCollection(ArrayList::new));
		shapes.sort(Comparator.comparingDouble(Shape::area).reversed());
		Map<String, Integer> count = new TreeMap<>();
		String text = shapes.stream().map(Object::toString).collect(Collectors.joining(","));
		Matcher matcher = Pattern.compile("(Square|Circle)\\[(\\w)=(\\d+)").matcher(text);
		while (matcher.find())
			count.merge(matcher.group(1) + matcher.group(3), 1, Integer::sum);
		byte[] packed = new byte[text.length() * 2];
		Deflater deflater = new Deflater();
		deflater.setInput(text.getBytes("UTF-8"));
		deflater.finish();
		int length = deflater.deflate(packed);
		deflater.end();
		MessageDigest.getInstance("SHA-256").digest(Arrays.copyOf(packed, length));
		try {
			Object[] one = {String.valueOf(i)};
			return ((Integer) one[0]) + fib(20);
		} catch (ClassCastException expected) {
			return shapes.parallelStream().mapToDouble(Shape::area).sum() + fib(20);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + (long) (1e9 * Double.parseDouble(args[0]));
		ExecutorService pool = Executors.newFixedThreadPool(2);
		double sum = 0;
		for (int i = 0; System.nanoTime() < end; i++) {
			int n = i;
			Future<Double> other = pool.submit(() -> turn(n));
			sum += turn(i) + other.get();
		}
		pool.shutdown();
		System.out.println(sum);
	}
}
