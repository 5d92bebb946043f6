//! A named, configured judge.

use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use verifiers::Verifier;
use verifiers::arithmetic::Arithmetic;

use crate::answer::{AnswerScorer, Extract};
use crate::hex::sha256_text;
use crate::kinds::{Kind, Reads, native};
use crate::method::{Common, ModelMethod};
use crate::models::{Models, Served};
use crate::outcome::{Failure, Outcome};
use crate::pipeline::Pipeline;
use crate::score::Ask;
use crate::steps::{self, Checks};
use crate::{Input, Passage, Responses, group};

/// A named, configured judge of any kind. Immutable once built.
pub struct Scorer {
    name: String,
    kind: &'static str,
    description: &'static str,
    digest: [u8; 32],
    /// Every model and adapter that it or one of its parts asks, by name, each once.
    models: Vec<String>,
    method: Method,
}

/// How a scorer judges.
pub(crate) enum Method {
    /// Extract an answer and verify it.
    Answer(AnswerScorer),
    /// Check the arithmetic of each step.
    Arithmetic(Box<Arithmetic>, Checks, u64),
    /// Ask other scorers.
    Pipeline(Pipeline, Vec<Arc<Scorer>>),
    /// Ask models.
    Model(ModelMethod),
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
            models: Vec::new(),
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
            models: Vec::new(),
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
            models: models_of(&scorers.iter().collect::<Vec<_>>(), &[]),
            method: Method::Pipeline(pipeline, scorers),
        }
    }

    /// A scorer that asks models.
    pub(crate) fn model(name: String, kind: Box<dyn Kind>, common: Common) -> Self {
        let method = ModelMethod::new(kind, common);
        let kind = method.kind();
        Self {
            name,
            kind: kind.word(),
            description: kind.description(),
            digest: digest(kind.word(), kind.revision(), &method.options()),
            models: models_of(&kind.scorers(), &kind.models()),
            method: Method::Model(method),
        }
    }

    /// The scorer that a model or an adapter is by itself, under its own name: a score head is a
    /// `reward` scorer, a head that reads steps a `process` scorer, with the defaults of the kind.
    ///
    /// # Errors
    /// What the model lacks, as a sentence without its full stop.
    pub fn native(served: &Served) -> Result<Self, String> {
        native::native(served)
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
        sha256_text(&self.digest)
    }

    /// SHA-256 over the scorer's digest, those of the models and adapters that it asks, as they are
    /// being served, and the revisions of their weights: what may change a verdict beside the input
    /// and how it is asked. Where it is the same before something was judged and after, all of it
    /// was judged by the same: no weights ever come back to an earlier revision.
    pub fn digest_with(&self, models: &dyn Models) -> [u8; 32] {
        if self.models.is_empty() {
            return self.digest;
        }
        let mut hash = Sha256::new_with_prefix(self.digest);
        for name in &self.models {
            let served = models.find(name);
            let model = served.as_ref().map_or("", |served| &*served.host.digest);
            let adapter = served.as_ref().and_then(|served| served.adapter.as_ref());
            let adapter = adapter.map_or("", |adapter| &*adapter.digest);
            for part in [model, adapter] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            let revision = served.as_ref().and_then(|served| served.host.revision());
            hash.update(revision.unwrap_or(0).to_le_bytes());
        }
        hash.finalize().into()
    }

    /// Whether it or one of its parts asks a model.
    pub fn asks_models(&self) -> bool {
        !self.models.is_empty()
    }

    /// Whether it is judged by the walk, which may wait for models and for other scorers, and not
    /// on one thread from beginning to end.
    pub(crate) fn walks(&self) -> bool {
        match &self.method {
            Method::Answer(_) | Method::Arithmetic(..) => false,
            Method::Pipeline(_, scorers) => scorers.iter().any(|scorer| scorer.walks()),
            Method::Model(_) => true,
        }
    }

    /// The models and adapters that it and its parts ask, by name, each once.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// Whether it compares the responses of a group, and has nothing to say of one alone.
    pub fn compares(&self) -> bool {
        match &self.method {
            Method::Model(method) => method.kind().compares(),
            Method::Answer(_) | Method::Arithmetic(..) | Method::Pipeline(..) => false,
        }
    }

    /// Checks it and its parts against the models that are being served.
    ///
    /// # Errors
    /// What is missing, for the person who starts the server.
    pub fn check(&self, models: &dyn Models) -> Result<(), String> {
        match &self.method {
            Method::Answer(_) | Method::Arithmetic(..) => Ok(()),
            Method::Pipeline(_, scorers) => {
                scorers.iter().try_for_each(|scorer| scorer.check(models))
            }
            Method::Model(method) => {
                let mut scorers = method.scorers().into_iter();
                scorers.try_for_each(|scorer| scorer.check(models))?;
                let named = |what| format!("scorer '{}' ({}): {what}", self.name, self.kind);
                method.check(models).map_err(named)
            }
        }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// One outcome for responses that were judged one by one.
    pub(crate) fn grouped(&self, outcomes: Vec<Outcome>) -> Outcome {
        let group = group::mean(outcomes);
        match &self.method {
            Method::Pipeline(pipeline, _) => pipeline.normalise(group),
            Method::Answer(_) | Method::Arithmetic(..) | Method::Model(_) => group,
        }
    }

    /// Judges one input on this thread; one that asks models refuses, and [`crate::score`] is the
    /// way.
    pub fn judge(&self, input: &Input, ask: &Ask) -> Outcome {
        if self.walks() {
            let detail = "this scorer asks models or other scorers, which one thread cannot do";
            return Err(Failure::refused("models_needed", detail));
        }
        self.refuse_unread_fields(input)?;
        match &input.responses {
            Responses::Missing => Err(Failure::response_missing()),
            Responses::Conflicting => Err(Failure::response_conflict()),
            Responses::One(passage) => self.judge_passage(input, passage, ask),
            Responses::Group(passages) if passages.is_empty() => Err(Failure::responses_empty()),
            Responses::Group(passages) => {
                let judged = passages.iter().map(|passage| self.judge_passage(input, passage, ask));
                self.grouped(judged.collect())
            }
        }
    }

    /// A field that asks a question which this scorer would not answer is refused and not
    /// dropped. The prompt, the context of a dataset row, is always welcome.
    pub(crate) fn refuse_unread_fields(&self, input: &Input) -> Result<(), Failure> {
        let reads = self.reads();
        let given = [
            ("steps", input.steps.is_some() && !reads.steps),
            ("principles", input.principles.is_some() && !reads.principles),
            ("rubric", input.rubric.is_some() && !reads.rubric),
            ("context", input.context.is_some() && !reads.context),
        ];
        let Some((field, _)) = given.iter().find(|(_, unread)| *unread) else {
            return Ok(());
        };
        let detail = format!("scorer '{}' ({}) does not read '{field}'", self.name, self.kind);
        Err(Failure::refused("field_not_read", detail))
    }

    fn reads(&self) -> Reads {
        match &self.method {
            Method::Answer(_) => Reads::default(),
            Method::Arithmetic(..) => Reads { steps: true, ..Reads::default() },
            Method::Pipeline(_, scorers) => {
                scorers.iter().fold(Reads::default(), |reads, scorer| reads.or(scorer.reads()))
            }
            Method::Model(method) => method.reads(),
        }
    }

    fn judge_passage(&self, input: &Input, passage: &Passage, ask: &Ask) -> Outcome {
        let Some(response) = passage.answer_text() else {
            return Err(Failure::response_not_assistant());
        };
        self.judge_text(input, response, ask)
    }

    /// Judges the text of a response on this thread.
    ///
    /// # Panics
    /// Where a model would have to be asked: [`crate::walk`] does that.
    pub(crate) fn judge_text(&self, input: &Input, response: &str, ask: &Ask) -> Outcome {
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
            Method::Model(_) => unreachable!("scorers that ask models are walked"),
        }
    }
}

/// All names that `scorers` ask, and `own`, each once.
fn models_of(scorers: &[&Arc<Scorer>], own: &[&str]) -> Vec<String> {
    let parts = scorers.iter().flat_map(|scorer| scorer.models());
    let all = own.iter().copied().chain(parts.map(String::as_str));
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn digest(kind: &str, revision: u32, options: &impl Serialize) -> [u8; 32] {
    let identity = Identity { kind, revision, options };
    let text = serde_json::to_string(&identity).expect("scorer options serialise");
    Sha256::digest(text.as_bytes()).into()
}
