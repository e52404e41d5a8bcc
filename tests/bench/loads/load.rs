// SPDX-License-Identifier: BSD-2-Clause
//! A Rust program at work: traits, iterators, closures, threads, allocation, a caught panic.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::time::{Duration, Instant};

trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { 3.14 * self.0 * self.0 } }

#[inline(never)]
fn fib(n: u32) -> u32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }

fn turn(i: usize) -> f64 {
    let mut shapes: Vec<Box<dyn Shape>> = (0..2000)
        .map(|n| -> Box<dyn Shape> {
            if n % 2 == 0 { Box::new(Square(n as f64)) } else { Box::new(Circle(n as f64)) }
        })
        .collect();
    shapes.sort_by(|a, b| b.area().partial_cmp(&a.area()).unwrap());
    let mut text = String::new();
    for shape in &shapes {
        write!(text, "{:.3},", shape.area() + i as f64).unwrap();
    }
    let mut count: HashMap<String, usize> = HashMap::new();
    for word in text.split(',') {
        *count.entry(word.to_owned()).or_default() += 1;
    }
    let order: BTreeMap<_, _> = count.iter().map(|(k, v)| (*v, k)).collect();
    let sum: f64 = text.split(',').filter_map(|w| w.parse::<f64>().ok()).sum();
    sum + order.len() as f64 + fib(20) as f64
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    std::panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            std::thread::spawn(move || {
                let mut sum = 0.0;
                for i in 0.. {
                    if Instant::now() > end {
                        break;
                    }
                    sum += std::panic::catch_unwind(|| if i % 9 == 8 { panic!() } else { turn(i) })
                        .unwrap_or(1.0);
                }
                sum
            })
        })
        .collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<f64>());
}
