//! Tokens that a forward draws itself, where its device does so without handing out the logits.

use std::sync::Arc;

use crate::batch::{Output, Outputs};

/// The draw of a token from a row's logits.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenDraw {
    /// `None` for the most likely token, of equal ones the smallest id.
    pub random: Option<RandomDraw>,
    /// `[⌈vocabulary / 32⌉]`: a bit for each token that may be drawn; `None` for all.
    pub allowed: Option<Arc<[u32]>>,
    /// Whether its log-probability is computed.
    pub logprob: bool,
}

/// A draw by weight. A token's weight is `e^((logit − largest) / temperature)` in units of 2^−40, rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomDraw {
    /// Positive.
    pub temperature: f32,
    /// Number of largest logits that are kept, less than the vocabulary; `None` for all.
    pub top_k: Option<u32>,
    /// In (0, 1]: the fewest tokens that make up this share of the weights are kept.
    pub top_p: f32,
    /// The least weight of a kept token, at least 1.
    pub least_weight: u64,
    /// Sixty-four uniform bits.
    pub bits: u64,
}

/// The result of a [`TokenDraw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawnToken {
    /// A token.
    Token {
        /// Its id.
        token_id: u32,
        /// Its log-probability in nats among all tokens at temperature 1, with the bits of
        /// [`Output::Logprob`]; `None` if it was not requested.
        logprob: Option<f32>,
    },
    /// A logit is not finite: the first of them.
    NotFinite(f32),
    /// No token may be drawn.
    NoneAllowed,
}

/// The output of a row of which a token may be drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutput {
    /// The requested output.
    Output(Output),
    /// The token that was drawn in place of logits.
    Token(DrawnToken),
}

impl From<Outputs> for Vec<RowOutput> {
    fn from(outputs: Outputs) -> Vec<RowOutput> {
        outputs.rows.into_iter().map(RowOutput::Output).collect()
    }
}
