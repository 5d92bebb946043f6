//! Errors in the configuration of a verifier.

/// Error of a configuration, found when a verifier is built, so that no claim is judged under an
/// invalid one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Without a bound every text has the right length, so the verifier could not fail.
    #[error("set `min` or `max`: without either no text can fail")]
    NoBounds,
    /// No length satisfies both bounds.
    #[error("`min` is {min} and `max` is {max}: no length satisfies both")]
    BoundsCrossed {
        /// The lower bound, in the configured unit.
        min: u64,
        /// The upper bound, in the configured unit.
        max: u64,
    },
    /// The pattern is empty, does not compile, or is too large to be run within fuel.
    #[error("bad pattern: {message}")]
    Pattern {
        /// The compiler's message, which shows the place.
        message: String,
    },
    /// No tag is required, so the verifier could not fail.
    #[error("`tags` is empty: name at least one required tag")]
    NoTags,
    /// More tags than the scanner takes.
    #[error("{given} tags given, at most {max} allowed")]
    TooManyTags {
        /// Tags named in the configuration.
        given: usize,
        /// The most that are allowed.
        max: usize,
    },
    /// The name cannot stand in a tag: empty, too long, or with white space, `<`, `>` or `/`.
    #[error("`{name}` cannot be the name of a tag")]
    TagName {
        /// The name as given.
        name: String,
    },
    /// The name is listed twice among `tags` and `optional`.
    #[error("tag `{name}` is listed twice")]
    TagRepeated {
        /// The name as given.
        name: String,
    },
    /// A rule names a tag that neither `tags` nor `optional` lists.
    #[error("`{key}` names tag `{name}`, which is not listed in `tags` or `optional`")]
    TagUnknown {
        /// The configuration key with the rule.
        key: &'static str,
        /// The name as given.
        name: String,
    },
    /// The JSON schema cannot be used.
    #[error("bad schema ({code}): {message}")]
    Schema {
        /// Stable, for programs: the code that a gold schema would be refused with.
        code: &'static str,
        /// For people.
        message: String,
    },
    /// The tolerance is no decimal, or negative.
    #[error("`tolerance` is '{given}': it must be a decimal of at least 0")]
    Tolerance {
        /// The text as given.
        given: String,
    },
}
