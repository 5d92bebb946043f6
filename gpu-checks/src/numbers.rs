//! Random numbers and comparisons.

use half::bf16;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, n)`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("it is below a usize")
    }

    /// Uniform in `[-1, 1)`.
    pub(crate) fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    pub(crate) fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    pub(crate) fn halves(&mut self, n: usize) -> Vec<bf16> {
        (0..n).map(|_| bf16::from_f32(self.float())).collect()
    }
}

/// The bits of f32 numbers.
pub(crate) fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The bits of bf16 numbers.
pub(crate) fn bits16(numbers: &[bf16]) -> Vec<u32> {
    numbers.iter().map(|x| u32::from(x.to_bits())).collect()
}

pub(crate) fn wide(numbers: &[bf16]) -> Vec<f32> {
    numbers.iter().map(|x| x.to_f32()).collect()
}

/// Each number is the reference's within `share` of what the reference says its terms amount to.
pub(crate) fn near(
    what: &str,
    found: &[f32],
    reference: &[(f64, f64)],
    share: f64,
) -> Result<(), String> {
    if found.len() != reference.len() {
        return Err(format!(
            "{what}: {} numbers, {} in the reference",
            found.len(),
            reference.len()
        ));
    }
    for (i, (x, (expected, terms))) in found.iter().zip(reference).enumerate() {
        let error = (f64::from(*x) - expected).abs();
        let most = share * terms + 1e-6;
        // A NaN is not near anything.
        if error.is_nan() || error > most {
            return Err(format!("{what}: number {i} is {x}, not {expected} within {most}"));
        }
    }
    Ok(())
}

/// Two results have the same bits.
pub(crate) fn same(what: &str, one: &[u32], other: &[u32]) -> Result<(), String> {
    match one.iter().zip(other).position(|(a, b)| a != b) {
        None if one.len() == other.len() && !one.is_empty() => Ok(()),
        None => Err(format!("{what}: {} and {} numbers", one.len(), other.len())),
        Some(i) => Err(format!("{what}: number {i} differs: {:08x} and {:08x}", one[i], other[i])),
    }
}

/// The product of rows in f64, each with the sum of its terms' sizes.
pub(crate) fn reference(x: &[f32], w: &[f32], k: usize) -> Vec<(f64, f64)> {
    let number = |x: &[f32], w: &[f32]| {
        let terms = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w));
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    x.chunks(k).flat_map(|x| w.chunks(k).map(move |w| number(x, w))).collect()
}

/// What a failure of the card is to a check.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
pub(crate) fn failed(error: gpu::GpuError) -> String {
    format!("the card failed: {error}")
}
