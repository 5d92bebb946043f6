//! Words around an answer: what announces it, and what is said of it afterwards.
//!
//! They are looked for only where all of the text is no answer, so that they change no reading.

use crate::answer::{Answer, AnswerForm, Region, Relation, Subject, Unread};
use crate::expr::Expr;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Gap, Lexeme, Style, Token};

use super::region::{as_region, inside};
use super::{AnswerReader, LexemeRange, answer_of};

/// Verbs at the end of what announces an answer.
const VERBS: [&str; 4] = ["is", "are", "equals", "be"];

/// Words that turn what they stand in into its opposite, or into one answer of several.
const DENIALS: [&str; 8] = ["not", "no", "never", "cannot", "except", "or", "without", "wrong"];

/// Words that open a remark in brackets.
const OPENERS: [&str; 21] = [
    "see",
    "at",
    "attained",
    "by",
    "from",
    "since",
    "because",
    "as",
    "where",
    "when",
    "using",
    "which",
    "note",
    "for",
    "if",
    "rounded",
    "exactly",
    "approximately",
    "about",
    "after",
    "then",
];

/// Words that open what is said of the variables of an answer.
const DOMAINS: [&str; 15] = [
    "for", "where", "with", "when", "wobei", "mit", "für", "où", "avec", "pour", "donde", "con",
    "para", "onde", "com",
];

/// Words that say of letters that they are integers.
const INTEGERS: [&str; 21] = [
    "integer",
    "integers",
    "integral",
    "whole",
    "entier",
    "entiers",
    "relatif",
    "entero",
    "enteros",
    "inteiro",
    "inteiros",
    "ganz",
    "ganze",
    "ganzzahlig",
    "整",
    "整数",
    "为整数",
    "是整数",
    "为任意整数",
    "целое",
    "целых",
];

/// Words around those and the letters, beside [`DOMAINS`].
const OF_INTEGERS: [&str; 39] = [
    "is",
    "are",
    "an",
    "a",
    "any",
    "all",
    "every",
    "each",
    "some",
    "arbitrary",
    "number",
    "numbers",
    "and",
    "being",
    "denotes",
    "can",
    "be",
    "the",
    "eine",
    "ein",
    "Zahl",
    "ist",
    "beliebige",
    "est",
    "un",
    "tout",
    "es",
    "cualquier",
    "número",
    "é",
    "um",
    "qualquer",
    "为",
    "是",
    "任",
    "意",
    "数",
    "где",
    "число",
];

