//! Answers in prose that have parts with names, `maximum 18, minimum -2`, and a yes or a no with its
//! reason.

use crate::answer::{Answer, AnswerForm, Subject, Unread};
use crate::expr::Function;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Lexeme, Token};

use super::region::inside;
use super::{AnswerReader, LexemeRange, answer_of, is_separator};

/// The most words of a name.
const MAX_WORDS: usize = 4;

/// Verbs between a name and its value.
const VERBS: [&str; 6] = ["is", "are", "equals", "has", "gets", "receives"];

/// Names of one quantity.
const SAME: [(&str, &str); 14] = [
    ("sup", "supremum"),
    ("inf", "infimum"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("largest", "maximum"),
    ("smallest", "minimum"),
    ("greatest", "maximum"),
    ("least", "minimum"),
    ("highest", "maximum"),
    ("lowest", "minimum"),
    ("greatest common divisor", "gcd"),
    ("greatest common factor", "gcd"),
    ("hcf", "gcd"),
    ("least common multiple", "lcm"),
];

/// Words that open the reason for a yes or a no.
const REASONS: [&str; 14] = [
    "it", "they", "this", "these", "that", "there", "because", "since", "as", "with", "by", "for",
    "the", "we",
];

/// Verbs of a clause that restates or explains a yes or a no.
const VERBS_OF_REASONS: [&str; 8] = ["is", "are", "does", "do", "has", "have", "holds", "exists"];

/// A part before it is read.
struct NamedPart {
    name: String,
    value: LexemeRange,
    /// Whether a verb or a sign stands before the value, which then may be in words.
    is_said: bool,
}

impl AnswerReader<'_, '_, '_> {
    /// Reads two parts or more, each with a name of its own.
    pub(super) fn named_parts(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        if self.part(span).is_none() {
            return Ok(None);
        }
        let is_border = |token: Token<'_>| is_separator(token) || token.word() == Some("and");
        let mut parts = self.split(span, is_border);
        parts.retain(|part| !part.is_empty());
        let parts: Option<Vec<NamedPart>> = parts.iter().map(|part| self.part(part)).collect();
        let Some(parts) = parts.filter(|parts| parts.len() > 1) else {
            return Ok(None);
        };
        let is_distinct = (1..parts.len())
            .all(|at| parts[..at].iter().all(|earlier| earlier.name != parts[at].name));
        if !is_distinct {
            return Ok(None);
        }
        let notes = self.notes.len();
        let mut members = Vec::with_capacity(parts.len());
        for NamedPart { name, value, is_said } in parts {
            let end = self.condition_in_brackets(&value).unwrap_or(value.end);
            let read = match self.whole(value.start..end) {
                Err(Unread::NotMaths) => self.without_counter(value.start..end)?,
                read => Some(read?).filter(|read| is_said || !read.is_text()),
            };
            let Some(Answer { form, .. }) = read else {
                self.notes.truncate(notes);
                return Ok(None);
            };
            members.push(Answer { subjects: vec![Subject::Text(name)], ..answer_of(form) });
        }
        Ok(Some(answer_of(AnswerForm::List(members))))
    }

    /// Reads a number without the character behind it that says what is counted: `23只`.
    fn without_counter(&mut self, value: LexemeRange) -> ParseResult<Option<Answer>> {
        let last = value.end.checked_sub(1).filter(|last| *last > value.start);
        let is_counter = |at: &usize| self.token(*at).word().is_some_and(is_chinese);
        let Some(last) = last.filter(is_counter) else {
            return Ok(None);
        };
        match self.whole(value.start..last) {
            Err(Unread::NotMaths) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Splits `maximum 18`, `\max f = 18`, `A is a knave` and `gcd: 12` into name and value.
    fn part(&self, span: &LexemeRange) -> Option<NamedPart> {
        let (mut name, mut at, is_function) = self.leading_name(span);
        let is_letter = name.is_empty();
        if is_letter {
            // A person or a thing that goes by a letter.
            let letter = self.slice(span).first().and_then(|item| item.token.word());
            let letter = letter.filter(|l| l.len() == 1 && l.as_bytes()[0].is_ascii_uppercase())?;
            name.push_str(letter);
            at += 1;
        }
        if is_function && at < span.end {
            let is_argument = self.token(at).word().is_some_and(|word| word.len() == 1);
            at = match self.token(at) {
                Token::Open(Bracket::Round) => self.items[at].mate + 1,
                _ => at + usize::from(is_argument),
            };
        }
        // "maximum of f is 5", "axis of symmetry: x = 2"
        if !is_letter && at < span.end && matches!(self.token(at).word(), Some("of" | "on")) {
            let is_verb = |token: Token<'_>| {
                token.word().is_some_and(|word| VERBS.contains(&word)) || token == Token::Colon
            };
            at = (at..span.end).find(|at| is_verb(self.token(*at)))?;
        }
        let next = (at < span.end).then(|| self.token(at))?;
        let is_verb = next.word().is_some_and(|word| VERBS.contains(&word) || word == "at");
        // "A – knight"
        let is_dash = next == Token::Minus
            && at + 1 < span.end
            && self.token(at + 1).word().is_some_and(|word| word.len() > 2);
        let is_sign = matches!(next, Token::Colon | Token::Arrow)
            || is_dash
            || !is_letter && matches!(next, Token::Relation(crate::answer::Relation::Equal));
        let is_said = is_verb || is_sign;
        let value = at + usize::from(is_said)..span.end;
        // "quotient x^2 + x - 6"
        let is_polynomial = next.word().is_some_and(|word| word.len() == 1)
            && at + 1 < span.end
            && matches!(
                self.token(at + 1),
                Token::Caret | Token::Plus | Token::Minus | Token::Times
            );
        let is_bare = is_polynomial
            || matches!(
                next,
                Token::Number(_)
                    | Token::Minus
                    | Token::Constant(_)
                    | Token::Fraction
                    | Token::SquareRoot
                    | Token::Name(_)
                    | Token::Currency(_)
            )
            || self.opens_equation(at, span)
            || matches!(next, Token::Open(_)) && {
                // "center (2, -3), radius 4"
                let after = self.items[at].mate + 1;
                after >= span.end
                    || is_separator(self.token(after))
                    || self.token(after).word() == Some("and")
            };
        if value.is_empty() || !is_said && (!is_bare || is_letter || is_function) {
            let is_plain_function = is_function && is_bare && !value.is_empty();
            if !is_plain_function {
                return None;
            }
        }
        Some(NamedPart { name: one_name(&name), value, is_said })
    }

    /// Returns the words of a name that opens `span`, where they end, and whether they are a function.
    fn leading_name(&self, span: &LexemeRange) -> (String, usize, bool) {
        let mut at = span.start;
        let mut name = String::new();
        let mut is_function = false;
        while at < span.end && at - span.start < MAX_WORDS && !is_function {
            let word = match self.token(at) {
                Token::Word { text, .. } if is_name(text) => {
                    let is_call =
                        at + 1 < span.end && self.token(at + 1) == Token::Open(Bracket::Round);
                    is_function = is_call && matches!(text, "gcd" | "lcm" | "hcf" | "max" | "min");
                    text
                }
                Token::Function(
                    function @ (Function::Gcd | Function::Lcm | Function::Max | Function::Min),
                ) => {
                    is_function = true;
                    function.plain()
                }
                _ => break,
            };
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&word.to_ascii_lowercase());
            at += 1;
        }
        // `$y$-intercept`
        if let [letter, hyphen, noun, ..] = self.slice(&(at..span.end))
            && name.is_empty()
            && hyphen.token == Token::Minus
            && let (Some(letter), Some(noun)) = (letter.token.word(), noun.token.word())
            && letter.len() == 1
            && letter.bytes().all(|b| b.is_ascii_lowercase())
            && noun.len() > 2
        {
            name = format!("{letter}-{noun}");
            at += 3;
        }
        (name, at, is_function)
    }

    /// Returns whether a letter with an equals sign stands at `at`: "axis $x = 2$".
    fn opens_equation(&self, at: usize, span: &LexemeRange) -> bool {
        let is_letter = self.token(at).word().is_some_and(|word| word.len() == 1);
        let equals = Token::Relation(crate::answer::Relation::Equal);
        is_letter && at + 1 < span.end && self.token(at + 1) == equals
    }

    /// Returns where brackets begin that say at the end of `span` where a value is taken: `18 (x = 3)`.
    fn condition_in_brackets(&self, span: &LexemeRange) -> Option<usize> {
        let last = span.end.checked_sub(1).filter(|last| *last > span.start)?;
        let open = self.items[last].mate;
        let is_bracket = self.token(last) == Token::Close(Bracket::Round) && open > span.start;
        let is_said = |token| matches!(token, Token::Relation(_));
        (is_bracket && self.has_top(&inside(&(open..span.end)), is_said)).then_some(open)
    }

    /// Reads the yes or no of `\text{No, it fails for four}`, `Yes (at 0)`, `False, since …`: a reason is
    /// no part of the answer. What else follows it is, as in "yes, take one stone".
    pub(super) fn verdict_with_reason(&self, span: &LexemeRange) -> Option<AnswerForm> {
        let [first, second, third, ..] = self.slice(span) else {
            return None;
        };
        let (truth, is_foreign) = match first.token.word()?.to_lowercase().as_str() {
            "yes" | "true" => (true, false),
            "no" | "false" => (false, false),
            "sí" | "oui" | "ja" | "sim" | "да" | "是" | "是的" | "はい" | "نعم" => {
                (true, true)
            }
            "nein" | "non" | "não" | "нет" | "否" | "不是" | "いいえ" | "لا" => {
                (false, true)
            }
            _ => return None,
        };
        let is_verb = |item: &Lexeme<'_>| {
            item.token.word().is_some_and(|word| VERBS_OF_REASONS.contains(&word))
        };
        let opens = is_foreign && third.token.word().is_some()
            || third.token.word().is_some_and(|word| REASONS.contains(&word))
            || self.slice(span).iter().any(is_verb);
        let is_reason = match second.token {
            Token::Comma | Token::Semicolon | Token::Colon => opens,
            Token::Open(Bracket::Round) => true,
            _ => false,
        };
        is_reason.then_some(AnswerForm::Truth(truth))
    }
}

