//! Products of matrices, the one place where the time of networks goes.
//!
//! One function serves a layer's forward pass and both of its gradients: the left matrix may be read by rows or by
//! columns, the right one is read by rows. Tiles of the result stay in registers while the sum runs.

use super::simd::Instructions;

/// Rows of right matrices and of results begin at multiples of this many numbers, and are filled up with zeros.
pub(crate) const LANES: usize = 8;

/// A width with what fills it up to whole vectors.
pub(crate) fn padded(width: usize) -> usize {
    width.next_multiple_of(LANES)
}

/// The left matrix of a product: element (i, p) is at `i · row + p · column`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// How large a product is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Rows of the left matrix and of the result.
    pub(crate) rows: usize,
    /// Columns of the left matrix and rows of the right one.
    pub(crate) depth: usize,
    /// Columns of the right matrix and of the result: a multiple of `LANES`.
    pub(crate) columns: usize,
}

/// Adds left · right to the result; `right_row` and `out_row` are the distances of rows.
pub(crate) fn add_product(
    instructions: Instructions,
    left: Left,
    right: &[f32],
    right_row: usize,
    out: &mut [f32],
    out_row: usize,
    shape: Shape,
) {
    let Shape { rows, depth, columns } = shape;
    if rows == 0 || depth == 0 || columns == 0 {
        return;
    }
    // The pointers below stay within these bounds; what is wrong ends here, not in somebody else's memory.
    assert!(columns % LANES == 0, "a product has {columns} columns; expected whole vectors");
    assert!((rows - 1) * left.row + (depth - 1) * left.column < left.values.len());
    assert!((depth - 1) * right_row + columns <= right.len());
    assert!((rows - 1) * out_row + columns <= out.len());
    assert!(out_row >= columns || rows == 1, "rows of a result overlap");
    let whole = Whole { left, right: right.as_ptr(), right_row, out: out.as_mut_ptr(), out_row, shape };
    #[cfg(target_arch = "x86_64")]
    if instructions == Instructions::Avx2 {
        // SAFETY: the processor has these instructions, and the bounds were checked above.
        return unsafe { avx2(whole) };
    }
    let _ = instructions;
    // SAFETY: the bounds were checked above.
    unsafe { whole.run::<4, 4, 8, false>() }
}

/// Columns of a weight that are multiplied together lie together.
pub(crate) const PANEL: usize = 16;
/// Adds a single row by a matrix to the result. The matrix stands in panels of `PANEL` columns, one behind the other, the
/// last of which may be narrower; they may have more rows (`panel_depth`) than the left row has numbers.
///
/// Each sum runs in the same order as in `add_product`: a row has the same result alone and among others.
pub(crate) fn add_row_product(
    instructions: Instructions,
    left: &[f32],
    panels: &[f32],
    panel_depth: usize,
    out: &mut [f32],
) {
    let (depth, columns) = (left.len(), out.len());
    assert!(columns % LANES == 0, "a product has {columns} columns; expected whole vectors");
    assert!(depth <= panel_depth && columns * panel_depth <= panels.len());
    // Several panels at once: the sums of one alone would wait for each other. As many as there are registers for.
    let together = if instructions == Instructions::Portable { 2 * PANEL } else { 4 * PANEL };
    let mut column = 0;
    while column + together <= columns {
        let (first, target) = (panels[column * panel_depth..].as_ptr(), out[column..].as_mut_ptr());
        // SAFETY: so many panels and columns are there; the processor has AVX2 where it is asked for.
        match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { beside_avx2(left, first, PANEL * panel_depth, target) },
            _ => unsafe { beside::<2, false>(left, first, PANEL * panel_depth, target) },
        }
        column += together;
    }
    while column < columns {
        let width = PANEL.min(columns - column);
        let shape = Shape { rows: 1, depth, columns: width };
        let row = Left { values: left, row: depth, column: 1 };
        let (panel, target) = (&panels[column * panel_depth..], &mut out[column..column + width]);
        add_product(instructions, row, panel, width, target, width, shape);
        column += width;
    }
}

/// # Safety
/// As `beside`; the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn beside_avx2(left: &[f32], panels: *const f32, distance: usize, out: *mut f32) {
    unsafe { beside::<4, true>(left, panels, distance, out) }
}

