//! The words that part a statement: what concludes, what only accompanies an answer, what rejects.

/// Words after which the result stands.
pub(super) static CONCLUDING: WordList = WordList::new(&[
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
]);

/// Words that open a clause about a value before them, or about the statement at its start.
pub(super) static ACCOMPANYING: WordList = WordList::new(&[
    "about",
    "achieved",
    "alcanzado",
    "alongside",
    "approximately",
    "aproximadamente",
    "atteint",
    "atteinte",
    "circa",
    "environ",
    "erreicht",
    "etwa",
    "raggiunto",
    "ungefähr",
    "приблизительно",
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
]);

/// Words that open a clause only where a formula or a letter with a relation follows: "at x = 3".
pub(super) static PREPOSITIONS: WordList = WordList::new(&["at", "for", "on", "over"]);

/// Words before what a value is for: "15 cookies for her 3 friends".
pub(super) static POSSESSIVE: WordList = WordList::new(&["each", "her", "his", "its", "their"]);

/// Words before a noun, so that "to" before them opens no purpose.
pub(super) static DETERMINING: WordList =
    WordList::new(&["a", "an", "both", "each", "its", "that", "the", "this"]);

/// Nouns whose values a statement gives together.
pub(super) static NAMING: WordList = WordList::new(&[
    "greatest", "largest", "least", "max", "maximum", "mean", "median", "min", "minimum", "mode",
    "smallest", "highest", "lowest", "range", "gcd", "lcm",
]);

/// Words of which one opens a comparison of numbers.
pub(super) static ORDERING: WordList = WordList::new(&[
    "except",
    "excluding",
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
]);

/// Words that say of numbers what their signs are.
pub(super) static SIGNED: WordList = WordList::new(&[
    "negative",
    "non-negative",
    "non-positive",
    "non-zero",
    "nonnegative",
    "nonpositive",
    "nonzero",
    "positive",
]);

/// Words between those and the numbers.
pub(super) static DESCRIBING: WordList = WordList::new(&[
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
    "satisfying",
    "strictly",
    "such",
    "than",
    "that",
    "the",
    "to",
    "value",
    "values",
]);

/// Words before the sizes of a figure.
pub(super) static DIMENSIONS: WordList =
    WordList::new(&["base", "breadth", "depth", "height", "length", "width"]);

/// Words of a sentence that gives a chance.
pub(super) static CHANCE: WordList = WordList::new(&[
    "chance",
    "chances",
    "fraction",
    "likelihood",
    "odds",
    "probability",
    "proportion",
]);

/// Words before the number of a step.
pub(super) static HEADING: WordList =
    WordList::new(&["case", "method", "part", "problem", "question", "solution", "step"]);

/// Words that stand with a number in words that answers.
pub(super) static COUNTING: WordList = WordList::new(&[
    "altogether",
    "average",
    "exactly",
    "just",
    "needs",
    "precisely",
    "takes",
    "tends",
    "that's",
    "total",
]);

/// Words that open a clause at the start of a statement, up to its first comma.
pub(super) static OPENING: WordList = WordList::new(&[
    "as", "como", "denn", "poiché", "porque", "puisque", "weil", "perché", "assuming", "because",
    "by", "for", "given", "had", "if", "setting", "since", "using", "when", "with",
]);

/// Words of a predicate that ranks its subject.
pub(super) static COMPARATIVE: WordList = WordList::new(&[
    "best", "better", "bigger", "cheaper", "faster", "fewer", "greater", "heavier", "higher",
    "larger", "least", "longer", "lower", "more", "most", "shorter", "slower", "smaller",
]);

/// Words that part a statement into two of the same rank.
pub(super) static PARTING: WordList = WordList::new(&["but", "whereas", "while", "yet"]);

/// Words that open a sentence about the answer and not with it.
pub(super) static CHECKING: WordList = WordList::new(&[
    "already",
    "alternatively",
    "check",
    "checking",
    "coincidentally",
    "curiously",
    "equivalently",
    "fun",
    "incidentally",
    "indeed",
    "infatti",
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
    "действительно",
    "Действительно",
]);

/// Nouns whose colon heads a sentence about the answer.
pub(super) static REMARKING: WordList = WordList::new(&[
    "check",
    "checks",
    "comprobación",
    "controle",
    "explanation",
    "idea",
    "interpretation",
    "justification",
    "kontrolle",
    "note",
    "notes",
    "probe",
    "proof",
    "reason",
    "reasoning",
    "recap",
    "sprawdzenie",
    "test",
    "verifica",
    "verificación",
    "verificação",
    "verification",
    "vérification",
    "why",
    "проверка",
    "Проверка",
]);

/// Verbs after which the predicate of a sentence in words begins, and which are no part of it.
pub(super) static COPULAS: WordList = WordList::new(&[
    "are",
    "be",
    "becomes",
    "equals",
    "had",
    "has",
    "have",
    "is",
    "it's",
    "est",
    "ist",
    "remains",
    "represents",
    "sind",
    "sont",
    "é",
    "è",
    "was",
]);

