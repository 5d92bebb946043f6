//! Mutation of inputs whose first line names what the others are for.

use super::mutate::{Pool, Random};

/// First lines of earlier inputs.
static HEADS: Pool<Vec<u8>> = Pool::new();

/// The input with its first line replaced by an earlier one, or with the rest changed by `rest`.
pub(crate) fn headed(
    input: &[u8],
    random: &mut Random,
    rest: impl FnOnce(&[u8], &mut Random) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let (head, body) = (&input[..end], &input[end + 1..]);
    HEADS.learn(head.to_vec(), random);
    if random.below(8) == 0 {
        return Some([&HEADS.any(random)?[..], b"\n", body].concat());
    }
    Some([head, b"\n", &rest(body, random)?].concat())
}
