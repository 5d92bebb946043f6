//! The words that part a statement: what concludes, what only accompanies an answer, what rejects.

/// Words after which the result stands.
pub(super) const CONCLUDING: [&str; 30] = [
    "accordingly",
    "conclude",
    "conclusion",
    "consequently",
    "daher",
    "donc",
    "dunque",
    "find",
    "finds",
    "folglich",
    "get",
    "gets",
    "give",
    "gives",
    "giving",
    "hence",
    "leaving",
    "logo",
    "luego",
    "making",
    "namely",
    "obtain",
    "obtains",
    "quindi",
    "so",
    "somit",
    "therefore",
    "thus",
    "totaling",
    "yields",
];

/// Words that open a clause about a value before them, or about the statement at its start.
pub(super) const ACCOMPANYING: [&str; 41] = [
    "about",
    "achieved",
    "alongside",
    "approximately",
    "as",
    "assuming",
    "attained",
    "because",
    "besides",
    "between",
    "compared",
    "discarding",
    "dropping",
    "equivalently",
    "excluding",
    "given",
    "had",
    "if",
    "ignoring",
    "instead",
    "nearly",
    "neglecting",
    "occurring",
    "occurs",
    "omitting",
    "rather",
    "rejecting",
    "roughly",
    "satisfies",
    "satisfying",
    "since",
    "such",
    "taken",
    "than",
    "that",
    "versus",
    "when",
    "where",
    "which",
    "whose",
    "with",
];

/// Words that open a clause only where a formula or a letter with a relation follows: "at x = 3".
pub(super) const PREPOSITIONS: [&str; 4] = ["at", "for", "on", "over"];

/// Words before what a value is for: "15 cookies for her 3 friends".
pub(super) const POSSESSIVE: [&str; 5] = ["each", "her", "his", "its", "their"];

/// Words before a noun, so that "to" before them opens no purpose.
pub(super) const DETERMINING: [&str; 8] = ["a", "an", "both", "each", "its", "that", "the", "this"];

/// Nouns whose values a statement gives together.
pub(super) const NAMING: [&str; 16] = [
    "greatest", "largest", "least", "max", "maximum", "mean", "median", "min", "minimum", "mode",
    "smallest", "highest", "lowest", "range", "gcd", "lcm",
];

/// Words of which one opens a comparison of numbers.
pub(super) const ORDERING: [&str; 14] = [
    "above",
    "below",
    "between",
    "bigger",
    "exceeding",
    "exceeds",
    "from",
    "greater",
    "larger",
    "least",
    "less",
    "more",
    "most",
    "smaller",
];

/// Words that say of numbers what their signs are.
pub(super) const SIGNED: [&str; 8] = [
    "negative",
    "non-negative",
    "non-positive",
    "non-zero",
    "nonnegative",
    "nonpositive",
    "nonzero",
    "positive",
];

/// Words between those and the numbers.
pub(super) const DESCRIBING: [&str; 27] = [
    "and",
    "are",
    "at",
    "be",
    "equal",
    "exactly",
    "for",
    "in",
    "is",
    "lie",
    "lies",
    "lying",
    "must",
    "no",
    "not",
    "of",
    "or",
    "real",
    "satisfying",
    "strictly",
    "such",
    "than",
    "that",
    "the",
    "to",
    "value",
    "values",
];

/// Words of a sentence that gives a chance.
pub(super) const CHANCE: [&str; 7] =
    ["chance", "chances", "fraction", "likelihood", "odds", "probability", "proportion"];

/// Words before the number of a step.
pub(super) const HEADING: [&str; 7] =
    ["case", "method", "part", "problem", "question", "solution", "step"];

/// Words that stand with a number in words that answers.
pub(super) const COUNTING: [&str; 9] =
    ["altogether", "average", "exactly", "just", "needs", "precisely", "takes", "tends", "total"];

/// Words that open a clause at the start of a statement, up to its first comma.
pub(super) const OPENING: [&str; 12] = [
    "assuming", "because", "by", "for", "given", "had", "if", "setting", "since", "using", "when",
    "with",
];

/// Words of a predicate that ranks its subject.
pub(super) const COMPARATIVE: [&str; 18] = [
    "best", "better", "bigger", "cheaper", "faster", "fewer", "greater", "heavier", "higher",
    "larger", "least", "longer", "lower", "more", "most", "shorter", "slower", "smaller",
];

/// Words that part a statement into two of the same rank.
pub(super) const PARTING: [&str; 4] = ["but", "whereas", "while", "yet"];

/// Words that open a sentence about the answer and not with it.
pub(super) const CHECKING: [&str; 21] = [
    "already",
    "check",
    "checking",
    "coincidentally",
    "curiously",
    "fun",
    "incidentally",
    "indeed",
    "interesting",
    "interestingly",
    "let",
    "note",
    "notice",
    "observe",
    "recall",
    "remark",
    "remarkably",
    "sanity",
    "verification",
    "verify",
    "verifying",
];

/// Nouns whose colon heads a sentence about the answer.
pub(super) const REMARKING: [&str; 15] = [
    "check",
    "checks",
    "explanation",
    "idea",
    "interpretation",
    "justification",
    "note",
    "notes",
    "proof",
    "reason",
    "reasoning",
    "recap",
    "test",
    "verification",
    "why",
];

/// Verbs after which the predicate of a sentence in words begins, and which are no part of it.
pub(super) const COPULAS: [&str; 12] = [
    "are",
    "be",
    "becomes",
    "equals",
    "had",
    "has",
    "have",
    "is",
    "it's",
    "remains",
    "represents",
    "was",
];

/// Verbs that are part of the predicate.
pub(super) const VERBS: [&str; 18] = [
    "cannot",
    "converge",
    "converges",
    "decreases",
    "diverge",
    "diverges",
    "do",
    "does",
    "doesn't",
    "exist",
    "exists",
    "fails",
    "increases",
    "loses",
    "oscillates",
    "ties",
    "vanishes",
    "wins",
];

/// Words after a verb that open a reason.
pub(super) const ADJOINING: [&str; 6] = ["as", "because", "by", "identically", "since", "using"];

/// Words that reject the value they are said of.
pub(super) const REJECTING: [&str; 9] = [
    "contradiction",
    "discard",
    "discarded",
    "extraneous",
    "impossible",
    "inadmissible",
    "invalid",
    "rejected",
    "spurious",
];

/// Words that reject a value where "not" or its kin stands shortly before them.
pub(super) const REJECTED: [&str; 12] = [
    "acceptable",
    "admissible",
    "allowed",
    "possible",
    "satisfied",
    "satisfies",
    "satisfy",
    "solution",
    "valid",
    "work",
    "works",
    "permitted",
];

/// Words that turn another into its opposite.
pub(super) const DENYING: [&str; 8] =
    ["can't", "cannot", "doesn't", "isn't", "neither", "never", "no", "not"];

/// Words that join the members of a list.
pub(super) const JOINING: [&str; 26] = [
    "and", "or", "und", "oder", "et", "ou", "y", "o", "e", "и", "или", "和", "或", "と", "و", "en",
    "és", "vagy", "lub", "och", "eller", "og", "dan", "atau", "ve", "veya",
];

/// Words before "that" where what follows is stated: "we see that".
pub(super) const SAYING: [&str; 11] = [
    "deduce", "follows", "gather", "implies", "infer", "know", "means", "off", "proves", "see",
    "shows",
];

/// Returns whether `word` is in `list`, in any case of ASCII letters.
pub(super) fn is_in(list: &[&str], word: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}
