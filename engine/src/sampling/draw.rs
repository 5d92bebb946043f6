//! Random draw of a token from logits and sixty-four random bits.
//!
//! `top_k`, `top_p` and `min_p` each keep a prefix of the tokens ordered by logit, largest first
//! and then by id. The token is drawn from the shortest of the three by inverting the cumulative
//! weights in that order. Without truncation the order is by id, which needs no sorting. Weights
//! are integers (see [`super::weights`]), so that each method below gives exactly the token of a
//! full sort.

use models::kernels::simd::LANES;

use super::scan::{BLOCK, Scan, TokenLogit, id, order};
use super::weights::{BUCKETS, LogitScale, ONE};

/// Number of largest logits tried first. Most distributions keep fewer.
const FEW: usize = 128;

/// Temperature and truncation of the distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truncation {
    /// Positive.
    pub(super) temperature: f32,
    /// At least 1.
    pub(super) top_k: Option<usize>,
    /// In (0, 1].
    pub(super) top_p: f32,
    /// In [0, 1].
    pub(super) min_p: f32,
}

/// Draws a token. `scan` must be of these logits, with a finite maximum; logits of −∞ are never
/// drawn.
pub(super) fn draw(logits: &[f32], scan: &Scan, truncation: Truncation, bits: u64) -> u32 {
    let row = LogitRow {
        logits,
        scan,
        scale: LogitScale { max: scan.max, inverse_temperature: 1.0 / truncation.temperature },
        least: least_weight(truncation.min_p),
        top_p: truncation.top_p,
    };
    if let Some(k) = truncation.top_k.filter(|k| *k < logits.len()) {
        let list = Ranked::new(row.scale, scan.largest(logits, k));
        let needed = needed(truncation.top_p, list.weights.iter().sum());
        return list.pick(list.kept(needed, row.least).unwrap_or(list.len()), bits);
    }
    let is_full = truncation.top_p >= 1.0 && row.least <= 1;
    let sums = row.scale.block_sums(logits);
    let total = sums.iter().sum();
    if is_full {
        return row.by_id(&sums, total, bits);
    }
    row.by_logit(total, bits)
}

/// The least weight of a kept token: `min_p` times the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of 2^40, rounded up to the next unit"
)]
pub(super) fn least_weight(min_p: f32) -> u64 {
    ((f64::from(min_p) * ONE as f64).ceil() as u64).clamp(1, ONE)
}

/// The least total weight of the kept tokens, by `top_p`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a total, which f64 rounds at worst by 2^−53 of it"
)]
fn needed(top_p: f32, total: u64) -> u64 {
    if top_p >= 1.0 {
        return total;
    }
    ((f64::from(top_p) * total as f64).ceil() as u64).clamp(1, total)
}

/// The point of `[0, total)` that the random bits select.
fn point(bits: u64, total: u64) -> u64 {
    let point = (u128::from(bits) * u128::from(total)) >> 64;
    u64::try_from(point).expect("a share of a u64")
}

struct LogitRow<'a> {
    logits: &'a [f32],
    scan: &'a Scan,
    scale: LogitScale,
    least: u64,
    top_p: f32,
}

impl LogitRow<'_> {
    /// Draws from all tokens, in order of ids.
    fn by_id(&self, sums: &[u64], total: u64, bits: u64) -> u32 {
        let mut point = point(bits, total);
        let mut block = 0;
        while point >= sums[block] {
            point -= sums[block];
            block += 1;
        }
        let first = block * BLOCK;
        let end = self.logits.len().min(first + BLOCK);
        let weights = self.scale.weights(&self.logits[first..end]);
        id(first + index_at(&weights, point))
    }

    /// Draws from the tokens that `top_p` and `min_p` keep, in order of logits.
    fn by_logit(&self, total: u64, bits: u64) -> u32 {
        let needed = needed(self.top_p, total);
        let few = Ranked::new(self.scale, self.scan.largest(self.logits, FEW));
        if let Some(kept) = few.kept(needed, self.least) {
            return few.pick(kept, bits);
        }
        let sums = self.scale.histogram(self.logits, self.least);
        let (bucket, above) = find(&sums, needed - 1);
        let kept = if bucket == BUCKETS {
            // `min_p` keeps less than `top_p` would.
            above
        } else {
            let list = self.bucket(bucket);
            let end = list.kept(needed - above, self.least);
            let kept = &list.weights[..end.unwrap_or(list.len())];
            above + kept.iter().sum::<u64>()
        };
        let point = point(bits, kept);
        let (bucket, above) = find(&sums, point);
        let list = self.bucket(bucket);
        list.candidates[index_at(&list.weights, point - above)].id
    }

    /// The tokens of a bucket with at least the least weight.
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a lazy operator is a branch, which is hard to predict here"
    )]
    fn bucket(&self, bucket: usize) -> Ranked {
        let mut found = Vec::new();
        let (least, most) = self.scale.distances(bucket);
        for (part, logits) in self.logits.chunks(LANES).enumerate() {
            // Most parts have no logit of the bucket, which is tested without a branch per logit.
            let mut near = false;
            for logit in logits {
                let distance = self.scale.max - logit;
                near |= (distance >= least) & (distance <= most);
            }
            if !near {
                continue;
            }
            for (at, logit) in logits.iter().enumerate() {
                if self.scale.bucket(*logit) == bucket {
                    found.push(TokenLogit { id: id(part * LANES + at), logit: *logit });
                }
            }
        }
        found.sort_unstable_by(order);
        let mut list = Ranked::new(self.scale, found);
        let end = list.weights.partition_point(|w| *w >= self.least);
        list.weights.truncate(end);
        list.candidates.truncate(end);
        list
    }
}

/// Index of the first weight whose running sum exceeds a point, and the sum before it; the number
/// of weights if none does.
fn find(weights: &[u64], point: u64) -> (usize, u64) {
    let mut before = 0;
    for (at, weight) in weights.iter().enumerate() {
        if before + weight > point {
            return (at, before);
        }
        before += weight;
    }
    (weights.len(), before)
}

fn index_at(weights: &[u64], point: u64) -> usize {
    find(weights, point).0
}

/// Some tokens in order of their logits, with weights.
struct Ranked {
    candidates: Vec<TokenLogit>,
    weights: Vec<u64>,
}

impl Ranked {
    fn new(scale: LogitScale, candidates: Vec<TokenLogit>) -> Ranked {
        let logits: Vec<f32> = candidates.iter().map(|c| c.logit).collect();
        Ranked { weights: scale.weights(&logits), candidates }
    }

    fn len(&self) -> usize {
        self.weights.len()
    }

    /// Number of kept tokens: the fewest with a total weight of `needed`, each at least `least`.
    /// `None` if the list is too short to know.
    fn kept(&self, needed: u64, least: u64) -> Option<usize> {
        let heavy = self.weights.partition_point(|w| *w >= least);
        let (last, _) = find(&self.weights, needed - 1);
        let ends = heavy < self.len() || last < self.len();
        ends.then(|| heavy.min(last + 1))
    }

    /// Draws one of the first `kept`.
    fn pick(&self, kept: usize, bits: u64) -> u32 {
        let weights = &self.weights[..kept];
        let point = point(bits, weights.iter().sum());
        self.candidates[index_at(weights, point)].id
    }
}

#[cfg(test)]
mod tests;
