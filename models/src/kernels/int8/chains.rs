//! Dot products of integers between registers: the peak rate of their arithmetic.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined into a kernel is compiled without its instructions"
)]

use std::hint::black_box;
use std::marker::PhantomData;

use super::dot::{Channels, Dot, DotIsa, DotKernel};
use crate::kernels::panels::PANEL;

/// Runs about `count` dot products of four columns of sixteen channels between registers. Returns the
/// exact count.
pub(in crate::kernels) fn dot_chains(count: usize) -> usize {
    let (done, sums) = DotIsa::best().dispatch(Enter(count));
    // Uses the sums, so that the compiler keeps them.
    black_box(sums);
    done
}

struct Enter(usize);

impl DotKernel for Enter {
    type Output = (usize, [f32; PANEL]);

    fn run<D: Dot>(self) -> Self::Output {
        D::enter(Chains::<D>(self.0, PhantomData))
    }
}

/// The caller enters the kind of the chains.
struct Chains<D>(usize, PhantomData<D>);

impl<S: Dot> DotKernel for Chains<S> {
    type Output = (usize, [f32; PANEL]);

    #[inline(always)]
    fn run<D: Dot>(self) -> Self::Output {
        if S::ACCUMULATORS >= 24 { chains::<S, 12>(self.0) } else { chains::<S, 2>(self.0) }
    }
}

/// Several chains at once: more than the latency of a dot product times their rate.
#[inline(always)]
fn chains<D: Dot, const CHAINS: usize>(count: usize) -> (usize, [f32; PANEL]) {
    let turns = count.div_ceil(CHAINS);
    let w = D::load(&black_box([[3, -5, 7, 1]; PANEL]));
    let mut sums = [D::zero(); CHAINS];
    for _ in 0..turns {
        // Hidden from the compiler, which would otherwise multiply by the number of turns.
        let x = black_box(D::encode([1, -2, 3, 4]));
        for sum in &mut sums {
            *sum = D::dot(*sum, x, &w);
        }
    }
    let channels = Channels { scales: &[1.0; PANEL], sums: &[0; PANEL], bias: None };
    let mut all = [0.0; PANEL];
    for sum in sums {
        for (all, value) in all.iter_mut().zip(D::finish(sum, &channels, 1.0)) {
            *all += value;
        }
    }
    (turns * CHAINS, all)
}
