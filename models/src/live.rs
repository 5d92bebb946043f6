//! Models and adapters that are trained and served at once: two views of one set of variables.
//!
//! The tracked view records gradients and is used by a trainer; the detached view shares the
//! variables' storage, records nothing, and is served by an engine. Their bits are equal, because
//! operations and numbers are the same. An optimiser's step that writes in place changes both
//! views: no weights are transferred. The writer must make sure that no forward runs meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Var};

use crate::adapter::{Adapter, LoraPair};
use crate::config::ModelConfig;
use crate::decoder::Decoder;
use crate::error::{ModelError, Result};
use crate::head::Head;
use crate::model::assemble;
use crate::packed::Matrix;
use crate::weights::{DetachedWeights, Names, TrainableWeights, WeightSource};

/// Begins the digest of content that changes while it is served.
const LIVE: &str = "live:";

/// The digest of content that changes while it is served: `live:` and the digest of the initial
/// content. It never changes, and copies of one original have the same.
pub fn live_digest(initial: &str) -> String {
    format!("{LIVE}{initial}")
}

/// Whether a digest is one of [`live_digest`], so that equal digests may have different content.
pub fn is_live_digest(digest: &str) -> bool {
    digest.starts_with(LIVE)
}

/// Decoder and head over some weights.
#[derive(Clone, Debug)]
pub struct View {
    /// Embedding, layers and final norm.
    pub decoder: Decoder,
    /// The head beside the vocabulary; `None` without one.
    pub head: Option<Head>,
}

/// A model whose every weight is a variable.
#[derive(Clone, Debug)]
pub struct LiveModel {
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// The view that records gradients.
    pub tracked: View,
    /// The view that records none.
    pub detached: View,
    /// The variables of both views, by the names of [`Names::unfused`]. Matrices are in panels
    /// ([`crate::packed`]).
    pub variables: BTreeMap<String, Var>,
}

impl LiveModel {
    /// A model of this configuration with the numbers of a source, as f32.
    ///
    /// # Errors
    /// A parameter that the source lacks; 8-bit weights, which have no gradient.
    pub fn new(
        config: &Arc<ModelConfig>,
        source: impl WeightSource,
        names: &Names,
    ) -> Result<LiveModel> {
        let mut trainable = TrainableWeights::new(source, names.clone());
        let tracked = view(config, &mut trainable)?;
        let (_, variables) = trainable.into_parts();
        let detached = view(config, &mut DetachedWeights::new(names, &variables))?;
        Ok(LiveModel { config: config.clone(), tracked, detached, variables })
    }
}

/// Variables that a forward on another device follows: it takes their numbers anew after each update.
#[derive(Clone, Debug)]
pub struct LiveWeights {
    names: Names,
    variables: BTreeMap<String, Var>,
}

impl LiveWeights {
    /// The variables of a [`LiveModel`] by their names.
    pub fn new(names: &Names, variables: &BTreeMap<String, Var>) -> LiveWeights {
        LiveWeights { names: names.clone(), variables: variables.clone() }
    }

    /// Their numbers at this time.
    pub fn source(&self) -> DetachedWeights<'_> {
        DetachedWeights::new(&self.names, &self.variables)
    }
}

fn view(config: &Arc<ModelConfig>, source: &mut impl WeightSource) -> Result<View> {
    let (decoder, head) = assemble(config, source)?;
    Ok(View { decoder, head })
}

/// An adapter whose factors and head are variables.
#[derive(Clone, Debug)]
pub struct LiveAdapter {
    /// The view that records gradients.
    pub tracked: Arc<Adapter>,
    /// The view that records none.
    pub detached: Arc<Adapter>,
    /// The variables of both views: `layers.3.q.a`, `layers.3.q.b` and, with a head, `head.weight`
    /// and `head.bias`.
    pub variables: BTreeMap<String, Var>,
}

impl LiveAdapter {
    /// A trainable copy of an adapter. Its digest is the [`live_digest`] of the original's.
    ///
    /// # Errors
    /// A tensor that cannot be copied.
    pub fn new(adapter: &Adapter) -> Result<LiveAdapter> {
        let mut variables = BTreeMap::new();
        let mut tracked = BTreeMap::new();
        for (site, pair) in &adapter.pairs {
            let mut factor = |matrix: &Matrix, name: &str| {
                let (matrix, variable) = matrix.to_dtype(DType::F32)?.to_var()?;
                variables.insert(format!("{site}.{name}"), variable);
                Ok::<_, ModelError>(matrix)
            };
            let pair =
                LoraPair { a: factor(&pair.a, "a")?, b: factor(&pair.b, "b")?, scale: pair.scale };
            tracked.insert(*site, pair);
        }
        let head = match &adapter.head {
            None => None,
            Some(head) => Some(head.to_variables(&mut variables)?),
        };
        let tracked = Adapter {
            digest: live_digest(&adapter.digest),
            pairs: tracked,
            head,
            report: adapter.report.clone(),
            ..Adapter::default()
        };
        Ok(LiveAdapter {
            detached: Arc::new(tracked.detached()),
            tracked: Arc::new(tracked),
            variables,
        })
    }
}
