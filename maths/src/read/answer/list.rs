//! Lists without brackets: commas, semicolons, "and", "or", wide spaces.

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Brackets, Relation, Subject, Unread};
use crate::expr::Node;
use crate::read::parse::ParseResult;
use crate::read::token::{Bracket, Gap, Numbers, Style, Token};

use super::{AnswerReader, LexemeRange, answer_of, bare_value, is_separator};

/// Words for "and" and "or" in other languages.
const CONNECTIVES: [&str; 38] = [
    "und",
    "oder",
    "et",
    "ou",
    "y",
    "o",
    "e",
    "en",
    "of",
    "и",
    "или",
    "和",
    "或",
    "と",
    "و",
    "és",
    "vagy",
    "i",
    "lub",
    "och",
    "eller",
    "og",
    "ja",
    "tai",
    "dan",
    "atau",
    "ve",
    "veya",
    "và",
    "또는",
    "그리고",
    "أو",
    "या",
    "और",
    "hoặc",
    "または",
    "又は",
    "或者",
];

impl AnswerReader<'_, '_, '_> {
    /// Reads the members of `span`, if it has several.
    pub(super) fn members(&mut self, span: LexemeRange) -> ParseResult<Option<Answer>> {
        let parts_it = |at: usize| {
            is_separator(self.token(at))
                || self.items[at].gap == Gap::Wide
                || self.is_connective(at, &span)
        };
        if !span.is_empty() && !self.tops(&span).any(parts_it) {
            return Ok(None);
        }
        if let Some(groups) = self.groups(&span)? {
            return Ok(Some(answer_of(AnswerForm::List(groups))));
        }
        let strong = self.strong_parts(&span);
        let mut parts: Vec<Vec<LexemeRange>> = Vec::with_capacity(strong.len());
        for part in strong {
            parts.push(self.split(&part, |token| token == Token::Comma));
        }
        if parts.iter().flatten().any(LexemeRange::is_empty) {
            return Err(Unread::NotMaths);
        }
        if parts.len() == 1 && parts[0].len() == 1 {
            // Something was trimmed: `1, 2;`.
            let only = parts[0][0].clone();
            return if only == span { Ok(None) } else { self.member(only).map(Some) };
        }
        let width = parts[0].len();
        let is_nested = parts.len() > 1 && width > 1 && parts.iter().all(|p| p.len() == width);
        if !is_nested {
            let mut flat: Vec<LexemeRange> = parts.into_iter().flatten().collect();
            if self.has(&span, |token| token == Token::In) {
                flat.retain(|part| !self.quantifies(part));
                if let [only] = flat.as_slice() {
                    return self.member(only.clone()).map(Some);
                }
            }
            if flat.is_empty() {
                return Err(Unread::NotMaths);
            }
            let list = self.list(&flat)?;
            return self.joined(list, &span).map(Some);
        }
        let mut members = Vec::with_capacity(parts.len());
        for part in parts {
            let group = self.list(&part)?;
            // Within a group of `1, 2; 3, 4` members are identified by their order.
            members.push(match group.form {
                AnswerForm::List(inner) if group.subjects.is_empty() => {
                    answer_of(AnswerForm::Tuple(Brackets::Round, inner))
                }
                _ => group,
            });
        }
        Ok(Some(answer_of(AnswerForm::List(members))))
    }

    /// Returns whether a part says of a letter that it is any real or complex number: `\text{for all } x \in
    /// \mathbb{R}`.
    fn quantifies(&self, part: &LexemeRange) -> bool {
        let word = |at: usize| (at < part.end).then(|| self.token(at).word()).flatten();
        let opens = word(part.start) == Some("for")
            && matches!(word(part.start + 1), Some("all" | "any" | "every" | "each"));
        let last = part.end.checked_sub(1).map(|last| self.token(last));
        opens
            && self.has_top(part, |token| token == Token::In)
            && matches!(last, Some(Token::Numbers(Numbers::Reals | Numbers::Complexes)))
    }

    /// Reads `13 \text{ and } 15, \text{ or } -15 \text{ and } -13`: groups of one size between "or",
    /// whose members "and" joins.
    fn groups(&mut self, span: &LexemeRange) -> ParseResult<Option<Vec<Answer>>> {
        let is = |word: &'static str| move |token: Token<'_>| token.word() == Some(word);
        let is_relation = |token| matches!(token, Token::Relation(_) | Token::In);
        if !self.has_top(span, is("or")) || !self.has_top(span, is("and")) {
            return Ok(None);
        }
        if self.has_top(span, is_relation) {
            return Ok(None);
        }
        let is_border = |token: Token<'_>| token == Token::Comma || token.word() == Some("and");
        let mut groups: Vec<Vec<LexemeRange>> = Vec::new();
        for group in self.split(span, is("or")) {
            let mut parts = self.split(&group, is_border);
            parts.retain(|part| !part.is_empty());
            groups.push(parts);
        }
        let width = groups[0].len();
        if width < 2 || groups.iter().any(|group| group.len() != width) {
            return Ok(None);
        }
        let mut members = Vec::with_capacity(groups.len());
        for group in groups {
            let mut inner = Vec::with_capacity(width);
            for part in group {
                inner.push(self.member(part)?);
            }
            members.push(answer_of(AnswerForm::Tuple(Brackets::Round, inner)));
        }
        Ok(Some(members))
    }

    /// Returns the values of `2e^{2\pi ik/3}, k = 0, 1, 2`: one for each value of the index.
    fn enumerated(&mut self, members: &[Answer]) -> ParseResult<Option<Vec<Answer>>> {
        let [Answer { form: AnswerForm::Value(term), .. }, index, rest @ ..] = members else {
            return Ok(None);
        };
        let ([Subject::Expr(name)], AnswerForm::Value(first)) =
            (index.subjects.as_slice(), &index.form)
        else {
            return Ok(None);
        };
        let Node::Symbol(symbol) = *self.ws.node(*name) else {
            return Ok(None);
        };
        let mut values = vec![first.expr];
        for member in rest {
            match &member.form {
                AnswerForm::Value(value) if member.subjects.is_empty() => values.push(value.expr),
                _ => return Ok(None),
            }
        }
        let is_of_index = algebra::variables(term.expr, self.ws) == [symbol];
        if !is_of_index || rest.is_empty() {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(values.len());
        for value in values {
            if algebra::rational(value, self.ws)?.is_none_or(|value| !value.is_int()) {
                return Ok(None);
            }
            let replaced = self.ws.replaced(term.expr, &mut |_, node| {
                Ok(matches!(node, Node::Symbol(own) if *own == symbol).then_some(value))
            })?;
            out.push(answer_of(AnswerForm::Value(bare_value(replaced))));
        }
        Ok(Some(out))
    }

    /// Reads the answers to the parts of a question, `(a)\ 19, (b)\ 49`, each with its label for a name.
    pub(super) fn labelled_parts(&mut self, span: &LexemeRange) -> ParseResult<Option<Answer>> {
        if self.label(span.start, 0).is_none() {
            return Ok(None);
        }
        let mut starts: Vec<usize> = Vec::new();
        for at in self.tops(span) {
            let is_apart = at == span.start
                || is_separator(self.token(at - 1))
                || self.token(at - 1).word() == Some("and")
                || self.items[at].gap >= Gap::Thin;
            if is_apart && self.label(at, starts.len()).is_some() {
                starts.push(at);
            }
        }
        if starts.len() < 2 {
            return Ok(None);
        }
        let notes = self.notes.len();
        let mut members = Vec::with_capacity(starts.len());
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(span.end);
            let is_border = |at: &usize| {
                is_separator(self.token(*at))
                    || self.token(*at) == Token::Colon
                    || self.token(*at).word() == Some("and")
            };
            let from = (start + 3..end).find(|at| !is_border(at)).unwrap_or(end);
            let is_equals = from < end && self.token(from) == Token::Relation(Relation::Equal);
            let from = from + usize::from(is_equals);
            let until = (from..end).rfind(|at| !is_border(at)).map_or(from, |last| last + 1);
            let Some(name) = self.label(*start, index) else {
                return Ok(None);
            };
            match self.whole(from..until) {
                Err(Unread::NotMaths) => {
                    self.notes.truncate(notes);
                    return Ok(None);
                }
                read => members.push(Answer { subjects: vec![Subject::Text(name)], ..read? }),
            }
        }
        Ok(Some(answer_of(AnswerForm::List(members))))
    }

    /// Returns the label of the part of a question at `at`, if it is the one at `index`.
    fn label(&self, at: usize, index: usize) -> Option<String> {
        const ROMAN: [&str; 6] = ["i", "ii", "iii", "iv", "v", "vi"];
        let is_bracket = self.items.get(at)?.token == Token::Open(Bracket::Round)
            && self.items[at].mate == at + 2;
        if !is_bracket {
            return None;
        }
        let letter = char::from(b'a' + u8::try_from(index).ok().filter(|index| *index < 26)?);
        match self.token(at + 1) {
            Token::Word { text, .. }
                if text.chars().eq([letter]) || ROMAN.get(index) == Some(&text) =>
            {
                Some(format!("({text})"))
            }
            _ => None,
        }
    }

    /// Returns the parts between semicolons, connectives and wide spaces between relations, without
    /// the commas at their ends.
    fn strong_parts(&self, span: &LexemeRange) -> Vec<LexemeRange> {
        let relations = self
            .tops(span)
            .filter(|at| matches!(self.token(*at), Token::Relation(_) | Token::In))
            .count();
        let mut parts = Vec::new();
        let mut start = span.start;
        for at in self.tops(span) {
            let item = self.items[at];
            if item.token == Token::Semicolon || self.is_connective(at, span) {
                parts.push(start..at);
                start = at + 1;
            } else if item.gap == Gap::Wide && relations > 1 && at > start {
                parts.push(start..at);
                start = at;
            }
        }
        parts.push(start..span.end);
        let is_comma = |at: usize| self.token(at) == Token::Comma;
        for part in &mut parts {
            while part.start < part.end && is_comma(part.end - 1) {
                part.end -= 1;
            }
            while part.start < part.end && is_comma(part.start) {
                part.start += 1;
            }
        }
        // "x < 1 or when x > 3"
        let is_filler = |at: usize| matches!(self.token(at).word(), Some("when" | "if" | "where"));
        for part in parts.iter_mut().skip(1) {
            part.start += usize::from(part.start < part.end && is_filler(part.start));
        }
        // Separators that stand together are one.
        parts.retain(|part| !part.is_empty());
        if parts.is_empty() { vec![span.clone()] } else { parts }
    }

    /// Returns whether "and" or "or" stands between two members.
    fn is_connective(&self, at: usize, span: &LexemeRange) -> bool {
        let Token::Word { text, style } = self.token(at) else {
            return false;
        };
        let is_word = text.eq_ignore_ascii_case("and") || text.eq_ignore_ascii_case("or");
        let is_lower = style != Style::Formula || text.bytes().all(|b| b.is_ascii_lowercase());
        if at <= span.start || at + 1 >= span.end {
            return false;
        }
        if is_word && is_lower {
            return true;
        }
        // Words of other languages may be letters and prepositions elsewhere.
        let is_marked = style == Style::Upright || style == Style::Plain && !text.is_ascii();
        let may_join = is_marked || self.items[at].gap >= Gap::Blank;
        if !may_join || !CONNECTIVES.contains(&text) && text != "by" {
            return false;
        }
        let relations =
            || self.tops(span).filter(|at| matches!(self.token(*at), Token::Relation(_))).count();
        is_marked && text != "by" && relations() > 1 || self.joins_values(at, span)
    }

    /// Returns whether the word at `at` stands with blanks between what ends a value and what begins one: "12 cm und
    /// 5 cm", "x = 3 y x = 4", "10 by 6".
    fn joins_values(&self, at: usize, span: &LexemeRange) -> bool {
        let text = self.token(at).word().unwrap_or_default();
        let (gap, next) = (self.items[at].gap, self.items[at + 1]);
        let is_apart = gap >= Gap::Blank && next.gap >= Gap::Blank || !text.is_ascii();
        let before = self.token(at - 1);
        // "10 ft by 6 ft", but not "divided by 6".
        let is_amount = |at: usize| matches!(self.token(at), Token::Number(_) | Token::Close(_));
        let is_word = before.word().is_some();
        let measures = is_amount(at - 1) || is_word && at > span.start + 1 && is_amount(at - 2);
        let is_preposition = matches!(text, "of" | "en" | "i");
        if !is_apart || is_preposition || !before.ends_operand() || text == "by" && !measures {
            return false;
        }
        let opens_number = match next.token {
            Token::Number(_) | Token::Currency(_) => true,
            Token::Minus
            | Token::PlusMinus
            | Token::Open(_)
            | Token::Fraction
            | Token::SquareRoot
            | Token::Constant(_)
            | Token::Name(_) => text.len() > 1,
            _ => false,
        };
        let equals =
            |at: usize| at < span.end && self.token(at) == Token::Relation(Relation::Equal);
        let opens_equation = next.token.word().is_some_and(|name| name.len() == 1)
            && (equals(at + 2)
                || at + 3 < span.end
                    && self.token(at + 2) == Token::Underscore
                    && equals(self.items[at + 3].mate.max(at + 3) + 1))
            && self.has_top(&(span.start..at), |token| token == Token::Relation(Relation::Equal));
        opens_number || opens_equation
    }

    /// Reads a list of `spans`; the subject of the first member applies to all if no other member
    /// has a relation.
    fn list(&mut self, spans: &[LexemeRange]) -> ParseResult<Answer> {
        let mut members = Vec::with_capacity(spans.len());
        for span in spans {
            let member = self.member(span.clone())?;
            let is_expansion = spans.len() > 1 && member.subjects.is_empty();
            match member.form {
                // `\pm` in a list adds its members to it.
                AnswerForm::List(inner) if is_expansion => members.extend(inner),
                AnswerForm::List(inner) if spans.len() > 1 => {
                    let subjects = &member.subjects;
                    members.extend(
                        inner.into_iter().map(|own| Answer { subjects: subjects.clone(), ..own }),
                    );
                }
                form => members.push(Answer { form, ..member }),
            }
        }
        if let Some(values) = self.enumerated(&members)? {
            return Ok(answer_of(AnswerForm::List(values)));
        }
        let mut subjects = Vec::new();
        let is_relation =
            |token| matches!(token, Token::Relation(_) | Token::In | Token::Approx | Token::Colon);
        let is_alone = spans[1..].iter().all(|span| !self.has_top(span, is_relation));
        if is_alone && spans.len() > 1 {
            subjects = std::mem::take(&mut members[0].subjects);
        }
        Ok(Answer { subjects, ..answer_of(AnswerForm::List(members)) })
    }
}
