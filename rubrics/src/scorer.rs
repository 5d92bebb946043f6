//! A named, configured judge.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use verifiers::arithmetic::Arithmetic;
use verifiers::{Reason, Standing, Verifier};

use crate::answer::{AnswerScorer, Extract};
use crate::outcome::{Evidence, Failure, Member, Outcome, Reward};
use crate::pipeline::Pipeline;
use crate::score::Ask;
use crate::steps::{self, Checks};
use crate::{Input, Passage, Responses};

/// A named, configured judge of any kind. Immutable once built.
pub struct Scorer {
    name: String,
    kind: &'static str,
    description: &'static str,
    digest: [u8; 32],
    method: Method,
}

/// How a scorer judges. A closed set: server and trainer must know them all.
enum Method {
    /// Extract an answer and verify it.
    Answer(AnswerScorer),
    /// Check the arithmetic of each step.
    Arithmetic(Box<Arithmetic>, Checks, u64),
    /// Ask other scorers.
    Pipeline(Pipeline, Vec<Arc<Scorer>>),
}

impl std::fmt::Debug for Scorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scorer")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// What makes a scorer that extracts an answer and verifies it.
pub(crate) struct AnswerSpec {
    pub(crate) description: &'static str,
    pub(crate) extract: Extract,
    pub(crate) verifier: Box<dyn Verifier>,
    /// The verifier's configuration, for the digest.
    pub(crate) options: serde_json::Value,
}

/// What goes into a scorer's digest.
#[derive(Serialize)]
struct Identity<'a, O> {
    kind: &'a str,
    revision: u32,
    options: O,
}

impl Scorer {
    /// A scorer that extracts an answer and verifies it within `fuel` units of work.
    pub(crate) fn answer(name: String, spec: AnswerSpec, fuel: u64) -> Self {
        let id = spec.verifier.id();
        Self {
            name,
            kind: id.name,
            description: spec.description,
            digest: digest(id.name, id.revision, &(&spec.extract, spec.options, fuel)),
            method: Method::Answer(AnswerScorer::new(spec.extract, spec.verifier, fuel)),
        }
    }

    /// A scorer that checks the arithmetic of every step.
    pub(crate) fn arithmetic(
        name: String,
        config: verifiers::arithmetic::ArithmeticConfig,
        checks: Checks,
        fuel: u64,
    ) -> Self {
        let digested = (config.clone(), checks, fuel);
        let arithmetic = Arithmetic::new(config);
        let id = arithmetic.id();
        Self {
            name,
            kind: id.name,
            description: "checks every equality that a solution's steps state",
            digest: digest(id.name, id.revision, &digested),
            method: Method::Arithmetic(Box::new(arithmetic), checks, fuel),
        }
    }

    /// A scorer that makes one number from others; `scorers` holds one entry a part.
    pub(crate) fn pipeline(name: String, pipeline: Pipeline, scorers: Vec<Arc<Scorer>>) -> Self {
        let parts: Vec<String> = scorers.iter().map(|scorer| scorer.digest_text()).collect();
        Self {
            name,
            kind: "pipeline",
            description: "makes one number from the scores of other scorers",
            digest: digest("pipeline", 1, &(&pipeline, parts)),
            method: Method::Pipeline(pipeline, scorers),
        }
    }

    /// The name that requests use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind, such as `math` or `pipeline`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What it does, in a sentence without its full stop.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// Whether a verdict costs about as much as looking it up in a cache: extraction and a
    /// comparison, nothing compiled, nothing searched for in the whole response.
    pub fn is_cheap(&self) -> bool {
        matches!(self.kind, "math" | "choice" | "text" | "exact")
    }

