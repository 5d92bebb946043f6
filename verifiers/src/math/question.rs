//! What a question asks of its answer, read from its words.
//!
//! A gold answer alone does not say that a fraction is wanted in lowest terms, an angle in any unit, a
//! duration in minutes. The question does. It is looked at only where it can matter, so that a plain number
//! costs nothing.

use std::cell::OnceCell;
use std::cmp::Ordering;

/// The text of a question.
pub(super) struct Question<'a> {
    pub(super) text: &'a str,
    lower: OnceCell<String>,
}

/// Verbs and phrases after which stands what is to be brought into another form.
const TASKS: &[&str] = &[
    "calculate",
    "compute",
    "convert",
    "evaluate",
    "expand",
    "express",
    "factor",
    "factorise",
    "factorize",
    "find",
    "rationalise",
    "rationalize",
    "reduce",
    "simplify",
    "solve",
    "what is",
    "write",
];

/// Words between such a verb and the expression.
const BETWEEN: &[&str] = &[
    "completely",
    "equation",
    "exactly",
    "expression",
    "following",
    "for",
    "fraction",
    "fully",
    "number",
    "of",
    "over",
    "polynomial",
    "product",
    "sum",
    "the",
    "value",
];

impl<'a> Question<'a> {
    /// Only the end of a longer text is read: questions stand there.
    const MAX_BYTES: usize = 4096;

    pub(super) fn new(text: &'a str) -> Self {
        let mut from = text.len().saturating_sub(Self::MAX_BYTES);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        Self { text: &text[from..], lower: OnceCell::new() }
    }

