//! A loaded adapter: its low-rank factors and its head.

use std::collections::BTreeMap;

use super::report::AdapterReport;
use crate::head::Head;
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

/// A loaded adapter. Its identity is the digest of its content.
#[derive(Debug)]
pub struct Adapter {
    /// SHA-256 of its content, as `sha256:…`: of its sites, scales and numbers, and of its head.
    /// Folders with the same content have the same digest, wherever they are.
    pub digest: String,
    /// The factors by site.
    pub pairs: BTreeMap<Site, LoraPair>,
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
            head: self.head.as_ref().map(Head::detached),
            report: self.report.clone(),
        }
    }
}
