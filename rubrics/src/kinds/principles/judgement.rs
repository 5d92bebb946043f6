//! Text of a generative judge about a principle: reasoning, and a verdict on its last line.
//!
//! The verdict is the last line of the generated text, so that neither the prompt nor a quotation
//! can replace it.

use verifiers::Reason;

use crate::engine_client::GeneratedText;
use crate::labels::{Labels, Spelling};
use crate::models::{Prompted, Served};
use crate::outcome::{Failure, FailureKind};

use engine::{SampledToken, Text};

/// Prefix of the last line.
const MARKER: &str = "Final Judgement:";
/// The verdicts, in the order of [`Labels`].
pub(super) const VERDICTS: [&str; 2] = ["Yes", "No"];
/// Prefix of a line with a quotation.
const EVIDENCE: &str = "Evidence:";
/// Number of likeliest tokens requested at the verdict.
pub(super) const TOP: usize = 20;

/// The tokens of the verdicts after the marker, with a space before them.
///
/// # Errors
/// The verdict that is no token of its own.
pub(super) fn yes_no_labels(served: &Served) -> Result<Labels, String> {
    let text = Text::template(MARKER);
    let marker = Prompted { token_ids: served.encode(&text)?.into(), text };
    Labels::after(served, &marker, &VERDICTS, Spelling::Spaced)
}

/// The log-odds of the verdict: log p(Yes) − log p(No) at its token, in nats.
///
/// # Errors
/// [`FailureKind::Truncated`] for a text that was cut, and [`FailureKind::ParseError`] for one
/// without a verdict that can be read.
pub(super) fn log_odds(
    served: &Served,
    written: &GeneratedText,
    labels: &Labels,
) -> Result<f64, Failure> {
    let text = written.whole()?;
    let said = verdict(text).ok_or_else(|| {
        let detail = format!("the last line is not '{MARKER} Yes' or '{MARKER} No'");
        unread("judgement_missing", detail)
    })?;
    let ids: Vec<u32> = labels.token_ids().flatten().copied().collect();
    let token = verdict_token(served, &written.tokens, ids[said]);
    let token = token.ok_or_else(|| {
        let detail = format!("the verdict was not written as the token ' {}'", VERDICTS[said]);
        unread("verdict_not_a_token", detail)
    })?;
    let log_prob = |id: u32| {
        let found = token.top.iter().find(|(top, _)| *top == id);
        let found = found.map(|(_, log_prob)| f64::from(*log_prob));
        found.filter(|log_prob| log_prob.is_finite())
    };
    if let (Some(yes), Some(no)) = (log_prob(ids[0]), log_prob(ids[1])) {
        return Ok(yes - no);
    }
    let detail = format!("not both verdicts are among the {TOP} likeliest tokens");
    Err(unread("verdict_outside_top", detail))
}

/// Parses the verdict of the last line.
fn verdict(text: &str) -> Option<usize> {
    let last = text.trim_end().lines().next_back()?;
    let said = last.trim().strip_prefix(MARKER)?.strip_prefix(' ')?;
    VERDICTS.iter().position(|verdict| *verdict == said)
}

/// Returns the last token with this id if only white space and the end follow it.
fn verdict_token<'t>(
    served: &Served,
    tokens: &'t [SampledToken],
    id: u32,
) -> Option<&'t SampledToken> {
    let at = tokens.iter().rposition(|token| token.token_id == id)?;
    let after: Vec<u32> = tokens[at + 1..].iter().map(|t| t.token_id).collect();
    let rest = served.host.tokenizer.decode(&after, true).ok()?;
    rest.trim().is_empty().then(|| &tokens[at])
}

/// The quotations of a judgement, each once, without their marks.
pub(super) fn quotations(text: &str) -> Vec<&str> {
    let mut quotes = Vec::new();
    for line in text.lines() {
        let Some(quote) = line.trim().strip_prefix(EVIDENCE) else {
            continue;
        };
        let quote = quote.trim().trim_matches(['"', '“', '”', '«', '»']).trim();
        if !quote.is_empty() && !quotes.contains(&quote) {
            quotes.push(quote);
        }
    }
    quotes
}

fn unread(code: &'static str, detail: String) -> Failure {
    Failure::new(FailureKind::ParseError, Reason::with(code, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_is_the_verdict() {
        let check = |text: &str, expected: Option<&str>| {
            let found = verdict(text).map(|at| VERDICTS[at]);
            assert_eq!(found, expected, "{text:?}");
        };
        check("It is fine.\nFinal Judgement: Yes", Some("Yes"));
        check("Final Judgement: No\n\n", Some("No"));
        check("Final Judgement: Yes\nFinal Judgement: No", Some("No"));
        for broken in [
            "",
            "Yes",
            "Final Judgement:",
            "Final Judgement: ",
            "Final Judgement:Yes",
            "Final Judgement:  Yes",
            "Final Judgement: yes",
            "Final Judgement: Yes.",
            "Final Judgement: Yes or No",
            "Final Judgement: Maybe",
            "Final Judgment: Yes",
            "final judgement: Yes",
            "**Final Judgement: Yes**",
            "The last line was Final Judgement: Yes",
            "Final Judgement: Yes\nthough I am not sure",
        ] {
            check(broken, None);
        }
    }

    #[test]
    fn quotations_are_separate_lines() {
        let text =
            "Evidence: \"a b\"\nso\n  Evidence: “c”\nEvidence:\nno Evidence: d\nEvidence: a b";
        assert_eq!(quotations(text), ["a b", "c"]);
    }
}
