//! Lists without brackets: commas, semicolons, "and", "or", wide spaces.

use crate::answer::{Answer, AnswerForm, Brackets, Unread};
use crate::read::parse::ParseResult;
use crate::read::token::{Gap, Style, Token};

use super::{AnswerReader, LexemeRange, answer_of};

impl AnswerReader<'_, '_, '_> {
    /// Reads the members of `span`, if it has several.
    pub(super) fn members(&mut self, span: LexemeRange) -> ParseResult<Option<Answer>> {
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
            let flat: Vec<LexemeRange> = parts.into_iter().flatten().collect();
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
        is_word && is_lower && at > span.start && at + 1 < span.end
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
