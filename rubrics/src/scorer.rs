//! Named, configured scorers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::Input;
use crate::kinds::answer::{AnswerScorer, AnswerSpec};
use crate::kinds::arithmetic::{self, ArithmeticScorer};
use crate::kinds::{InputFields, ScorerKind, native};
use crate::model_scorer::{CommonOptions, ModelScorer};
use crate::models::{Models, Served};
use crate::outcome::Failure;
use crate::pipeline::Pipeline;
use crate::programs::{Programs, SandboxStatus};

/// Scorers by name.
pub(crate) type ScorersByName = BTreeMap<String, Arc<Scorer>>;

/// A named, configured scorer of any kind. Plain data: [`crate::score`] evaluates it.
pub struct Scorer {
    name: String,
    kind: &'static str,
    description: &'static str,
    digest: ScorerDigest,
    /// Every model and adapter that it or one of its parts calls, by name, each once.
    models: Vec<String>,
    is_cheap: bool,
    is_async: bool,
    input_fields: InputFields,
    /// The parts of a pipeline, or the scorers that a kind calls.
    parts: Vec<Arc<Scorer>>,
    method: ScorerMethod,
}

/// Evaluation method of a scorer.
pub(crate) enum ScorerMethod {
    /// Extracts an answer and verifies it.
    Answer(AnswerScorer),
    /// Checks the arithmetic of each step.
    Arithmetic(Box<ArithmeticScorer>),
    /// Combines the outcomes of its parts.
    Pipeline(Pipeline),
    /// Calls models.
    Model(ModelScorer),
}

impl std::fmt::Debug for Scorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scorer")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// A scorer's digest, and its text, which most replies repeat.
struct ScorerDigest {
    bytes: [u8; 32],
    text: String,
}

/// Content of a scorer's digest.
#[derive(Serialize)]
struct Identity<'a, O> {
    kind: &'a str,
    revision: u32,
    options: O,
}

impl Scorer {
    /// A scorer that extracts an answer and verifies it within `fuel` units of work.
    pub(crate) fn answer(name: String, spec: AnswerSpec, is_cheap: bool, fuel: u64) -> Self {
        let id = spec.verifier.id();
        Self {
            name,
            kind: id.name,
            description: spec.description,
            digest: digest(id.name, id.revision, &(&spec.extract, spec.options, fuel)),
            models: Vec::new(),
            is_cheap,
            is_async: false,
            input_fields: InputFields::default(),
            parts: Vec::new(),
            method: ScorerMethod::Answer(AnswerScorer::new(spec.extract, spec.verifier, fuel)),
        }
    }

    /// A scorer that checks the arithmetic of every step.
    pub(crate) fn arithmetic(name: String, scorer: ArithmeticScorer) -> Self {
        let id = scorer.id();
        Self {
            name,
            kind: id.name,
            description: arithmetic::DESCRIPTION,
            digest: digest(id.name, id.revision, &scorer.options()),
            models: Vec::new(),
            is_cheap: false,
            is_async: false,
            input_fields: InputFields { steps: true, ..InputFields::default() },
            parts: Vec::new(),
            method: ScorerMethod::Arithmetic(Box::new(scorer)),
        }
    }

    /// A scorer that makes one number from others; `parts` holds the scorer of each part.
    pub(crate) fn pipeline(name: String, pipeline: Pipeline, parts: Vec<Arc<Scorer>>) -> Self {
        Self {
            name,
            kind: "pipeline",
            description: "makes one number from the scores of other scorers",
            digest: digest("pipeline", 2, &(&pipeline, digests(&parts))),
            models: model_names(&parts, &[]),
            is_cheap: false,
            is_async: parts.iter().any(|part| part.is_async),
            input_fields: parts
                .iter()
                .fold(InputFields::default(), |fields, part| fields.or(part.input_fields)),
            parts,
            method: ScorerMethod::Pipeline(pipeline),
        }
    }

    /// A scorer that calls models; `parts` holds the scorers of [`ScorerKind::scorers`].
    pub(crate) fn model(
        name: String,
        kind: Box<dyn ScorerKind>,
        common: CommonOptions,
        parts: Vec<Arc<Scorer>>,
    ) -> Self {
        let scorer = ModelScorer::new(kind, common);
        let kind = scorer.kind();
        Self {
            name,
            kind: kind.name(),
            description: kind.description(),
            digest: digest(kind.name(), kind.revision(), &scorer.digest_options(&digests(&parts))),
            models: model_names(&parts, &kind.models()),
            is_cheap: false,
            is_async: true,
            input_fields: united(kind.input_fields(), &parts),
            parts,
            method: ScorerMethod::Model(scorer),
        }
    }

    /// The scorer that a model or an adapter is by itself, under its own name: a `reward` scorer
    /// for a score head, a `process` scorer for a head that reads steps, with default options.
    ///
    /// # Errors
    /// What the model lacks, as a sentence without its full stop.
    pub fn native(served: &Served) -> Result<Self, String> {
        let kind = native::native(served)?;
        Ok(Self::model(served.name().to_string(), kind, CommonOptions::default(), Vec::new()))
    }

    /// The name in requests.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind, such as `math` or `pipeline`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Purpose in one sentence, without its full stop.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// Whether a verdict costs about as much as a look-up in a cache.
    pub fn is_cheap(&self) -> bool {
        self.is_cheap
    }

