//! Over-long responses: the penalty and the filter of DAPO (2503.14476).

use super::error::{Result, lengths, setting};
use super::layout::Layout;

/// The soft penalty of DAPO: 0 up to `max - buffer` tokens, then falling linearly to -1 at `max`,
/// and -1 beyond. It is added to the reward.
///
/// # Errors
/// A buffer of 0, or one longer than `max`.
pub fn overlong_penalty(n_tokens: usize, max: usize, buffer: usize) -> Result<f64> {
    setting(
        "the over-long buffer",
        "at least 1 token and at most the longest response",
        (1..=max).contains(&buffer),
    )?;
    if n_tokens > max {
        return Ok(-1.0);
    }
    let free = max - buffer;
    Ok(-(n_tokens.saturating_sub(free) as f64) / buffer as f64)
}

/// The mask without the tokens of truncated sequences: the over-long filter, by which a truncated
/// response is not trained on.
///
/// # Errors
/// Lists that do not belong together.
pub fn without_truncated(layout: &Layout<'_>, truncated: &[bool]) -> Result<Vec<bool>> {
    let sequences = layout.sequences()?;
    lengths("truncated sequences", truncated.len(), sequences.len())?;
    let mut mask = layout.mask.to_vec();
    for (sequence, truncated) in sequences.into_iter().zip(truncated) {
        if *truncated {
            mask[sequence.tokens].fill(false);
        }
    }
    Ok(mask)
}
