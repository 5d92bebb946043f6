//! The generative form: each principle's judgement is written, and its verdict read from the
//! log-probabilities of the token that states it.

use serde::Serialize;
use verifiers::Reason;

use super::judgement;
use super::list::Principle;
use super::question::{PrincipleQuestion, score_of};
use crate::config::Section;
use crate::engine_client::{EngineClient, GeneratedText, stream_of};
use crate::kinds::options::WritingOptions;
use crate::labels::Labels;
use crate::models::Served;
use crate::outcome::{Evidence, Failure, FailureKind, Outcome, SpanNote};
use crate::quote::{QuoteMatch, locate};

/// Enough for a paragraph of reasons; a judge that reasons at length needs more.
const MAX_TOKENS: usize = 1024;
/// Least similarity of a quotation to a part of the response, as in the paper's filter.
const QUOTE_RATIO: f64 = 60.0;

/// Options of the generative form.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Generative {
    pub(super) writing: WritingOptions,
    missing: Missing,
    pub(super) evidence: bool,
}

/// Result of a judgement without a readable verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Missing {
    /// A failure: nothing was measured.
    #[default]
    Error,
    /// Log-odds of 0, as in the published environment.
    Zero,
}

impl Generative {
    /// `None` without `generative = true`.
    pub(super) fn read(section: &Section<'_, '_>) -> Option<Self> {
        let words = [("error", Missing::Error), ("zero", Missing::Zero)];
        let options = Self {
            missing: section.word("missing", &words).unwrap_or_default(),
            evidence: section.boolean("evidence").unwrap_or(false),
            writing: WritingOptions::read(section, WritingOptions::greedy(MAX_TOKENS)),
        };
        if section.boolean("generative").unwrap_or(false) {
            return Some(options);
        }
        let writes = ["missing", "evidence", "max_tokens", "temperature"];
        for key in writes.into_iter().chain(["top_p", "top_k", "reasoning"]) {
            if section.has(key) {
                section.problem(key, "has a meaning with generative = true only");
            }
        }
        None
    }
}

/// Judgements in words.
pub(super) struct Generation<'a> {
    pub(super) how: Generative,
    pub(super) principles: &'a [Principle],
    pub(super) response: &'a str,
}

impl Generation<'_> {
    pub(super) async fn judge(
        &self,
        served: &Served,
        questions: &[PrincipleQuestion],
        client: &EngineClient<'_>,
        evidence: &mut Evidence,
    ) -> Result<Vec<Outcome>, Failure> {
        let prompts: Vec<_> = questions
            .iter()
            .map(|question| {
                let mut writing = self.how.writing.writing(stream_of(&question.prompted, 0));
                writing.logprobs = Some(judgement::TOP);
                (&question.prompted, writing)
            })
            .collect();
        let trace = evidence.trace.get_or_insert_default();
        let written = client.write(served, &prompts, trace).await?;
        if client.options().explain {
            evidence.outputs = Some(written.iter().map(|text| text.output("judgement")).collect());
        }
        let mut outcomes = Vec::with_capacity(written.len());
        for ((written, question), principle) in written.iter().zip(questions).zip(self.principles) {
            let mut outcome = self.verdict(served, written, &question.labels);
            if self.how.evidence
                && let Ok(scored) = &mut outcome
            {
                let spans = self.quoted(client, &written.text, principle).await?;
                if spans.is_empty() {
                    let detail = "no quotation of the judgement stands in the response";
                    scored.reason = Reason::with("evidence_not_found", detail);
                }
                evidence.spans.get_or_insert_default().extend(spans);
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn verdict(&self, served: &Served, written: &GeneratedText, labels: &Labels) -> Outcome {
        let log_odds = judgement::log_odds(served, written, labels);
        match (log_odds, self.how.missing) {
            (Ok(raw), _) => Ok(score_of(raw, "principle_judgement")),
            (Err(failure), Missing::Zero) if failure.kind == FailureKind::ParseError => {
                let mut scored = score_of(0.0, "judgement_missing_as_zero");
                scored.label = Some("unknown".into());
                scored.reason.detail = failure.reason.detail;
                Ok(scored)
            }
            (Err(failure), Missing::Zero | Missing::Error) => Err(failure),
        }
    }

    /// Locates the quotations of a judgement in the response.
    async fn quoted(
        &self,
        client: &EngineClient<'_>,
        judgement: &str,
        principle: &Principle,
    ) -> Result<Vec<SpanNote>, Failure> {
        let (judgement, response) = (judgement.to_owned(), self.response.to_owned());
        let label = principle.name.clone();
        let search = move || {
            let quotes = judgement::quotations(&judgement).into_iter();
            let places = quotes.filter_map(|quote| locate(quote, &response, QUOTE_RATIO));
            let note = |place: QuoteMatch| SpanNote {
                span: place.span,
                label: label.clone().into(),
                value: Some(place.ratio),
            };
            places.map(note).collect()
        };
        client.run(search).await
    }
}
