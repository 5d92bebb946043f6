//! What a statement says in words.

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind};
use super::words::{self, Words as _};
use super::{Clause, MAX_PREDICATE, Rank, Reader};

impl Reader<'_> {
    /// Returns the letter of "option B is correct" and of "the correct choice is (B)".
    fn choice(&self, pieces: &[Piece]) -> Option<Range<usize>> {
        let words: Vec<&Piece> = pieces.iter().filter(|p| p.kind == PieceKind::Word).collect();
        let at = words.iter().position(|word| self.is_word(Some(word), &words::CHOOSING))?;
        let is_letter = |letter: &&&Piece| {
            let text = &self.text[letter.span.clone()];
            text.len() == 1 && ("A"..="H").contains(&text)
        };
        if self.is_word(words.get(at + 1).copied(), &["is"]) && words.len() == at + 3 {
            return words.last().filter(is_letter).map(|letter| letter.span.clone());
        }
        let letter = words.get(at + 1).filter(is_letter)?;
        // "C'est donc la réponse C"
        if words.len() == at + 2 && at > 0 {
            return Some(letter.span.clone());
        }
        // "Option C – I and III only"
        if at == 0 && words.len() > 2 && !self.is_word(words.get(2).copied(), &words::COPULAS) {
            return Some(letter.span.clone());
        }
        let [.., verb, last] = words.as_slice() else {
            return None;
        };
        let is_true = self.is_word(
            Some(last),
            &[
                "correct", "right", "richtig", "korrekt", "correcte", "correcta", "corretta",
                "correta",
            ],
        );
        let is_verb = self.is_word(Some(verb), &["is", "ist", "est", "es", "è", "é"]);
        (is_true && (is_verb || verb.span == letter.span)).then(|| letter.span.clone())
    }

    /// Returns the letters of "statements A and C are true".
    pub(super) fn choices(&self, clauses: &[Clause<'_>]) -> Option<Range<usize>> {
        const NOUNS: [&str; 3] = ["options", "choices", "statements"];
        const VERBS: [&str; 5] = ["true", "correct", "right", "valid", "hold"];
        let pieces = clauses.iter().find(|clause| clause.rank == Rank::Statement)?.pieces;
        let noun = pieces.iter().position(|piece| self.is_word(Some(piece), &NOUNS))?;
        let is_letter = |piece: &Piece| {
            let text = &self.text[piece.span.clone()];
            text.len() == 1 && ("A"..="H").contains(&text)
        };
        let is_between = |piece: &Piece| {
            matches!(piece.kind, PieceKind::Mark(',' | '*' | '(' | ')'))
                || self.is_word(Some(piece), &words::JOINING)
        };
        let rest = &pieces[noun + 1..];
        let named = rest.iter().take_while(|piece| is_letter(piece) || is_between(piece)).count();
        let (from, to) =
            (rest.iter().position(is_letter)?, rest[..named].iter().rposition(is_letter)?);
        let says = rest[named..].iter().any(|piece| self.is_word(Some(piece), &VERBS));
        let denies = rest[named..].iter().any(|piece| self.is_word(Some(piece), &words::DENYING));
        (from < to && says && !denies).then(|| rest[from].span.start..rest[to].span.end)
    }

    /// Returns the letter of the choice that any clause names last: "…, which is answer choice B".
    pub(super) fn named_choice(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let is_mark = |piece: &&Piece| matches!(piece.kind, PieceKind::Mark('*' | '(' | ')' | '.'));
        let mut said = sentence.iter().rev().filter(|piece| !is_mark(piece));
        let letter = said.next().filter(|letter| {
            let text = &self.text[letter.span.clone()];
            text.len() == 1 && ("A"..="H").contains(&text)
        })?;
        let is_named = self.is_word(said.next(), &["option", "choice", "answer"]);
        let denies = sentence.iter().any(|piece| self.is_word(Some(piece), &words::DENYING));
        (is_named && !denies).then(|| letter.span.clone())
    }

    /// Returns the words that a sentence answers with: its words in bold where they are more than its
    /// predicate, or else the predicate.
    pub(super) fn whole_predicate(
        &self,
        sentence: &[Piece],
        clauses: &[Clause<'_>],
    ) -> Option<Range<usize>> {
        let known = self.hypothesis(sentence).or_else(|| self.quadrant(sentence));
        if known.is_some() {
            return known;
        }
        let predicate = self.predicate(clauses);
        let is_whole = |bold: &Range<usize>| {
            // The letter of a choice is all that its sentence says.
            let covers = |own: &Range<usize>| {
                own.len() > 1 && bold.start <= own.start && own.end <= bold.end
            };
            // "**injective but not surjective**"
            let goes_on = |own: &Range<usize>| {
                let marks = self.text[own.clone()].bytes().take_while(|b| *b == b'*').count();
                let rest = self.text.get(own.end..bold.end).unwrap_or_default();
                own.start + marks == bold.start
                    && [" but ", " and "].iter().any(|and| rest.starts_with(and))
            };
            // "**diverges** by the test", but not "**not** continuous"
            let opens = |own: &Range<usize>| {
                let is_first = own.start <= bold.start && bold.end < own.end;
                let before = self.text[own.start..bold.start.max(own.start)].trim_matches('*');
                is_first && before.is_empty() && !words::DENYING.have(&self.text[bold.clone()])
            };
            predicate.as_ref().is_none_or(|own| covers(own) || goes_on(own) || opens(own))
        };
        self.bold_words(sentence).filter(is_whole).or(predicate)
    }

    /// Returns whether a reading is no answer beside another: where a limit goes, or the `C` of "where
    /// $C$ is a constant", which names a part of what stands before it.
    pub(super) fn is_worse(&self, sentence: &[Piece], reading: &[Range<usize>]) -> bool {
        let is_limit = |span: &Range<usize>| {
            let text = &self.text[span.clone()];
            text.contains("\\to") && !text.contains('=')
        };
        let is_name = |span: &Range<usize>| {
            self.text[span.clone()].trim().len() == 1 && self.is_mere_name(span)
        };
        // "10 liters of the 60% solution"
        let is_strength = |span: &Range<usize>| {
            const NOUNS: [&str; 8] = [
                "solution",
                "acid",
                "alcohol",
                "mixture",
                "alloy",
                "saline",
                "concentration",
                "antifreeze",
            ];
            let after = sentence.iter().find(|piece| piece.span.start >= span.end);
            self.text[span.clone()].ends_with('%') && self.is_word(after, &NOUNS)
        };
        reading.iter().any(is_limit)
            || matches!(reading, [only] if is_strength(only))
            || reading.iter().all(|span| is_name(span) && self.is_declared(sentence, span))
    }

    /// Returns the predicate of the last clause that states something in words: "no solution" of
    /// "there is no solution", "does not exist" of "the limit does not exist".
    pub(super) fn predicate(&self, clauses: &[Clause<'_>]) -> Option<Range<usize>> {
        let clause = clauses.iter().rfind(|clause| clause.rank == Rank::Statement)?;
        if let Some(choice) = self.choice(clause.pieces) {
            return Some(choice);
        }
        let is_copula = |piece: &Piece| self.is_word(Some(piece), &words::COPULAS);
        let is_verb = |piece: &Piece| self.is_word(Some(piece), &words::VERBS);
        let verb = clause.pieces.iter().position(|piece| is_copula(piece) || is_verb(piece))?;
        let first = verb + usize::from(is_copula(&clause.pieces[verb]));
        // "ist also **gleichschenklig**"
        let is_adverb = |piece: &&Piece| {
            self.is_word(Some(piece), &["also", "donc", "ainsi", "quindi", "dunque", "portanto"])
                || self.is_word(Some(piece), &["daher", "somit", "demnach", "thus", "therefore"])
        };
        let first = first + clause.pieces[first..].iter().take_while(is_adverb).count();
        let subject = &clause.pieces[..verb];
        // "Therefore, Bob is the tallest."
        let commas = subject.iter().take_while(|piece| piece.is_mark(',')).count();
        let subject = &subject[commas..];
        let subject = self.bare_subject(subject);
        let rest = &clause.pieces[first..];
        let denies = |pieces: &[Piece]| {
            pieces.iter().any(|piece| self.is_word(Some(piece), &["no", "neither"]))
        };
        // "no solution exists"
        let rest = if rest.len() == 1 && denies(subject) { subject } else { rest };
        // "larger" and "wins" say which subject is meant.
        let rest = if self.ranks(rest, &clause.pieces[verb]) { subject } else { rest };
        // "does not exist (DNE)**"
        let shut = rest.iter().rposition(|piece| piece.is_mark(')'));
        let goes_on = shut
            .is_some_and(|shut| rest[shut + 1..].iter().any(|piece| piece.kind == PieceKind::Word));
        let bracket = rest.iter().position(|piece| piece.is_mark('('));
        let bracket = bracket.filter(|at| *at > 0 && !goes_on);
        let rest = &rest[..bracket.unwrap_or(rest.len())];
        let rest = self.without_grounds(rest);
        // "diverges by the divergence test": a reason only accompanies the verb.
        let adjunct =
            rest.iter().skip(1).position(|piece| self.is_word(Some(piece), &words::ADJOINING));
        let rest = match adjunct {
            Some(at) if is_verb(&rest[0]) => &rest[..=at],
            Some(_) | None => rest,
        };
        let marks = rest.iter().rev().take_while(|piece| piece.is_mark('*')).count();
        let is_open = bold_marks(&rest[..rest.len() - marks]).is_multiple_of(4);
        let rest = if is_open { &rest[..rest.len() - marks] } else { rest };
        let is_joined = |piece: &Piece| {
            let marks = ['*', '-', '\'', '(', ')'];
            piece.kind == PieceKind::Word || marks.into_iter().any(|mark| piece.is_mark(mark))
        };
        // "continuous at $x = 0$": where it is so only accompanies what is said.
        let is_place = |piece: &Piece| self.is_word(Some(piece), &["at", "on", "in", "of", "over"]);
        // "all of ℝ"
        let is_all = self.is_word(rest.first(), &["all"]);
        let place = rest.iter().skip(1).position(is_place).filter(|_| !is_all);
        let rest = match place {
            Some(at)
                if rest[at + 1..].iter().any(|piece| piece.is_value() || self.is_space(piece))
                    && rest[..=at].iter().all(is_joined) =>
            {
                &rest[..=at]
            }
            Some(_) | None => rest,
        };
        // "Ben, Cara, Ann"
        let is_listed = |piece: &Piece| {
            piece.is_mark(',')
                || piece.is_mark('*')
                || self.is_word(Some(piece), &words::JOINING)
                || piece.kind == PieceKind::Word && self.is_person(piece)
        };
        let are_persons = rest.len() > 2 && rest.iter().all(is_listed);
        let words = rest.iter().filter(|piece| piece.kind == PieceKind::Word).count();
        let is_plain =
            (rest.iter().all(is_joined) || are_persons) && (1..=MAX_PREDICATE).contains(&words);
        let (start, end) = (rest.first()?.span.start, rest.last()?.span.end);
        is_plain.then(|| trim::clean(self.text, start..end))
    }

    /// Returns a subject without the head before it, its opening and its apposition: "**Conclusion:** Alice, the first
    /// player, wins", "By symmetry the second player wins".
    fn bare_subject<'p>(&self, subject: &'p [Piece]) -> &'p [Piece] {
        let head = subject.iter().rposition(|piece| piece.is_mark(':')).map_or(0, |at| at + 1);
        let subject = &subject[head..];
        let marks = subject.iter().take_while(|piece| piece.is_mark('*')).count();
        let subject = &subject[if head > 0 { marks } else { 0 }..];
        // "By symmetry the second player"
        let article = subject.iter().rposition(|piece| self.is_word(Some(piece), &["the"]));
        let opening = article.filter(|_| self.is_word(subject.first(), &["by", "hence", "from"]));
        let subject = &subject[opening.unwrap_or(0)..];
        let apposition = subject.iter().position(|piece| piece.is_mark(','));
        let apposition = apposition.filter(|at| {
            let is_closed = subject.last().is_some_and(|last| last.is_mark(','));
            *at > 0 && is_closed && self.is_word(subject.get(at + 1), &["the", "a", "who", "our"])
        });
        &subject[..apposition.unwrap_or(subject.len())]
    }

    /// Returns a predicate without what it is true or false for: "false: take x = 0".
    fn without_grounds<'p>(&self, rest: &'p [Piece]) -> &'p [Piece] {
        let verdict = rest.iter().position(|piece| !piece.is_mark('*'));
        let verdict = verdict.filter(|at| self.is_word(rest.get(*at), &words::VERDICTS));
        let stop = verdict.map_or(0, |at| {
            let ends = |p: &Piece| matches!(p.kind, PieceKind::Mark(':' | ';' | ',' | '—' | '–'));
            rest[at..].iter().take(4).position(ends).map_or(0, |length| at + length)
        });
        if stop > 0 { &rest[..stop] } else { rest }
    }

    /// Returns the known words of another language that end a sentence: "no tiene solución".
    pub(super) fn foreign_wording(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let span = sentence.first()?.span.start..sentence.last()?.span.end;
        let words = maths::last_wording(&self.text[span])?;
        Some(trim::range_in(self.text, words))
    }

    /// Returns whether a word names a set of numbers or a space of them: `ℝ³`.
    fn is_space(&self, piece: &Piece) -> bool {
        self.text[piece.span.clone()].starts_with(['ℝ', 'ℂ', 'ℚ', 'ℤ', 'ℕ'])
    }

    /// Returns whether a predicate ranks its subject, which then is the answer: "the circle is larger",
    /// "Ann has the most".
    fn ranks(&self, rest: &[Piece], verb: &Piece) -> bool {
        let superlative = |piece: &Piece| {
            self.word(piece)
                .is_some_and(|word| word.len() > MIN_SUPERLATIVE && word.ends_with("est"))
        };
        let has_value = rest.iter().any(Piece::is_value);
        let first = rest.iter().find(|piece| !self.is_word(Some(piece), &["the", "always", "*"]));
        !has_value
            && (self.is_word(Some(verb), &["wins"])
                || rest.iter().any(|piece| self.is_word(Some(piece), &["strategy"]))
                || self.is_word(first, &words::COMPARATIVE)
                || self.is_word(first, &["one"]) && rest.len() > 2
                || first.is_some_and(superlative))
    }

    /// Returns what a sentence says of the null hypothesis: "fail to reject the null hypothesis".
    fn hypothesis(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        /// Pieces between the denial and the verb.
        const MAX_WORDS: usize = 4;
        let verb = sentence.iter().rposition(|piece| self.is_word(Some(piece), &["reject"]))?;
        let named = sentence[verb..].iter().position(|piece| {
            let text = &self.text[piece.span.clone()];
            self.is_word(Some(piece), &["hypothesis"]) || text.contains("H_0") || text.contains('₀')
        })?;
        // "There is insufficient evidence to reject"
        let evidence = sentence[..verb].iter().rposition(|p| self.is_word(Some(p), &["evidence"]));
        let evidence = evidence.filter(|at| verb - at <= MAX_WORDS);
        let from = evidence.unwrap_or(verb).saturating_sub(MAX_WORDS);
        let denial = sentence[from..verb].iter().position(|piece| {
            self.is_word(Some(piece), &["fail", "fails", "failed", "insufficient", "lack", "lacks"])
                || self.is_word(Some(piece), &words::DENYING)
                || self.is_word(Some(piece), &["don't", "do"])
        });
        let start = denial.map_or(verb, |at| from + at);
        Some(sentence[start].span.start..sentence[verb + named].span.end)
    }

    /// Returns the quadrant that a sentence names last: "Quadrant III", "the third quadrant".
    fn quadrant(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
        const NUMERALS: [&str; 8] = ["I", "II", "III", "IV", "1", "2", "3", "4"];
        let at = sentence.iter().rposition(|piece| self.is_word(Some(piece), &["quadrant"]))?;
        let before = at.checked_sub(1).map(|before| &sentence[before]);
        if let Some(before) = before.filter(|word| self.is_word(Some(word), &ORDINALS)) {
            return Some(before.span.start..sentence[at].span.end);
        }
        let numeral = sentence.get(at + 1)?;
        let is_numeral = NUMERALS.contains(&self.text[numeral.span.clone()].trim_matches('$'));
        is_numeral.then(|| sentence[at].span.start..numeral.span.end)
    }

    /// Returns the yes or no of a sentence, or the letter of a choice that is all of it.
    pub(super) fn any_verdict(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let is_letter = || self.lone_letter(sentence);
        self.verdict(sentence).or_else(is_letter).or_else(|| self.judged_statement(sentence))
    }

    /// Returns the word of "the statement is **false**".
    fn judged_statement(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const NOUNS: [&str; 6] =
            ["statement", "claim", "assertion", "proposition", "conjecture", "inequality"];
        let last = sentence.iter().rfind(|piece| !piece.is_mark('*'))?;
        let is_truth = self.is_word(Some(last), &["true", "false"]);
        let names = |piece: &Piece| self.is_word(Some(piece), &NOUNS);
        let denies = |piece: &Piece| self.is_word(Some(piece), &words::DENYING);
        let opens = self.is_word(sentence.first(), &words::OPENING);
        (is_truth && !opens && sentence.iter().any(names) && !sentence.iter().any(denies))
            .then(|| last.span.clone())
    }

    /// Returns the letter of a choice that is all of a sentence in bold or brackets: "**D**.", "(D)".
    pub(super) fn lone_letter(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let is_mark = |piece: &&Piece| {
            matches!(piece.kind, PieceKind::Mark('*' | '(' | ')' | '.' | ':' | '_'))
        };
        let mut said = sentence.iter().filter(|piece| !is_mark(piece));
        let only = said.next().filter(|only| {
            let text = &self.text[only.span.clone()];
            text.len() == 1 && ("A"..="H").contains(&text)
        })?;
        let is_set = sentence.len() > 1 && said.next().is_none();
        is_set.then(|| only.span.clone())
    }

    /// Returns the yes or no that opens a sentence: "No. A counterexample is …", "So yes, it does".
    pub(super) fn verdict(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let skipped = |piece: &&Piece| {
            matches!(piece.kind, PieceKind::Mark('*' | ',' | '_'))
                || self.is_word(Some(piece), &words::CONCLUDING)
        };
        let at = sentence.iter().take_while(skipped).count();
        let word = sentence.get(at).filter(|word| self.is_word(Some(word), &words::VERDICTS))?;
        let marks = |piece: &&Piece| matches!(piece.kind, PieceKind::Mark('*' | '_'));
        let next = sentence[at + 1..].iter().find(|piece| !marks(piece));
        let ends = next.is_none_or(|next| {
            matches!(next.kind, PieceKind::Mark(',' | ':' | ';' | '—' | '–' | '!'))
        });
        ends.then(|| word.span.clone())
    }

    /// Returns the letter that is the subject of a clause with a verb of its own: "C broke the window".
    pub(super) fn lettered_subject(&self, clauses: &[Clause<'_>]) -> Option<Range<usize>> {
        const NOUNS: [&str; 12] = [
            "quantity", "column", "company", "plan", "machine", "train", "car", "city", "team",
            "player", "graph", "sample",
        ];
        let clause = clauses.iter().rfind(|clause| clause.rank == Rank::Statement)?;
        let mut words = clause.pieces.iter().filter(|piece| !piece.is_mark('*')).peekable();
        // "quantity B is greater"
        words.next_if(|noun| self.is_word(Some(noun), &NOUNS));
        let (letter, verb) = (words.next()?, words.next()?);
        let is_letter = self.word(letter).is_some_and(|text| {
            // "A" is an article.
            text.len() == 1 && text.bytes().all(|b| (b'B'..=b'H').contains(&b))
        }) || letter.kind == PieceKind::Word && self.is_person(letter);
        let is_verb = self
            .word(verb)
            .is_some_and(|text| text.len() > 1 && text.bytes().all(|b| b.is_ascii_lowercase()))
            && !self.is_word(Some(verb), &words::JOINING);
        let denies = clause.pieces.iter().any(|piece| self.is_word(Some(piece), &words::DENYING));
        let is_only = !clause.pieces.iter().any(Piece::is_value) && !denies;
        (is_letter && is_verb && is_only && words.next().is_some()).then(|| letter.span.clone())
    }
}

/// Letters of the shortest superlatives, "best" and "most" aside.
const MIN_SUPERLATIVE: usize = 5;

fn bold_marks(pieces: &[Piece]) -> usize {
    pieces.iter().filter(|piece| piece.is_mark('*')).count()
}
