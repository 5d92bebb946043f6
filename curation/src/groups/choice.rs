//! Best and worst response of a group.

use std::cmp::Ordering;

use super::{GroupMember, measured};
use base::seeded;

/// Position of the response with the greatest score; the seed decides between equal scores by content.
/// `None` if none was measured.
///
/// Of responses with equal content and score the first is returned.
pub fn best(members: &[GroupMember<'_>], seed: u64) -> Option<usize> {
    extreme(members, seed, |a, b| a.total_cmp(&b))
}

/// Position of the response with the least score, as for [`best`].
pub fn worst(members: &[GroupMember<'_>], seed: u64) -> Option<usize> {
    extreme(members, seed, |a, b| b.total_cmp(&a))
}

/// Position of the best of `n` measured responses that are drawn by seed and content. `None` if fewer
/// than `n` were measured.
pub fn best_of(members: &[GroupMember<'_>], n: usize, seed: u64) -> Option<usize> {
    let mut drawn: Vec<(u64, usize)> =
        measured(members).map(|(index, _)| (lot(&members[index], seed, b"draw"), index)).collect();
    if n == 0 || drawn.len() < n {
        return None;
    }
    drawn.sort_unstable();
    drawn.truncate(n);
    let kept: Vec<usize> = drawn.into_iter().map(|(_, index)| index).collect();
    let of_drawn = |index: usize| members[index];
    let some: Vec<GroupMember<'_>> = kept.iter().copied().map(of_drawn).collect();
    best(&some, seed).map(|index| kept[index])
}

/// Random number of a response for a purpose, from its text and score.
pub(super) fn lot(member: &GroupMember<'_>, seed: u64, purpose: &[u8]) -> u64 {
    let score = member.measured().map_or(u64::MAX, f64::to_bits);
    seeded::hash(seed, &[purpose, member.text.as_bytes(), &score.to_le_bytes()])
}

fn extreme(
    members: &[GroupMember<'_>],
    seed: u64,
    order: impl Fn(f64, f64) -> Ordering,
) -> Option<usize> {
    let better = |a: &(usize, f64), b: &(usize, f64)| {
        let lot = |index: usize| lot(&members[index], seed, b"tie");
        // Zeros of both signs are one score.
        order(a.1 + 0.0, b.1 + 0.0)
            .then_with(|| lot(b.0).cmp(&lot(a.0)))
            .then_with(|| b.0.cmp(&a.0))
    };
    let chosen = measured(members).max_by(better)?;
    Some(chosen.0)
}