    /// The question in small letters.
    pub(super) fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.text.to_lowercase())
    }

    pub(super) fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.lower().contains(phrase))
    }

    /// Whether a fraction is wanted in lowest terms.
    pub(super) fn wants_lowest_terms(&self) -> bool {
        self.says(&[
            "lowest terms",
            "simplest form",
            "simplest terms",
            "simplest fraction",
            "reduced form",
            "reduced fraction",
            "simplified fraction",
            "irreducible fraction",
        ]) || (self.says(&["relatively prime", "coprime"]) && self.names_quotient())
    }

    /// Whether the question writes a quotient of two letters: `m/n`, `\frac{p}{q}`.
    fn names_quotient(&self) -> bool {
        let text = bare(self.text);
        let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        let of_frac = text.match_indices("\\frac").any(|(at, frac)| {
            let letters = &text.as_bytes()[at + frac.len()..];
            is_letter(letters.first()) && is_letter(letters.get(1))
        });
        let is_apart = |c: char| !c.is_ascii_alphanumeric() && c != '/';
        let mut words = self.text.split(is_apart);
        of_frac
            || words.any(|word| {
                matches!(word.as_bytes(), [above, b'/', below]
                    if above.is_ascii_alphabetic() && below.is_ascii_alphabetic())
            })
    }

    /// Whether a product of factors is wanted.
    pub(super) fn wants_factors(&self) -> bool {
        if self.says(&["factored form", "factorised form", "factorized form", "as a product of"]) {
            return true;
        }
        let mut is_start = true;
        for word in self.lower().split_whitespace() {
            let is_verb = matches!(word, "factor" | "factorise" | "factorize");
            if is_verb && is_start {
                return true;
            }
            let leads = matches!(
                word,
                "please" | "completely" | "fully" | "to" | "and" | "then" | "(a)" | "(b)"
            );
            is_start = leads || word.ends_with(['.', ':', '?', '!', ';']);
        }
        false
    }

    /// Whether a number of percent is wanted.
    pub(super) fn wants_percent(&self) -> bool {
        if self.says(&["as a decimal", "as a fraction", "decimal form"]) {
            return false;
        }
        let asks = |sentence: &str| {
            let verbs =
                ["what", "which", "find", "calculate", "compute", "determine", "how", "give"];
            sentence.contains("percentage") && verbs.iter().any(|verb| sentence.contains(verb))
        };
        self.lower().split(['?', '!', '\n']).flat_map(|part| part.split(". ")).any(asks)
            || self.says(&[
                "what percent",
                "what per cent",
                "which percent",
                "how many percent",
                "as a percent",
                "percent increase",
                "percent decrease",
                "percent change",
                "prozent",
                "pourcentage",
                "porcentaje",
                "百分",
                "몇 %",
                "몇 퍼센트",
                "процент",
                "percentuale",
                "por cento",
            ])
    }

    /// Whether an angle is wanted, in no unit that is named.
    pub(super) fn wants_angle(&self) -> bool {
        let names_unit = self.says(&["degree", "radian"]);
        !names_unit
            && (self.says(&["求角", "的角"])
                || self.words().any(|word| matches!(word, "angle" | "angles" | "winkel")))
    }

    /// Whether the letters that only one side has may be parameters of a family: the question has none of
    /// them.
    pub(super) fn allows_renaming(&self, gold: &str, candidate: &str) -> bool {
        let only_one = letters(gold, 2) ^ letters(candidate, 2);
        only_one != 0 && self.wants_family() && only_one & self.letters() == 0
    }

    /// Which of several is wanted: the greater, or the less.
    pub(super) fn wants_extreme(&self) -> Option<Ordering> {
        let is_question = |at: usize| {
            let before = self.lower()[..at].trim_end().rsplit(' ').next().unwrap_or("");
            // `for which`, `in which` lead to a condition.
            !matches!(
                before,
                "above"
                    | "at"
                    | "below"
                    | "by"
                    | "for"
                    | "from"
                    | "in"
                    | "of"
                    | "on"
                    | "to"
                    | "under"
                    | "with"
            )
        };
        if !self.lower().match_indices("which").any(|(at, _)| is_question(at)) {
            return None;
        }
        let found = |words: &[&str]| self.words().any(|word| words.contains(&word));
        match (
            found(&["larger", "largest", "greater", "greatest", "bigger", "biggest"]),
            found(&["smaller", "smallest", "less", "least"]),
        ) {
            (true, false) => Some(Ordering::Greater),
            (false, true) => Some(Ordering::Less),
            (true, true) | (false, false) => None,
        }
    }

    /// Whether the question writes this formula.
    pub(super) fn names(&self, formula: &str) -> bool {
        let bare = |text: &str| bare(text).replace("\\pi", "π");
        let formula = bare(formula);
        !formula.is_empty() && bare(self.text).contains(&formula)
    }

    /// Which bound of a quantity is wanted: the upper one, below which it lies, is `Less`. A bound that is not
    /// reached is no largest value.
    pub(super) fn wants_bound(&self, is_reached: bool) -> Option<Ordering> {
        let below = [
            "below which",
            "under which",
            "less than what",
            "below what",
            "upper bound",
            "supremum",
        ];
        let above =
            ["above which", "beyond which", "over which", "above what", "lower bound", "infimum"];
        let largest = [
            "maximum", "maximal", "largest", "greatest", "biggest", "highest", "longest", "at most",
        ];
        let smallest =
            ["minimum", "minimal", "smallest", "lowest", "shortest", "fewest", "at least", "least"];
        let upper = self.says(&below) || (is_reached && self.says(&largest));
        let lower = self.says(&above) || (is_reached && self.says(&smallest));
        match (upper, lower) {
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, true) | (false, false) => None,
        }
    }

    /// Whether the two numbers are wanted between which something lies.
    pub(super) fn wants_ends(&self) -> bool {
        self.says(&["between which", "between what", "consecutive"])
    }

    /// Whether the number of a residue class is wanted.
    pub(super) fn wants_remainder(&self) -> bool {
        self.says(&[
            "remainder",
            "residue",
            "modulo",
            "mod ",
            "digit",
            "余数",
            "余り",
            "reste",
            "der rest",
            "остаток",
        ])
    }

    /// Whether what is listed is to be put in order.
    pub(super) fn wants_order(&self) -> bool {
        self.says(&[
            "ascending order",
            "descending order",
            "increasing order",
            "decreasing order",
            "smallest to largest",
            "largest to smallest",
            "least to greatest",
            "greatest to least",
            "from smallest",
            "from largest",
            "from least",
            "from greatest",
            "in what order",
            "in which order",
            "order of finish",
            "in order",
        ])
    }

    /// Whether an interval of confidence is wanted, whose brackets say nothing.
    pub(super) fn wants_confidence(&self) -> bool {
        self.says(&["confidence interval"])
    }

    /// Whether vectors are wanted, which may be written as columns and as tuples.
    pub(super) fn wants_vectors(&self) -> bool {
        self.says(&[
            "vector",
            "basis",
            "null space",
            "nullspace",
            "kernel",
            "projection",
            "span",
            "gradient",
            "curl",
            "velocity",
            "vektor",
            "vecteur",
            "вектор",
            "向量",
        ])
    }

    /// Whether a number of things is wanted.
    pub(super) fn wants_number(&self) -> bool {
        self.says(&["how many", "number of"])
    }

    /// Writes a number with the base of the gold answer, which the question asks for: `11001_2` for `11001`.
    pub(super) fn base_of(&self, gold: &str, candidate: &str) -> Option<String> {
        let (digits, base) = gold.split_once('_')?;
        let is_numeral =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let is_asked = is_numeral(digits.trim_start_matches('$'))
            && is_numeral(candidate)
            && self.says(&["binary", "base", "octal", "hexadecimal", "ternary"]);
        is_asked.then(|| format!("{candidate}_{}", base.trim_end_matches('$')))
    }

    /// Whether a ratio is wanted, which may be written as a quotient.
    pub(super) fn wants_ratio(&self) -> bool {
        self.says(&["ratio", "verhältnis", "rapport", "razón"])
    }

    /// The unit in which the answer is wanted: `How many minutes`, `in km/h`. What a sentence wants the answer
    /// expressed in counts more than what was counted.
    pub(super) fn unit(&self) -> Option<&'a str> {
        let after = |phrase: &str| {
            let at = memchr::memmem::rfind_iter(self.text.as_bytes(), phrase.as_bytes());
            at.map(|at| (at, &self.text[at + phrase.len()..]))
                .find_map(|(at, rest)| Some((at, wanted_unit(rest)?)))
        };
        let of_form = || after(" in ").or_else(|| after("(in "));
        let Some((counted_at, counted)) = after("ow many ") else {
            return of_form().map(|(_, unit)| unit);
        };
        let form = of_form().filter(|(at, _)| {
            let sentence = self.text[..*at].rsplit(['.', '?', '!', '\n']).next().unwrap_or("");
            let words = sentence.split(|c: char| !c.is_alphabetic()).map(str::to_ascii_lowercase);
            let verbs = ["answer", "express", "give", "report", "state", "write"];
            *at > counted_at && words.into_iter().any(|word| verbs.contains(&word.as_str()))
        });
        Some(form.map_or(counted, |(_, unit)| unit))
    }

    /// The number of a count of what the question asks for: 5 of `5 dozens` after `How many dozens`.
    pub(super) fn count<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | '/' | '-' | ' ');
        let (number, words) = text.split_at(text.find(|c: char| !is_number(c))?);
        let words = words.trim_start_matches(['\\', '~', ' ']).trim_end_matches([' ', '.', '}']);
        let words = words.strip_prefix("text{").unwrap_or(words).trim();
        let are_words = words.bytes().all(|b| b.is_ascii_alphabetic() || b == b' ');
        if words.is_empty() || !are_words || !number.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let asked = format!("how many {}", words.to_ascii_lowercase());
        let is_asked = self.lower().match_indices(&asked).any(|(at, _)| {
            let next = self.lower()[at + asked.len()..].chars().next();
            next.is_none_or(|c| !c.is_alphanumeric())
        });
        is_asked.then(|| number.trim())
    }

    /// The quantity that is asked for by its symbol: `BD` of `Find $BD$.`
    pub(super) fn symbol(&self) -> Option<&'a str> {
        /// Longer formulas are no symbols.
        const MAX_BYTES: usize = 12;
        let text = self.text.trim_end_matches(['.', '?', ' ', '\n']);
        let before = text.strip_suffix('$')?;
        let (before, symbol) = before.rsplit_once('$')?;
        let verb = before.trim_end().rsplit([' ', '\n']).next()?.to_ascii_lowercase();
        let is_asked = matches!(
            verb.as_str(),
            "find" | "determine" | "compute" | "calculate" | "is" | "of" | "are"
        );
        let is_symbol = symbol.len() <= MAX_BYTES
            && symbol.starts_with(|c: char| c.is_ascii_alphabetic())
            && !symbol.contains(['+', '-', '*', '/', '=', '<', '>', ',']);
        (is_asked && is_symbol).then_some(symbol)
    }

    /// The value of the only one of several named members whose name the end of the question has: 12 of "Anna is
    /// 12" and "her brother is 8" after `How old is Anna?`
    pub(super) fn asked_member<'t>(&self, members: &[&'t str]) -> Option<&'t str> {
        let sentence = self.lower().trim_end_matches(['?', '.', ' ', '\n']);
        let sentence = sentence.rsplit(['.', '!', '\n']).next()?;
        let has =
            |name: &str| sentence.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
        let mut found = None;
        for member in members {
            let (name, rest) = member.split_once(' ')?;
            let verb = ["is ", "has ", "gets ", "receives "];
            let value = verb.iter().find_map(|verb| rest.strip_prefix(verb))?;
            if has(&name.to_lowercase()) && found.replace(value).is_some() {
                return None;
            }
        }
        found
    }

    /// Whether `candidate` is what the question gives, and not what `gold` makes of it.
    pub(super) fn gives(&self, candidate: &str, gold: &str) -> bool {
        let candidate = bare(candidate);
        let is_form =
            candidate.bytes().any(|b| b"+-*/^\\=(".contains(&b)) || candidate.contains('.');
        if !is_form || candidate.len() < 3 || candidate == bare(gold) {
            return false;
        }
        let lower = self.lower();
        // Letters of some alphabets change their length.
        if lower.len() != self.text.len() {
            return false;
        }
        TASKS.iter().any(|task| {
            memchr::memmem::find_iter(lower.as_bytes(), task.as_bytes()).any(|at| {
                let rest = &self.text[at + task.len()..];
                let is_word = rest.starts_with([' ', '\n', ':', '$', '\\']);
                is_word && bare_start(after_words(rest), &candidate)
            })
        })
    }

    /// The letters of its formulas; where none is marked, those that stand alone.
    pub(super) fn letters(&self) -> u64 {
        if !self.text.contains('$') {
            return letters(self.text, 1);
        }
        self.text
            .split('$')
            .skip(1)
            .step_by(2)
            .fold(0, |found, formula| found | letters(formula, 2))
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.lower().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
    }
}

