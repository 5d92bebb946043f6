//! Vectors that drive the inputs: corners, all of them where they are few, and seeded random ones.

use std::fmt::Write as _;

use super::bench::{BenchPlan, VectorField};
use super::task::malformed;
use crate::VerifyError;

/// Input bits up to which every vector of a circuit without a clock is driven.
const EXHAUSTIVE_BITS: usize = 12;

/// Input bits of which each is driven alone.
const CORNER_BITS: usize = 256;

/// Bits of all vectors of a bench, each of which takes a byte until the vectors are written.
const MAX_BITS: usize = 1 << 26;

/// Cycles of reset at the start.
const FIRST_RESET: usize = 3;

/// `SplitMix64`: the same numbers on every machine.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u16) -> usize {
        usize::from(u16::try_from(self.next() % u64::from(bound)).unwrap_or_default())
    }

    /// True `numerator` times in 16.
    fn chance(&mut self, numerator: usize) -> bool {
        self.below(16) < numerator
    }

    fn bits(&mut self, count: usize) -> Vec<bool> {
        (0..count).map(|_| self.next() >> 63 == 1).collect()
    }
}

/// A vector, lowest bit first.
type Vector = Vec<bool>;

/// How a field changes in a phase.
#[derive(Clone, Copy)]
enum FieldRule {
    /// Each bit by chance, so many times in 16.
    Biased(usize),
    /// Keeps its value most of the time.
    Held,
    /// Random values among corners.
    Mixed,
}

/// Refuses so many cycles of so many inputs that their vectors do not fit in memory.
///
/// # Errors
/// [`VerifyError::BadReference`]: the golden module has the inputs.
pub(super) fn check_size(plan: &BenchPlan, cycles: usize) -> Result<(), VerifyError> {
    let fields = plan.fields();
    let bits = fields.iter().map(|field| field.bits).sum::<usize>();
    let corners = 2 + CORNER_BITS + 2 * fields.len();
    if bits.saturating_mul(cycles.saturating_add(corners)) <= MAX_BITS {
        return Ok(());
    }
    Err(malformed(format!("{cycles} cycles of {bits} input bits are more than {MAX_BITS} bits")))
}

/// The vectors of a bench, as it reads them.
pub(super) fn vectors(plan: &BenchPlan, cycles: usize, seed: u64) -> Vec<String> {
    let fields = plan.fields();
    let total = fields.iter().map(|field| field.bits).sum::<usize>();
    let mut random = SplitMix(seed);
    let vectors = if plan.clock.is_some() || !plan.edges.is_empty() {
        sequence(plan, &fields, total, cycles, &mut random)
    } else {
        combinations(&fields, total, cycles, &mut random)
    };
    vectors.iter().map(|vector| hex(vector)).collect()
}

/// A vector as the bench reads it.
pub(super) fn hex(vector: &[bool]) -> String {
    let mut text = String::with_capacity(vector.len() / 4 + 1);
    for digit in vector.chunks(4).rev() {
        let value = digit.iter().rev().fold(0_u8, |value, bit| value * 2 + u8::from(*bit));
        // Writing to a string does not fail.
        let _ = write!(text, "{value:x}");
    }
    if text.is_empty() {
        text.push('0');
    }
    text
}

/// Vectors of a circuit without a clock.
fn combinations(
    fields: &[VectorField],
    total: usize,
    cycles: usize,
    random: &mut SplitMix,
) -> Vec<Vector> {
    if total <= EXHAUSTIVE_BITS {
        let all = (0..1_usize << total)
            .map(|value| (0..total).map(|bit| value >> bit & 1 == 1).collect());
        // And in another order, for what keeps a value that it should not keep.
        let more = (0..64).map(|_| random.bits(total));
        return all.chain(more).collect();
    }
    let mut vectors = vec![vec![false; total], vec![true; total]];
    for bit in 0..total.min(CORNER_BITS) {
        vectors.push((0..total).map(|other| other == bit).collect());
    }
    for field in fields {
        for value in [false, true] {
            let mut vector = random.bits(total);
            vector[field.low..field.low + field.bits].fill(value);
            vectors.push(vector);
        }
    }
    for _ in 0..cycles {
        let mut vector = vec![false; total];
        for (index, field) in fields.iter().enumerate() {
            let equal = fields[..index].iter().find(|other| other.bits == field.bits);
            let value = match equal.filter(|_| field.bits > 1 && random.chance(2)) {
                Some(other) => vector[other.low..other.low + other.bits].to_vec(),
                None => mixed(field.bits, random),
            };
            vector[field.low..field.low + field.bits].copy_from_slice(&value);
        }
        vectors.push(vector);
    }
    vectors
}

