//! Necessary and sufficient conditions in words.

/// Returns the one wording for words that say whether a condition is necessary and whether it is sufficient: "a
/// necessary, but not a sufficient, condition for $q$".
pub(crate) fn kind(words: &str) -> Option<&'static str> {
    /// Words between a denial and what it denies.
    const REACH: usize = 3;
    if !words.contains("necessary") || !words.contains("sufficient") {
        return None;
    }
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let is_such = |word: &str| {
        let at = words.iter().position(|own| *own == word)?;
        let before = &words[at.saturating_sub(REACH)..at];
        let denied = before.iter().rposition(|own| matches!(*own, "not" | "neither" | "nor"));
        // "not sufficient but necessary"
        let is_parted = |from: usize| {
            before[from..].iter().any(|own| matches!(*own, "but" | "necessary" | "sufficient"))
        };
        Some(!denied.is_some_and(|from| before[from] == "neither" || !is_parted(from)))
    };
    let is_neither = words.contains(&"neither");
    Some(match (is_such("necessary")? && !is_neither, is_such("sufficient")? && !is_neither) {
        (true, true) => "necessary and sufficient",
        (true, false) => "necessary but not sufficient",
        (false, true) => "sufficient but not necessary",
        (false, false) => "neither necessary nor sufficient",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_one_wording() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(kind(text), expected, "{text}");
        check(
            "$p$ is a necessary, but not a sufficient, condition",
            Some("necessary but not sufficient"),
        );
        check("sufficient but not necessary", Some("sufficient but not necessary"));
        check("not sufficient but necessary", Some("necessary but not sufficient"));
        check("both necessary and sufficient", Some("necessary and sufficient"));
        check("neither necessary nor sufficient", Some("neither necessary nor sufficient"));
        check("necessary", None);
    }
}
