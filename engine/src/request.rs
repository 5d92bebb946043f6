//! Requests: a token sequence, its task, and the output.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use base::Priority;
use models::batch::{Output, OutputSpec};

use crate::error::RequestError;
use crate::sampling::{FinishReason, SampledToken, SamplingParams};

/// One token sequence and its task.
#[derive(Debug)]
pub struct Request {
    /// All tokens of the sequence, from the first.
    pub token_ids: Arc<[u32]>,
    /// Name of the adapter; `None` for the base model.
    pub adapter: Option<Arc<str>>,
    /// The task.
    pub task: Task,
}

/// A task: the outputs to compute for a sequence.
#[derive(Debug)]
pub enum Task {
    /// One output for each row: the index of a token and the output to compute there.
    Rows(Vec<(usize, OutputSpec)>),
    /// Generate a continuation.
    ///
    /// [`SampledToken::logprob`] is a policy's log-probability only at temperature 1 and without
    /// `top_p`, `top_k`, `min_p`, penalties, bias, `min_tokens` or a constraint. It then has the
    /// bits that a forward over the same tokens under the weights of [`SampledToken::revision`]
    /// gives, so that the first importance ratio of a policy gradient is exactly 1. With any other
    /// parameters it is still that of the unmodified distribution, and importance ratios made
    /// with it are wrong.
    Generate(Box<SamplingParams>),
}

impl Task {
    /// The head's outputs at these tokens.
    pub fn scores(at: impl IntoIterator<Item = usize>) -> Task {
        Task::Rows(at.into_iter().map(|at| (at, OutputSpec::Head)).collect())
    }

    /// Logits of label tokens as the continuation of token `at`; with `mass` also the log
    /// normalizer, from which the labels' total probability follows.
    pub fn labels(at: usize, columns: Arc<[u32]>, mass: bool) -> Task {
        Task::Rows(vec![(at, OutputSpec::Labels { columns, mass })])
    }

    /// Log-probabilities of the tokens in `span`, each given those before it. `span` starts at 1
    /// or later, because the first token has no log-probability.
    pub fn logprobs(token_ids: &[u32], span: Range<usize>) -> Task {
        Task::Rows(span.map(|at| (at - 1, OutputSpec::Logprob(token_ids[at]))).collect())
    }
}

/// Parameters of scheduling, common to the requests of one submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestParams {
    /// Interactive requests go first; batch requests keep a share of each step.
    pub priority: Priority,
    /// The client, for fair queueing: clients under load get equal shares of tokens.
    pub client: u64,
    /// Cache salt: prefixes are shared only among requests with the same salt.
    pub salt: u64,
    /// When unfinished requests fail with [`RequestError::Deadline`].
    pub deadline: Option<Instant>,
}

/// Counts the tokens that clients use.
pub trait TokenMeter: std::fmt::Debug + Send + Sync {
    /// Counts input tokens, when their request is queued.
    fn input(&self, client: u64, tokens: usize);

    /// Counts output tokens, as they are made.
    fn output(&self, client: u64, tokens: usize);
}

/// A message from the engine about one request of a submission.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestEvent {
    /// New tokens of a generation.
    Tokens {
        /// Index of the request in the submission.
        request: usize,
        /// The tokens, in order.
        tokens: Vec<SampledToken>,
    },
    /// The request is finished; no event follows for it.
    Done {
        /// Index of the request in the submission.
        request: usize,
        /// The output, or why there is none.
        result: Result<RequestOutput, RequestError>,
    },
}

/// The output of a finished request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOutput {
    /// The output of the task.
    pub output: TaskOutput,
    /// Token counts.
    pub usage: Usage,
    /// Digest of the adapter that was used; `None` for the base model.
    pub adapter: Option<Arc<str>>,
    /// Revision of the weights (see [`crate::Engine::update_weights`]); 0 if they never changed.
    /// Every row is of it. The tokens of a generation have their own; the last token's is this.
    pub revision: u64,
}

impl RequestOutput {
    /// The oldest and the newest revision that contributed.
    pub fn revisions(&self) -> Revisions {
        let first = match &self.output {
            TaskOutput::Rows(_) => None,
            TaskOutput::Tokens { tokens, .. } => tokens.first(),
        };
        Revisions {
            oldest: first.map_or(self.revision, |token| token.revision),
            newest: self.revision,
        }
    }
}

/// The range of weight revisions that an output was computed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// The oldest.
    pub oldest: u64,
    /// The newest; equal to `oldest` if the weights did not change meanwhile.
    pub newest: u64,
}

impl Revisions {
    /// The range that covers all parts; `None` if there are none.
    pub fn of_all(parts: impl IntoIterator<Item = Revisions>) -> Option<Revisions> {
        parts.into_iter().reduce(|a, b| Revisions {
            oldest: a.oldest.min(b.oldest),
            newest: a.newest.max(b.newest),
        })
    }
}

/// The output of a [`Task`].
#[derive(Clone, Debug, PartialEq)]
pub enum TaskOutput {
    /// One output for each row, in the order of the task.
    Rows(Vec<Output>),
    /// A continuation.
    Tokens {
        /// All generated tokens, including a stop token that ended it.
        tokens: Vec<SampledToken>,
        /// Why it ended.
        finish: FinishReason,
    },
}

/// Token counts of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens submitted.
    pub input_tokens: usize,
    /// Input tokens that came from the prefix cache at admission.
    pub cached_tokens: usize,
    /// Tokens run through the model for this request: uncached input, generated tokens except the
    /// last, and tokens recomputed after preemption.
    pub computed_tokens: usize,
    /// Tokens generated.
    pub output_tokens: usize,
}

/// Builds requests over a tree of texts, such as a prompt, its responses and a question on each.
/// A request at a node covers the tokens from the root to that node; the engine computes each
/// shared part once.
#[derive(Debug, Default)]
pub struct RequestTree {
    nodes: Vec<Arc<[u32]>>,
    requests: Vec<Request>,
}

/// A node of a [`RequestTree`].
#[derive(Clone, Copy, Debug)]
pub struct NodeIndex(usize);

impl RequestTree {
    /// Adds a node with these tokens below `parent`, or a root if `parent` is `None`.
    pub fn add_node(&mut self, parent: Option<NodeIndex>, token_ids: &[u32]) -> NodeIndex {
        let prefix = parent.map_or(&[][..], |NodeIndex(at)| &self.nodes[at]);
        self.nodes.push([prefix, token_ids].concat().into());
        NodeIndex(self.nodes.len() - 1)
    }

    /// Adds a request at a node; `task` gets the tokens from the root to it. Outputs come in the
    /// order of these calls.
    pub fn add_request(
        &mut self,
        node: NodeIndex,
        adapter: Option<Arc<str>>,
        task: impl FnOnce(&[u32]) -> Task,
    ) {
        let token_ids = self.nodes[node.0].clone();
        let task = task(&token_ids);
        self.requests.push(Request { token_ids, adapter, task });
    }

    /// The requests, to be submitted together.
    pub fn into_requests(self) -> Vec<Request> {
        self.requests
    }
}
