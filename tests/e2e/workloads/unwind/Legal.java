// SPDX-License-Identifier: BSD-2-Clause
import java.util.Arrays;
import java.util.HashMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * A program whose every legal stack is known. "//= name" begins a method and "//." ends it, "//=. name" is all
 * of one; "//> name" is on each line that
 * calls a method of this file, "//>> name" where methods of Java's own are between.
 */
public class Legal {
	static volatile long sink;

	static long spin(int n) { //= Legal.spin
		long x = sink;

		for (int i = 0; i < n; i++) {
			x += (long) i * i % 7;
			x ^= x >>> 3;
		}
		return x;
	} //.

	static long f1(int n) { //= Legal.f1
		return spin(n) + 1; //> Legal.spin
	} //.

	static long f2(int n) { //= Legal.f2
		long y = f1(n); //> Legal.f1

		return y + spin(99); //> Legal.spin
	} //.

	interface Shape {
		long area(int n);
	}

	static class Square implements Shape {
		int side;

		Square(int n) { //= Legal$Square.<init>
			side = (int) (f1(n) & 7); //> Legal.f1
		} //.

		public long area(int n) { //= Legal$Square.area
			return f2(n) + side; //> Legal.f2
		} //.
	}

	static class Circle implements Shape {
		public long area(int n) { //= Legal$Circle.area
			return spin(n) * 3; //> Legal.spin
		} //.
	}

	static class Blob implements Shape {
		public synchronized long area(int n) { //= Legal$Blob.area
			long a = f1(n); //> Legal.f1

			a += f1(n / 2); //> Legal.f1
			return a;
		} //.
	}

	static final Shape[] SHAPES = {new Square(5), new Circle(), new Blob()}; //> Legal$Square.<init> //=. Legal.<clinit>

	static long byInterface(int n) { //= Legal.byInterface
		long sum = 0;

		for (Shape shape : SHAPES)
			sum += shape.area(n); //> Legal$Square.area //> Legal$Circle.area //> Legal$Blob.area
		return sum;
	} //.

	static long down(int depth) { //= Legal.down
		if (depth == 0)
			return spin(3000); //> Legal.spin
		return down(depth - 1) + 1; //> Legal.down
	} //.

	static int compare(Integer a, Integer b) { //= Legal.compare
		return (int) (f1(a + 100) - f1(b + 100)); //> Legal.f1
	} //.

	static void bySort() { //= Legal.bySort
		Integer[] all = {5, 3, 9, 1, 7, 2, 8};

		Arrays.sort(all, Legal::compare); //>> Legal.compare
		sink += all[0];
	} //.

	static class Key implements Comparable<Key> { //=. Legal$Key.compareTo //> Legal$Key.compareTo
		final int n;

		Key(int n) { //= Legal$Key.<init>
			this.n = n;
		} //.

		@Override
		public int compareTo(Key other) { //= Legal$Key.compareTo
			return (int) (spin(60 + n) & 1) + n - other.n; //> Legal.spin
		} //.

		@Override
		public int hashCode() { //= Legal$Key.hashCode
			return (int) f1(70 + n); //> Legal.f1
		} //.
	}

	static void byMaps() { //= Legal.byMaps
		TreeMap<Key, Integer> tree = new TreeMap<>();
		HashMap<Key, Integer> map = new HashMap<>();

		for (int i = 0; i < 8; i++) {
			Key key = new Key(i); //> Legal$Key.<init>

			tree.put(key, i); //>> Legal$Key.compareTo
			map.put(key, i); //>> Legal$Key.hashCode
		}
		sink += tree.size() + map.size();
	} //.

	static void byStream() { //= Legal.byStream
		sink += IntStream.range(0, 10)
				.mapToLong(i ->
						f2(i + 50)) //=. Legal.lambda$byStream$0 //> Legal.f2
				.sum(); //>> Legal.lambda$byStream$0
	} //.

	static long thrower(int depth) { //= Legal.thrower
		if (depth == 0)
			throw new IllegalStateException("of " + spin(40)); //> Legal.spin
		return thrower(depth - 1) + 1; //> Legal.thrower
	} //.

	static void catcher() { //= Legal.catcher
		try {
			sink += thrower(5); //> Legal.thrower
		} catch (IllegalStateException expected) {
			sink += f1(60); //> Legal.f1
		} finally {
			sink += spin(50); //> Legal.spin
		}
	} //.

	static void work() { //= Legal.work
		sink += byInterface(300); //> Legal.byInterface
		sink += down(20); //> Legal.down
		bySort(); //> Legal.bySort
		byMaps(); //> Legal.byMaps
		byStream(); //> Legal.byStream
		for (int i = 0; i < 3; i++)
			catcher(); //> Legal.catcher
		sink += new Square(120).area(90); //> Legal$Square.<init> //> Legal$Square.area
	} //.

	public static void main(String[] args) { //= Legal.main
		System.out.println("{}");
		for (;;)
			work(); //> Legal.work
	} //.
}