/// Returns `text` from the expression on.
fn after_words(text: &str) -> &str {
    let mut rest = text.trim_start_matches([' ', '\n', ':']);
    loop {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = rest[..end].to_ascii_lowercase();
        if !BETWEEN.contains(&word.as_str()) {
            return rest;
        }
        rest = rest[end..].trim_start_matches([' ', '\n', ':']);
    }
}

/// Returns a formula without white space, delimiters of formulas, braces and commands that only space.
pub(super) fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = [
            "\\left",
            "\\right",
            "\\displaystyle",
            "\\,",
            "\\!",
            "\\;",
            "\\(",
            "\\)",
            "\\[",
            "\\]",
        ];
        if let Some(next) = skipped.iter().find_map(|command| rest.strip_prefix(command)) {
            rest = next;
            continue;
        }
        if let Some(next) = rest.strip_prefix("\\dfrac").or_else(|| rest.strip_prefix("\\tfrac")) {
            out += "\\frac";
            rest = next;
            continue;
        }
        if !c.is_whitespace() && !matches!(c, '$' | '{' | '}') {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Whether `text` opens with the whole formula `candidate`, which is bare, and no second one is joined to it: `1/2`
/// of "the sum of 1/2 and 2" is given as a part.
fn bare_start(text: &str, candidate: &str) -> bool {
    /// A formula takes at most so many bytes for each of its bare ones.
    const SPREAD: usize = 4;
    let mut end = text.len().min(candidate.len() * SPREAD + 16);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let Some(formula) = formula(&text[..end]) else {
        return false;
    };
    // Both are parts of one text.
    let end = formula.as_ptr() as usize - text.as_ptr() as usize + formula.len();
    let rest = text[end..].trim_start_matches(['$', ' ', '\\', ')', ']']);
    let is_joined = rest.strip_prefix("and ").is_some_and(|next| {
        let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        word.len() < 2 || word.bytes().all(|b| b.is_ascii_digit())
    });
    !is_joined && bare(formula).trim_end_matches(['.', ',', '?']) == candidate
}

/// Returns the formula at the start of `text`: between its delimiters, or up to the next word.
fn formula(text: &str) -> Option<&str> {
    let pairs = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];
    for (open, shut) in pairs {
        if let Some(inside) = text.strip_prefix(open) {
            return inside.split_once(shut).map(|(formula, _)| formula);
        }
    }
    let mut end = 0;
    for word in text.split_inclusive(' ') {
        let letters = word.trim_end_matches([' ', '.', ',', '?', ';', '\n']);
        if letters.len() > 1 && letters.bytes().all(|b| b.is_ascii_alphabetic()) {
            break;
        }
        end += word.len();
        if word.trim_end().ends_with(['?', ';', ',', '.']) {
            break;
        }
    }
    Some(text[..end].trim()).filter(|formula| !formula.is_empty())
}

