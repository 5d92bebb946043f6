//! Suggestions for misspelt names.

/// Maximum characters of a name that is compared: a comparison takes quadratic time.
const LONGEST: usize = 128;

/// The name in `known` that is most similar to `given` (Jaro-Winkler above 0.75, and neither more than
/// twice as long as the other: `rm` is not `format`); `None` if none is similar enough. The last of
/// equally similar names wins. Names of more than [`LONGEST`] characters are not compared.
pub fn nearest<'k>(given: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let length = given.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return None;
    }
    known
        .filter(|name| {
            let own = name.chars().take(LONGEST + 1).count();
            own <= LONGEST && own <= 2 * length && length <= 2 * own
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
        let [just, above] = [128, 129].map(|length| "a".repeat(length));
        assert_eq!(nearest(&just, [&just[1..]].into_iter()), Some(&just[1..]));
        assert_eq!(nearest(&above, [&just[..]].into_iter()), None);
        assert_eq!(nearest(&just, [&above[..]].into_iter()), None);
    }
}
