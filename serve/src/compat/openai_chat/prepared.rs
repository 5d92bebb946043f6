//! A request whose prompts are tokens.

use std::sync::Arc;

use engine::{Request, RequestParams, Task, Ticket};
use sha2::{Digest as _, Sha256};

use super::continuation::Continuation;
use super::generation::RunningGeneration;
use super::invalid;
use super::settings::{Settings, choices};
use super::types::{Generation, GenerationDigests, GenerationExtension};
use crate::caller::{Caller, digest_u64};
use crate::engine_errors::submit_error;
use crate::error::ApiError;
use crate::hosts::Served;

/// Most sequences that one request may generate.
const MAX_SEQUENCES: u64 = 2_048;

/// One prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptTokens {
    /// Its tokens.
    pub(crate) token_ids: Arc<[u32]>,
    /// SHA-256 of what it was made of, in hexadecimal.
    pub(crate) digest: String,
    /// What an echo repeats, where one was asked for.
    pub(crate) echo: Option<String>,
}

/// The prompts of a request, at least one, and the part of it that they come from.
#[derive(Debug)]
pub(super) struct Prompts {
    pub(super) all: Vec<PromptTokens>,
    pub(super) param: &'static str,
}

/// A request whose prompts are tokens, and what is to be done with them.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    /// The model.
    pub(crate) served: Served,
    /// The name that it was asked for by.
    pub(crate) model: String,
    /// The prompts, at least one.
    pub(crate) prompts: Vec<PromptTokens>,
    /// The part of the request that the prompts come from.
    pub(crate) param: &'static str,
    /// Continuations of each.
    pub(crate) n: u64,
    /// How to continue.
    pub(crate) settings: Settings,
    /// Whether the reply comes in pieces.
    pub(crate) stream: bool,
    /// Whether a stream ends with the usage.
    pub(crate) include_usage: bool,
    /// How the engine is to treat it.
    pub(crate) terms: RequestParams,
}

impl PreparedRequest {
    /// Of prompts for a model, which was asked for by this name.
    ///
    /// # Errors
    /// A number of choices that cannot be.
    pub(super) fn new(
        (model, served): (String, Served),
        prompts: Prompts,
        asked: &Generation,
        settings: Settings,
        caller: Caller,
    ) -> Result<PreparedRequest, ApiError> {
        let stream = asked.stream.unwrap_or(false);
        let options = asked.stream_options.clone().unwrap_or_default();
        Ok(PreparedRequest {
            served,
            model,
            prompts: prompts.all,
            param: prompts.param,
            n: choices(asked.n)?,
            settings,
            stream,
            include_usage: options.include_usage.unwrap_or(false),
            terms: terms(asked, caller, stream),
        })
    }

    /// Hands the prompts to the engine. Sequences are in the order of the prompts, those of one
    /// prompt in the order of their choices.
    ///
    /// # Errors
    /// What the engine does not take, and what cannot be compiled.
    pub(crate) fn submit(&self) -> Result<RunningGeneration, ApiError> {
        let n_sequences = self.n.saturating_mul(self.prompts.len() as u64);
        if n_sequences > MAX_SEQUENCES {
            let message = format!("{n_sequences} sequences; a request takes {MAX_SEQUENCES}");
            return Err(invalid("n", message));
        }
        let host = &self.served.host;
        let constraint = self.settings.constraint(&self.served)?;
        let (mut works, mut choices) = (Vec::new(), Vec::new());
        for prompt in &self.prompts {
            for choice in 0..self.n {
                let own = constraint.as_ref().map(|constraint| constraint.fork());
                let sampling = self.settings.sampling(host, own, choice)?;
                let skip_special = self.settings.skip_special;
                choices.push(Continuation::new(&sampling, &host.tokenizer, skip_special));
                works.push(Request {
                    token_ids: prompt.token_ids.clone(),
                    adapter: self.served.adapter.clone(),
                    task: Task::Generate(Box::new(sampling)),
                });
            }
        }
        let ticket = self.give(works)?;
        Ok(RunningGeneration::new(self, ticket, choices))
    }

    /// Hands works to the engine.
    pub(super) fn give(&self, works: Vec<Request>) -> Result<Ticket, ApiError> {
        let taken = self.served.host.engine.submit(works, self.terms);
        taken.map_err(|error| submit_error(&error, &self.served.pace, self.param))
    }

    /// The prompt that a sequence continues, as an index.
    pub(super) fn prompt_index(&self, sequence: usize) -> usize {
        sequence / usize::try_from(self.n).expect("at most 128")
    }

    /// What a reply says beyond the interface it follows; its counts are still at zero.
    pub(super) fn extension(&self, adapter: Option<&str>) -> GenerationExtension {
        let prompt = match &self.prompts[..] {
            [one] => Some(format!("sha256:{}", one.digest)),
            _ => None,
        };
        GenerationExtension {
            digests: GenerationDigests {
                model: self.served.host.digest.to_string(),
                adapter: adapter.map(str::to_owned),
                prompt,
                revisions: None,
            },
            ..GenerationExtension::default()
        }
    }

    /// The digest that the adapter has now.
    pub(crate) fn adapter_digest(&self) -> Option<Arc<str>> {
        let name = self.served.adapter.as_ref()?;
        let adapters = self.served.host.engine.status().adapters;
        let adapter = adapters.into_iter().find(|known| known.name == *name)?;
        Some(adapter.digest)
    }

    /// A short name of what computes, that follows from the digests of model and adapter, and from
    /// the revision of weights that change.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.served.host.digest.as_bytes());
        if let Some(adapter) = self.adapter_digest() {
            hash.update(b" ");
            hash.update(adapter.as_bytes());
        }
        if let Some(revision) = self.served.host.revision() {
            hash.update(revision.to_le_bytes());
        }
        let digest = hash.finalize();
        let hex = digest.iter().take(6).map(|byte| format!("{byte:02x}"));
        hex.fold("fp_".to_owned(), |all, one| all + &one)
    }
}

/// The terms that a request asks for. A stream has no deadline: who reads it sees how it goes.
fn terms(asked: &Generation, caller: Caller, stream: bool) -> RequestParams {
    let priority = asked.priority.map(|super::types::Urgency(priority)| priority);
    let salt = asked.cache_salt.as_deref();
    RequestParams {
        priority: caller.priority(priority.unwrap_or_default()),
        client: caller.client,
        salt: salt.map_or(0, |salt| digest_u64(salt.as_bytes())),
        deadline: (!stream).then_some(caller.deadline),
    }
}
