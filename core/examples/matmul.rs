//! How fast matrices are multiplied, beside three plain loops; `benchmarks/matmul.py` runs it.
//!
//! Prints a line for each shape and each way: the shape, the way, and the best of many rounds in GFLOP/s. The product is
//! compiled in from where the library has it, for it is no part of what the library offers.

use std::hint::black_box;
use std::time::Instant;

#[path = "../src/net/matmul.rs"]
#[allow(dead_code)]
mod matmul;
#[path = "../src/net/simd.rs"]
#[allow(dead_code, unused_macros, unused_imports)]
mod simd;

use matmul::{add_product, add_row_product, Left, Shape, PANEL};
use simd::Instructions;

/// A round takes about so many operations.
const ROUND: usize = 4_000_000;
const ROUNDS: usize = 60;

/// What is multiplied, and where networks do it.
const SHAPES: [(usize, usize, usize, &str); 7] = [
    (128, 21, 32, "kernel's first layer, 128 jobs"),
    (129, 32, 64, "attention's keys and values, 128 jobs"),
    (129, 16, 152, "attention's scores, 128 jobs"),
    (1000, 22, 32, "hosts' first layer, 1,000 hosts"),
    (1, 2688, 64, "mlp's first layer, one decision"),
    (32, 2688, 64, "mlp's first layer, 32 decisions"),
    (512, 512, 512, "large"),
];

type Way = fn(&[f32], &[f32], &mut [f32], usize, usize);

fn main() {
    for (rows, depth, columns, place) in SHAPES {
        let numbers = |count: usize, step: f32| (0..count).map(|i| (i as f32 * step).sin()).collect::<Vec<f32>>();
        let (left, right) = (numbers(rows * depth, 0.7), numbers(depth * columns, 1.3));
        let panels = in_panels(&right, depth, columns);
        let mut expected = vec![0.0; rows * columns];
        plain(&left, &right, &mut expected, depth, columns);
        for kind in [Instructions::Avx2, Instructions::Portable].into_iter().filter(|kind| kind.are_there()) {
            let mut out = vec![0.0; rows * columns];
            tiles(kind, &left, &panels, &mut out, depth, columns);
            let off = out.iter().zip(&expected).fold(0.0f32, |most, (one, other)| most.max((one - other).abs()));
            assert!(off < 1e-3, "{place}: the product is off by {off}");
            let rate = rate(rows * depth * columns, || {
                tiles(kind, black_box(&left), black_box(&panels), black_box(&mut out), depth, columns);
            });
            println!("{rows}x{depth}x{columns}\t{place}\t{}\t{rate:.2}", format!("{kind:?}").to_lowercase());
        }
        for (name, way) in [("plain loops", plain as Way), ("plain loops by rows", by_rows)] {
            let rate = rate(rows * depth * columns, || {
                way(black_box(&left), black_box(&right), black_box(&mut expected), depth, columns);
            });
            println!("{rows}x{depth}x{columns}\t{place}\t{name}\t{rate:.2}");
        }
    }
}

/// In GFLOP/s: a multiplication and an addition are two operations.
fn rate(products: usize, mut body: impl FnMut()) -> f64 {
    let times = (ROUND / (2 * products)).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        (0..times).for_each(|_| body());
        best = best.min(began.elapsed().as_secs_f64() / times as f64);
    }
    2.0 * products as f64 / best / 1e9
}

/// The definition, as anybody would write it down.
fn plain(left: &[f32], right: &[f32], out: &mut [f32], depth: usize, columns: usize) {
    for (row, out) in left.chunks_exact(depth).zip(out.chunks_exact_mut(columns)) {
        for (column, out) in out.iter_mut().enumerate() {
            *out = 0.0;
            for (p, factor) in row.iter().enumerate() {
                *out += factor * right[p * columns + column];
            }
        }
    }
}

/// The same with the loops in an order that a compiler can make vectors of.
fn by_rows(left: &[f32], right: &[f32], out: &mut [f32], depth: usize, columns: usize) {
    for (row, out) in left.chunks_exact(depth).zip(out.chunks_exact_mut(columns)) {
        out.fill(0.0);
        for (factor, right) in row.iter().zip(right.chunks_exact(columns)) {
            for (out, other) in out.iter_mut().zip(right) {
                *out += factor * other;
            }
        }
    }
}

/// As in a network: columns of the right matrix that are multiplied together lie together.
fn in_panels(right: &[f32], depth: usize, columns: usize) -> Vec<f32> {
    let panel = |first: usize| {
        let width = PANEL.min(columns - first);
        (0..depth).flat_map(move |p| right[p * columns + first..][..width].to_vec())
    };
    (0..columns).step_by(PANEL).flat_map(panel).collect()
}

fn tiles(kind: Instructions, left: &[f32], panels: &[f32], out: &mut [f32], depth: usize, columns: usize) {
    out.fill(0.0);
    let rows = left.len() / depth;
    if rows == 1 {
        return add_row_product(kind, left, panels, depth, out);
    }
    for (number, panel) in panels.chunks(PANEL * depth).enumerate() {
        let width = panel.len() / depth;
        let shape = Shape { rows, depth, columns: width };
        let of = Left { values: left, row: depth, column: 1 };
        add_product(kind, of, panel, width, &mut out[number * PANEL..], columns, shape);
    }
}