    /// SHA-256 over kind, revision and every option; the name does not count.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The digest as `sha256:` and hexadecimal digits.
    pub fn digest_text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::from("sha256:");
        for byte in self.digest {
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        }
        text
    }

    /// Judges one input on this thread.
    pub fn judge(&self, input: &Input, ask: &Ask) -> Outcome {
        self.refuse_unread_fields(input)?;
        match &input.responses {
            Responses::Missing => Err(Failure::refused(
                "response_missing",
                "give 'response', or 'responses' for a group",
            )),
            Responses::Conflicting => Err(Failure::refused(
                "response_conflict",
                "give either 'response' or 'responses', not both",
            )),
            Responses::One(passage) => self.judge_passage(input, passage, ask),
            Responses::Group(passages) => self.judge_group(input, passages, ask),
        }
    }

    /// A field that asks a question which this scorer would not answer is refused and not
    /// dropped. The prompt, the context of a dataset row, is always welcome.
    fn refuse_unread_fields(&self, input: &Input) -> Result<(), Failure> {
        let given = [
            ("steps", input.steps.is_some() && !self.reads_steps()),
            ("principles", input.principles.is_some()),
            ("rubric", input.rubric.is_some()),
            ("context", input.context.is_some()),
        ];
        let Some((field, _)) = given.iter().find(|(_, unread)| *unread) else {
            return Ok(());
        };
        let detail = format!(
            "scorer '{}' ({}) does not read '{field}'",
            self.name, self.kind
        );
        Err(Failure::refused("field_not_read", detail))
    }

    fn reads_steps(&self) -> bool {
        match &self.method {
            Method::Answer(_) => false,
            Method::Arithmetic(..) => true,
            Method::Pipeline(_, scorers) => scorers.iter().any(|scorer| scorer.reads_steps()),
        }
    }

    fn judge_passage(&self, input: &Input, passage: &Passage, ask: &Ask) -> Outcome {
        let Some(response) = passage.answer_text() else {
            let detail = "the last message of a response must have the role 'assistant'";
            return Err(Failure::refused("response_not_assistant", detail));
        };
        self.judge_text(input, response, ask)
    }

    fn judge_text(&self, input: &Input, response: &str, ask: &Ask) -> Outcome {
        match &self.method {
            Method::Answer(scorer) => scorer.judge(input, response, ask.explain),
            Method::Arithmetic(arithmetic, checks, fuel) => {
                steps::judge(arithmetic, *checks, *fuel, input, response)
            }
            Method::Pipeline(pipeline, scorers) => {
                let mut outcomes = vec![None; scorers.len()];
                while let Some(next) = pipeline.next(&outcomes) {
                    outcomes[next] = Some(scorers[next].judge_text(input, response, ask));
                }
                pipeline.combine(outcomes)
            }
        }
    }

    /// Every response by itself. The group's score is the mean, which for right and wrong answers
    /// is the pass rate; it exists only where every response has a score.
    fn judge_group(&self, input: &Input, passages: &[Passage], ask: &Ask) -> Outcome {
        if passages.is_empty() {
            return Err(Failure::refused("responses_empty", "'responses' is empty"));
        }
        let judged = passages
            .iter()
            .map(|passage| self.judge_passage(input, passage, ask));
        let mut members = ranked(judged.collect());
        if let Method::Pipeline(pipeline, _) = &self.method {
            pipeline.normalise(&mut members)?;
        }
        let scores: Result<Vec<f64>, &Failure> = members
            .iter()
            .map(|member| member.outcome.as_ref().map(|reward| reward.score))
            .collect();
        let whole = scores.map(|scores| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a group has far fewer than 2^53 members"
            )]
            let count = scores.len() as f64;
            scores.iter().sum::<f64>() / count
        });
        let (kind, reason) = match whole {
            Ok(score) => {
                return Ok(Reward {
                    score,
                    raw: None,
                    label: Some(Cow::Borrowed("group")),
                    reason: Reason::code("group_mean"),
                    standing: Standing::Proven,
                    evidence: Evidence {
                        members: Some(members),
                        ..Evidence::default()
                    },
                });
            }
            Err(failure) => (failure.kind, failure.reason.clone()),
        };
        Err(Failure {
            kind,
            reason,
            evidence: Evidence {
                members: Some(members),
                ..Evidence::default()
            },
        })
    }
}

/// Members with competition ranks: equal scores share the rank of the first of them.
fn ranked(outcomes: Vec<Outcome>) -> Vec<Member> {
    let score = |outcome: &Outcome| outcome.as_ref().ok().map(|reward| reward.score);
    let scores: Vec<Option<f64>> = outcomes.iter().map(score).collect();
    let rank = |own: f64| {
        1 + scores
            .iter()
            .flatten()
            .filter(|other| **other > own)
            .count()
    };
    let ranks: Vec<Option<usize>> = scores.iter().map(|own| own.map(rank)).collect();
    let members = outcomes.into_iter().zip(ranks);
    members
        .map(|(outcome, rank)| Member {
            outcome,
            rank,
            normalised: None,
        })
        .collect()
}

fn digest(kind: &str, revision: u32, options: &impl Serialize) -> [u8; 32] {
    let identity = Identity {
        kind,
        revision,
        options,
    };
    let text = serde_json::to_string(&identity).expect("scorer options serialise");
    Sha256::digest(text.as_bytes()).into()
}
