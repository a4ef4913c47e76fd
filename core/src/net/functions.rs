//! Functions of single numbers, and of rows of them, in loops that the compiler makes vectors of.

use super::simd::vectorized;

/// Added to a number and taken away again, it leaves the nearest whole one: 1.5 · 2²³.
const ROUNDING: f32 = 12_582_912.0;

/// e to the power of x, to about two units in the last place; below −87 it is about 0.
///
/// Without a branch or a call, so that eight are worked out at once. The polynomial is that of Cephes' `expf`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // The logarithm of 2 in two parts: the first has few digits, so that its multiples are exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let rounded = x * LOG2_E + ROUNDING;
    let power = rounded - ROUNDING;
    let r = x - power * HIGH - power * LOW;
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * r + c;
    }
    let p = p * r * r + r + 1.0;
    // The whole number stands in the last bits of the sum; it becomes the exponent.
    let bits = rounded.to_bits().wrapping_sub(ROUNDING.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(bits)
}

/// The hyperbolic tangent, to about two units in the last place (Cephes' `tanhf`).
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let far = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    let z = x * x;
    let mut p = -5.704_988_7e-3;
    for c in [2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1] {
        p = p * z + c;
    }
    let near = p * z * x + x;
    if size < 0.625 {
        near
    } else {
        far.copysign(x)
    }
}

/// Whether all are numbers, and none is infinite.
pub(crate) fn all_finite(instructions: super::simd::Instructions, values: &[f32]) -> bool {
    let mut largest = 0;
    largest_bits(instructions, values, &mut largest);
    largest < f32::INFINITY.to_bits() as i32
}

vectorized! {
    /// The largest of the bits of numbers without their signs: infinity and what is no number have the largest of all.
    fn largest_bits(values: &[f32], largest: &mut i32) {
        *largest = values.iter().fold(*largest, |most, value| most.max((value.to_bits() & 0x7FFF_FFFF) as i32));
    }
}

vectorized! {
    /// The larger of each number and 0.
    fn relu(values: &mut [f32]) {
        values.iter_mut().for_each(|value| *value = value.max(0.0));
    }
}

vectorized! {
    /// The hyperbolic tangent of each number.
    fn tanh_all(values: &mut [f32]) {
        values.iter_mut().for_each(|value| *value = tanh(*value));
    }
}

vectorized! {
    /// What reaches a layer's sums of the gradient of its results, which were cut at 0.
    fn relu_back(gradients: &mut [f32], results: &[f32]) {
        for (gradient, &result) in gradients.iter_mut().zip(results) {
            // A product: of "leave it, or 0" the compiler makes stores under a mask, which cost dozens of cycles each.
            *gradient *= if result > 0.0 { 1.0 } else { 0.0 };
        }
    }
}

vectorized! {
    /// What reaches a layer's sums of the gradient of its results, which are hyperbolic tangents.
    fn tanh_back(gradients: &mut [f32], results: &[f32]) {
        for (gradient, &result) in gradients.iter_mut().zip(results) {
            *gradient *= 1.0 - result * result;
        }
    }
}

vectorized! {
    /// Adds one row to another.
    fn add(sums: &mut [f32], values: &[f32]) {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += value;
        }
    }
}

vectorized! {
    /// Adds one row times a factor to another.
    fn add_scaled(sums: &mut [f32], values: &[f32], factor: f32) {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += factor * value;
        }
    }
}

vectorized! {
    /// Writes one row times a factor, plus another.
    fn write_scaled(target: &mut [f32], values: &[f32], factor: f32, added: &[f32]) {
        for ((target, &value), &added) in target.iter_mut().zip(values).zip(added) {
            *target = factor * value + added;
        }
    }
}

vectorized! {
    /// Adds all rows of a matrix to one row.
    fn add_rows(sums: &mut [f32], matrix: &[f32]) {
        let width = sums.len();
        // Four rows at a time: each addition to a sum waits until the one before it is in memory.
        let fours = matrix.chunks_exact(4 * width);
        for row in fours.remainder().chunks_exact(width) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
        for four in fours {
            let (first, second) = four.split_at(2 * width);
            let ((a, b), (c, d)) = (first.split_at(width), second.split_at(width));
            for place in 0..width {
                sums[place] += (a[place] + b[place]) + (c[place] + d[place]);
            }
        }
    }
}

