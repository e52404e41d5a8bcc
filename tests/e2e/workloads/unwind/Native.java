// SPDX-License-Identifier: BSD-2-Clause
import java.util.zip.Deflater;

/**
 * Native [NUMBER]: methods that lead to malloc, through the library of java.util.zip. Calls them so often that they are compiled, if
 * they ever are; says {}, and waits for a line; calls them NUMBER times (200), says so, and waits for another.
 */
class Native {
    static final byte[] input = new byte[100], output = new byte[1000];
    static int sum;

    static void deflate() {
        Deflater deflater = new Deflater(); // site
        deflater.setInput(input);
        deflater.finish();
        sum += deflater.deflate(output);
        deflater.end();
    }

    static void outer(int times) {
        for (int i = 0; i < times; i++)
            deflate(); // call
    }

    public static void main(String[] args) throws Exception {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 200;

        for (int i = 0; i < 40; i++)
            outer(50);
        System.out.println("{}");
        System.in.read();
        outer(times);
        System.out.println("{\"times\": " + times + "}");
        System.in.read();
    }
}
