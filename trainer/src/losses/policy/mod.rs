//! Policy losses, one kind per paper. Their common parts (weights, corrections, divergence,
//! entropy) are in [`Objective`](super::Objective).

mod clip;
mod decoupled;
mod nft;
mod oreal;
mod sequence;
mod soft;
mod term;
mod weighted;

use serde::{Deserialize, Serialize};

pub use clip::{Dapo, DrGrpo, Grpo, Ppo, StableReinforce};
pub use decoupled::{BeyondCap, DecoupledPpo, Level, Proximal};
pub use nft::{GroupWeight, Nft};
pub use oreal::{CreditWeights, Oreal, credit, token_reward_loss};
pub use sequence::Gspo;
pub use soft::{Dppo, Sapo};
pub use weighted::{Aipo, CispoSkyrl, CispoTrl, CispoVerl, Reinforce};

use super::aggregate::{Aggregation, Counts};
use super::error::Result;
use super::layout::LossSequence;
use super::tokens::View;
use clip::Clip;
pub(crate) use term::{Cut, TokenLoss};

/// The policy loss and its options.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PolicyLossKind {
    /// See [`Reinforce`].
    Reinforce(Reinforce),
    /// See [`Ppo`].
    Ppo(Ppo),
    /// See [`Grpo`].
    Grpo(Grpo),
    /// See [`DrGrpo`].
    DrGrpo(DrGrpo),
    /// See [`Dapo`].
    Dapo(Dapo),
    /// See [`Gspo`].
    Gspo(Gspo),
    /// See [`CispoTrl`].
    CispoTrl(CispoTrl),
    /// See [`CispoVerl`].
    CispoVerl(CispoVerl),
    /// See [`CispoSkyrl`].
    CispoSkyrl(CispoSkyrl),
    /// See [`Sapo`].
    Sapo(Sapo),
    /// See [`Dppo`].
    Dppo(Dppo),
    /// See [`Aipo`].
    Aipo(Aipo),
    /// See [`Oreal`].
    Oreal(Oreal),
    /// See [`StableReinforce`].
    StableReinforce(StableReinforce),
    /// See [`DecoupledPpo`].
    DecoupledPpo(DecoupledPpo),
    /// See [`Nft`].
    Nft(Nft),
}

impl Default for PolicyLossKind {
    /// GRPO.
    fn default() -> Self {
        Self::Grpo(Grpo::default())
    }
}

impl PolicyLossKind {
    /// The aggregation of the method's paper. GRPO, Dr.GRPO, DAPO, GSPO, CISPO and decoupled PPO
    /// have theirs from their papers, `StableReinforce` and NFT from the published code (NFT's constant
    /// divisor is there 1,000, here sequences times the longest response); equal token
    /// weights for the others are common practice. OREAL divides each of its terms by its own
    /// tokens; its value here applies to its divergence.
    pub fn aggregation(&self) -> Aggregation {
        match self {
            Self::Grpo(_) | Self::Gspo(_) | Self::Sapo(_) | Self::StableReinforce(_) => {
                Aggregation::SeqMeanTokenMean
            }
            Self::DrGrpo(_) | Self::Nft(_) => Aggregation::DrGrpo,
            Self::Reinforce(_)
            | Self::Ppo(_)
            | Self::Dapo(_)
            | Self::CispoTrl(_)
            | Self::CispoVerl(_)
            | Self::CispoSkyrl(_)
            | Self::Dppo(_)
            | Self::Aipo(_)
            | Self::Oreal(_)
            | Self::DecoupledPpo(_) => Aggregation::TokenMean,
        }
    }

