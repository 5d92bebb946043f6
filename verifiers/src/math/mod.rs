//! Mathematical answers: compares the candidate's meaning with the gold answer's.
//!
//! The `maths` crate reads and compares; this module reads gold answers before candidates, bounds
//! their fuel and turns outcomes into verdicts. A pair that is neither proven equal nor proven
//! different is *undecided*.
//!
//! Comparison is asymmetric: see [`Math`]. docs/math.md has every rule and flag with examples.

mod affirmed;
mod asked;
mod convert;
mod decimals;
mod families;
mod label;
mod named;
mod otherwise;
mod persons;
mod question;
mod reference;
mod relations;
mod report;
mod shorter;
mod sides;
pub mod steps;
mod times;

use std::borrow::Cow;

use maths::{
    Answer, AnswerTexts, AnswerType, Comparer, Comparison, ReadOptions, Sides, Unread, Workspace,
};
use serde::Serialize;

use crate::{
    Candidate, Certainty, Claim, Exhausted, Fuel, Gold, Reason, UnitScore, Verdict, Verifier,
    VerifierId, VerifyError,
};

pub use self::convert::{NotConverted, convert};
use self::decimals::has_decimal_comma;
use self::label::TextParts;
use self::reference::{of_object, typed};
use self::shorter::{
    is_formula, last_conclusion, last_sides, molar, named_formula, without_constant,
    without_counter, without_middle_brackets, without_remark, without_text_remarks,
};
use self::sides::{Candidates, ReadCandidate, ReadGold};
pub use maths::{
    BadBound, Bound, LogBase, POLICIES, PhysicalConstant, Policy, Tolerance, Undecided,
    UnknownConstant,
};

/// The configuration of a [`Math`] verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MathConfig {
    /// Tolerance around the gold value. Exact by default.
    pub tolerance: Tolerance,
    /// Policy for disputed equalities.
    #[serde(flatten)]
    pub policy: Policy,
    /// Symbols that stand for constants of physics, in SI units, on both sides: `c`, `h`, `k_B`.
    /// None by default, so that a letter is a letter.
    pub constants: Vec<PhysicalConstant>,
    /// Whether the question is read for what it asks of the answer: lowest terms, a number of percent,
    /// minutes. On by default.
    pub question: bool,
}

impl Default for MathConfig {
    fn default() -> Self {
        Self {
            tolerance: Tolerance::default(),
            policy: Policy::default(),
            constants: Vec::new(),
            question: true,
        }
    }
}

impl MathConfig {
    /// Returns the configuration of a policy by its name, one of [`POLICIES`].
    pub fn named(name: &str) -> Option<Self> {
        let (policy, tolerance) = Policy::named(name)?;
        // Other graders do not see the question.
        let question = matches!(name, "default" | "lenient");
        Some(Self { tolerance, policy, constants: Vec::new(), question })
    }
}

/// Compares answers symbolically.
///
/// - Of several gold answers one must be equal. Where none is and one of them cannot be read, the
///   reference is at fault: the unread one might have matched.
/// - A candidate that cannot be read, or is of a type that no rule compares with the gold answer's,
///   scores a presumed 0, after which a cascade evaluates its next part. One that is proven
///   different scores a proven 0, which ends the cascade.
/// - Where both sides are understood and nothing is proven, there is no score
///   ([`VerifyError::Undecided`]), unless [`Policy::undecided`] says otherwise.
/// - Gold answers may use half of the fuel at most, so that their cost is never blamed on the
///   candidate. Texts of more than 64 KiB are not read.
#[derive(Debug, Clone, Default)]
pub struct Math {
    config: MathConfig,
}

/// Both sides, and what they were read from.
#[derive(Clone, Copy)]
struct ComparedAnswers<'a> {
    gold: &'a Answer,
    candidate: &'a Answer,
    texts: AnswerTexts<'a>,
    policy: Policy,
}

impl Math {
    /// Creates a verifier for `config`.
    pub fn new(config: MathConfig) -> Self {
        Self { config }
    }

    fn read_options(&self) -> ReadOptions {
        let Policy { repair, decimal_comma, .. } = self.config.policy;
        ReadOptions { repair, decimal_comma }
    }

