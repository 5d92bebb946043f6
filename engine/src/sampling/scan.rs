//! One pass over a row of logits: its maximum, the maximum of each block, and whether all logits
//! are finite.
//!
//! With the blocks' maxima, a search for the few largest logits visits only blocks that can hold
//! them.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use std::cmp::Ordering;

use models::kernels::simd::{F32x16, Isa, Kernel, LANES};

/// Logits in a block: sixteen vectors.
pub(super) const BLOCK: usize = 16 * LANES;

/// A token and its logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenLogit {
    pub(super) id: u32,
    pub(super) logit: f32,
}

/// The result of the pass.
#[derive(Debug)]
pub(super) struct Scan {
    /// The largest logit.
    pub(super) max: f32,
    /// The largest logit of each block.
    maxima: Vec<f32>,
    finite: bool,
}

impl Scan {
    /// Scans a row of logits.
    pub(super) fn of(logits: &[f32]) -> Scan {
        let mut maxima = Vec::with_capacity(logits.len().div_ceil(BLOCK));
        let finite = Isa::best().run(Maxima { logits, maxima: &mut maxima });
        let largest = |a: f32, b: &f32| if *b > a { *b } else { a };
        Scan { max: maxima.iter().fold(f32::NEG_INFINITY, largest), maxima, finite }
    }

    /// The first logit that is not finite; `None` if all are.
    pub(super) fn not_finite(&self, logits: &[f32]) -> Option<f32> {
        if self.finite {
            return None;
        }
        logits.iter().copied().find(|x| !x.is_finite())
    }

    /// The token of the largest logit; of equal ones, the smallest id.
    pub(super) fn argmax(&self, logits: &[f32]) -> Option<u32> {
        let block = self.maxima.iter().position(|max| *max >= self.max)?;
        let within = logits[block * BLOCK..].iter().position(|x| *x >= self.max)?;
        Some(id(block * BLOCK + within))
    }

    /// The blocks whose maximum is at least `bound`, with the index of their first logit.
    fn blocks<'a>(
        &'a self,
        logits: &'a [f32],
        bound: f32,
    ) -> impl Iterator<Item = (usize, &'a [f32])> {
        let blocks = logits.chunks(BLOCK).zip(&self.maxima).enumerate();
        blocks
            .filter(move |(_, (_, max))| **max >= bound)
            .map(|(at, (block, _))| (at * BLOCK, block))
    }

    /// The `n` largest logits (all if there are fewer), largest first; of equal ones the smaller id
    /// comes first.
    pub(super) fn largest(&self, logits: &[f32], n: usize) -> Vec<TokenLogit> {
        if n == 0 {
            return Vec::new();
        }
        let bound = self.bound(n);
        let mut found = Vec::new();
        for (first, block) in self.blocks(logits, bound) {
            for (at, logit) in block.iter().enumerate() {
                if *logit >= bound {
                    found.push(TokenLogit { id: id(first + at), logit: *logit });
                }
            }
        }
        if found.len() > n {
            found.select_nth_unstable_by(n - 1, order);
            found.truncate(n);
        }
        found.sort_unstable_by(order);
        found
    }

    /// A lower bound of the n-th largest logit: the n-th largest block maximum.
    fn bound(&self, n: usize) -> f32 {
        if n > self.maxima.len() {
            return f32::NEG_INFINITY;
        }
        let mut maxima = self.maxima.clone();
        *maxima.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a)).1
    }
}

/// Larger logits first, then smaller ids.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "sorting hands out references")]
pub(super) fn order(a: &TokenLogit, b: &TokenLogit) -> Ordering {
    let by_logit = b.logit.partial_cmp(&a.logit).unwrap_or(Ordering::Equal);
    by_logit.then(a.id.cmp(&b.id))
}

/// A token id from its index.
pub(super) fn id(index: usize) -> u32 {
    u32::try_from(index).expect("a vocabulary has less than 2^32 tokens")
}

struct Maxima<'a> {
    logits: &'a [f32],
    maxima: &'a mut Vec<f32>,
}

impl Kernel for Maxima<'_> {
    /// Whether all logits are finite.
    type Output = bool;

    #[inline(always)]
    fn run<L: F32x16>(self) -> bool {
        let zero = L::splat(0.0);
        // A finite number times 0 is 0; any other gives NaN, which stays.
        let mut zeros = [zero; 2];
        for block in self.logits.chunks(BLOCK) {
            let (vectors, rest) = block.as_chunks::<LANES>();
            let mut max = [L::load_part(rest, f32::NEG_INFINITY); 2];
            zeros[0] = L::load_part(rest, 0.0).mul_add(zero, zeros[0]);
            for pair in vectors.chunks(2) {
                for (i, vector) in pair.iter().enumerate() {
                    let x = L::load(vector);
                    max[i] = x.max(max[i]);
                    zeros[i] = x.mul_add(zero, zeros[i]);
                }
            }
            self.maxima.push(max[0].max(max[1]).largest());
        }
        zeros[0].add(zeros[1]).sum() == 0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop, proptest};

    use super::{BLOCK, Scan, TokenLogit, order};

    /// Few values, so that there are ties; lengths around block boundaries.
    fn rows() -> impl proptest::strategy::Strategy<Value = Vec<f32>> {
        let value = prop::sample::select(&[-1.0, -0.0, 0.0, 1.0, 2.5, 1e30, -1e30][..]);
        prop::collection::vec(value, 1..3 * BLOCK)
    }

    #[test]
    fn largest_equals_full_sort() {
        proptest!(ProptestConfig::with_cases(300), |(logits in rows(), n in 0_usize..40)| {
            let scan = Scan::of(&logits);
            let mut all: Vec<TokenLogit> = (0..).zip(&logits).map(|(id, x)| TokenLogit { id, logit: *x }).collect();
            all.sort_by(order);
            assert_eq!(scan.largest(&logits, 1)[0], all[0]);
            assert_eq!(scan.argmax(&logits), Some(all[0].id));
            all.truncate(n);
            assert_eq!(scan.largest(&logits, n), all);
            assert_eq!(scan.not_finite(&logits), None);
        });
    }

    #[test]
    fn non_finite_logit_is_found_anywhere() {
        for len in [1, 15, 16, 17, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            for at in [0, len / 2, len - 1] {
                for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut logits = vec![1.0; len];
                    logits[at] = value;
                    let found = Scan::of(&logits).not_finite(&logits);
                    assert_eq!(found.map(f32::to_bits), Some(value.to_bits()), "{at} of {len}");
                }
            }
        }
    }

    #[test]
    fn empty_logits_have_no_maximum() {
        let scan = Scan::of(&[]);
        assert_eq!((scan.argmax(&[]), scan.not_finite(&[])), (None, None));
        assert!(scan.largest(&[], 3).is_empty());
    }
}
