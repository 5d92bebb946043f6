//! What callers ask for and what they get.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use models::batch::{Output, Read};

use crate::error::RequestError;
use crate::sampling::{FinishReason, SampledToken, SamplingParams};

/// One sequence of tokens and what is wanted of it.
#[derive(Debug)]
pub struct Request {
    /// The whole sequence, from its first token on.
    pub token_ids: Arc<[u32]>,
    /// The adapter's name, or none for the base model.
    pub adapter: Option<Arc<str>>,
    /// What to give back.
    pub task: Task,
}

/// What to give back for a sequence.
#[derive(Debug)]
pub enum Task {
    /// One output for each row: an index into the tokens, and what to read there.
    Rows(Vec<(usize, Read)>),
    /// Tokens that continue it.
    ///
    /// Who trains on them samples at temperature 1 and changes the distribution in no other way:
    /// no `top_p`, `top_k`, `min_p`, penalty, bias, minimum of tokens or constraint. Then
    /// [`SampledToken::logprob`] is the log-probability that the token was drawn with; it has the bits
    /// that a forward over the same tokens under the weights of [`SampledToken::revision`] reads for
    /// it, so that the first ratio of a policy gradient is exactly 1. In every other case it is
    /// still that of the model's own distribution, and not of the one that was drawn from: a ratio
    /// made with it is wrong by as much as the two differ, without any sign of it.
    Generate(Box<SamplingParams>),
}

impl Task {
    /// The head's outputs at these tokens.
    pub fn scores(at: impl IntoIterator<Item = usize>) -> Task {
        Task::Rows(at.into_iter().map(|at| (at, Read::Head)).collect())
    }

    /// Logits of label tokens as the continuation of the token at `at`, and with `mass` what is
    /// needed for the probability that all labels hold together.
    pub fn labels(at: usize, columns: Arc<[u32]>, mass: bool) -> Task {
        Task::Rows(vec![(at, Read::Labels { columns, mass })])
    }

    /// Log-probabilities of the tokens of a span, each given those before it. The first token of a
    /// sequence has none, so the span starts at 1 or later.
    pub fn logprobs(token_ids: &[u32], span: Range<usize>) -> Task {
        let read = |at: usize| (at - 1, Read::Logprob(token_ids[at]));
        Task::Rows(span.map(read).collect())
    }
}

/// How work is to be treated; the same for all works of a submission.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestParams {
    /// Interactive work goes first; batch work is not starved.
    pub priority: Priority,
    /// Whose work it is: callers under load get equal shares of tokens.
    pub client: u64,
    /// Prefixes are shared only among work of the same salt.
    pub salt: u64,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

/// Which queue work waits in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Somebody waits for it.
    #[default]
    Interactive,
    /// A job that wants throughput.
    Batch,
}

/// What an engine tells a caller while it works.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestEvent {
    /// More tokens of a generation.
    Tokens {
        /// Index of the work in the submission.
        request: usize,
        /// The tokens, in order.
        tokens: Vec<SampledToken>,
    },
    /// A work is done; nothing follows for it.
    Done {
        /// Index of the work in the submission.
        request: usize,
        /// What became of it.
        result: Result<RequestOutput, RequestError>,
    },
}

/// What became of one work.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOutput {
    /// What was wanted.
    pub output: TaskOutput,
    /// What it took.
    pub usage: Usage,
    /// Digest of the adapter that it ran under.
    pub adapter: Option<Arc<str>>,
    /// Revision of the weights, as of [`crate::Engine::update_weights`]: 0 where they never
    /// changed. All rows are of it; of a generation its last token is, and each token has its own.
    pub revision: u64,
}

impl RequestOutput {
    /// The weights that it was computed under: of a generation each token has its own.
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

/// The weights that something was computed under, of a model that is trained while it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// The oldest that any of it was computed under.
    pub oldest: u64,
    /// The newest; the same where the weights did not change meanwhile.
    pub newest: u64,
}

impl Revisions {
    /// Those of several parts together; none where there are no parts.
    pub fn of_all(parts: impl IntoIterator<Item = Revisions>) -> Option<Revisions> {
        let wider = |a: Revisions, b: Revisions| Revisions {
            oldest: a.oldest.min(b.oldest),
            newest: a.newest.max(b.newest),
        };
        parts.into_iter().reduce(wider)
    }
}

/// What was wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskOutput {
    /// One for each row, in order.
    Rows(Vec<Output>),
    /// The continuation.
    Tokens {
        /// All of it, the stop token included where one ended it.
        tokens: Vec<SampledToken>,
        /// Why it ended.
        finish: FinishReason,
    },
}

/// Counts of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the sequence as it was submitted.
    pub input_tokens: usize,
    /// Of those, taken from cache when the work began.
    pub cached_tokens: usize,
    /// Tokens that were run through the model for this work: those of the input that nobody had
    /// computed, those generated (but the last), and those computed anew after a pre-emption.
    pub computed_tokens: usize,
    /// Tokens generated.
    pub output_tokens: usize,
}

/// A tree of texts: a prompt, its responses, the questions on each. A want at a node is about the
/// tokens from the root to it; the engine computes each node once.
#[derive(Debug, Default)]
pub struct RequestTree {
    nodes: Vec<Arc<[u32]>>,
    requests: Vec<Request>,
}

/// A node of a [`RequestTree`].
#[derive(Clone, Copy, Debug)]
pub struct NodeIndex(usize);

impl RequestTree {
    /// Adds tokens below a node, or at the top.
    pub fn add_node(&mut self, parent: Option<NodeIndex>, token_ids: &[u32]) -> NodeIndex {
        let above = parent.map_or(&[][..], |NodeIndex(at)| &self.nodes[at]);
        self.nodes.push([above, token_ids].concat().into());
        NodeIndex(self.nodes.len() - 1)
    }

    /// Asks for something at a node, given the tokens from the top to its end. Answers come in the
    /// order in which this is called.
    pub fn add_request(
        &mut self,
        node: NodeIndex,
        adapter: Option<Arc<str>>,
        want: impl FnOnce(&[u32]) -> Task,
    ) {
        let token_ids = self.nodes[node.0].clone();
        let want = want(&token_ids);
        self.requests.push(Request { token_ids, adapter, task: want });
    }

    /// What to submit.
    pub fn into_requests(self) -> Vec<Request> {
        self.requests
    }
}
