//! Comparison of answers as their question asks for them.

use maths::{Policy, Workspace};

use super::persons::names_each;
use super::question::{Question, bare};
use super::relations::{chain_ends, wanted_ends, wanted_side, wanted_value};
use super::sides::truth_letter;
use super::times::time_of_day;
use super::{Math, ReadCandidate, ReadGold, report};
use crate::{Candidate, Claim, UnitScore, Verdict, VerifyError};

impl Math {
    /// Judges by gold answers, and once more by the only one under the name of the quantity that the question
    /// asks for: of `BD=4` and `DC=6` the first counts after `Find $BD$.`
    pub(super) fn judge_named(
        &self,
        golds: &[ReadGold<'_>],
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        let judged = self.judge(golds, claim, ws);
        if !is_right(&judged)
            && let Some(by_parts) = self.judge_parts(golds, claim, ws)
        {
            return if is_right(&by_parts) { by_parts } else { judged };
        }
        let ([gold], Candidate::Statement { readings, own, .. }) = (golds, claim.candidate) else {
            return judged;
        };
        if is_right(&judged) || !gold.answer.is_value() {
            return judged;
        }
        let question = claim.question.filter(|_| self.config.question).map(Question::new);
        let Some(question) = question else {
            return judged;
        };
        let Some(symbol) = question.symbol() else {
            let lists = readings.iter().take(own).filter(|reading| reading.len() > 1);
            for list in lists {
                if let Some(value) = question.asked_member(list) {
                    let candidate = self.read_candidate(value, ws);
                    let by_name = self.asked(gold, &candidate, claim, ws);
                    return if is_right(&by_name) { by_name } else { judged };
                }
            }
            if let Some(value) = question.named_reading(&readings[..own.min(readings.len())]) {
                let candidate = self.read_candidate(value, ws);
                let by_name = self.asked(gold, &candidate, claim, ws);
                return if is_right(&by_name) { by_name } else { judged };
            }
            return judged;
        };
        let name = format!("{}=", bare(symbol));
        let members = readings.iter().take(own).flatten();
        let Some(named) = members.rev().find(|text| bare(text).starts_with(&name)) else {
            return judged;
        };
        let candidate = self.read_candidate(named, ws);
        let by_name = self.asked(gold, &candidate, claim, ws);
        if is_right(&by_name) { by_name } else { judged }
    }

    /// Compares one gold answer with what was read of a response, as the question asks for it.
    #[expect(clippy::too_many_lines, reason = "what a question may ask for, one after the other")]
    pub(super) fn asked(
        &self,
        gold: &ReadGold<'_>,
        candidate: &ReadCandidate<'_>,
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        let question = claim.question.filter(|_| self.config.question).map(Question::new);
        let Some(question) = question else {
            return self.pair((gold, candidate), self.config.policy, claim.explain, ws);
        };
        let policy = self.asked_policy(gold.text, &candidate.text, &question);
        if let Some(judged) = self.in_asked_unit((gold, candidate), (&question, policy), claim, ws)
        {
            return judged;
        }
        let judged = self.pair((gold, candidate), policy, claim.explain, ws);
        let is_right = is_right(&judged);
        // The order of a list counts where it is asked for.
        if is_right
            && gold.answer.is_list()
            && candidate.answer.as_ref().is_ok_and(maths::Answer::is_list)
            && (question.wants_order()
                || !gold.answer.names_members()
                    && !candidate.answer.as_ref().is_ok_and(maths::Answer::names_members)
                    && names_each(&question, gold.answer.member_count()))
            && let Some(judged) = self.in_order((gold, candidate), policy, claim, ws)
        {
            return judged;
        }
        if is_right && question.wants_other_numeral(gold.text, &candidate.text) {
            return Ok(report::numerals());
        }
        if is_right && candidate.text != gold.text && question.gives(&candidate.text, gold.text) {
            return Ok(report::repeated(&candidate.text, claim.explain));
        }
        if is_right {
            return judged;
        }
        let text = &candidate.text;
        if gold.answer.is_truth()
            && question.says(&["truth value", "true or false", "t or f"])
            && let Some(truth) = truth_letter(text)
        {
            let word = self.read_candidate(if truth { "true" } else { "false" }, ws);
            return self.pair((gold, &word), policy, claim.explain, ws);
        }
        if let Some(is_one) = question.same_player(gold.text, text) {
            return Ok(report::affirmations(is_one));
        }
        if let Some(is_one) = question.same_choice(gold.text, text) {
            return Ok(report::labels(is_one));
        }
        if let Some(side) = wanted_side(text, &question) {
            let side = self.read_candidate(side, ws);
            let of_side = self.pair((gold, &side), policy, claim.explain, ws);
            if self::is_right(&of_side) {
                return of_side;
            }
        }
        if gold.answer.is_value()
            && let Some(value) = wanted_value(text, &question)
        {
            let value = self.read_candidate(value, ws);
            return self.pair((gold, &value), policy, claim.explain, ws);
        }
        if let Some(ends) = wanted_ends(text, &question)
            && let Ok(ends) = self.read_list(&ends, ws)
        {
            return self.pair((gold, &ends), policy, claim.explain, ws);
        }
        if let Some(residue) = candidate.answer.as_ref().ok().and_then(maths::Answer::residue)
            && gold.answer.is_value()
            && question.wants_remainder()
        {
            let residue = ReadCandidate::several(text.to_string(), Ok(residue));
            return self.pair((gold, &residue), policy, claim.explain, ws);
        }
        if let Ok(vector) = candidate.answer.as_ref()
            && vector.is_vector()
            && gold.answer.is_vector()
            && question.wants_direction()
            && self.are_multiples(&gold.answer, vector, policy, ws)
        {
            return Ok(report::multiples());
        }
        // Unordered pairs may be written as points.
        if gold.text.contains("\\{") && question.says(&["unordered"]) && !text.contains('{') {
            let sets = text.replace('(', "\\{").replace(')', "\\}");
            let sets = self.read_candidate(&sets, ws);
            return self.pair((gold, &sets), policy, claim.explain, ws);
        }
        if question.wants_basis() && self.are_bases(gold.text, text, policy, ws) {
            return Ok(report::multiples());
        }
        if let Some(time) = time_of_day(text).filter(|_| question.wants_time_of_day()) {
            let time = self.read_candidate(&time, ws);
            return self.pair((gold, &time), policy, claim.explain, ws);
        }
        if gold.answer.is_truth()
            && let Some(word) = opening_verdict(text)
        {
            let verdict = self.read_candidate(word, ws);
            return self.pair((gold, &verdict), policy, claim.explain, ws);
        }
        if question.wants_confidence()
            && let Some([from, to]) = chain_ends(text)
        {
            let interval = format!("({from}, {to})");
            let interval = self.read_candidate(&interval, ws);
            return self.pair((gold, &interval), policy, claim.explain, ws);
        }
        let plain = text.strip_prefix("\\text{").unwrap_or(text);
        let is_none = plain.starts_with("no ") || plain.starts_with("none");
        if is_none && gold.answer.is_value() && question.wants_number() {
            let zero = self.read_candidate("0", ws);
            return self.pair((gold, &zero), policy, claim.explain, ws);
        }
        if let Some(base) = question.base_of(gold.text, text) {
            let numeral = self.read_candidate(&base, ws);
            return self.pair((gold, &numeral), policy, claim.explain, ws);
        }
        if let Some(number) = question.count(text) {
            let number = self.read_candidate(number, ws);
            return self.pair((gold, &number), policy, claim.explain, ws);
        }
        let is_grouped = || {
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
            let is_foreign = question.text.contains(|c: char| ('\u{c0}'..'\u{250}').contains(&c));
            is_foreign && !gold.text.contains(['.', ',']) && digits(gold.text) == digits(text)
        };
        if text.contains('.') && are_groups(text) && (question.groups_by_points() || is_grouped()) {
            let whole = text.replace('.', "");
            let whole = self.read_candidate(&whole, ws);
            return self.pair((gold, &whole), policy, claim.explain, ws);
        }
        if gold.answer.is_text()
            && candidate.answer.as_ref().is_ok_and(maths::Answer::is_text)
            && let Some(is_same) = question.same_kind(gold.text, text)
        {
            return Ok(report::affirmations(is_same));
        }
        let is_other_text = candidate.is_other_text(gold, ws) || gold.answer.is_text();
        if is_other_text
            && let Some(own) = question.affirmed_by(gold.text)
            && let Some(other) = question.affirmed_by(text)
        {
            return Ok(report::affirmations(own == other));
        }
        judged
    }

    /// Compares two lists without names member by member.
    fn in_order(
        &self,
        (gold, candidate): (&ReadGold<'_>, &ReadCandidate<'_>),
        policy: Policy,
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Option<Result<Verdict, VerifyError>> {
        let own = gold.answer.clone().with_labels();
        let other = candidate.answer.as_ref().ok()?.clone().with_labels();
        let text = candidate.text.to_string();
        let gold =
            ReadGold { text: gold.text, answer: own, label: None, has_content: true, cost: None };
        let candidate = ReadCandidate::several(text, Ok(other));
        Some(self.pair((&gold, &candidate), policy, claim.explain, ws))
    }

    /// Returns the policy with what the question decides of it.
    fn asked_policy(&self, gold: &str, candidate: &str, question: &Question<'_>) -> Policy {
        let mut policy = self.config.policy;
        let either = |signs: &[&str]| {
            signs.iter().any(|sign| gold.contains(sign) || candidate.contains(sign))
        };
        let holds_letter = |text: &str| text.bytes().any(|b| b.is_ascii_alphabetic());
        if gold.contains(['/', '\\']) && (gold.contains('/') || gold.contains("frac")) {
            policy.reduced |= question.wants_lowest_terms();
        }
        if gold.contains('(') && holds_letter(gold) {
            policy.factored |= question.wants_factors();
        }
        if either(&["%", "percent", "per cent", "Prozent"]) {
            policy.percent_as_number |= question.wants_percent();
        }
        if either(&["\\pi", "π"]) && either(&["°", "\\circ", "degree"]) {
            policy.degrees_as_radians |= question.wants_angle();
        }
        if gold.contains("matrix") != candidate.contains("matrix") {
            policy.column_as_tuple |= question.wants_vectors();
        }
        if gold.contains(':') != candidate.contains(':') {
            policy.ratio_as_fraction |= question.wants_ratio();
        }
        if holds_letter(gold) && holds_letter(candidate) && gold != candidate {
            policy.renamed_constants |= question.allows_renaming(gold, candidate)
                || question.frees_constants(gold, candidate);
        }
        policy
    }

    /// Compares a bare gold answer with an amount in a unit, as an amount in the unit that the question
    /// names: half an hour is right where 30 minutes are, and 30 hours are wrong.
    fn in_asked_unit(
        &self,
        (gold, candidate): (&ReadGold<'_>, &ReadCandidate<'_>),
        (question, policy): (&Question<'_>, Policy),
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Option<Result<Verdict, VerifyError>> {
        let amounts = candidate.answer.as_ref().ok()?;
        let has_units = amounts.has_unit() || amounts.are_amounts();
        if !has_units || !gold.answer.is_value() || gold.answer.has_unit() {
            return None;
        }
        let text = format!("{} {}", gold.text, question.unit()?);
        let answer = maths::read_answer(&text, self.read_options(), ws).ok()?;
        let is_amount = answer.has_unit();
        // `22.2 m/s` or `80 km/h`: the one in the unit that was asked for answers.
        let in_unit = amounts.member_in_unit_of(&answer);
        let in_unit =
            in_unit.map(|member| ReadCandidate::several(candidate.text.to_string(), Ok(member)));
        if !amounts.has_unit() && in_unit.is_none() {
            return None;
        }
        let candidate = in_unit.as_ref().unwrap_or(candidate);
        let gold = ReadGold { text: &text, answer, label: None, has_content: true, cost: None };
        let judged = self.pair((&gold, candidate), policy, claim.explain, ws);
        // A unit of another quantity may be a thing that is counted, or a currency for a mass.
        let is_other = matches!(&judged, Ok(verdict) if verdict.reason.code == "units_different");
        (is_amount && !is_other).then_some(judged)
    }
}

/// Returns the yes or no that opens a text before its reason: "Yes, positive definite".
fn opening_verdict(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['*', '$', ' ']);
    let text =
        text.strip_prefix("\\text{").or_else(|| text.strip_prefix("\\textbf{")).unwrap_or(text);
    let end = text.find(|c: char| !c.is_alphabetic())?;
    let (word, rest) = text.split_at(end);
    let is_verdict = ["yes", "no", "true", "false"].iter().any(|v| v.eq_ignore_ascii_case(word));
    let goes_on =
        rest.starts_with([',', '.', ';', ':', '—', '–', '*', '}']) || rest.starts_with(" (");
    (is_verdict && goes_on).then_some(word)
}

/// Returns whether each point of `text` stands before a group of three digits: `12.500 €`.
fn are_groups(text: &str) -> bool {
    let mut parts = text.split('.');
    let opens = parts.next().is_some_and(|part| part.ends_with(|c: char| c.is_ascii_digit()));
    opens && parts.all(|part| part.bytes().take_while(u8::is_ascii_digit).count() == 3)
}

fn is_right(judged: &Result<Verdict, VerifyError>) -> bool {
    matches!(judged, Ok(verdict) if verdict.score == UnitScore::ONE)
}
