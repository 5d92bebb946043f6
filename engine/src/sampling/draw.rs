//! From logits and sixty-four random bits to a token.
//!
//! `top_k`, `top_p` and `min_p` each keep a beginning of the tokens in order of their logits,
//! largest first and then by id; the shortest of the three is what may be drawn, by inverse of the
//! cumulative weights in that order. Where nothing is cut off the order is that of the ids, which
//! needs no sorting. Weights are integers (see [`super::weights`]), so each way below gives what
//! sorting the whole vocabulary would give, exactly.

use models::kernels::lanes::LANES;

use super::scan::{BLOCK, Candidate, Scan, id, order};
use super::weights::{BUCKETS, ONE, Scale};

/// How many of the largest logits are looked at before all of them are. Most distributions keep
/// fewer.
const FEW: usize = 128;

/// Which tokens may be drawn, and how likely each is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Positive.
    pub(super) temperature: f32,
    /// At least 1.
    pub(super) top_k: Option<usize>,
    /// In (0, 1].
    pub(super) top_p: f32,
    /// In [0, 1].
    pub(super) min_p: f32,
}

/// Draws a token. `scan` is that of these logits, and its maximum is finite; logits of −∞ are
/// never drawn.
pub(super) fn draw(logits: &[f32], scan: &Scan, shape: Shape, bits: u64) -> u32 {
    let row = Row {
        logits,
        scan,
        scale: Scale { max: scan.max, inverse_temperature: 1.0 / shape.temperature },
        least: least_weight(shape.min_p),
        top_p: shape.top_p,
    };
    if let Some(k) = shape.top_k.filter(|k| *k < logits.len()) {
        let list = List::new(row.scale, scan.largest(logits, k));
        let needed = needed(shape.top_p, list.weights.iter().sum());
        return list.pick(list.kept(needed, row.least).unwrap_or(list.all()), bits);
    }
    let untouched = shape.top_p >= 1.0 && row.least <= 1;
    let sums = row.scale.block_sums(logits);
    let total = sums.iter().sum();
    if untouched {
        return row.by_id(&sums, total, bits);
    }
    row.by_logit(total, bits)
}

/// The weight that a token needs, by `min_p` times the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of 2^40, rounded up to the next unit"
)]
fn least_weight(min_p: f32) -> u64 {
    ((f64::from(min_p) * ONE as f64).ceil() as u64).clamp(1, ONE)
}

/// The weight that the kept tokens must have together.
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

/// The point of `[0, total)` at which bits draw.
fn point(bits: u64, total: u64) -> u64 {
    let point = (u128::from(bits) * u128::from(total)) >> 64;
    u64::try_from(point).expect("a share of a u64")
}

struct Row<'a> {
    logits: &'a [f32],
    scan: &'a Scan,
    scale: Scale,
    least: u64,
    top_p: f32,
}

impl Row<'_> {
    /// Draws from the whole vocabulary, in order of ids.
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
        id(first + place(&weights, point))
    }

    /// Draws what `top_p` and `min_p` leave, in order of logits.
    fn by_logit(&self, total: u64, bits: u64) -> u32 {
        let needed = needed(self.top_p, total);
        let few = List::new(self.scale, self.scan.largest(self.logits, FEW));
        if let Some(kept) = few.kept(needed, self.least) {
            return few.pick(kept, bits);
        }
        let sums = self.scale.histogram(self.logits, self.least);
        let (bucket, above) = find(&sums, needed - 1);
        let kept = if bucket == BUCKETS {
            // What `min_p` leaves weighs less than `top_p` asks for.
            above
        } else {
            let list = self.bucket(bucket);
            let end = list.kept(needed - above, self.least);
            let kept = &list.weights[..end.unwrap_or(list.all())];
            above + kept.iter().sum::<u64>()
        };
        let point = point(bits, kept);
        let (bucket, above) = find(&sums, point);
        let list = self.bucket(bucket);
        list.candidates[place(&list.weights, point - above)].id
    }

    /// The tokens of a bucket that weigh enough.
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "a lazy operator is a branch, which is seldom foreseen here"
    )]
    fn bucket(&self, bucket: usize) -> List {
        let mut found = Vec::new();
        let (least, most) = self.scale.distances(bucket);
        for (part, logits) in self.logits.chunks(LANES).enumerate() {
            // Most parts hold nothing near. That is tested without a branch a logit.
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
                    found.push(Candidate { id: id(part * LANES + at), logit: *logit });
                }
            }
        }
        found.sort_unstable_by(order);
        let mut list = List::new(self.scale, found);
        let end = list.weights.partition_point(|w| *w >= self.least);
        list.weights.truncate(end);
        list.candidates.truncate(end);
        list
    }
}

/// The first of some weights whose running sum goes beyond a point, and the sum of those before
/// it; [`<[u64]>::len`] where none does.
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

fn place(weights: &[u64], point: u64) -> usize {
    find(weights, point).0
}

/// A beginning, or a stretch, of the tokens in order of their logits.
struct List {
    candidates: Vec<Candidate>,
    weights: Vec<u64>,
}

impl List {
    fn new(scale: Scale, candidates: Vec<Candidate>) -> List {
        let logits: Vec<f32> = candidates.iter().map(|c| c.logit).collect();
        List { weights: scale.weights(&logits), candidates }
    }

    fn all(&self) -> usize {
        self.weights.len()
    }

    /// How many are kept: as few as weigh `needed` together, and of those the ones that weigh at
    /// least `least` each. `None` where the list ends before that is known.
    fn kept(&self, needed: u64, least: u64) -> Option<usize> {
        let heavy = self.weights.partition_point(|w| *w >= least);
        let (last, _) = find(&self.weights, needed - 1);
        let ends = heavy < self.all() || last < self.all();
        ends.then(|| heavy.min(last + 1))
    }

    /// Draws one of the first `kept`.
    fn pick(&self, kept: usize, bits: u64) -> u32 {
        let weights = &self.weights[..kept];
        let point = point(bits, weights.iter().sum());
        self.candidates[place(weights, point)].id
    }
}

#[cfg(test)]
mod tests;