/// # Safety
/// There are so many panels with as many rows as the left row has numbers, so far apart; and all their columns of the
/// result.
#[inline(always)]
unsafe fn beside<const PANELS: usize, const FUSED: bool>(
    left: &[f32],
    panels: *const f32,
    distance: usize,
    out: *mut f32,
) {
    unsafe {
        let mut sums = out.cast::<[[f32; PANEL]; PANELS]>().read();
        for (p, &factor) in left.iter().enumerate() {
            for (number, sums) in sums.iter_mut().enumerate() {
                let factors = panels.add(number * distance + p * PANEL).cast::<[f32; PANEL]>().read();
                for (sum, &other) in sums.iter_mut().zip(&factors) {
                    *sum = if FUSED { factor.mul_add(other, *sum) } else { *sum + factor * other };
                }
            }
        }
        out.cast::<[[f32; PANEL]; PANELS]>().write(sums);
    }
}

/// # Safety
/// The processor has AVX2 and FMA; all of the product is within its slices.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(whole: Whole) {
    // Six rows of two vectors, or twelve of one: twelve sums in registers, which hides how long an addition takes.
    unsafe { whole.run::<6, 12, 16, true>() }
}

#[derive(Clone, Copy)]
struct Whole<'a> {
    left: Left<'a>,
    right: *const f32,
    right_row: usize,
    out: *mut f32,
    out_row: usize,
    shape: Shape,
}