vectorized! {
    /// Adds to the first number of each target its row by some weights.
    fn add_dots(targets: &mut [f32], target_row: usize, matrix: &[f32], weights: &[f32]) {
        for (target, row) in targets.chunks_exact_mut(target_row).zip(matrix.chunks_exact(weights.len())) {
            target[0] += lanes_product(row, weights);
        }
    }
}

vectorized! {
    /// Adds all rows of a matrix to one row, each times the first number of its factor.
    fn add_weighted_rows(sums: &mut [f32], matrix: &[f32], factors: &[f32], factor_row: usize) {
        let width = sums.len();
        let (fours, factor_fours) = (matrix.chunks_exact(4 * width), factors.chunks_exact(4 * factor_row));
        let rest = fours.remainder().chunks_exact(width).zip(factor_fours.remainder().chunks_exact(factor_row));
        for (row, factor) in rest {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += factor[0] * value;
            }
        }
        for (four, factors) in fours.zip(factor_fours) {
            let (first, second) = four.split_at(2 * width);
            let ((a, b), (c, d)) = (first.split_at(width), second.split_at(width));
            let of = [factors[0], factors[factor_row], factors[2 * factor_row], factors[3 * factor_row]];
            for place in 0..width {
                sums[place] += (of[0] * a[place] + of[1] * b[place]) + (of[2] * c[place] + of[3] * d[place]);
            }
        }
    }
}

vectorized! {
    /// Writes one row into all rows of a matrix.
    fn fill_rows(matrix: &mut [f32], row: &[f32]) {
        for target in matrix.chunks_exact_mut(row.len()) {
            target.copy_from_slice(row);
        }
    }
}

vectorized! {
    /// Multiplies each number.
    fn scale(values: &mut [f32], factor: f32) {
        values.iter_mut().for_each(|value| *value *= factor);
    }
}

vectorized! {
    /// Takes the largest of each column of a matrix.
    fn largest_rows(largest: &mut [f32], matrix: &[f32]) {
        let width = largest.len();
        largest.copy_from_slice(&matrix[..width]);
        for row in matrix.chunks_exact(width).skip(1) {
            for (most, &value) in largest.iter_mut().zip(row) {
                *most = most.max(value);
            }
        }
    }
}

vectorized! {
    /// Adds the gradient of the largest of each column to every row that has it.
    fn largest_back(gradients: &mut [f32], matrix: &[f32], largest: &[f32], gradient: &[f32]) {
        let width = largest.len();
        for (row, target) in matrix.chunks_exact(width).zip(gradients.chunks_exact_mut(width)) {
            for place in 0..width {
                target[place] += if row[place] == largest[place] { gradient[place] } else { 0.0 };
            }
        }
    }
}

vectorized! {
    /// Adds a row times a factor to all rows of a matrix.
    fn add_to_rows(matrix: &mut [f32], row: &[f32], factor: f32) {
        for target in matrix.chunks_exact_mut(row.len()) {
            for (value, &added) in target.iter_mut().zip(row) {
                *value += factor * added;
            }
        }
    }
}

vectorized! {
    /// Makes each row's first `count` numbers probabilities: exponentials that add up to 1; the rest becomes 0.
    fn softmax_rows(matrix: &mut [f32], width: usize, count: usize, factor: f32) {
        for row in matrix.chunks_exact_mut(width) {
            let most = lanes_max(&row[..count]);
            // The whole row, for it is whole vectors; what is not looked at is anything until it becomes 0.
            row[count..].fill(most);
            row.iter_mut().for_each(|value| *value = exp((*value - most) * factor));
            row[count..].fill(0.0);
            let part = 1.0 / lanes_sum(row);
            row.iter_mut().for_each(|value| *value *= part);
        }
    }
}

vectorized! {
    /// The gradient of what `softmax_rows` was given, in the place of that of what it returned.
    fn softmax_back(gradients: &mut [f32], probabilities: &[f32], width: usize, factor: f32) {
        for (gradient, row) in gradients.chunks_exact_mut(width).zip(probabilities.chunks_exact(width)) {
            let mean = lanes_product(gradient, row);
            for (value, &chance) in gradient.iter_mut().zip(row) {
                *value = chance * (*value - mean) * factor;
            }
        }
    }
}

