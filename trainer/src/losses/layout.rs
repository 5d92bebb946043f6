//! Layout of tokens in sequences, the tokens that count, and the stream of each sequence.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::{Result, all, boundaries, lengths};

/// The role of a sequence in the loss. The token weights of each stream are normalised by that
/// stream's own counts, so that judge data cannot dilute the gradient of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Policy gradient on rollouts of the policy.
    #[serde(rename = "player")]
    Policy,
    /// Policy gradient on rollouts of a judge.
    Judge,
    /// Cross-entropy on given tokens: recycled labels, demonstrations.
    Ce,
    /// Divergence from the reference alone, on tokens without rewards.
    RefKl,
}

impl Stream {
    /// All of them, in the order of their indices.
    pub const ALL: [Self; 4] = [Self::Policy, Self::Judge, Self::Ce, Self::RefKl];

    /// Its name in logs and goldens, which call the policy `player`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy => "player",
            Self::Judge => "judge",
            Self::Ce => "ce",
            Self::RefKl => "ref_kl",
        }
    }

    /// Whether its tokens have a policy loss.
    pub fn has_policy_loss(self) -> bool {
        match self {
            Self::Policy | Self::Judge => true,
            Self::Ce | Self::RefKl => false,
        }
    }

    pub(crate) fn index(self) -> usize {
        match self {
            Self::Policy => 0,
            Self::Judge => 1,
            Self::Ce => 2,
            Self::RefKl => 3,
        }
    }
}

/// Packed sequences of tokens, of a batch or of a micro-batch.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Offsets of the sequences, from 0, and at the end the number of tokens.
    pub cu_seqlens: &'a [usize],
    /// Whether a token counts: false for a tool's text, and for all of an over-long response that
    /// is filtered. No data of an uncounted token is ever read.
    pub mask: &'a [bool],
    /// The stream of each sequence; `None` if all are [`Stream::Policy`].
    pub streams: Option<&'a [Stream]>,
    /// Whether each sequence has a positive reward. OREAL and NFT read it.
    pub positive: Option<&'a [bool]>,
    /// The pass rate of the group of each sequence, from 0 to 1. NFT reads it.
    pub pass_rates: Option<&'a [f64]>,
}

/// One sequence of a layout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossSequence {
    pub(crate) tokens: Range<usize>,
    pub(crate) stream: Stream,
    /// Number of counted tokens.
    pub(crate) counted: usize,
    pub(crate) positive: Option<bool>,
    pub(crate) pass_rate: Option<f64>,
}

impl<'a> Layout<'a> {
    /// Sequences of the policy.
    pub fn new(cu_seqlens: &'a [usize], mask: &'a [bool]) -> Self {
        Self { cu_seqlens, mask, streams: None, positive: None, pass_rates: None }
    }

    /// The sequences, in order; an error if the lists do not belong together.
    pub(crate) fn sequences(&self) -> Result<Vec<LossSequence>> {
        boundaries("cu_seqlens", self.cu_seqlens, self.mask.len())?;
        let n = self.cu_seqlens.len() - 1;
        if let Some(streams) = self.streams {
            lengths("streams", streams.len(), n)?;
        }
        if let Some(positive) = self.positive {
            lengths("signs of rewards", positive.len(), n)?;
        }
        if let Some(pass_rates) = self.pass_rates {
            lengths("pass rates", pass_rates.len(), n)?;
            all("pass rate", pass_rates, "from 0 to 1", |rate| (0.0..=1.0).contains(&rate))?;
        }
        let sequence = |(index, ends): (usize, &[usize])| {
            let tokens = ends[0]..ends[1];
            let counts = &self.mask[tokens.clone()];
            LossSequence {
                counted: counts.iter().filter(|counts| **counts).count(),
                tokens,
                stream: self.streams.map_or(Stream::Policy, |all| all[index]),
                positive: self.positive.map(|all| all[index]),
                pass_rate: self.pass_rates.map(|all| all[index]),
            }
        };
        Ok(self.cu_seqlens.windows(2).enumerate().map(sequence).collect())
    }
}