/// Verbs that are part of the predicate.
pub(super) static VERBS: WordList = WordList::new(&[
    "aren't",
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
    "isn't",
    "loses",
    "oscillates",
    "ties",
    "vanishes",
    "wins",
]);

/// Words after a verb that open a reason.
pub(super) static ADJOINING: WordList =
    WordList::new(&["as", "because", "by", "identically", "since", "using"]);

/// Words that reject the value they are said of.
pub(super) static REJECTING: WordList = WordList::new(&[
    "contradiction",
    "discard",
    "discarded",
    "extraneous",
    "impossible",
    "inadmissible",
    "invalid",
    "rejected",
    "spurious",
]);

/// Words that reject a value where "not" or its kin stands shortly before them.
pub(super) static REJECTED: WordList = WordList::new(&[
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
]);

/// Words that turn another into its opposite.
pub(super) static DENYING: WordList =
    WordList::new(&["can't", "cannot", "doesn't", "isn't", "neither", "never", "no", "not"]);

/// Nouns before the letter of a choice.
pub(super) static CHOOSING: WordList = WordList::new(&[
    "alternativa",
    "antwort",
    "choice",
    "opción",
    "option",
    "opzione",
    "opção",
    "respuesta",
    "resposta",
    "risposta",
    "réponse",
    "statement",
    "вариант",
    "ответ",
]);

/// Words of other languages before a reason.
pub(super) static REASONING: WordList = WordList::new(&[
    "car",
    "denn",
    "perché",
    "pois",
    "poiché",
    "porque",
    "puisque",
    "weil",
    "поскольку",
]);

/// Words of other languages that deny, and of the set without members.
pub(super) static DENYING_ABROAD: WordList = WordList::new(&[
    "aucun",
    "aucune",
    "kein",
    "keine",
    "leer",
    "leere",
    "nenhuma",
    "nessuna",
    "ninguna",
    "no",
    "non",
    "não",
    "pas",
    "vacío",
    "vazio",
    "vide",
    "vuoto",
    "не",
    "нет",
    "пустое",
]);

/// Words that say yes or no.
pub(super) static VERDICTS: WordList = WordList::new(&[
    "yes", "no", "true", "false", "sí", "si", "oui", "non", "ja", "nein", "sim", "não", "да", "Да",
    "нет", "Нет",
]);

/// Words that open a sentence and name nobody.
pub(super) static OPENERS: WordList = WordList::new(&[
    "all", "also", "both", "each", "either", "every", "from", "he", "here", "however", "it", "its",
    "neither", "no", "none", "now", "one", "only", "our", "she", "that", "the", "their", "then",
    "there", "these", "they", "this", "those", "we", "what", "which", "who", "yes", "you",
]);

/// Words that join the members of a list.
pub(super) static JOINING: WordList = WordList::new(&[
    "أو",
    "या",
    "और",
    "또는",
    "그리고",
    "이거나",
    "hoặc",
    "và",
    "and",
    "or",
    "und",
    "oder",
    "et",
    "ou",
    "y",
    "o",
    "e",
    "и",
    "или",
    "和",
    "或",
    "と",
    "و",
    "en",
    "és",
    "vagy",
    "lub",
    "och",
    "eller",
    "og",
    "dan",
    "atau",
    "ve",
    "veya",
    "且",
    "及",
]);

/// Words before "that" where what follows is stated: "we see that".
pub(super) static SAYING: WordList = WordList::new(&[
    "deduce", "follows", "gather", "implies", "infer", "know", "means", "off", "proves", "see",
    "shows",
]);

/// Words that a word may be one of, in any case of ASCII letters.
pub(super) trait Words {
    /// Returns whether `word` is one of them.
    fn have(&self, word: &str) -> bool;
}

impl<const N: usize> Words for [&str; N] {
    fn have(&self, word: &str) -> bool {
        self.iter().any(|known| known.eq_ignore_ascii_case(word))
    }
}

/// A list of words with the lengths of those that begin with a letter, which tells most other words apart without a
/// comparison.
pub(super) struct WordList {
    words: &'static [&'static str],
    /// A bit for each length, by the first byte in any case.
    lengths: [u32; 32],
}

impl WordList {
    pub(super) const fn new(words: &'static [&'static str]) -> Self {
        let mut lengths = [0; 32];
        let mut at = 0;
        while at < words.len() {
            let (first, length) = sign(words[at].as_bytes());
            lengths[first] |= length;
            at += 1;
        }
        Self { words, lengths }
    }
}

impl Words for WordList {
    fn have(&self, word: &str) -> bool {
        if word.is_empty() {
            return false;
        }
        let (first, length) = sign(word.as_bytes());
        self.lengths[first] & length != 0
            && self.words.iter().any(|known| known.eq_ignore_ascii_case(word))
    }
}

/// Returns the place of the first byte of a word, in any case, and a bit for its length.
const fn sign(word: &[u8]) -> (usize, u32) {
    ((word[0] & 31) as usize, 1 << (word.len() & 31))
}
