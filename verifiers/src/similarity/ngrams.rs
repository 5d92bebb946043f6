//! Runs of words that two texts share.

use std::collections::HashMap;

use super::{f1, ratio};

/// The longest runs that BLEU and GLEU count.
const LONGEST: usize = 4;

/// Counts how many runs of `n` words the texts share, each as often as both have it.
fn shared(input: &[u32], reference: &[u32], n: usize) -> usize {
    let mut left: HashMap<&[u32], usize> = HashMap::new();
    for run in reference.windows(n) {
        *left.entry(run).or_default() += 1;
    }
    let taken = input.windows(n).filter(|run| match left.get_mut(run) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    });
    taken.count()
}

/// Counts how many runs of `n` words there are in `len`.
fn runs(len: usize, n: usize) -> usize {
    (len + 1).saturating_sub(n)
}

pub(super) fn bleu(input: &[u32], reference: &[u32]) -> f64 {
    let precision = |n| ratio(shared(input, reference, n), runs(input.len(), n));
    let logs: f64 = (1..=LONGEST).map(|n| precision(n).ln()).sum();
    if logs == f64::NEG_INFINITY {
        return 0.0;
    }
    // A text that is too short is precise too easily.
    let brevity = if input.len() > reference.len() {
        1.0
    } else {
        (1.0 - ratio(reference.len(), input.len())).exp()
    };
    brevity * (logs / 4.0).exp()
}

pub(super) fn gleu(input: &[u32], reference: &[u32]) -> f64 {
    let all = |count: &dyn Fn(usize) -> usize| (1..=LONGEST).map(count).sum::<usize>();
    let both = all(&|n| shared(input, reference, n));
    let most = all(&|n| runs(input.len(), n)).max(all(&|n| runs(reference.len(), n)));
    ratio(both, most)
}

pub(super) fn rouge(input: &[u32], reference: &[u32], n: usize) -> f64 {
    let both = shared(input, reference, n);
    f1(both, runs(input.len(), n), runs(reference.len(), n))
}