impl Whole<'_> {
    /// # Safety
    /// All of the product is within its slices.
    #[inline(always)]
    unsafe fn run<const ROWS: usize, const NARROW_ROWS: usize, const COLUMNS: usize, const FUSED: bool>(self) {
        let mut column = 0;
        while column + COLUMNS <= self.shape.columns {
            unsafe { self.column::<ROWS, COLUMNS, FUSED>(column) };
            column += COLUMNS;
        }
        if COLUMNS > LANES && column < self.shape.columns {
            unsafe { self.column::<NARROW_ROWS, LANES, FUSED>(column) };
        }
    }

    /// # Safety
    /// As `run`; the columns from this one on are there.
    #[inline(always)]
    unsafe fn column<const ROWS: usize, const COLUMNS: usize, const FUSED: bool>(self, column: usize) {
        let mut row = 0;
        while row + ROWS <= self.shape.rows {
            unsafe { self.tile::<ROWS, COLUMNS, FUSED>(row, column) };
            row += ROWS;
        }
        while row + 3 <= self.shape.rows {
            unsafe { self.tile::<3, COLUMNS, FUSED>(row, column) };
            row += 3;
        }
        while row < self.shape.rows {
            unsafe { self.tile::<1, COLUMNS, FUSED>(row, column) };
            row += 1;
        }
    }

    /// # Safety
    /// As `run`; rows and columns of the tile are there.
    #[inline(always)]
    unsafe fn tile<const ROWS: usize, const COLUMNS: usize, const FUSED: bool>(self, row: usize, column: usize) {
        unsafe {
            let left = self.left.values.as_ptr().add(row * self.left.row);
            let right = self.right.add(column);
            let out = self.out.add(row * self.out_row + column);
            let mut sums = [[0.0f32; COLUMNS]; ROWS];
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = out.add(i * self.out_row).cast::<[f32; COLUMNS]>().read();
            }
            for p in 0..self.shape.depth {
                let factors = right.add(p * self.right_row).cast::<[f32; COLUMNS]>().read();
                for (i, sum) in sums.iter_mut().enumerate() {
                    let factor = *left.add(i * self.left.row + p * self.left.column);
                    for (sum, &other) in sum.iter_mut().zip(&factors) {
                        // Without the instruction, `mul_add` is a call into a library.
                        *sum = if FUSED { factor.mul_add(other, *sum) } else { *sum + factor * other };
                    }
                }
            }
            for (i, &sum) in sums.iter().enumerate() {
                out.add(i * self.out_row).cast::<[f32; COLUMNS]>().write(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::simd::tests::{close, drawn, kinds};

    /// Beyond the columns of a result nothing may be written.
    const UNTOUCHED: f32 = 77.0;

    /// One product: its shape, whether the left matrix is read by columns, and what stands between rows.
    fn check(instructions: Instructions, shape: Shape, by_columns: bool, gap: usize) {
        let Shape { rows, depth, columns } = shape;
        let (row, column) = if by_columns { (1, rows + gap) } else { (depth + gap, 1) };
        let (right_row, out_row) = (columns + gap, columns + gap);
        // Exactly as much as a product needs: one number less would be somebody else's memory.
        let needed = |most: usize, row: usize| most.checked_sub(1).map_or(0, |last| last * row);
        let left = drawn(1, if depth == 0 { 0 } else { needed(rows, row) + needed(depth, column) + 1 });
        let right = drawn(2, if depth == 0 { 0 } else { needed(depth, right_row) + columns });
        let before = drawn(3, rows * out_row);
        let mut out = before.clone();
        for row in out.chunks_exact_mut(out_row) {
            row[columns..].fill(UNTOUCHED);
        }
        out.truncate(needed(rows, out_row) + columns);
        let of = Left { values: &left, row, column };
        add_product(instructions, of, &right, right_row, &mut out, out_row, shape);
        for (place, &found) in out.iter().enumerate() {
            let (i, j) = (place / out_row, place % out_row);
            let product = |p: usize| f64::from(left[i * row + p * column]) * f64::from(right[p * right_row + j]);
            match j < columns {
                true => close(found, f64::from(before[place]) + (0..depth).map(product).sum::<f64>(), 1e-5),
                false => assert_eq!(found, UNTOUCHED, "{shape:?} wrote beyond its columns"),
            }
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for instructions in kinds() {
            for rows in 1..=15 {
                for depth in (0..=9).chain([31, 32, 33]) {
                    for columns in [8, 16, 24, 32, 40] {
                        let shape = Shape { rows, depth, columns };
                        for gap in [0, 3, 8] {
                            check(instructions, shape, false, gap);
                            check(instructions, shape, true, gap);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_alone_has_the_same_result_as_among_others() {
        for instructions in kinds() {
            for columns in [8, 16, 24, 64, 72, 80, 88, 128, 136] {
                for (depth, panel_depth) in [(0, 3), (1, 1), (5, 9), (33, 33), (40, 41)] {
                    let (left, panels) = (drawn(1, 7 * depth), drawn(2, columns * panel_depth));
                    let before = drawn(3, 7 * columns);
                    let mut together = before.clone();
                    for column in (0..columns).step_by(PANEL) {
                        let width = PANEL.min(columns - column);
                        let shape = Shape { rows: 7, depth, columns: width };
                        let of = Left { values: &left, row: depth, column: 1 };
                        let panel = &panels[column * panel_depth..];
                        add_product(instructions, of, panel, width, &mut together[column..], columns, shape);
                    }
                    for row in 0..7 {
                        let mut alone = before[row * columns..][..columns].to_vec();
                        let one = &left[row * depth..][..depth];
                        add_row_product(instructions, one, &panels, panel_depth, &mut alone);
                        assert_eq!(alone, together[row * columns..][..columns]);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_a_product_of_nothing() {
        let left = Left { values: &[], row: 1, column: 1 };
        for shape in [(0, 5, 8), (5, 0, 8), (5, 5, 0)] {
            let shape = Shape { rows: shape.0, depth: shape.1, columns: shape.2 };
            let mut out = [UNTOUCHED; 4];
            add_product(Instructions::detect(), left, &[], 8, &mut out, 8, shape);
            assert_eq!(out, [UNTOUCHED; 4]);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let all = [0.0; 64];
        // Of 2 × 3 by 3 × 8: the left matrix, the right one and the result are each a number short.
        for (left, right, out) in [(5, 24, 16), (6, 23, 16), (6, 24, 15)] {
            let refused = std::panic::catch_unwind(|| {
                let (mut result, shape) = (vec![0.0; out], Shape { rows: 2, depth: 3, columns: 8 });
                let left = Left { values: &all[..left], row: 3, column: 1 };
                add_product(Instructions::detect(), left, &all[..right], 8, &mut result, 8, shape);
            });
            assert!(refused.is_err());
        }
    }
}