    /// Whether the method itself uses the ratio to the weights that sampled, so that a correction
    /// would apply it twice.
    pub(super) fn corrects(&self) -> bool {
        match self {
            Self::Dppo(_) | Self::Aipo(_) | Self::DecoupledPpo(_) => true,
            Self::Reinforce(_)
            | Self::Ppo(_)
            | Self::Grpo(_)
            | Self::DrGrpo(_)
            | Self::Dapo(_)
            | Self::Gspo(_)
            | Self::CispoTrl(_)
            | Self::CispoVerl(_)
            | Self::CispoSkyrl(_)
            | Self::Sapo(_)
            | Self::Oreal(_)
            | Self::Nft(_)
            | Self::StableReinforce(_) => false,
        }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// An invalid option.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Reinforce(_) => Ok(()),
            Self::Ppo(ppo) => ppo.clip().check(),
            Self::Grpo(grpo) => grpo.clip().check(),
            Self::DrGrpo(grpo) => Clip::plain(grpo.low, grpo.high).check(),
            Self::Dapo(dapo) => Clip::plain(dapo.low, dapo.high).check(),
            Self::Gspo(gspo) => gspo.clip().check(),
            Self::CispoTrl(cispo) => cispo.bounds().check(),
            Self::CispoVerl(cispo) => cispo.bounds().check(),
            Self::CispoSkyrl(cispo) => cispo.bounds().check(),
            Self::Sapo(sapo) => sapo.check(),
            Self::Dppo(dppo) => dppo.check(),
            Self::Aipo(aipo) => aipo.bounds().check(),
            Self::Oreal(oreal) => oreal.check(),
            Self::StableReinforce(stable) => stable.check(),
            Self::DecoupledPpo(decoupled) => decoupled.check(),
            Self::Nft(nft) => nft.check(),
        }
    }

    /// The loss of each token of a sequence, before weights.
    pub(super) fn terms(&self, view: &View<'_>) -> Result<Vec<TokenLoss>> {
        Ok(match self {
            Self::Reinforce(_) => Reinforce::terms(view),
            Self::Ppo(ppo) => clip::terms(ppo.clip(), view),
            Self::Grpo(grpo) => clip::terms(grpo.clip(), view),
            Self::DrGrpo(grpo) => clip::terms(Clip::plain(grpo.low, grpo.high), view),
            Self::Dapo(dapo) => clip::terms(Clip::plain(dapo.low, dapo.high), view),
            Self::Gspo(gspo) => gspo.terms(view),
            Self::CispoTrl(cispo) => cispo.bounds().terms(view, view.old_logprobs),
            Self::CispoVerl(cispo) => cispo.bounds().terms(view, view.old_logprobs),
            Self::CispoSkyrl(cispo) => cispo.bounds().terms(view, view.old_logprobs),
            Self::Sapo(sapo) => sapo.terms(view),
            Self::Dppo(dppo) => dppo.terms(view),
            Self::Aipo(aipo) => aipo.bounds().terms(view, view.sampled()),
            Self::Oreal(oreal) => oreal.terms(view)?,
            Self::StableReinforce(stable) => stable.terms(view),
            Self::DecoupledPpo(decoupled) => decoupled.terms(view)?,
            Self::Nft(nft) => nft.terms(view)?,
        })
    }

    /// The weight of each token of a sequence: the aggregation's, unless the method has its own
    /// denominators.
    pub(super) fn weight(
        &self,
        usual: f64,
        counts: &Counts,
        sequence: &LossSequence,
    ) -> Result<f64> {
        match self {
            Self::Oreal(_) => Oreal::weight(counts, sequence),
            Self::Reinforce(_)
            | Self::Ppo(_)
            | Self::Grpo(_)
            | Self::DrGrpo(_)
            | Self::Dapo(_)
            | Self::Gspo(_)
            | Self::CispoTrl(_)
            | Self::CispoVerl(_)
            | Self::CispoSkyrl(_)
            | Self::Sapo(_)
            | Self::Dppo(_)
            | Self::Aipo(_)
            | Self::StableReinforce(_)
            | Self::Nft(_)
            | Self::DecoupledPpo(_) => Ok(usual),
        }
    }
}
