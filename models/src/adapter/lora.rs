//! A loaded adapter: its low-rank factors and its head.

use std::collections::BTreeMap;
use std::sync::Arc;

use half::bf16;
use half::slice::HalfFloatSliceExt;

use super::report::AdapterReport;
use crate::error::{ModelError, Result};
use crate::head::Head;
use crate::kernels::bf16_pairs::Bf16Matrix;
use crate::packed::Matrix;
use crate::weights::Site;

/// The two factors at one site.
#[derive(Clone, Debug)]
pub struct LoraPair {
    /// `[r, in]`; at the embedding `[vocab, r]`, one row per token.
    pub a: Matrix,
    /// `[out, r]`.
    pub b: Matrix,
    /// `α / r`, or `α / √r` for rank-stabilised adapters.
    pub scale: f32,
}

impl LoraPair {
    /// The pair in bf16, for this site, where products round.
    ///
    /// # Errors
    /// [`ModelError::Unavailable`] for a number that bf16 cannot hold, with its site.
    pub fn rounded(&self, site: Site) -> Result<RoundedPair> {
        Ok(RoundedPair {
            a: Arc::new(rounded(&self.a, site)?),
            b: Arc::new(rounded(&self.b, site)?),
            scale: self.scale,
        })
    }
}

fn rounded(matrix: &Matrix, site: Site) -> Result<Bf16Matrix> {
    let rows = matrix.to_rows()?;
    let mut halves = vec![bf16::ZERO; rows.len()];
    halves.convert_from_f32_slice(&rows);
    if let Some(at) = halves.iter().position(|half| !half.is_finite()) {
        return Err(ModelError::Unavailable {
            requested: format!("{} in bf16, in an adapter's factor at {site}", rows[at]),
            available: format!("numbers up to {}", bf16::MAX),
        });
    }
    Bf16Matrix::pack(&halves, matrix.n(), matrix.k())
}

/// The two factors at one site, in bf16 (to the nearest, halves to even).
#[derive(Clone, Debug)]
pub struct RoundedPair {
    /// `[r, in]`.
    pub a: Arc<Bf16Matrix>,
    /// `[out, r]`.
    pub b: Arc<Bf16Matrix>,
    /// [`LoraPair::scale`].
    pub scale: f32,
}

/// A loaded adapter. Its identity is the digest of its content.
#[derive(Debug, Default)]
pub struct Adapter {
    /// SHA-256 of its content, as `sha256:…`: of its sites, scales and numbers, and of its head.
    /// Folders with the same content have the same digest, wherever they are.
    pub digest: String,
    /// The factors by site.
    pub pairs: BTreeMap<Site, LoraPair>,
    /// The factors of further sites, in a runner whose products round there.
    pub rounded: BTreeMap<Site, RoundedPair>,
    /// Its own head; `None` if it uses the base's.
    pub head: Option<Head>,
    /// Its effect on the base.
    pub report: AdapterReport,
}

impl Adapter {
    /// The same adapter over the same storage without gradients: it follows variables that are
    /// written in place.
    #[must_use]
    pub fn detached(&self) -> Adapter {
        let detached = |(site, pair): (&Site, &LoraPair)| {
            let pair = LoraPair { a: pair.a.detached(), b: pair.b.detached(), scale: pair.scale };
            (*site, pair)
        };
        Adapter {
            digest: self.digest.clone(),
            pairs: self.pairs.iter().map(detached).collect(),
            rounded: self.rounded.clone(),
            head: self.head.as_ref().map(Head::detached),
            report: self.report.clone(),
        }
    }
    /// The same adapter with bf16 factors at some sites, which replace those of its own there.
    ///
    /// # Errors
    /// As [`LoraPair::rounded`], with the site.
    pub fn rounded_at(&self, rounds: impl Fn(&Site) -> bool) -> Result<Adapter> {
        let mut all = self.detached();
        let (rounding, pairs) = all.pairs.into_iter().partition(|(site, _)| rounds(site));
        all.pairs = pairs;
        let rounding: BTreeMap<Site, LoraPair> = rounding;
        for (site, pair) in rounding {
            all.rounded.insert(site, pair.rounded(site)?);
        }
        Ok(all)
    }
}
