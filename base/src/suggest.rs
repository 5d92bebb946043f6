//! Suggestions for misspelt names.

/// The name in `known` that is most similar to `given` (Jaro-Winkler above 0.75, and neither more than
/// twice as long as the other: `rm` is not `format`); `None` if none is similar enough. The last of
/// equally similar names wins.
pub fn nearest<'k>(given: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let length = given.chars().count();
    known
        .filter(|name| {
            let own = name.chars().count();
            own <= 2 * length && length <= 2 * own
        })
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(similarity, _)| *similarity > 0.75)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested() {
        let known = ["math", "choice", "process", "format"];
        for (given, expected) in
            [("maths", Some("math")), ("chioce", Some("choice")), ("z", None), ("rm", None)]
        {
            assert_eq!(nearest(given, known.into_iter()), expected, "{given}");
        }
    }
}
