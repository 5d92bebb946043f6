//! Statistics of the tokens of a loss, for the log.
//!
//! | name, after the stream's | what |
//! |---|---|
//! | `ratio` | probability now by that at the beginning of the step |
//! | `kl_old` | `r - 1 - log r` of that ratio |
//! | `abs_dlogp`, `equal` | distance in nats from the weights that sampled; share of tokens without any |
//! | `clipped_low`, `clipped_high`, `clipped_dual`, `dropped` | share of tokens that a bound held back or dropped |
//! | `factor` | what the policy term was multiplied by |
//! | `kl_reference` | `k3` against the reference |
//! | `entropy`, `advantage`, `logp` | their values |

use super::kl::Estimator;
use super::layout::Stream;
use super::policy::{Cut, TokenLoss};
use super::stats::{Stats, Tally};
use super::tokens::{Ratio, View};

const NAMES: [&str; 13] = [
    "ratio",
    "kl_old",
    "abs_dlogp",
    "equal",
    "clipped_low",
    "clipped_high",
    "clipped_dual",
    "dropped",
    "factor",
    "kl_reference",
    "entropy",
    "advantage",
    "logp",
];

const KL_REFERENCE: usize = 9;
const ENTROPY: usize = 10;
const LOGP: usize = 12;

/// Tallies of all streams.
#[derive(Default)]
pub(super) struct Meter {
    tallies: [[Tally; NAMES.len()]; 4],
}

impl Meter {
    pub(super) fn policy(
        &mut self,
        stream: Stream,
        view: &View<'_>,
        terms: &[TokenLoss],
        factors: &[f64],
    ) {
        let sampled = view.sampled();
        let tallies = &mut self.tallies[stream.index()];
        for at in view.places() {
            let log_ratio = view.logp[at] - view.old_logprobs[at];
            let ratio = Ratio::of(log_ratio).value;
            let distance = (view.logp[at] - sampled[at]).abs();
            let cut = terms[at].cut;
            let share = |holds: bool| f64::from(u8::from(holds));
            let values = [
                ratio,
                ratio - 1.0 - log_ratio,
                distance,
                share(distance == 0.0),
                share(cut == Cut::Low),
                share(cut == Cut::High),
                share(cut == Cut::Dual),
                share(cut == Cut::Dropped || factors[at] == 0.0),
                factors[at],
            ];
            for (tally, value) in tallies.iter_mut().zip(values) {
                tally.add(value);
            }
            tallies[LOGP - 1].add(view.advantages[at]);
            tallies[LOGP].add(view.logp[at]);
            if let Some(entropies) = view.entropies {
                tallies[ENTROPY].add(entropies[at]);
            }
        }
    }

    /// Counts the divergence from the reference, if there is one.
    pub(super) fn reference(&mut self, stream: Stream, view: &View<'_>) {
        let Some(reference) = view.reference else {
            return;
        };
        for at in view.places() {
            let (k3, _) = Estimator::K3.at(view.logp[at], reference[at], Ratio::of(0.0));
            self.tallies[stream.index()][KL_REFERENCE].add(k3);
        }
    }

    pub(super) fn cross_entropy(&mut self, view: &View<'_>) {
        for at in view.places() {
            self.tallies[Stream::Ce.index()][LOGP].add(view.logp[at]);
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for stream in Stream::ALL {
            for (name, tally) in NAMES.iter().zip(&self.tallies[stream.index()]) {
                stats.insert(format!("{}/{name}", stream.name()), tally);
            }
        }
        stats
    }
}
