//! Shared parts of the critic's modes: options of critiques, and the scorer of the outcome.

use engine::Grammar;
use futures_util::future::join;
use serde::Serialize;

use super::steps::Steps;
use crate::config::Section;
use crate::engine_client::{EngineClient, GeneratedText, stream_of};
use crate::kinds::options::{Wording, WritingOptions, read_share};
use crate::kinds::prompting::{self, EvaluationLog};
use crate::kinds::{KindContext, Names};
use crate::outcome::{Failure, Outcome};
use crate::sample::Sample;
use crate::split::{SPLITTERS, Splitter};
use crate::{Message, group};

/// Default limit of a critique's tokens.
const MAX_TOKENS: usize = 2048;

/// Generation options of a critic.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Critique {
    #[serde(flatten)]
    pub(super) writing: WritingOptions,
    /// Whether the last line is forced into its form while it is written.
    pub(super) constrain: bool,
}

impl Critique {
    pub(super) fn read(section: &Section<'_, '_>, temperature: f32) -> Self {
        let default = WritingOptions { temperature, ..WritingOptions::greedy(MAX_TOKENS) };
        Self {
            writing: WritingOptions::read(section, default),
            constrain: section.boolean("constrain").unwrap_or(true),
        }
    }

    /// Has `samples` critiques written of one prompt. They share all of it, and differ by chance.
    pub(super) async fn ask(
        &self,
        request: CritiqueRequest<'_>,
        client: &EngineClient<'_>,
        log: &mut EvaluationLog,
    ) -> Result<Vec<GeneratedText>, Failure> {
        let served = client.served(request.model)?;
        let prompt =
            prompting::prompt(client, &served, request.turns, self.writing.reasoning).await?;
        let one = |sample: u64| {
            let mut writing = self.writing.writing(stream_of(&prompt, sample));
            writing.grammar = self.constrain.then(|| request.last_line.clone());
            (&prompt, writing)
        };
        let all: Vec<_> = (0..request.samples).map(one).collect();
        let written = client.write(&served, &all, &mut log.trace).await?;
        for critique in &written {
            log.wrote("critique", critique);
        }
        Ok(written)
    }

    /// Runs the request and the scorer of outcomes side by side.
    ///
    /// # Errors
    /// A model that is not served.
    pub(super) async fn ask_with_outcome<'a>(
        &'a self,
        request: CritiqueRequest<'a>,
        wording: &'a Wording,
        scorer: Option<&'a OutcomeScorer>,
        (sample, context): (Sample<'a>, KindContext<'a>),
    ) -> Result<Criticised, Failure> {
        let client = context.client;
        let mut log = EvaluationLog::new(client, &client.served(request.model)?, &[&**wording]);
        let outcome = async {
            match scorer {
                None => None,
                Some(scorer) => Some(scorer.evaluate(sample, context).await),
            }
        };
        let (written, outcome) = join(self.ask(request, client, &mut log), outcome).await;
        if let Some(trace) = group::trace(&outcome) {
            log.trace.add(&trace);
        }
        Ok(Criticised { written, outcome, log })
    }
}

/// A request for critiques of one solution.
pub(super) struct CritiqueRequest<'a> {
    pub(super) model: &'a str,
    pub(super) turns: Vec<Message>,
    pub(super) samples: u64,
    /// Grammar of the text if it is constrained.
    pub(super) last_line: Grammar,
}

/// `splitter` (`blank_lines`): what separates the steps of a response that comes without `steps`.
pub(super) fn splitter(section: &Section<'_, '_>) -> Splitter {
    section.word("splitter", SPLITTERS).unwrap_or_default()
}

/// The scorer that `outcome` names: one that comes before this one in the file, or a built-in one.
pub(super) fn outcome_scorer(
    section: &Section<'_, '_>,
    names: &Names<'_>,
) -> Result<Option<OutcomeScorer>, ()> {
    let least = read_share(section, "outcome_threshold").unwrap_or(0.5);
    let Some(name) = section.text("outcome") else {
        return if section.has("outcome") { Err(()) } else { Ok(None) };
    };
    if names.has_scorer(&name) {
        return Ok(Some(OutcomeScorer { name, least }));
    }
    let hint = names.scorer_hint(&name);
    let message = format!("no scorer '{name}' comes before this one{hint}");
    section.problem("outcome", message);
    Err(())
}

/// The scorer that measures whether a solution is right, beside the critic.
#[derive(Debug, Clone)]
pub(super) struct OutcomeScorer {
    pub(super) name: String,
    /// Least score of a right solution.
    least: f64,
}

/// The critiques of a solution and its outcome.
pub(super) struct Criticised {
    pub(super) written: Result<Vec<GeneratedText>, Failure>,
    /// `None` without a scorer of outcomes.
    pub(super) outcome: Option<Outcome>,
    pub(super) log: EvaluationLog,
}

/// The messages that ask for critiques of a solution by its steps.
pub(super) fn steps_prompt(
    wording: &Wording,
    sample: &Sample<'_>,
    steps: &Steps<'_>,
    show_reference: bool,
) -> Result<Vec<Message>, Failure> {
    Ok(wording.fill(&[
        ("problem", &prompting::problem(sample)?),
        ("reference", &prompting::reference_shown(sample, show_reference)?),
        ("steps", &steps.numbered()),
        ("count", &steps.len().to_string()),
    ]))
}

/// As a pair; the scorer's own digest is part of the digest of the critic.
impl Serialize for OutcomeScorer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.name, self.least).serialize(serializer)
    }
}

impl OutcomeScorer {
    pub(super) async fn evaluate<'a>(
        &'a self,
        sample: Sample<'a>,
        context: KindContext<'a>,
    ) -> Outcome {
        context.scorers.evaluate(&self.name, sample).await
    }

    /// Whether the outcome is that the solution is right.
    ///
    /// # Errors
    /// The scorer's failure, in its name.
    pub(super) fn is_right(&self, outcome: &Outcome) -> Result<bool, Failure> {
        match outcome {
            Ok(scored) => Ok(scored.score >= self.least),
            Err(failure) => {
                let code = failure.reason.code;
                let detail = failure.reason.detail.as_deref().unwrap_or(code);
                let detail = format!("outcome '{}': {detail}", self.name);
                let reason = verifiers::Reason::with(code, detail);
                Err(Failure::new(failure.kind, reason))
            }
        }
    }
}