/// Returns the names of a list whose members have names in words, each with its other wordings: of "max 18, min -2"
/// the first are `maximum`, `max`, `largest` and so on. Empty for other answers.
pub fn part_names(answer: &Answer) -> Vec<Vec<&str>> {
    let AnswerForm::List(members) = &answer.form else {
        return Vec::new();
    };
    if !answer.names_members() {
        return Vec::new();
    }
    let names = members.iter().filter_map(|member| match member.subjects.first() {
        Some(Subject::Text(name)) => Some(name.as_str()),
        Some(Subject::Expr(_) | Subject::Several(_)) | None => None,
    });
    let wordings = |name| {
        let others = SAME.iter().filter(|(_, one)| *one == name).map(|(other, _)| *other);
        others.chain([name]).collect()
    };
    names.map(wordings).collect()
}

/// Returns the one name for those of one quantity.
fn one_name(name: &str) -> String {
    // `兔子` is `兔`.
    let is_animal = is_chinese(name) && name.chars().count() > 1;
    let verbs = ['有', '是', '为', '得', '需', '共'];
    let name = name.strip_suffix(verbs).filter(|name| is_chinese(name)).unwrap_or(name);
    let bare = name.strip_suffix('子').filter(|_| is_animal).unwrap_or(name);
    let bare = bare.strip_suffix(" values").or_else(|| bare.strip_suffix(" value")).unwrap_or(bare);
    let kinds = ["absolute ", "global ", "local ", "overall ", "relative "];
    let bare = kinds.iter().find_map(|kind| bare.strip_prefix(kind)).unwrap_or(bare);
    let same = SAME.iter().find(|(known, _)| *known == bare).map(|(_, one)| *one);
    same.unwrap_or(bare).to_owned()
}

/// Returns whether `word` may be part of the name of a quantity.
fn is_name(word: &str) -> bool {
    const NO_NAMES: [&str; 8] = ["mod", "for", "and", "where", "with", "when", "not", "all"];
    /// Characters of the longest name in Chinese.
    const MAX_CHARACTERS: usize = 4;
    if is_chinese(word) {
        let is_joint = matches!(word, "和" | "或" | "且" | "为" | "是" | "共" | "约");
        return word.chars().count() <= MAX_CHARACTERS && !is_joint;
    }
    // `GCD 6, LCM 36`
    if matches!(word, "GCD" | "LCM" | "HCF" | "MAX" | "MIN") {
        return true;
    }
    let mut letters = word.chars();
    // Scripts without capitals have short words.
    let has_case = word.contains(|c: char| c.is_lowercase() || c.is_uppercase());
    word.chars().count() > 1 + usize::from(has_case)
        && letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|c| c.is_alphabetic() && !c.is_uppercase())
        && !VERBS.contains(&word)
        && !NO_NAMES.contains(&word)
}

fn is_chinese(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| ('\u{4E00}'..='\u{9FFF}').contains(&c))
}