    /// Reads one gold answer. `entry` is its place in a list of several, and `spent` the fuel that
    /// was used before the first of them.
    fn read_gold<'a>(
        &self,
        text: &'a str,
        entry: Option<usize>,
        spent: u64,
        ws: &mut Workspace<'_>,
    ) -> Result<ReadGold<'a>, VerifyError> {
        if text.trim().is_empty() {
            return Err(report::bad_reference(Unread::NotMaths, text, entry));
        }
        let TextParts { label, content, has_content } = TextParts::of(text);
        let text = label::letter_of_circled(content).unwrap_or(content);
        let before = ws.fuel.used();
        let molar = molar(text);
        let spelled = molar.as_deref().unwrap_or(text);
        let answer = maths::read_answer(spelled, self.read_options(), ws).and_then(|answer| {
            let answer = self.amount_with_comma(text, answer, ws);
            // As much again must be left for the candidate.
            ws.fuel.clone().spend(ws.fuel.used() - spent)?;
            Ok(answer)
        });
        match answer {
            Ok(answer) => {
                let cost = Some(ws.fuel.used() - before);
                Ok(ReadGold { text, answer, label, has_content, cost })
            }
            Err(unread) => Err(report::bad_reference(unread, text, entry)),
        }
    }

    /// Returns `1,5 h` as one amount, whose comma is a decimal point, where it was read as a list of a number and an
    /// amount.
    fn amount_with_comma(&self, text: &str, answer: Answer, ws: &mut Workspace<'_>) -> Answer {
        let may_be = self.config.policy.repair && answer.is_list() && !answer.are_amounts();
        if !may_be || !has_decimal_comma(text) {
            return answer;
        }
        let options = ReadOptions { decimal_comma: true, ..self.read_options() };
        let again = maths::read_answer(text, options, ws);
        again.ok().filter(Answer::has_unit).unwrap_or(answer)
    }

    /// Returns the best verdict that any of `golds` gives the candidate; they are at least one.
    fn judge(
        &self,
        golds: &[ReadGold<'_>],
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        let Some(text) = claim.candidate.text().filter(|text| !text.trim().is_empty()) else {
            return Ok(Verdict::no_answer());
        };
        let candidates = match claim.candidate {
            Candidate::Statement { readings, own, parts, .. } => {
                self.read_statement((readings, parts), own, golds, ws)
            }
            Candidate::Several { all, .. } => {
                let last = self.read_beside(text, golds, ws);
                // Several marked answers are a list only if the gold answer is one.
                let is_several =
                    |gold: &ReadGold<'_>| gold.answer.is_list() || gold.answer.is_enclosed();
                let several = golds.iter().any(is_several);
                let list = several.then(|| self.read_list(all, ws)).and_then(Result::ok);
                Candidates { readings: vec![last], own: 1, list }
            }
            Candidate::Missing | Candidate::Text(_) => {
                let candidate = self.read_beside(text, golds, ws);
                Candidates { readings: vec![candidate], own: 1, list: None }
            }
        };
        let is_statement = matches!(claim.candidate, Candidate::Statement { .. });
        let mut best: Option<Result<Verdict, VerifyError>> = None;
        for gold in golds {
            let candidate = candidates.chosen(gold, ws);
            let judged = self.asked(gold, candidate, claim, ws);
            if matches!(&judged, Ok(verdict) if verdict.score == UnitScore::ONE) {
                return judged;
            }
            let is_no_answer = is_statement && candidate.is_other_text(gold, ws);
            let judged = if is_no_answer { Ok(Verdict::no_answer()) } else { judged };
            best = Some(match best {
                None => judged,
                Some(best) => less_certain(best, judged),
            });
        }
        best.expect("there is at least one gold answer")
    }

    /// Compares one gold answer with what was read of a response.
    fn pair(
        &self,
        (gold, candidate): (&ReadGold<'_>, &ReadCandidate<'_>),
        policy: Policy,
        explain: bool,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        if let Some((own, other)) = gold.label.zip(candidate.label) {
            // One side names nothing but the choice, or they name two choices.
            let is_by_label =
                gold.has_content != candidate.has_content || !gold.has_content && own == other;
            if is_by_label || candidate.has_content && own != other {
                return Ok(report::labels(own == other));
            }
        }
        let choices = label::several(gold.text);
        let named = |text: &str| label::several(text).or_else(|| label::numerals_among(text));
        if choices.is_some() && choices == named(&candidate.text) {
            return Ok(report::labels(true));
        }
        let texts = AnswerTexts { gold: gold.text, candidate: &candidate.text };
        match &candidate.answer {
            Ok(answer) => {
                let pair = ComparedAnswers { gold: &gold.answer, candidate: answer, texts, policy };
                if let Some(verdict) = self.otherwise(gold, pair, explain, ws) {
                    return verdict;
                }
                self.compare(pair, explain, ws)
            }
            Err(unread) => Ok(report::unread(*unread, &candidate.text, explain)),
        }
    }

    /// Reads one text of a response, or copies what was read of a gold answer of the same label and content: to
    /// the same fuel.
    fn read_beside<'a>(
        &self,
        text: &'a str,
        golds: &[ReadGold<'_>],
        ws: &mut Workspace<'_>,
    ) -> ReadCandidate<'a> {
        let parts = TextParts::of(text);
        let is_same =
            |gold: &&ReadGold<'_>| gold.text == parts.content && gold.label == parts.label;
        let same = golds.iter().find(is_same);
        if let Some((cost, answer)) = same.and_then(|gold| gold.cost.zip(Some(&gold.answer))) {
            let spent = ws.fuel.spend(cost).map_err(Unread::from);
            return ReadCandidate {
                text: Cow::Borrowed(parts.content),
                answer: spent.map(|()| answer.clone()),
                label: parts.label,
                has_content: parts.has_content,
            };
        }
        let formula = text.contains('(') && golds.iter().any(|gold| is_formula(gold.text));
        self.read_parts(parts, formula, ws)
    }

    /// Reads one text of a response.
    fn read_candidate<'a>(&self, text: &'a str, ws: &mut Workspace<'_>) -> ReadCandidate<'a> {
        self.read_parts(TextParts::of(text), false, ws)
    }

    /// Reads one text of a response, of a name with a chemical formula the `formula` if it is to.
    fn read_parts<'a>(
        &self,
        parts: TextParts<'a>,
        formula: bool,
        ws: &mut Workspace<'_>,
    ) -> ReadCandidate<'a> {
        let content = parts.content;
        let named = named_formula(content);
        let content = named.filter(|_| formula).map_or(content, |(_, formula)| formula);
        let mut answer = maths::read_answer(content, self.read_options(), ws);
        if answer.is_err()
            && let Some((name, _)) = named
        {
            answer = maths::read_answer(name, self.read_options(), ws);
        }
        // Without a label, a text that is the gold answer's is not read again.
        if parts.is_labelled() {
            answer = answer.map(|answer| self.amount_with_comma(content, answer, ws));
        }
        for shorten in [without_counter, without_constant, without_remark, last_conclusion] {
            if answer.is_err()
                && let Some(content) = shorten(content)
            {
                answer = maths::read_answer(content, self.read_options(), ws);
            }
        }
        if answer.is_err()
            && let Some(text) =
                without_middle_brackets(content).or_else(|| without_text_remarks(content))
            && let Ok(answer) = maths::read_answer(&text, self.read_options(), ws)
        {
            return ReadCandidate::several(text, Ok(answer));
        }
        if answer.is_err()
            && let Some([before, last]) = last_sides(content)
        {
            // `3/7 = 0.375` contradicts itself.
            let before = maths::read_answer(before, self.read_options(), ws);
            let last = maths::read_answer(last, self.read_options(), ws);
            let is_consistent = match (&before, &last) {
                (Ok(number), Ok(last))
                    if number.is_value() && !number.is_open(ws) && !number.has_unit() =>
                {
                    self.are_one(number, last, ws)
                }
                (Ok(_) | Err(_), Ok(_) | Err(_)) => true,
            };
            if is_consistent {
                answer = last;
            }
            // `\ker f = \{0, 4, 8\} = \langle 4 \rangle`
            if answer.is_err()
                && let Ok(before) = before
                && before.is_enclosed()
            {
                answer = Ok(before);
            }
        }
        ReadCandidate {
            text: Cow::Borrowed(content),
            answer,
            label: parts.label,
            has_content: parts.has_content,
        }
    }

    /// Reads a member of a list, which is no list: `0,375` has a decimal comma.
    fn read_member(&self, text: &str, ws: &mut Workspace<'_>) -> Result<Answer, Unread> {
        let read = maths::read_answer(text, self.read_options(), ws)?;
        let is_number = self.config.policy.repair && read.is_list() && has_decimal_comma(text);
        if !is_number {
            return Ok(read);
        }
        let options = ReadOptions { decimal_comma: true, ..self.read_options() };
        Ok(maths::read_answer(text, options, ws).ok().filter(Answer::is_value).unwrap_or(read))
    }

    /// Returns whether two values are proven equal.
    fn are_one(&self, first: &Answer, second: &Answer, ws: &mut Workspace<'_>) -> bool {
        let (policy, tolerance) = (self.config.policy, &self.config.tolerance);
        let compared = Comparer { ws, policy, tolerance }.answers(first, second, None);
        matches!(compared, Ok(Comparison::Equal(_)))
    }

    /// Reads the members of a list, all of them.
    fn read_list<'a>(
        &self,
        members: &[&'a str],
        ws: &mut Workspace<'_>,
    ) -> Result<ReadCandidate<'a>, Unread> {
        let options = self.read_options();
        let read = |text: &str, ws: &mut Workspace<'_>| maths::read_answer(text, options, ws);
        // "maximum value $5$" and "minimum value $-3$" are named parts of one answer.
        let opens_with_name =
            |text: &&str| text.bytes().take_while(u8::is_ascii_alphabetic).count() > 2;
        if members.iter().all(opens_with_name) {
            let joined = members.join(", ").replace("**", "");
            if let Ok(answer) = read(&joined, ws)
                && answer.member_count() == members.len()
            {
                return Ok(ReadCandidate::several(joined, Ok(answer)));
            }
        }
        let answers: Result<Vec<Answer>, Unread> =
            members.iter().map(|text| self.read_member(text, ws)).collect();
        let answers = match answers {
            Ok(answers) => answers,
            // "A: knight" and "B: knave" are read together.
            Err(unread) => {
                let joined = members.join(", ").replace("**", "");
                let answer =
                    read(&joined, ws).ok().filter(|answer| answer.member_count() == members.len());
                return answer
                    .map(|answer| ReadCandidate::several(joined, Ok(answer)))
                    .ok_or(unread);
            }
        };
        // Lines of words: "**A** is a knave" and "**B** is a knight" name parts of one answer.
        if answers.iter().all(Answer::is_text) {
            let joined = members.join(", ").replace("**", "");
            let answer = read(&joined, ws);
            let answer = answer.unwrap_or_else(|_| Answer::list(answers));
            return Ok(ReadCandidate::several(joined, Ok(answer)));
        }
        Ok(ReadCandidate::several(members.join(", "), Ok(Answer::list(answers))))
    }

    /// Reads a statement in its readings, up to the one that the type of the only gold answer chooses.
    fn read_statement<'a>(
        &self,
        (readings, parts): (&[Vec<&'a str>], Option<usize>),
        own: usize,
        golds: &[ReadGold<'_>],
        ws: &mut Workspace<'_>,
    ) -> Candidates<'a> {
        let mut read = Vec::with_capacity(readings.len());
        for (index, members) in readings.iter().enumerate() {
            let candidate = match members.as_slice() {
                [only] => self.read_beside(only, golds, ws),
                all => self
                    .read_list(all, ws)
                    .unwrap_or_else(|unread| ReadCandidate::several(all.join(", "), Err(unread))),
            };
            let candidate = match candidate.answer {
                Ok(answer) if parts == Some(index) => {
                    ReadCandidate { answer: Ok(answer.with_labels()), ..candidate }
                }
                Ok(answer) if members.len() > 1 => {
                    ReadCandidate { answer: Ok(answer.flattened()), ..candidate }
                }
                _ => candidate,
            };
            let is_chosen = matches!(golds, [gold] if !gold.is_letter()
                && !gold.is_letters()
                && !gold.answer.is_named()
                && !gold.answer.has_unit()
                && candidate.is_alike(gold, ws)
                && !gold.looks_further());
            read.push(candidate);
            if is_chosen {
                break;
            }
        }
        Candidates { readings: read, own, list: None }
    }

    fn compare(
        &self,
        pair: ComparedAnswers<'_>,
        explain: bool,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        let Ok((own, other)) = self.with_constants(pair.gold, pair.candidate, ws) else {
            return Ok(report::too_costly(explain));
        };
        let outcome = Comparer { ws, policy: pair.policy, tolerance: &self.config.tolerance }
            .answers(&own, &other, Some(pair.texts));
        let Ok(outcome) = outcome else {
            return Ok(report::too_costly(explain));
        };
        let sides = Sides { ws, gold: pair.gold, candidate: pair.candidate };
        report::verdict(outcome, pair.policy.undecided, explain, &sides)
    }

    /// Returns both sides with the configured constants of physics in place of their symbols.
    fn with_constants<'a>(
        &self,
        gold: &'a Answer,
        candidate: &'a Answer,
        ws: &mut Workspace<'_>,
    ) -> Result<(Cow<'a, Answer>, Cow<'a, Answer>), Exhausted> {
        if self.config.constants.is_empty() {
            return Ok((Cow::Borrowed(gold), Cow::Borrowed(candidate)));
        }
        let mut replaced = |answer: &Answer| {
            maths::with_constants(answer, &self.config.constants, ws).map(Cow::Owned)
        };
        Ok((replaced(gold)?, replaced(candidate)?))
    }

    /// Judges against a list of accepted answers.
    fn any_of(
        &self,
        texts: &[&str],
        hint: Option<AnswerType>,
        claim: &Claim<'_>,
        fuel: &mut Fuel,
    ) -> Result<Verdict, VerifyError> {
        let is_list = matches!(claim.gold, Gold::AnyOf(_)) || texts.len() > 1;
        let mut golds = Vec::with_capacity(texts.len());
        let mut first_error = None;
        let spent = fuel.used();
        let mut ws = Workspace::new(fuel);
        // A name and its formula are two ways to say one answer.
        let ways = texts.iter().enumerate().flat_map(|(entry, text)| match named_formula(text) {
            Some((name, formula)) => [Some((entry, name)), Some((entry, formula))],
            None => [Some((entry, *text)), None],
        });
        for (entry, text) in ways.flatten() {
            let entry = is_list.then_some(entry);
            let gold =
                self.read_gold(text, entry, spent, &mut ws).and_then(|gold| typed(gold, hint));
            match gold {
                Ok(gold) => golds.push(gold),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match (golds.is_empty(), first_error) {
            (true, None) => Err(VerifyError::BadReference(Reason::with(
                "reference_empty",
                "the list of accepted answers is empty",
            ))),
            (true, Some(error)) => Err(error),
            (false, None) => self.judge_named(&golds, claim, &mut ws),
            (false, Some(error)) => match self.judge(&golds, claim, &mut ws) {
                Ok(verdict) if verdict.score == UnitScore::ONE => Ok(verdict),
                Ok(_) | Err(_) => Err(error),
            },
        }
    }
}

/// Returns the less certain verdict: undecided before presumed, presumed before proven.
fn less_certain(
    first: Result<Verdict, VerifyError>,
    second: Result<Verdict, VerifyError>,
) -> Result<Verdict, VerifyError> {
    let doubt = |judged: &Result<Verdict, VerifyError>| match judged {
        Err(_) => 2,
        Ok(verdict) => u8::from(verdict.certainty == Certainty::Presumed),
    };
    if doubt(&first) > doubt(&second) { first } else { second }
}

impl Verifier for Math {
    fn id(&self) -> VerifierId {
        VerifierId { name: "math", revision: 10 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let judged = self.verdict(claim, fuel);
        let is_right = |judged: &Result<Verdict, VerifyError>| matches!(judged, Ok(verdict) if verdict.score == UnitScore::ONE);
        if !self.config.policy.decimal_comma || is_right(&judged) {
            return judged;
        }
        // `6,8` may be two numbers, too.
        let mut config = self.config.clone();
        config.policy.decimal_comma = false;
        let otherwise = Self { config }.verdict(claim, fuel);
        if is_right(&otherwise) { otherwise } else { judged }
    }
}

impl Math {
    /// Judges a claim by one reading of its commas.
    fn verdict(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        match claim.gold {
            Gold::Missing => Err(VerifyError::missing_reference()),
            Gold::Text(text) if text.trim().is_empty() => Err(VerifyError::missing_reference()),
            Gold::Text(text) => self.any_of(&[text], None, claim, fuel),
            Gold::AnyOf(texts) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                self.any_of(&texts, None, claim, fuel)
            }
            Gold::Object(object) => {
                let (texts, hint) = of_object(object)?;
                self.any_of(&texts, hint, claim, fuel)
            }
        }
    }
}

#[cfg(test)]
mod tests;
