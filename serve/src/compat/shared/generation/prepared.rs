//! Requests whose prompts are encoded and checked.

use std::sync::Arc;

use engine::{Request, RequestParams, Ticket};
use sha2::{Digest as _, Sha256};

use super::settings::{Settings, choices};
use super::types::{Generation, GenerationDigests, GenerationExtension};
use crate::caller::{Caller, digest_u64};
use crate::engine_errors::submit_error;
use crate::error::ApiError;
use crate::hosts::Served;

/// A prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptTokens {
    /// Token ids.
    pub(crate) token_ids: Arc<[u32]>,
    /// SHA-256 of its text or token ids, in hexadecimal.
    pub(crate) digest: String,
    /// The text to echo, if requested.
    pub(crate) echo: Option<String>,
}

/// The prompts of a request, at least one, and their JSON path.
#[derive(Debug)]
pub(super) struct Prompts {
    pub(super) all: Vec<PromptTokens>,
    pub(super) param: &'static str,
}

/// A checked request with its prompts as tokens.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    /// The model.
    pub(crate) served: Served,
    /// The requested model name.
    pub(crate) model: String,
    /// The prompts, at least one.
    pub(crate) prompts: Vec<PromptTokens>,
    /// JSON path of the prompts.
    pub(crate) param: &'static str,
    /// Continuations per prompt.
    pub(crate) n: u64,
    /// Generation settings.
    pub(crate) settings: Settings,
    /// Whether to stream the reply.
    pub(crate) stream: bool,
    /// Whether a stream ends with the usage.
    pub(crate) include_usage: bool,
    /// Request parameters of the engine.
    pub(crate) params: RequestParams,
}

impl PreparedRequest {
    /// Checks prompts for a model, which was requested by this name.
    ///
    /// # Errors
    /// An invalid number of continuations.
    pub(super) fn new(
        (model, served): (String, Served),
        prompts: Prompts,
        request: &Generation,
        settings: Settings,
        caller: Caller,
    ) -> Result<PreparedRequest, ApiError> {
        let stream = request.stream.unwrap_or(false);
        let options = request.stream_options.clone().unwrap_or_default();
        Ok(PreparedRequest {
            served,
            model,
            prompts: prompts.all,
            param: prompts.param,
            n: choices(request.n)?,
            settings,
            stream,
            include_usage: options.include_usage.unwrap_or(false),
            params: request_params(request, caller, stream),
        })
    }

    /// Submits requests to the engine.
    pub(super) fn enqueue(&self, requests: Vec<Request>) -> Result<Ticket, ApiError> {
        let taken = self.served.host.engine.submit(requests, self.params);
        taken.map_err(|error| submit_error(&error, &self.served.pace, self.param))
    }

    /// Returns the number of sequences to generate.
    pub(crate) fn n_sequences(&self) -> u64 {
        self.n.saturating_mul(self.prompts.len() as u64)
    }

    /// Returns the index of the prompt that a sequence continues.
    pub(super) fn prompt_index(&self, sequence: usize) -> usize {
        sequence / usize::try_from(self.n).expect("at most 128")
    }

    /// Returns the extension fields of the reply, with counts of zero.
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

    /// Returns the adapter's current digest.
    pub(crate) fn adapter_digest(&self) -> Option<Arc<str>> {
        let name = self.served.adapter.as_ref()?;
        let adapters = self.served.host.engine.status().adapters;
        let adapter = adapters.into_iter().find(|known| known.name == *name)?;
        Some(adapter.digest)
    }

    /// Returns a fingerprint of the digests of model and adapter, and of the weights revision if
    /// the weights change.
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
        format!("fp_{}", base::digest::hex(&digest[..6]))
    }
}

/// Returns the request parameters. A stream has no deadline, since its reader sees the progress.
fn request_params(request: &Generation, caller: Caller, stream: bool) -> RequestParams {
    let priority = request.priority.map(|super::types::Urgency(priority)| priority);
    let salt = request.cache_salt.as_deref();
    RequestParams {
        priority: caller.priority(priority.unwrap_or_default()),
        client: caller.client,
        salt: salt.map_or(0, |salt| digest_u64(salt.as_bytes())),
        deadline: (!stream).then_some(caller.deadline),
    }
}
