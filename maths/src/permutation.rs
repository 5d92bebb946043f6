//! Permutations as products of disjoint cycles: `(1 3 4)(2 5)`.

/// The longest text that is read, in bytes.
const MAX_BYTES: usize = 400;

/// Returns the disjoint cycles of a text that is nothing else, each from its least member on and in the order of
/// these, without those of one member.
fn cycles(text: &str) -> Option<Vec<Vec<u32>>> {
    if text.len() > MAX_BYTES || !text.contains('(') {
        return None;
    }
    let mut plain = text.trim().trim_matches('$').to_owned();
    for space in
        ["\\left", "\\right", "\\,", "\\;", "\\:", "\\!", "\\quad", "\\ ", "~", "\\circ", "\\cdot"]
    {
        plain = plain.replace(space, " ");
    }
    let mut found: Vec<Vec<u32>> = Vec::new();
    let mut rest = plain.trim();
    while !rest.is_empty() {
        let (inner, after) = rest.strip_prefix('(')?.split_once(')')?;
        let cycle: Option<Vec<u32>> =
            inner.split_whitespace().map(|member| member.parse().ok()).collect();
        let mut cycle = cycle.filter(|cycle| !cycle.is_empty())?;
        let least = (0..cycle.len()).min_by_key(|at| cycle[*at])?;
        cycle.rotate_left(least);
        found.push(cycle);
        rest = after.trim_start();
    }
    let mut members: Vec<u32> = found.iter().flatten().copied().collect();
    let count = members.len();
    members.sort_unstable();
    members.dedup();
    found.retain(|cycle| cycle.len() > 1);
    found.sort();
    (members.len() == count && !found.is_empty()).then_some(found)
}

/// Returns whether a text is a product of disjoint cycles, whose members have blanks between them.
pub(crate) fn is_permutation(text: &str) -> bool {
    cycles(text).is_some()
}

/// Returns whether both texts are one permutation.
pub(crate) fn are_same(gold: &str, candidate: &str) -> bool {
    cycles(gold).is_some_and(|own| cycles(candidate) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_compared_as_permutations() {
        let check = |gold: &str, candidate: &str, expected: bool| {
            assert_eq!(are_same(gold, candidate), expected, "{gold} | {candidate}");
        };
        check("(1 3 4)(2 5)", "(2\\ 5)(1\\ 3\\ 4)", true);
        check("(1 3 4)(2 5)", "$(3\\,4\\,1)(5\\,2)$", true);
        check("(1 3 4)(2 5)", "(1 4 3)(2 5)", false);
        check("(1 3 4)(2 5)", "(1 3 4)", false);
        check("(1 3 4)(2)", "(1 3 4)", true);
        check("(1 3)(3 4)", "(1 3)(3 4)", false);
        check("(1, 3)", "(1, 3)", false);
        check("(", "(", false);
    }
}