/// The sum of a row, in eight sums side by side: the order is the same on every processor.
#[inline(always)]
pub(crate) fn lanes_sum(values: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..8 {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// The sum of what two rows have in common, place by place multiplied; in eight sums side by side.
#[inline(always)]
fn lanes_product(values: &[f32], others: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (chunks, other_chunks) = (values.chunks_exact(8), others.chunks_exact(8));
    let rest = chunks.remainder().iter().zip(other_chunks.remainder());
    for (chunk, others) in chunks.zip(other_chunks) {
        for lane in 0..8 {
            sums[lane] += chunk[lane] * others[lane];
        }
    }
    sums.iter().sum::<f32>() + rest.map(|(value, other)| value * other).sum::<f32>()
}

/// The largest of a row, found in eight places side by side: one after the other, each comparison waits for the last.
#[inline(always)]
fn lanes_max(values: &[f32]) -> f32 {
    let larger = |most: f32, value: f32| if value > most { value } else { most };
    let mut most = [f32::NEG_INFINITY; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(f32::NEG_INFINITY, |most, &value| larger(most, value));
    for chunk in chunks {
        for lane in 0..8 {
            most[lane] = larger(most[lane], chunk[lane]);
        }
    }
    most.into_iter().fold(rest, larger)
}

/// What is added to a variance before its root is taken, as in `torch.nn.LayerNorm`.
const EPSILON: f32 = 1e-5;

/// What layer normalization has of each row.
pub(crate) struct Normal<'a> {
    /// The distance of rows, and how many numbers of each count.
    pub(crate) stride: usize,
    pub(crate) width: usize,
    /// The numbers with mean 0 and deviation 1.
    pub(crate) numbers: &'a mut [f32],
    /// One over the deviation of each row.
    pub(crate) deviations: &'a mut [f32],
}

vectorized! {
    /// Layer normalization of rows.
    fn normalize_rows(normal: &mut Normal, input: &[f32], weight: &[f32], bias: &[f32], output: &mut [f32]) {
        let Normal { stride, width, numbers, deviations } = normal;
        let (stride, width) = (*stride, *width);
        let rows = input.chunks_exact(stride).zip(numbers.chunks_exact_mut(stride)).zip(output.chunks_exact_mut(stride));
        for (((row, normal), output), deviation) in rows.zip(deviations.iter_mut()) {
            let (row, normal, output) = (&row[..width], &mut normal[..width], &mut output[..width]);
            let mean = lanes_sum(row) / width as f32;
            for (normal, value) in normal.iter_mut().zip(row) {
                *normal = value - mean;
            }
            let squares = lanes_product(normal, normal);
            let part = 1.0 / (squares / width as f32 + EPSILON).sqrt();
            *deviation = part;
            for ((normal, output), (weight, bias)) in normal.iter_mut().zip(output).zip(weight.iter().zip(bias)) {
                *normal *= part;
                *output = *normal * weight + bias;
            }
        }
    }
}

vectorized! {
    /// The gradients of layer normalization: of its input, which is added to, and of its weight and its bias.
    fn normalize_back(
        normal: &Normal,
        weight: &[f32],
        gradient: &[f32],
        input: &mut [f32],
        of_parameters: [&mut [f32]; 2],
    ) {
        let Normal { stride, width, numbers, deviations } = normal;
        let (stride, width, [of_weight, of_bias]) = (*stride, *width, of_parameters);
        let mut scaled = vec![0.0; width];
        let rows = gradient.chunks_exact(stride).zip(numbers.chunks_exact(stride)).zip(input.chunks_exact_mut(stride));
        for (((gradient, normal), input), &deviation) in rows.zip(deviations.iter()) {
            for place in 0..width {
                of_weight[place] += gradient[place] * normal[place];
                of_bias[place] += gradient[place];
                scaled[place] = gradient[place] * weight[place];
            }
            let mean = lanes_sum(&scaled) / width as f32;
            let along = lanes_product(&scaled, &normal[..width]) / width as f32;
            for place in 0..width {
                input[place] += deviation * (scaled[place] - mean - normal[place] * along);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::simd::tests::{close, drawn, kinds};

    #[test]
    fn exponentials_and_tangents_agree_with_the_library() {
        for step in -8000..=8000 {
            let x = step as f32 / 100.0;
            let relative = (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs();
            assert!(relative < 3e-7, "exp({x}) is off by {relative}");
            let off = (f64::from(tanh(x)) - f64::from(x).tanh()).abs();
            assert!(off < 2e-7 * f64::from(x).tanh().abs().max(1e-3), "tanh({x}) is off by {off}");
        }
    }

    #[test]
    fn exponentials_end_without_becoming_nothing_or_infinite() {
        for x in [-1e30, -100.0, -88.0] {
            assert!(exp(x) >= 0.0 && exp(x) < 1e-37);
        }
        for x in [88.1, 100.0, 1e30] {
            assert!(exp(x).is_finite() && exp(x) > 1e38);
        }
        assert_eq!((exp(0.0), tanh(0.0), tanh(50.0), tanh(-50.0)), (1.0, 0.0, 1.0, -1.0));
    }

    #[test]
    fn what_is_not_finite_is_found_wherever_it_stands() {
        for instructions in kinds() {
            assert!(all_finite(instructions, &[]));
            for length in [1, 7, 8, 9, 40] {
                let mut values = drawn(3, length);
                values[0] = -f32::MAX;
                assert!(all_finite(instructions, &values));
                for place in 0..length {
                    for wrong in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                        let before = std::mem::replace(&mut values[place], wrong);
                        assert!(!all_finite(instructions, &values));
                        values[place] = before;
                    }
                }
            }
        }
    }

    #[test]
    fn probabilities_are_those_of_the_definition() {
        for instructions in kinds() {
            for (width, count) in [(8, 1), (8, 5), (8, 8), (16, 9), (24, 17), (136, 130)] {
                for factor in [0.25, 1.0, 30.0] {
                    let given = drawn(4, 3 * width);
                    let mut found = given.clone();
                    softmax_rows(instructions, &mut found, width, count, factor);
                    for (row, given) in found.chunks_exact(width).zip(given.chunks_exact(width)) {
                        let power = |&value: &f32| (f64::from(value) * f64::from(factor)).exp();
                        let sum: f64 = given[..count].iter().map(power).sum();
                        for (&found, given) in row[..count].iter().zip(given) {
                            close(found, power(given) / sum, 2e-6);
                        }
                        close(row[..count].iter().sum(), 1.0, 1e-5);
                        assert!(row[count..].iter().all(|&rest| rest == 0.0), "what fills rows up has no probability");
                    }
                }
            }
        }
    }

    #[test]
    fn large_scores_do_not_spoil_probabilities() {
        for instructions in kinds() {
            let mut row = [1e30, -1e30, 1e30, 0.0, 9.0, 9.0, 9.0, 9.0];
            softmax_rows(instructions, &mut row, 8, 4, 1.0);
            close(row[0], 0.5, 1e-6);
            close(row[2], 0.5, 1e-6);
            assert!(row[1] < 1e-30 && row[3] < 1e-30);
        }
    }

    #[test]
    fn the_gradient_of_probabilities_is_that_of_the_definition() {
        for instructions in kinds() {
            let (width, count, factor) = (16, 11, 0.7);
            let mut chances = drawn(5, 2 * width);
            softmax_rows(instructions, &mut chances, width, count, factor);
            let given = drawn(6, 2 * width);
            let mut found = given.clone();
            softmax_back(instructions, &mut found, &chances, width, factor);
            for place in 0..2 * width {
                let row = place / width * width;
                let (chance, factor) = (f64::from(chances[place]), f64::from(factor));
                let slope = |other: usize| {
                    let own = if other == place { 1.0 } else { 0.0 };
                    f64::from(given[other]) * f64::from(chances[other]) * (own - chance) * factor
                };
                close(found[place], (row..row + width).map(slope).sum(), 1e-6);
            }
        }
    }

    #[test]
    fn rows_are_normalized_by_the_definition() {
        for instructions in kinds() {
            for width in [1, 2, 5, 6, 8, 13, 32, 33] {
                let (stride, rows) = (crate::net::matmul::padded(width), 4);
                // Far from 0, and the last row all alike: neither may be spoiled by rounding.
                let mut input: Vec<f32> = drawn(7, rows * stride).iter().map(|value| 10.0 + value).collect();
                input[3 * stride..].fill(2.5);
                let (weight, bias) = (drawn(8, width), drawn(9, width));
                let (mut numbers, mut output) = (vec![0.0; rows * stride], vec![0.0; rows * stride]);
                let mut deviations = vec![0.0; rows];
                let mut normal = Normal { stride, width, numbers: &mut numbers, deviations: &mut deviations };
                normalize_rows(instructions, &mut normal, &input, &weight, &bias, &mut output);
                for (row, output) in input.chunks_exact(stride).zip(output.chunks_exact(stride)) {
                    let row: Vec<f64> = row[..width].iter().map(|&value| f64::from(value)).collect();
                    let mean = row.iter().sum::<f64>() / width as f64;
                    let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width as f64;
                    for place in 0..width {
                        let normal = (row[place] - mean) / (variance + f64::from(EPSILON)).sqrt();
                        let expected = normal * f64::from(weight[place]) + f64::from(bias[place]);
                        close(output[place], expected, 1e-5);
                    }
                    assert!(output[width..].iter().all(|&rest| rest == 0.0), "what fills rows up stays 0");
                }
            }
        }
    }

    #[test]
    fn sums_over_rows_are_those_of_the_definition() {
        for instructions in kinds() {
            for (rows, width) in [(0, 8), (1, 8), (3, 16), (4, 8), (5, 24), (11, 8)] {
                let (matrix, factors) = (drawn(10, rows * width), drawn(11, rows * 8));
                let mut plain = vec![1.0; width];
                add_rows(instructions, &mut plain, &matrix);
                let mut weighted = vec![1.0; width];
                add_weighted_rows(instructions, &mut weighted, &matrix, &factors, 8);
                for place in 0..width {
                    let of = |row: usize| f64::from(matrix[row * width + place]);
                    close(plain[place], 1.0 + (0..rows).map(of).sum::<f64>(), 1e-6);
                    let by = (0..rows).map(|row| of(row) * f64::from(factors[row * 8]));
                    close(weighted[place], 1.0 + by.sum::<f64>(), 1e-6);
                }
                let (weights, mut dots) = (drawn(12, width), vec![1.0; rows * 8]);
                add_dots(instructions, &mut dots, 8, &matrix, &weights);
                for (row, dots) in dots.chunks_exact(8).enumerate() {
                    let of = |place: usize| f64::from(matrix[row * width + place]) * f64::from(weights[place]);
                    close(dots[0], 1.0 + (0..width).map(of).sum::<f64>(), 1e-6);
                    assert!(dots[1..].iter().all(|&rest| rest == 1.0), "beside the first number all stays");
                }
            }
        }
    }

    #[test]
    fn loops_over_rows_do_what_they_say() {
        for instructions in kinds() {
            let matrix = [1.0, -2.0, 3.0, 4.0, -5.0, 0.5];
            let mut sums = [10.0, 10.0];
            add_rows(instructions, &mut sums, &matrix);
            assert_eq!(sums, [9.0, 12.5]);
            let mut largest = [99.0, 99.0];
            largest_rows(instructions, &mut largest, &matrix);
            assert_eq!(largest, [3.0, 4.0]);
            let mut gradients = [0.0; 6];
            largest_back(instructions, &mut gradients, &matrix, &largest, &[7.0, 8.0]);
            assert_eq!(gradients, [0.0, 0.0, 7.0, 8.0, 0.0, 0.0]);
            let mut filled = [0.0; 6];
            fill_rows(instructions, &mut filled, &[1.0, 2.0]);
            add_to_rows(instructions, &mut filled, &[1.0, 10.0], 2.0);
            assert_eq!(filled, [3.0, 22.0, 3.0, 22.0, 3.0, 22.0]);
            let mut values = matrix;
            relu(instructions, &mut values);
            assert_eq!(values, [1.0, 0.0, 3.0, 4.0, 0.0, 0.5]);
        }
    }
}
