//! Sentences that answer nothing: checks, asides, cases that are tried, approximations.

use super::pieces::{Piece, PieceKind};
use super::{Reader, Statement, Words, is_display, words};

impl Reader<'_> {
    /// Returns the sentences that check nothing and give no example of the one before them; where there are none,
    /// those that do: "Checking all numbers, only 23 and 29 are prime".
    pub(super) fn without_checks<'p>(&self, stated: &[&'p [Piece]]) -> Vec<&'p [Piece]> {
        let holds_value = |sentence: &[Piece]| {
            sentence.iter().any(|piece| piece.is_value() && !self.is_name(piece))
        };
        let is_example =
            |at: usize| at > 0 && self.is_example(stated[at]) && holds_value(stated[at - 1]);
        let is_kept = |at: &usize| !self.is_check(stated[*at]) && !is_example(*at);
        let others: Vec<_> = (0..stated.len()).filter(is_kept).map(|at| stated[at]).collect();
        if others.is_empty() { stated.to_vec() } else { others }
    }

    /// Returns whether the words of a statement say that nothing is such, so that no value before it answers.
    pub(super) fn says_none(&self, statement: &Statement) -> bool {
        let predicate = statement.predicate.as_ref();
        predicate.is_some_and(|span| maths::says_none(&self.text[span.clone()]))
    }

    /// Returns whether a sentence checks the answer or addresses the reader.
    pub(super) fn is_check(&self, sentence: &[Piece]) -> bool {
        if is_aside(sentence) {
            return true;
        }
        // What follows a value says nothing of the sentence: "u = (1, 2); note that".
        let opening = sentence.iter().take_while(|piece| !piece.is_value());
        let mut words = opening.filter(|piece| piece.kind == PieceKind::Word);
        let first = words.next();
        let second = words.next();
        // "which is the density": of the display before it.
        let is_lower = first.is_some_and(|first| {
            self.word(first).is_some_and(|word| {
                matches!(
                    word,
                    "which"
                        | "where"
                        | "donde"
                        | "où"
                        | "wobei"
                        | "onde"
                        | "dove"
                        | "где"
                        | "gdzie"
                )
            }) && sentence.first().is_some_and(|piece| piece.span.start == first.span.start)
        });
        // "which tends to the display" goes on to the answer.
        let goes_on = self.is_word(first, &["which"])
            && sentence.iter().any(|piece| {
                is_display(piece) && self.has_left_side(piece)
                    || self.is_word(Some(piece), &words::CONCLUDING)
            });
        if is_lower {
            return !goes_on;
        }
        // "The next term would be …"
        let is_beyond = self.is_word(first, &["the"])
            && self.is_word(second, &["next"])
            && sentence.iter().any(|piece| self.is_word(Some(piece), &["would"]));
        // "No larger value satisfies it."
        let compares = ["larger", "smaller", "greater", "bigger", "better", "other", "further"];
        let is_bound = self.is_word(first, &["no"]) && self.is_word(second, &compares);
        is_beyond
            || is_bound
            || self.is_way_back(first, sentence)
            || self.is_word(first, &["en"]) && self.is_word(second, &["effet", "efecto"])
            || self.is_word(first, &["this", "which", "it"])
                && self.is_word(second, &["agrees", "matches", "checks", "confirms", "verifies"])
                && !sentence.iter().any(|piece| self.is_word(Some(piece), &["option", "choice"]))
            || self.is_word(first, &words::CHECKING)
            || self.is_word(first, &["to", "we"]) && self.is_word(second, &words::CHECKING)
            // "In other words" says again what was said.
            || self.is_word(first, &["in"]) && self.is_word(second, &["other"])
            || self.is_closing((first, second), sentence)
            || self.is_restatement((first, second), sentence)
            || self.offers_check(sentence)
            || self.is_consistent(sentence)
            || self.is_marked_check(sentence)
            || self.is_headed_check(sentence)
            || self.is_declaration(sentence)
            || self.is_instance(sentence)
            || self.is_approximation(sentence)
    }

    /// Returns whether a sentence closes a chat: "Hope this helps!", "Would you like to see the steps?", "If you want, I can
    /// show a check".
    fn is_closing(
        &self,
        (first, second): (Option<&Piece>, Option<&Piece>),
        sentence: &[Piece],
    ) -> bool {
        let is_pair = |one: &dyn Words, two: &dyn Words| {
            self.is_word(first, one) && self.is_word(second, two)
        };
        let holds_value = sentence.iter().any(Piece::is_value);
        is_pair(&["hope", "i"], &["this", "that", "hope"])
            || is_pair(&["would", "do", "if", "should"], &["you"]) && !holds_value
            || is_pair(&["let"], &["me"]) && !holds_value
            || is_pair(&["feel"], &["free"])
            || is_pair(&["this", "that"], &["completes", "concludes"]) && !holds_value
            || !holds_value
                && self.is_word(first, &["this", "that"])
                && sentence.windows(2).any(|two| {
                    self.is_word(two.first(), &["final"])
                        && self.is_word(two.last(), &["result", "answer"])
                })
    }

    /// Returns whether a sentence says the same in another unit, "That corresponds to about 1.2 × 10²⁴ molecules", or of
    /// another formula: "by symmetry $f_{yx}$ gives the same expression".
    fn is_restatement(
        &self,
        (first, second): (Option<&Piece>, Option<&Piece>),
        sentence: &[Piece],
    ) -> bool {
        let hedges = ["about", "approximately", "roughly", "nearly"];
        let corresponds = self.is_word(first, &["this", "that", "which"])
            && self.is_word(second, &["corresponds", "amounts", "translates", "works"])
            && sentence
                .iter()
                .any(|piece| self.is_word(Some(piece), &hedges) || piece.is_mark('≈'));
        let says_same = || {
            let same = sentence.windows(3).any(|three| {
                self.is_word(three.first(), &["gives", "yields", "has", "is", "get"])
                    && self.is_word(three.get(1), &["the"])
                    && self.is_word(three.get(2), &["same"])
            });
            let is_name = |piece: &Piece| {
                !self.text[piece.span.clone()].contains(|c: char| c.is_ascii_digit() || c == '=')
            };
            same && sentence.iter().filter(|piece| piece.is_value()).all(is_name)
        };
        // "The probabilities add up to 1, as they should."
        let adds_up = || {
            sentence.iter().any(|piece| self.is_word(Some(piece), &["probabilities"]))
                && sentence.windows(2).any(|two| {
                    self.is_word(two.first(), &["sum", "add", "up"])
                        && self.is_word(two.last(), &["to"])
                })
        };
        corresponds || says_same() || adds_up()
    }

    /// Returns whether a sentence says that the answer can be checked, or that something confirms it: "You can check
    /// by expanding", "One verifies that", "Differentiating confirms".
    fn offers_check(&self, sentence: &[Piece]) -> bool {
        /// Words up to the verb.
        const MAX_WORDS: usize = 6;
        let opening = sentence.iter().take_while(|piece| !piece.is_value());
        let mut words = opening.filter(|piece| piece.kind == PieceKind::Word).take(MAX_WORDS);
        let first = words.next();
        let verbs = ["check", "checks", "verify", "verifies", "verified", "checked", "confirm"];
        let says = if self.is_word(first, &["you", "one", "we", "it"]) {
            words.any(|word| self.is_word(Some(word), &verbs))
        } else {
            words.take(2).any(|word| self.is_word(Some(word), &["confirms", "verifies"]))
        };
        // "We check all cases, so the answer is 5" concludes.
        says && !sentence.iter().any(|piece| self.is_word(Some(piece), &words::CONCLUDING))
    }

    /// Returns whether a sentence compares what was stated with what is known: "The solution is basic, which is
    /// consistent with a pH above 7".
    fn is_consistent(&self, sentence: &[Piece]) -> bool {
        let said = sentence.windows(2).position(|two| {
            self.is_word(two.first(), &["consistent"]) && self.is_word(two.get(1), &["with"])
        });
        // "The answer is 5, which is consistent with the table" states it.
        said.is_some_and(|at| !sentence[..at].iter().any(Piece::is_value))
    }

    /// Returns whether a computation with a check mark is all that a sentence holds: "$2 \cdot 3 + 1 = 7$ ✓".
    fn is_marked_check(&self, sentence: &[Piece]) -> bool {
        let is_mark = |piece: &Piece| matches!(piece.kind, PieceKind::Mark('✓' | '✔' | '☑' | '✅'));
        if !sentence.iter().any(is_mark) {
            return false;
        }
        let is_computed = |piece: &Piece| {
            let text = self.text[piece.span.clone()].trim_start_matches(['$', '\\', '(']);
            text.split_once('=').is_some_and(|(left, _)| {
                left.contains(|c: char| c.is_ascii_digit())
                    && left.contains(['+', '-', '*', '·', '×', '\\', '−'])
            })
        };
        let mut values = sentence.iter().filter(|piece| piece.is_value()).peekable();
        values.peek().is_some()
            && values.all(is_computed)
            && !sentence.iter().any(|piece| piece.is_mark('*'))
    }

    /// Returns whether a sentence goes back to the question: "Expanding back gives", "Plugging this back in".
    fn is_way_back(&self, first: Option<&Piece>, sentence: &[Piece]) -> bool {
        /// Words up to "back".
        const MAX_WORDS: usize = 6;
        let gerund = ["expanding", "multiplying", "plugging", "putting", "substituting", "working"];
        let verb = ["expand", "multiply", "plug", "put", "substitute"];
        let mut words = sentence.iter().filter(|piece| piece.kind == PieceKind::Word);
        (self.is_word(first, &gerund) || self.is_word(first, &verb))
            && words
                .by_ref()
                .take(MAX_WORDS)
                .any(|word| self.is_word(Some(word), &["back", "backwards"]))
    }

    /// Returns whether a sentence opens with "Quick test:" or "Euler check:".
    fn is_headed_check(&self, sentence: &[Piece]) -> bool {
        /// Words of such a head, with its mark.
        const MAX_HEAD: usize = 4;
        // Chinese and Japanese have a word a letter.
        const MAX_LETTERS: usize = 8;
        let head = &sentence[..sentence.len().min(MAX_LETTERS)];
        let is_colon = |piece: &Piece| piece.is_mark(':') || piece.is_mark('：');
        let colon = head.iter().position(is_colon);
        let names_check = |at: &usize| {
            let head = self.text[head[0].span.start..head[*at].span.start].trim_matches(['*', ' ']);
            [
                "检验",
                "檢驗",
                "验证",
                "驗證",
                "验算",
                "検算",
                "確認",
                "확인",
                "검산",
                "التحقق",
                "जाँच",
            ]
            .iter()
            .any(|word| head.ends_with(word))
        };
        if colon.is_some_and(|at| names_check(&at)) {
            return true;
        }
        colon.filter(|at| *at < MAX_HEAD).is_some_and(|at| {
            let last = at.checked_sub(1).map(|last| &head[last]);
            self.is_word(last, &words::REMARKING)
        })
    }

    /// Returns whether a sentence only says where letters lie: "with t ∈ ℝ".
    fn is_declaration(&self, sentence: &[Piece]) -> bool {
        let is_membership = |piece: &Piece| {
            let text = &self.text[piece.span.clone()];
            text.contains('∈') || text.contains("\\in ") || text.contains("\\in\\")
        };
        let mut values = sentence.iter().filter(|piece| piece.is_value()).peekable();
        self.is_word(sentence.first(), &["with", "where", "for"])
            && values.peek().is_some()
            && values.all(is_membership)
    }

    /// Returns whether a sentence tries a case: "For $n = 3$ this gives 14", "For $n = 1, 2$ we get 2 and 4, as
    /// expected".
    fn is_instance(&self, sentence: &[Piece]) -> bool {
        self.is_word(sentence.first(), &["for"])
            && sentence.get(1).is_some_and(|piece| self.has_left_side(piece))
            && sentence.iter().any(|piece| self.is_word(Some(piece), &["this", "expected"]))
    }

    /// Returns whether a sentence gives an example of what the one before it states.
    pub(super) fn is_example(&self, sentence: &[Piece]) -> bool {
        let marks = sentence.iter().take_while(|piece| piece.is_mark('*')).count();
        let said = &sentence[marks..];
        let is = |at: usize, words: &dyn Words| self.is_word(said.get(at), words);
        let first = said.first().map_or("", |first| &self.text[first.span.start..]);
        is(0, &["for", "par", "por", "ad"])
            && is(1, &["example", "instance", "exemple", "ejemplo", "exemplo", "esempio"])
            || is(0, &["zum"]) && is(1, &["beispiel"])
            || is(0, &["например"])
            || is(0, &["the"])
                && is(1, &["first"])
                && (is(2, &["examples"]) || is(3, &["examples"]))
            || ["例如", "比如", "たとえば", "例えば"].iter().any(|word| first.starts_with(word))
    }

    /// Returns whether a sentence has no value but after "numerically": the exact one stands before.
    fn is_approximation(&self, sentence: &[Piece]) -> bool {
        let word = sentence.iter().position(|piece| self.is_word(Some(piece), &["numerically"]));
        word.is_some_and(|at| !sentence[..at].iter().any(Piece::is_value))
    }
}

/// Returns whether brackets enclose a sentence: it only accompanies.
fn is_aside(sentence: &[Piece]) -> bool {
    let is_long = |piece: &&Piece| piece.kind == PieceKind::Word && piece.span.len() > 1;
    let [first, second, .., last] = sentence else {
        return false;
    };
    let closes = sentence.iter().position(|piece| piece.is_mark(')'));
    let is_whole = closes.is_none_or(|at| at + 2 >= sentence.len())
        && !last.is_value()
        && sentence.iter().filter(is_long).count() > 1;
    let opens_prose = second.kind == PieceKind::Word
        && (second.span.len() > 1 || sentence.get(2).as_ref().is_some_and(is_long));
    // "(2 + 3 = 5 ✓)"
    let is_marked = closes.is_none_or(|at| at + 2 >= sentence.len())
        && sentence
            .iter()
            .any(|piece| matches!(piece.kind, PieceKind::Mark('✓' | '✔' | '☑' | '✅')));
    first.is_mark('(') && (opens_prose || is_whole || is_marked)
}