/// A random value, often a corner.
fn mixed(bits: usize, random: &mut SplitMix) -> Vec<bool> {
    match random.below(16) {
        0 => vec![false; bits],
        1 => vec![true; bits],
        2 => (0..bits).map(|bit| bit == 0).collect(),
        3 => (0..bits).map(|bit| bit + 1 == bits).collect(),
        4 => (0..bits).map(|bit| bit + 1 != bits).collect(),
        5 => {
            // A small number.
            let mut value = random.bits(bits);
            value.iter_mut().skip(3).for_each(|bit| *bit = false);
            value
        }
        _ => random.bits(bits),
    }
}

/// Phases without resets by chance, of a sixth of the cycles each, for states that take long to reach.
const LONG_PHASES: usize = 3;

/// Vectors of a circuit with a clock: short phases of different chances, with resets at the start, at
/// the start of half of the phases and by chance in some, and long ones, in which inputs of one bit
/// often stay as they are.
fn sequence(
    plan: &BenchPlan,
    fields: &[VectorField],
    total: usize,
    cycles: usize,
    random: &mut SplitMix,
) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::with_capacity(cycles);
    let is_reset = |field: &VectorField| plan.resets.iter().find(|(port, _)| *port == field.port);
    let n_short = cycles - cycles / 2;
    while vectors.len() < cycles {
        let begin = vectors.len();
        let is_long = begin >= n_short;
        let length = if is_long {
            ((cycles / 2).div_ceil(LONG_PHASES)).min(cycles - begin)
        } else if random.below(3) == 0 {
            (8 + random.below(24)).min(n_short - begin)
        } else {
            (32 + random.below(128)).min(n_short - begin)
        };
        let rules: Vec<FieldRule> = fields
            .iter()
            .map(|field| match (field.bits, random.below(8)) {
                (1, _) if plan.edges.contains(&field.port) => FieldRule::Biased(8),
                (1, 0..=2) if is_long => FieldRule::Biased(16),
                (1, 3 | 4) if is_long => FieldRule::Biased(0),
                (1, 0) => FieldRule::Biased(1),
                (1, 1) => FieldRule::Biased(2),
                (1, 2 | 3) => FieldRule::Biased(15),
                (1, 4) => FieldRule::Biased(12),
                (_, 5) => FieldRule::Held,
                (1, _) => FieldRule::Biased(8),
                _ => FieldRule::Mixed,
            })
            .collect();
        let has_pulses = !is_long && random.chance(5);
        let resets_first = begin == 0 || random.chance(8);
        let reset_length = if begin == 0 { FIRST_RESET } else { 1 + usize::from(random.chance(8)) };
        for cycle in 0..length {
            let mut vector = vec![false; total];
            for (field, rule) in fields.iter().zip(&rules) {
                let range = field.low..field.low + field.bits;
                if let Some((_, is_high)) = is_reset(field) {
                    let at_first = resets_first && cycle < reset_length;
                    let by_chance = has_pulses && random.below(24) == 0;
                    vector[range].fill((at_first || by_chance) == *is_high);
                    continue;
                }
                let value = match rule {
                    FieldRule::Biased(chance) => {
                        (0..field.bits).map(|_| random.chance(*chance)).collect()
                    }
                    FieldRule::Held => match vectors.last() {
                        Some(before) if !random.chance(1) => before[range.clone()].to_vec(),
                        _ => random.bits(field.bits),
                    },
                    FieldRule::Mixed => mixed(field.bits, random),
                };
                vector[range].copy_from_slice(&value);
            }
            vectors.push(vector);
        }
    }
    vectors
}