    /// SHA-256 over kind, revision and every option; the name does not count.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest.bytes
    }

    /// The digest as `sha256:` and hexadecimal digits.
    pub fn digest_text(&self) -> String {
        self.digest.text.clone()
    }

    /// SHA-256 over the scorer's digest and, for each model and adapter that it calls, its digest and
    /// the revision of its weights at this moment; [`Scorer::digest`] if it calls none. A cache key
    /// for scores: besides this digest only the input and the options of the request change a score.
    /// An equal digest before and after an evaluation shows that one revision of the weights computed
    /// all of it, because revisions only rise.
    pub fn digest_with(&self, models: &dyn Models) -> [u8; 32] {
        if self.models.is_empty() {
            return self.digest.bytes;
        }
        let mut hash = Sha256::new_with_prefix(self.digest.bytes);
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

    /// Whether it or one of its parts calls a model.
    pub fn uses_models(&self) -> bool {
        !self.models.is_empty()
    }

    /// Whether an evaluation may wait for engines; otherwise one worker thread does all of it.
    pub(crate) fn is_async(&self) -> bool {
        self.is_async
    }

    /// The models and adapters that it and its parts call, by name, each once.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// What its sandbox does and has done; `None` if it runs no programs.
    pub fn sandbox_status(&self) -> Option<SandboxStatus> {
        match &self.method {
            ScorerMethod::Model(scorer) => scorer.kind().programs().map(Programs::status),
            ScorerMethod::Answer(_) | ScorerMethod::Arithmetic(_) | ScorerMethod::Pipeline(_) => {
                None
            }
        }
    }

    /// Whether it compares the responses of a group and refuses a single response.
    pub fn is_pairwise(&self) -> bool {
        match &self.method {
            ScorerMethod::Model(scorer) => scorer.kind().is_pairwise(),
            ScorerMethod::Answer(_) | ScorerMethod::Arithmetic(_) | ScorerMethod::Pipeline(_) => {
                false
            }
        }
    }

    /// Checks it and its parts against the served models.
    ///
    /// # Errors
    /// Missing requirements, for the operator.
    pub fn check(&self, models: &dyn Models) -> Result<(), String> {
        self.parts.iter().try_for_each(|part| part.check(models))?;
        match &self.method {
            ScorerMethod::Answer(_) | ScorerMethod::Arithmetic(_) | ScorerMethod::Pipeline(_) => {
                Ok(())
            }
            ScorerMethod::Model(scorer) => scorer
                .check(models)
                .map_err(|what| format!("scorer '{}' ({}): {what}", self.name, self.kind)),
        }
    }

    pub(crate) fn method(&self) -> &ScorerMethod {
        &self.method
    }

    /// The parts of a pipeline, or the scorers that a kind calls.
    pub(crate) fn parts(&self) -> &[Arc<Scorer>] {
        &self.parts
    }

    /// Names a field of the input that the scorer would ignore; `None` without one. The prompt, which
    /// every row of a dataset has, is always accepted.
    pub fn unread_field(&self, input: &Input) -> Option<&'static str> {
        let used = self.input_fields;
        let given = [
            ("steps", input.steps.is_some() && !used.steps),
            ("principles", input.principles.is_some() && !used.principles),
            ("rubric", input.rubric.is_some() && !used.rubric),
            ("context", input.context.is_some() && !used.context),
        ];
        given.into_iter().find_map(|(field, is_unused)| is_unused.then_some(field))
    }

    /// The input without the fields that the scorer does not read.
    #[must_use]
    pub fn read_fields(&self, input: Input) -> Input {
        let used = self.input_fields;
        Input {
            steps: input.steps.filter(|_| used.steps),
            principles: input.principles.filter(|_| used.principles),
            rubric: input.rubric.filter(|_| used.rubric),
            context: input.context.filter(|_| used.context),
            ..input
        }
    }

    /// Refuses an input with a field that the scorer would ignore.
    ///
    /// # Errors
    /// [`crate::FailureKind::Refused`] with the name of the field.
    pub(crate) fn refuse_unused_fields(&self, input: &Input) -> Result<(), Failure> {
        let Some(field) = self.unread_field(input) else {
            return Ok(());
        };
        let detail = format!("scorer '{}' ({}) does not read '{field}'", self.name, self.kind);
        Err(Failure::refused("field_not_read", detail))
    }
}

/// The fields that a scorer or its parts use; a part sees no rubric.
fn united(own: InputFields, parts: &[Arc<Scorer>]) -> InputFields {
    let all = parts.iter().fold(own, |fields, part| fields.or(part.input_fields));
    InputFields { rubric: own.rubric, ..all }
}

fn digests(scorers: &[Arc<Scorer>]) -> Vec<String> {
    scorers.iter().map(|scorer| scorer.digest_text()).collect()
}

/// The models of `parts` and `own`, each once.
fn model_names(parts: &[Arc<Scorer>], own: &[&str]) -> Vec<String> {
    let parts = parts.iter().flat_map(|scorer| scorer.models());
    let all = own.iter().copied().chain(parts.map(String::as_str));
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn digest(kind: &str, revision: u32, options: &impl Serialize) -> ScorerDigest {
    let identity = Identity { kind, revision, options };
    let content = serde_json::to_string(&identity).expect("scorer options serialise");
    let bytes = Sha256::digest(content.as_bytes()).into();
    ScorerDigest { bytes, text: base::digest::text(&bytes) }
}