/// Returns the unit that `text` opens with, of as many words as belong to it.
fn wanted_unit(text: &str) -> Option<&str> {
    /// Words of the longest name.
    const MAX_WORDS: usize = 4;
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '?' | '.' | ',' | ')' | ';' | ':' | '(' | '$');
    let ends: Vec<usize> = text.match_indices(is_end).map(|(at, _)| at).take(MAX_WORDS).collect();
    let whole = [text.len()];
    let ends = if ends.is_empty() { &whole[..] } else { &ends };
    let name = ends.iter().rev().map(|end| text[..*end].trim()).find(|name| is_unit_name(name))?;
    let next = text[name.len()..].trim_start().split(is_end).next()?;
    (!matches!(next, "per" | "and" | "or" | "squared" | "cubed")).then_some(name)
}

/// Whether `name` is a unit that prose means as one: "in A" names a set, "in min" a unit.
fn is_unit_name(name: &str) -> bool {
    const SHORT: [&str; 14] =
        ["cm", "mm", "km", "kg", "mg", "ml", "mL", "ft", "Hz", "kJ", "kW", "ms", "°C", "°F"];
    let is_marked =
        name.chars().count() > 2 || name.contains(['/', '²', '³']) || SHORT.contains(&name);
    is_marked && maths::is_unit(name)
}

/// Returns a bit for each letter of a formula's runs of up to `longest` letters: `x` and `C` of `Ce^{x}`, and
/// none of `\ln`.
pub(super) fn letters(text: &str, longest: usize) -> u64 {
    let bytes = text.as_bytes();
    let mut found = 0;
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let is_command = at > 0 && bytes[at - 1] == b'\\';
        let is_set = bytes[..at].ends_with(b"mathbb{") || bytes[..at].ends_with(b"mathbb ");
        if (1..=longest).contains(&run) && !is_command && !is_set {
            for letter in &bytes[at..at + run] {
                let bit =
                    if letter.is_ascii_uppercase() { letter - b'A' } else { letter - b'a' + 26 };
                found |= 1 << bit;
            }
        }
        at += run.max(1);
    }
    found
}
