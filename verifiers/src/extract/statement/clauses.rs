//! The clauses of a sentence, by the words that part them.

use std::ops::Range;

use super::pieces::{Piece, PieceKind, with_unit};
use super::{Clause, Rank, Reader, holds_condition, words};

impl Reader<'_> {
    /// Parts a sentence into clauses.
    #[expect(clippy::too_many_lines, reason = "one arm for each way in which a clause ends")]
    pub(super) fn clauses<'p>(&self, sentence: &'p [Piece]) -> Vec<Clause<'p>> {
        let mut clauses = Vec::new();
        let mut rank = self.opening_rank(sentence);
        let mut start = 0;
        let mut has_value = false;
        let mut is_inside = false;
        // Whether a word that concludes opened a clause.
        let mut is_concluded = false;
        let mut at = 0;
        while at < sentence.len() {
            if let Some(end) = self.aside(sentence, at) {
                at = end;
                continue;
            }
            let piece = &sentence[at];
            let next = match piece.kind {
                PieceKind::Mark('(' | '（')
                    if has_value && !is_inside && !self.is_word(sentence.get(at + 1), &["or"]) =>
                {
                    is_inside = true;
                    Some((Rank::Remark, at + 1))
                }
                PieceKind::Mark(')' | '）') if is_inside => {
                    is_inside = false;
                    Some((Rank::Statement, at + 1))
                }
                PieceKind::Mark(_) | PieceKind::Word if is_inside => None,
                PieceKind::Mark('–') if !has_value => None,
                // "2 ; 3 ; 5"
                PieceKind::Mark(';' | '；')
                    if at > 0
                        && sentence[at - 1].kind == PieceKind::Number
                        && sentence.get(at + 1).is_some_and(|n| n.kind == PieceKind::Number) =>
                {
                    None
                }
                PieceKind::Mark(';' | '；' | '—' | '–') => {
                    let is_remark = self.is_word(sentence.get(at + 1), &["had"])
                        || has_value && self.is_word(sentence.get(at + 1), &words::ACCOMPANYING)
                        || is_concluded && has_value && self.continues(&sentence[at + 1..]);
                    Some((if is_remark { Rank::Remark } else { Rank::Statement }, at + 1))
                }
                // "the newton (N), where 1 N = 1 kg·m/s²"
                PieceKind::Mark(',')
                    if at > 0
                        && sentence[at - 1].is_mark(')')
                        && self.is_word(sentence.get(at + 1), &["where"]) =>
                {
                    Some((Rank::Remark, at + 1))
                }
                PieceKind::Mark(',') if has_value && self.speaks_back(&sentence[at + 1..]) => {
                    Some((Rank::Remark, at + 1))
                }
                // ", half of …", ", the largest being 27"
                PieceKind::Mark(',')
                    if has_value
                        && (self.is_participle(&sentence[at + 1..])
                            || self.is_word(sentence.get(at + 1), &["half", "twice"])) =>
                {
                    Some((Rank::Remark, at + 1))
                }
                // "With nodes 0, 1 and 2"
                PieceKind::Mark(',')
                    if rank == Rank::Remark
                        && at > 0
                        && sentence[at - 1].kind == PieceKind::Number
                        && sentence.get(at + 1).is_some_and(|n| n.kind == PieceKind::Number) =>
                {
                    None
                }
                PieceKind::Mark(',') if rank == Rank::Remark => {
                    // "had they been identical, …" says nothing of what is.
                    let is_unreal = self.is_word(sentence.get(start), &["had"]);
                    // "as a check, …"
                    let is_check = sentence[start..at]
                        .iter()
                        .any(|piece| self.is_word(Some(piece), &["check"]));
                    (!is_unreal && !is_check).then_some((Rank::Statement, at + 1))
                }
                PieceKind::Word => {
                    is_concluded |= self.is_word(Some(piece), &words::CONCLUDING);
                    self.border(sentence, at, has_value)
                }
                PieceKind::Formula { .. }
                | PieceKind::Number
                | PieceKind::Mark(_)
                | PieceKind::Break { .. } => None,
            };
            if let Some((next_rank, next_start)) = next {
                clauses.push(Clause { rank, pieces: &sentence[start.min(at)..at] });
                // After a remark a statement goes on; a conclusion begins anew.
                has_value &= next_rank == Rank::Remark || rank == Rank::Remark;
                rank = next_rank;
                start = next_start;
            }
            let is_value =
                piece.is_value() && !self.is_name(piece) || self.is_counted(sentence, at);
            has_value |= is_value && rank == Rank::Statement;
            at += 1;
        }
        clauses.push(Clause { rank, pieces: &sentence[start.min(sentence.len())..] });
        clauses.retain(|clause| {
            clause.pieces.iter().any(|piece| piece.is_value() || piece.kind == PieceKind::Word)
        });
        clauses
    }

    /// Returns where brackets end that open at `at` behind one member of a list, before the next one: "x = 0 (a
    /// maximum) and x = 2".
    pub(super) fn aside(&self, sentence: &[Piece], at: usize) -> Option<usize> {
        /// Pieces between the brackets and the value of the next member.
        const MAX_PIECES: usize = 5;
        if let Some(name) = self.quantified(sentence, at) {
            let rest = &sentence[name + 1..];
            let commas = rest.iter().take_while(|piece| piece.is_mark(',')).count();
            let goes_on = self.is_word(rest.get(commas), &words::JOINING)
                && rest.get(commas + 1).is_some_and(|next| self.has_left_side(next));
            return goes_on.then_some(name + 1);
        }
        let opens = sentence[at].is_mark('(') && at > 0;
        let before = opens.then(|| &sentence[at - 1])?;
        let is_behind_value = before.is_value() || before.is_mark('*');
        let shut = at + sentence[at..].iter().position(|piece| piece.is_mark(')'))?;
        let rest = &sentence[shut + 1..];
        let joins = rest.first().is_some_and(|next| next.is_mark(','))
            || self.is_word(rest.first(), &words::JOINING);
        let near = &rest[..rest.len().min(MAX_PIECES)];
        let value = near.iter().position(Piece::is_value)?;
        let is_name = |piece: &Piece| {
            piece.kind == PieceKind::Mark('=')
                || piece.is_mark('*')
                || piece.is_mark(',')
                || self.is_word(Some(piece), &words::JOINING)
                || piece.kind == PieceKind::Word && piece.span.len() <= 2
        };
        (is_behind_value && joins && near[..value].iter().all(is_name)).then_some(shut + 1)
    }

    /// Returns the place of the letter of "for all $x$" that opens at `at`.
    pub(super) fn quantified(&self, pieces: &[Piece], at: usize) -> Option<usize> {
        const QUANTIFIERS: [&str; 4] = ["all", "every", "any", "each"];
        const NOUNS: [&str; 5] = ["real", "integer", "integers", "numbers", "positive"];
        let opens = self.is_word(pieces.get(at), &["for"])
            && self.is_word(pieces.get(at + 1), &QUANTIFIERS);
        let from = at + 2;
        let rest = opens.then(|| pieces.get(from..)).flatten()?;
        let nouns = rest.iter().take_while(|piece| self.is_word(Some(piece), &NOUNS)).count();
        let name = rest.get(nouns)?;
        let is_letter = name.is_value()
            && (self.is_name(name) || self.text[name.span.clone()].contains("\\in"));
        is_letter.then_some(from + nouns)
    }

    /// Returns the last piece of what says nothing between two members: "for all $x$", and "width" of "length 10 and
    /// width 6".
    pub(super) fn passed(&self, gap: &[Piece], at: usize, joins: bool) -> Option<usize> {
        let is_size = joins && self.is_word(gap.get(at), &words::DIMENSIONS);
        self.quantified(gap, at).or_else(|| is_size.then_some(at))
    }

    /// Returns the rank of the first clause of a sentence.
    fn opening_rank(&self, sentence: &[Piece]) -> Rank {
        match sentence.iter().find(|piece| !matches!(piece.kind, PieceKind::Mark('*'))) {
            // "By induction the sum is …" has no comma before its verb.
            Some(first)
                if self.is_word(Some(first), &["by"])
                    && !sentence
                        .iter()
                        .take_while(|piece| !self.is_word(Some(piece), &["is", "are", "equals"]))
                        .any(|piece| piece.is_mark(',')) =>
            {
                Rank::Statement
            }
            Some(first) if self.is_word(Some(first), &words::OPENING) => Rank::Remark,
            Some(_) | None => Rank::Statement,
        }
    }

    /// Returns whether a value that was read names something, or says where a limit goes.
    pub(super) fn is_mere_name(&self, span: &Range<usize>) -> bool {
        let text = &self.text[span.clone()];
        let is_limit = (text.contains("\\to") || text.contains('→')) && !text.contains('=');
        let is_part = |c: char| c.is_alphabetic() || c.is_whitespace() || "()[],_'{}".contains(c);
        is_limit || text.chars().all(is_part)
    }

    /// Returns whether "is", "are" or "and" follows a letter behind "where" or "with": "where $C$ is a
    /// constant".
    pub(super) fn is_declared(&self, sentence: &[Piece], span: &Range<usize>) -> bool {
        let at = sentence.iter().position(|piece| piece.span.start + 2 > span.start);
        let before = at.map_or(&[][..], |at| &sentence[..at]);
        before.iter().rev().take(4).any(|piece| self.is_word(Some(piece), &["where", "with"]))
    }

    /// Returns whether a formula only names what the sentence is about: `$x$`, `$(x, y)$`.
    pub(super) fn is_name(&self, piece: &Piece) -> bool {
        let text = &self.text[piece.span.clone()];
        let is_part = |c: char| c.is_alphabetic() || c.is_whitespace() || "$()[],_'\\".contains(c);
        let is_constant = text.contains("\\pi");
        piece.kind != PieceKind::Number && !is_constant && text.chars().all(is_part)
    }

    /// Returns the rank of the clause that the word at `at` opens, and where its content starts.
    fn border(&self, sentence: &[Piece], at: usize, has_value: bool) -> Option<(Rank, usize)> {
        let piece = Some(&sentence[at]);
        let next = sentence.get(at + 1);
        let before = |at: usize| at.checked_sub(1).and_then(|before| sentence.get(before));
        if self.is_word(piece, &words::CONCLUDING) {
            let is_bound = self.is_word(next, &["that", "many", "much", "far"]);
            let skip = usize::from(is_bound && self.is_word(next, &["that"]));
            return (!is_bound || skip > 0).then_some((Rank::Statement, at + 1 + skip));
        }
        if self.tells_after(sentence, at) {
            return Some((Rank::Remark, at + 2));
        }
        if self.restates_after(sentence, at) {
            return Some((Rank::Statement, at + 2));
        }
        // "…, that is $[0, 2)$" restates what stands before it.
        if self.is_word(piece, &["that"])
            && self.is_word(next, &["is"])
            && at > 0
            && sentence[at - 1].is_mark(',')
            && !self.is_word(sentence.get(at + 3), &["times"])
        {
            return Some((Rank::Statement, at + 2));
        }
        // "is given implicitly by"
        if self.is_word(piece, &["given"])
            && sentence.iter().skip(at + 1).take(2).any(|word| self.is_word(Some(word), &["by"]))
        {
            return Some((Rank::Statement, at + 1));
        }
        if self.is_word(piece, &["left"]) && self.is_word(next, &["with"]) {
            return Some((Rank::Statement, at + 2));
        }
        if self.is_word(piece, &["that"]) && self.is_word(before(at), &words::SAYING) {
            return Some((Rank::Statement, at + 1));
        }
        // "for a total of 7"
        let is_total = self.is_word(next, &["a"])
            && self.is_word(sentence.get(at + 2), &["total", "sum", "product"]);
        if self.is_word(piece, &["for", "with"]) && is_total {
            return Some((Rank::Statement, at + 1));
        }
        if self.is_word(piece, &words::PARTING) {
            // What stands in contrast to a value only accompanies it.
            let is_contrast = has_value && self.is_word(piece, &["while", "whereas"])
                || self.is_word(piece, &["but"]) && self.is_word(next, &["not"]);
            return Some((if is_contrast { Rank::Remark } else { Rank::Statement }, at));
        }
        let joins = self.is_word(before(at), &["or"])
            && self.is_word(piece, &["when", "if", "where"])
            || self.is_word(before(at), &["and", "or"]) && self.is_word(piece, &["on", "at"]);
        if !has_value || joins {
            return None;
        }
        if self.is_word(piece, &["such"]) && !self.is_word(next, &["that", "as"]) {
            return None;
        }
        // "2 + 3i and its conjugate is 2 - 3i"
        let names = sentence.get(at + 2).is_some_and(|p| self.is_word(Some(p), &words::NAMING));
        if self.is_word(piece, &["and"]) && self.is_word(next, &["its", "their"]) && !names {
            return Some((Rank::Remark, at));
        }
        if self.is_word(piece, &["which"]) && self.restates(sentence, at + 1) {
            return Some((Rank::Statement, at + 1));
        }
        let is_own = self.is_word(piece, &["for"]) && self.is_word(next, &words::POSSESSIVE);
        // "45 minutes to travel 30 km", but not "39 to 33", "3 to the power 4" and "8 to get 13".
        let is_purpose = self.is_word(piece, &["to"])
            && next.is_some_and(|next| next.kind == PieceKind::Word && next.span.len() > 1)
            && !self.is_word(next, &words::CONCLUDING)
            && !self.is_word(next, &words::DETERMINING);
        let is_remark = is_own
            || is_purpose
            || self.is_word(piece, &words::ACCOMPANYING)
            || self.is_word(piece, &words::PREPOSITIONS) && self.has_condition(sentence, at + 1)
            || self.is_word(piece, &["for"]) && is_count(sentence, at + 1)
            || self.is_word(piece, &["after"])
                && is_count(sentence, at + 1)
                && self.is_said_to_be(sentence, at);
        is_remark.then_some((Rank::Remark, at))
    }

    /// Returns the value that "only" opens a clause with: "Only $3$ has order 2".
    pub(super) fn only_value_said(&self, clauses: &[Clause<'_>]) -> Vec<Vec<Range<usize>>> {
        let said = clauses.iter().rfind(|clause| clause.rank == Rank::Statement);
        let only = said.and_then(|clause| match clause.pieces {
            [only, value, verb, ..]
                if self.is_word(Some(only), &["only"])
                    && value.is_value()
                    && self.is_word(
                        Some(verb),
                        &["has", "is", "of", "works", "satisfies", "divides"],
                    ) =>
            {
                Some(super::trim::clean(self.text, value.span.clone()))
            }
            _ => None,
        });
        only.map(|span| vec![span]).into_iter().collect()
    }

    /// Returns whether the value before `at` is what something is, has or costs: "is worth $17,340 after 2 years".
    fn is_said_to_be(&self, sentence: &[Piece], at: usize) -> bool {
        let value = sentence[..at].iter().rposition(Piece::is_value);
        let before = value.map_or(&[][..], |value| &sentence[..value]);
        let word = before.iter().rfind(|piece| piece.kind == PieceKind::Word);
        self.is_word(word, &["is", "are", "was", "were", "be", "worth", "remain", "has", "have"])
    }

    /// Returns whether a number in words at `at` is a value: "is two", "five (of order 3)".
    fn is_counted(&self, sentence: &[Piece], at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| sentence.get(before));
        let after = sentence.get(at + 1);
        (after.is_some_and(|piece| piece.is_mark('('))
            || self.is_word(before, &["is", "are", "equals"]))
            && self.word(&sentence[at]).is_some_and(maths::is_number_word)
    }

    /// Returns whether "i.e." ends at `at` and what follows restates the value before it: not only
    /// roughly, unless with the unit that was missing.
    fn restates_after(&self, sentence: &[Piece], at: usize) -> bool {
        let [.., first, stop] = &sentence[..at] else {
            return false;
        };
        let is_id_est = self.is_word(Some(first), &["i"])
            && stop.is_mark('.')
            && self.is_word(sentence.get(at), &["e"])
            && sentence.get(at + 1).is_some_and(|piece| piece.is_mark('.'));
        if !is_id_est {
            return false;
        }
        let next = sentence.get(at + 2);
        let is_rough = self.is_word(next, &["roughly", "about", "approximately", "nearly"]);
        let has_unit = sentence.get(at + 3).is_some_and(|piece| {
            piece.is_value() && with_unit(self.text, &self.window, piece).end > piece.span.end
        });
        !is_rough || has_unit
    }

    /// Returns whether "i.e." ends at `at` and what follows tells of the value before it: "i.e. a virtual image 15
    /// cm in front of the mirror", "i.e. θ ≈ 63.6°".
    fn tells_after(&self, sentence: &[Piece], at: usize) -> bool {
        let is_stop = |at: usize| sentence.get(at).is_some_and(|piece| piece.is_mark('.'));
        at > 1
            && self.is_word(sentence.get(at - 2), &["i"])
            && is_stop(at - 1)
            && self.is_word(sentence.get(at), &["e"])
            && is_stop(at + 1)
            && (self.is_word(sentence.get(at + 2), &["a", "an"])
                || self.approximates(&sentence[at + 2..]))
    }

    /// Returns whether pieces begin with an approximation by name: "θ ≈ 63.6°".
    fn approximates(&self, pieces: &[Piece]) -> bool {
        match pieces {
            [name, sign, ..] if name.kind == PieceKind::Word => sign.is_mark('≈'),
            [formula, ..] if formula.is_value() => {
                let text = &self.text[formula.span.clone()];
                text.contains('≈') || text.contains("\\approx")
            }
            _ => false,
        }
    }

    /// Returns whether words open a clause that concludes nothing: what follows a conclusion only
    /// accompanies it.
    fn continues(&self, rest: &[Piece]) -> bool {
        let is_end = |piece: &&Piece| !matches!(piece.kind, PieceKind::Mark(';' | '；' | '—'));
        let opens = rest.first().is_some_and(|piece| piece.kind == PieceKind::Word);
        opens
            && !rest
                .iter()
                .take_while(is_end)
                .any(|piece| self.is_word(Some(piece), &words::CONCLUDING))
    }

    /// Returns whether a clause is about something that belongs to what was named: ", and its null
    /// space has dimension 1".
    fn speaks_back(&self, rest: &[Piece]) -> bool {
        /// Words between "and" and the possessive: "by the same theorem".
        const MAX_WORDS: usize = 6;
        let words = rest.iter().take(MAX_WORDS).take_while(|piece| !piece.is_value());
        self.is_word(rest.first(), &["and"])
            && words.into_iter().any(|piece| self.is_word(Some(piece), &["its", "their"]))
    }

    /// Takes the values that a clause rejects, those of `groups` before `until`, out of the lists of clauses before:
    /// "$x = 0$ or $x = 1$, but $x = 1$ is extraneous".
    pub(super) fn without_rejected(
        &self,
        found: &mut [(Rank, Vec<Vec<Range<usize>>>)],
        groups: &[Vec<Range<usize>>],
        until: usize,
    ) {
        let rejected: Vec<&str> = groups
            .iter()
            .flatten()
            .filter(|span| span.end <= until)
            .map(|span| &self.text[span.clone()])
            .collect();
        for group in found.iter_mut().flat_map(|(_, groups)| groups) {
            if group.len() > 1 {
                let kept: Vec<_> = group
                    .iter()
                    .filter(|span| !rejected.contains(&&self.text[(*span).clone()]))
                    .cloned()
                    .collect();
                if !kept.is_empty() {
                    *group = kept;
                }
            }
        }
    }

    /// Returns whether a clause says how many there are of what "such" refers to.
    pub(super) fn is_sought(&self, clause: &Clause<'_>) -> bool {
        clause.rank == Rank::Statement
            && self.is_existential(clause.pieces)
            && clause.pieces.iter().any(|piece| self.is_word(Some(piece), &["such"]))
    }

    /// Returns whether a clause says first how many there are: "there are 7 integers".
    pub(super) fn is_existential(&self, pieces: &[Piece]) -> bool {
        let there = pieces.iter().position(|piece| self.is_word(Some(piece), &["there"]));
        there.is_some_and(|at| {
            self.is_word(pieces.get(at + 1), &["is", "are", "were", "was", "exist"])
                && pieces[at + 2..].iter().take(3).any(Piece::is_value)
        })
    }

    /// Returns whether a clause up to the next comma is one of "being": ", the largest of them being
    /// 27".
    fn is_participle(&self, rest: &[Piece]) -> bool {
        let is_end = |piece: &&Piece| !matches!(piece.kind, PieceKind::Mark(',' | ';'));
        rest.iter().take_while(is_end).any(|piece| self.is_word(Some(piece), &["being"]))
    }

    /// Returns whether "which" at `at` is followed by "is" and a value, or by a verb that gives one.
    fn restates(&self, sentence: &[Piece], at: usize) -> bool {
        let verb = sentence.get(at);
        let next = sentence.get(at + 1);
        let has_value = next.is_some_and(Piece::is_value);
        self.is_word(verb, &["simplifies", "means", "equals", "reduces", "rounds"])
            || self.is_word(verb, &["is", "are"]) && has_value
            || self.is_word(verb, &["is"]) && self.is_word(next, &["equal"])
    }

    /// Returns whether a condition on variables follows: a formula with a relation, or a letter.
    fn has_condition(&self, sentence: &[Piece], at: usize) -> bool {
        let quantifier = |piece: &&Piece| {
            self.is_word(
                Some(piece),
                &["all", "every", "any", "each", "some", "real", "integer", "integers", "positive"],
            )
        };
        let rest = &sentence[at.min(sentence.len())..];
        let skipped = rest.iter().take_while(quantifier).count();
        let Some(first) = rest.get(skipped) else {
            return skipped > 0;
        };
        let text = &self.text[first.span.clone()];
        match first.kind {
            PieceKind::Formula { .. } => skipped > 0 || text.contains('=') || holds_condition(text),
            PieceKind::Word => skipped > 0 || first.span.len() == 1,
            PieceKind::Number | PieceKind::Mark(_) | PieceKind::Break { .. } => false,
        }
    }
}

/// Returns whether a number of things follows: "6 cups for 20 servings".
fn is_count(sentence: &[Piece], at: usize) -> bool {
    let number = sentence.get(at).filter(|piece| piece.kind == PieceKind::Number);
    let noun = sentence.get(at + 1).filter(|piece| piece.kind == PieceKind::Word);
    number.is_some() && noun.is_some_and(|noun| noun.span.len() > 2)
}

/// Returns whether a name is a function of a letter: `f(x)`.
pub(super) fn is_of_letter(name: &str) -> bool {
    matches!(name.as_bytes(), [function, b'(', argument, b')']
        if function.is_ascii_lowercase() && argument.is_ascii_lowercase())
}
