// SPDX-License-Identifier: BSD-2-Clause
// A node at work: the interpreter, three compilers, builtins that call back, regexes, the collector,
// promises, C++ under JavaScript and JavaScript under C++.
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');

class Shape { area() { return 0; } }
class Square extends Shape { constructor(a) { super(); this.a = a; } area() { return this.a ** 2; } }
class Circle extends Shape { constructor(r) { super(); this.r = r; } area() { return 3.14 * this.r ** 2; } }

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
function* naturals(n) { for (let i = 0; i < n; i++) yield i; }

async function turn(i) {
	const shapes = Array.from(naturals(2000), (n) => (n % 2 ? new Square(n) : new Circle(n)));
	const text = JSON.stringify(shapes, (k, v) => (typeof v === 'number' ? v + i : v));
	JSON.parse(text, (k, v) => v).sort((a, b) => (a.a || a.r) - (b.a || b.r));
	text.replace(/"([ar])":(\d+)/g, (m, k, v) => `${k}=${v}`).split(',').map(parseFloat);
	const fresh = new Function('x', `return x + ${i};`);
	const sum = shapes.map((s) => s.area()).filter((a) => a > 1).reduce((a, b) => a + b, fresh(1));
	const map = new Map(shapes.map((s, n) => [`key${n}${sum}`, s]));
	[...map.keys()].forEach((k) => map.delete(k));
	crypto.createHash('sha256').update(zlib.deflateSync(text)).digest('hex');
	return fib(18);
}

(async () => {
	const end = Date.now() + 1000 * Number(process.argv[2]);

	for (let i = 0; Date.now() < end; i++) {
		await turn(i);
		if (i % 10 === 0)
			await new Promise(setImmediate);
	}
})();