/// Returns whether `word`, in any case, says of letters that they are integers: "integer", "ganzzahlig".
pub fn says_integers(word: &str) -> bool {
    INTEGERS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns whether `word`, in any case, may stand beside those and the letters: "where", "any", "is".
pub fn is_of_integers(word: &str) -> bool {
    DOMAINS.iter().chain(&OF_INTEGERS).any(|known| known.eq_ignore_ascii_case(word))
}

/// Words between those and the variables.
const QUANTIFIERS: [&str; 17] = [
    "all",
    "every",
    "any",
    "each",
    "some",
    "real",
    "integer",
    "integers",
    "numbers",
    "number",
    "positive",
    "arbitrary",
    "constant",
    "constants",
    "fixed",
    "value",
    "values",
];

impl AnswerReader<'_, '_, '_> {
    /// Reads `span` without the words before and after the answer in it.
    ///
    /// # Errors
    /// [`Unread::NotMaths`] if there are none such, or the rest is no answer.
    pub(super) fn without_remarks(&mut self, span: &LexemeRange) -> ParseResult<Answer> {
        let span = self.peeled(span.clone());
        // What follows from the rest: `a = 5 \Rightarrow b = 13`.
        let arrows = self.split(&span, |token| token == Token::Arrow);
        if let [_, .., last] = arrows.as_slice() {
            return self.whole(last.clone());
        }
        // `g: y = 2x + 1` names a line.
        if let [name, colon, rest @ ..] = self.slice(&span)
            && name.token.word().is_some_and(|word| word.len() == 1)
            && colon.token == Token::Colon
            && rest.iter().any(|item| matches!(item.token, Token::Relation(_)))
        {
            return self.whole(span.start + 2..span.end);
        }
        if let Some(words) = self.explained_words(&span)? {
            return Ok(words);
        }
        if let Some(list) = self.list_with_domains(&span)? {
            return Ok(list);
        }
        let start = self.announcement(&span).unwrap_or(span.start);
        let rest = start..span.end;
        if let Some(end) = self.bracketed_remark(&rest) {
            return self.whole(start..end);
        }
        if let Some((value, domain)) = self.domain(&rest) {
            return self.with_domain(value, &domain);
        }
        let is_only = |at: &usize| self.token(*at).word() == Some("only");
        let only = rest.end.checked_sub(1).filter(is_only).filter(|last| *last > rest.start);
        let end = only.unwrap_or(rest.end);
        if start == span.start && end == span.end {
            return Err(Unread::NotMaths);
        }
        self.whole(start..end)
    }

    /// Reads members that "and" joins, each with what is said of its variables: `f(x) = 1 - x \text{ for all } x,
    /// \text{ and } f(x) = 1 + x \text{ for all } x`.
    fn list_with_domains(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        let joins = |token: Token<'_>| matches!(token.word(), Some("and" | "or"));
        let opens = |token: Token<'_>| token.word().is_some_and(|word| DOMAINS.contains(&word));
        let parts = self.split(span, joins);
        let is_said = |part: &LexemeRange| {
            let at = self.find_top(part, opens);
            at.is_some_and(|at| at > part.start)
        };
        if parts.len() < 2 || !parts.iter().any(is_said) {
            return Ok(None);
        }
        let mut members = Vec::with_capacity(parts.len());
        for part in parts {
            let commas = |at: &usize| self.token(*at) == Token::Comma;
            let start = part.clone().find(|at| !commas(at)).unwrap_or(part.end);
            let end = part.clone().rfind(|at| !commas(at)).map_or(start, |last| last + 1);
            let part = start..end;
            let member = match self.domain(&part) {
                Some((value, domain)) => self.with_domain(value, &domain),
                None => self.whole(part),
            };
            match member {
                Err(Unread::NotMaths) => return Ok(None),
                member => members.push(member?),
            }
        }
        Ok(Some(answer_of(AnswerForm::List(members)).flattened()))
    }

    /// Reads a value with the letters of which words behind it say that they are integers: ", where $n$ is
    /// any integer".
    pub(super) fn family_in_words(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        let says = |token: Token<'_>| token.word().is_some_and(says_integers);
        if !self.has(span, says) {
            return Ok(None);
        }
        let Some((value, letters)) = self.integer_letters(span)? else {
            return Ok(None);
        };
        let notes = self.notes.len();
        let value = match self.whole(value) {
            Err(Unread::NotMaths) => {
                self.notes.truncate(notes);
                self.nesting = 0;
                return Ok(None);
            }
            read => read?,
        };
        let declarations = letters.into_iter().map(|letter| Answer {
            subjects: vec![Subject::Expr(letter)],
            ..answer_of(AnswerForm::Region(Region::Integers))
        });
        Ok(Some(with_declarations(value, declarations.collect()).flattened()))
    }

    /// Splits `span` into a value and the letters of which words behind it say that they are integers:
    /// ", where $n$ is any integer", "for all integers $k$", "($n$ an integer)".
    fn integer_letters(
        &mut self,
        span: &LexemeRange,
    ) -> ParseResult<Option<(LexemeRange, Vec<Expr>)>> {
        /// Tokens of the longest such words.
        const MAX_TOKENS: usize = 12;
        let Some(last) = span.end.checked_sub(1).filter(|last| *last > span.start) else {
            return Ok(None);
        };
        let open = self.items[last].mate;
        let is_bracket = self.token(last) == Token::Close(Bracket::Round) && open > span.start;
        let opens = |token: Token<'_>| token.word().is_some_and(|word| DOMAINS.contains(&word));
        let (at, said) = if is_bracket {
            (open, inside(&(open..span.end)))
        } else {
            match self.find_top(span, opens).filter(|at| *at > span.start) {
                Some(at) => (at, at + 1..span.end),
                None => return Ok(None),
            }
        };
        if said.len() > MAX_TOKENS {
            return Ok(None);
        }
        let (mut letters, mut are_integers) = (Vec::new(), false);
        for at in said {
            match self.token(at).word() {
                Some(word) if says_integers(word) => are_integers = true,
                Some(word) if is_of_integers(word) => {}
                Some(word) if word.len() == 1 => letters.push(self.expression(&(at..at + 1))?),
                None if self.token(at) == Token::Comma => {}
                Some(_) | None => return Ok(None),
            }
        }
        let comma = usize::from(self.token(at - 1) == Token::Comma);
        let is_said = are_integers && !letters.is_empty();
        Ok(is_said.then_some((span.start..at - comma, letters)))
    }

    /// Returns where ", where $a$ and $b$ are real constants" begins that ends `span`, or its end: free
    /// constants have no value to state.
    pub(super) fn declaration_of_constants(&self, span: &LexemeRange) -> usize {
        const WORDS: [&str; 9] =
            ["are", "is", "a", "an", "and", "any", "some", "arbitrary", "real"];
        let opens = |token: Token<'_>| matches!(token.word(), Some("where" | "with" | "for"));
        let Some(at) = self.find_top(span, opens).filter(|at| *at > span.start) else {
            return span.end;
        };
        let mut names_constants = false;
        for item in self.slice(&(at + 1..span.end)) {
            match item.token {
                Token::Comma => {}
                Token::Word { text: "constant" | "constants", .. } => names_constants = true,
                Token::Word { text, .. } if text.len() == 1 || WORDS.contains(&text) => {}
                _ => return span.end,
            }
        }
        let comma = usize::from(self.token(at - 1) == Token::Comma);
        if names_constants { at - comma } else { span.end }
    }

    /// Reads words before words in brackets: `\text{a center (neutrally stable)}`.
    fn explained_words(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        let Some(last) = span.end.checked_sub(1).filter(|last| *last > span.start) else {
            return Ok(None);
        };
        let open = self.items[last].mate;
        let is_bracket = self.token(last) == Token::Close(Bracket::Round) && open > span.start;
        if !is_bracket {
            return Ok(None);
        }
        let is_word = |item: &Lexeme<'_>| item.token.word().is_some_and(|word| word.len() > 1);
        let inner = inside(&(open..span.end));
        if inner.is_empty() || !self.slice(&inner).iter().all(is_word) {
            return Ok(None);
        }
        let form = self.words(span.start..open)?;
        Ok(form.filter(|form| matches!(form, AnswerForm::Text(_))).map(answer_of))
    }

    /// Returns where the value begins after `\text{The answer is }` or `\text{Answer: }`.
    fn announcement(&self, span: &LexemeRange) -> Option<usize> {
        let is_word = |at: &usize| matches!(self.token(*at), Token::Word { text, style: Style::Upright } if text.len() > 1);
        let end = span.clone().find(|at| !is_word(at))?;
        let words = || (span.start..end).filter_map(|at| self.token(at).word());
        let last = words().next_back()?;
        let start = if self.token(end) == Token::Colon {
            end + 1
        } else if VERBS.contains(&last) {
            end
        } else {
            return None;
        };
        let denies = words().any(|word| DENIALS.contains(&word.to_ascii_lowercase().as_str()));
        (!denies && start < span.end).then_some(start)
    }

    /// Returns where a remark in round brackets begins that ends `span`.
    fn bracketed_remark(&self, span: &LexemeRange) -> Option<usize> {
        let last = span.end.checked_sub(1).filter(|last| *last > span.start)?;
        let open = self.items[last].mate;
        if self.token(last) != Token::Close(Bracket::Round) || open <= span.start {
            return None;
        }
        let first = inside(&(open..span.end)).next().map(|at| self.token(at));
        // "8 (eight)", "0.0821 (3 s.f.)"
        let words: Vec<&str> =
            inside(&(open..span.end)).filter_map(|at| self.token(at).word()).collect();
        let is_precision = matches!(first, Some(Token::Number(_)))
            && matches!(words.as_slice(), ["s" | "d" | "sig" | "significant" | "decimal", ..]);
        let is_repeated = words.len() == inside(&(open..span.end)).len()
            && crate::numerals::words(&words.join(" ")).is_some();
        if is_precision || is_repeated {
            return Some(open);
        }
        let word = first.and_then(Token::word)?.to_ascii_lowercase();
        let inner = inside(&(open..span.end));
        let denies = self.has(&inner, |token| token.word().is_some_and(|w| DENIALS.contains(&w)));
        (OPENERS.contains(&word.as_str()) && !denies).then_some(open)
    }

    /// Splits `span` into a value and what is said of its variables: `x^2 \text{ for all } x \in
    /// \mathbb{R}`, `2n + 1 \quad (n \in \mathbb{N})`.
    fn domain(&self, span: &LexemeRange) -> Option<(LexemeRange, LexemeRange)> {
        let opens = |token: Token<'_>| token.word().is_some_and(|word| DOMAINS.contains(&word));
        if let Some(at) = self.find_top(span, opens).filter(|at| *at > span.start) {
            let is_quantifier =
                |at: usize| self.token(at).word().is_some_and(|word| QUANTIFIERS.contains(&word));
            let from = (at + 1..span.end).find(|at| !is_quantifier(*at)).unwrap_or(span.end);
            let comma = usize::from(self.token(at - 1) == Token::Comma);
            return Some((span.start..at - comma, from..span.end));
        }
        // `\begin{cases}…\end{cases} \quad t \in \mathbb{R}`
        if let Some(at) = self.find_top(span, |token| token == Token::In)
            && let Some(from) = at.checked_sub(1).filter(|from| *from > span.start)
            && self.token(from).word().is_some_and(|letter| letter.len() == 1)
            && self.items[from].gap >= Gap::Blank
            && matches!(self.token(from - 1), Token::Close(_) | Token::Comma)
        {
            let comma = usize::from(self.token(from - 1) == Token::Comma);
            return Some((span.start..from - comma, from..span.end));
        }
        let last = span.end.checked_sub(1)?;
        let open = self.items[last].mate;
        let is_bracket = self.token(last) == Token::Close(Bracket::Round) && open > span.start;
        let inner = is_bracket.then(|| inside(&(open..span.end)))?;
        let is_said = |token| matches!(token, Token::In | Token::Relation(_));
        self.has_top(&inner, is_said).then_some((span.start..open, inner))
    }

    /// Returns the letters before the sign in `A, B \in \mathbb{R}`, two at least, and where the sign stands.
    fn several_letters(&mut self, domain: &LexemeRange) -> ParseResult<Option<(usize, Vec<Expr>)>> {
        let is_comma = |token| token == Token::Comma;
        let Some(at) = self.find_top(domain, |token| token == Token::In) else {
            return Ok(None);
        };
        let parts = self.split(&(domain.start..at), is_comma);
        let is_letter = |part: &LexemeRange| {
            part.len() == 1 && self.token(part.start).word().is_some_and(|word| word.len() == 1)
        };
        if parts.len() < 2 || !parts.iter().all(is_letter) {
            return Ok(None);
        }
        let letters: ParseResult<Vec<Expr>> =
            parts.iter().map(|part| self.expression(part)).collect();
        Ok(Some((at, letters?)))
    }

    /// Reads a value with what is said of its variables: integers make a family of it, real and
    /// complex numbers and inequalities say nothing of the value.
    fn with_domain(&mut self, value: LexemeRange, domain: &LexemeRange) -> ParseResult<Answer> {
        let value = self.whole(value)?;
        let is_variable = |token: Token<'_>| token.word().is_some_and(|word| word.len() == 1);
        if domain.is_empty() || self.slice(domain).iter().all(|item| is_variable(item.token)) {
            return Ok(value);
        }
        if self.has_top(domain, |token| token == Token::Relation(Relation::Equal)) {
            return Err(Unread::NotMaths);
        }
        if !self.has_top(domain, |token| token == Token::In) {
            self.chain(domain)?;
            return Ok(value);
        }
        if let Some((at, letters)) = self.several_letters(domain)? {
            let form = as_region(self.value(at + 1..domain.end)?)?;
            let declared = |letter| Answer {
                subjects: vec![Subject::Expr(letter)],
                ..answer_of(form.clone())
            };
            return Ok(match form {
                AnswerForm::Region(Region::Integers | Region::Naturals) => {
                    with_declarations(value, letters.into_iter().map(declared).collect())
                }
                _ => value,
            });
        }
        let declaration = self.member(domain.clone())?;
        Ok(match declaration.form {
            AnswerForm::Region(Region::Integers | Region::Naturals) => {
                with_declarations(value, vec![declaration])
            }
            AnswerForm::Region(_) => value,
            _ => return Err(Unread::NotMaths),
        })
    }
}

/// Returns a list of `value`, or of its members, and what is said of their letters.
fn with_declarations(value: Answer, declarations: Vec<Answer>) -> Answer {
    let mut members = match value {
        Answer { subjects, form: AnswerForm::List(members), .. } if subjects.is_empty() => members,
        value => vec![value],
    };
    members.extend(declarations);
    answer_of(AnswerForm::List(members))
}
