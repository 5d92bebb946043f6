//! Low-rank adapters over one base, chosen by sequence inside a batch.
//!
//! An adapter comes from a PEFT folder ([`Adapter::load`]): its configuration is read field by
//! field (`peft`), each of its tensors is bound to a site of the base (`bind`), and what it does is
//! reported in numbers. Whatever cannot be bound or would change the result in a way that is not
//! built here is refused by name. [`AdapterTable`] holds many of them for a runner.

mod bind;
mod copies;
mod digest;
mod fields;
mod load;
mod modules;
mod norm;
mod outline;
mod pattern;
mod peft;
mod report;
mod table;
mod targets;

use std::collections::BTreeMap;
use std::fmt;

pub use load::{Base, HEAD_FILE, WEIGHTS_FILE};
pub use outline::Outline;
pub use peft::CONFIG as CONFIG_FILE;
pub use report::{AdapterReport, HeadReport, SiteReport};
pub(crate) use table::within;
pub use table::{AdapterTable, Segment, pairs};

use crate::head::Head;
use crate::packed::Matrix;
use crate::weights::Projection;

/// A linear layer that an adapter can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// The token embedding.
    Embedding,
    /// The vocabulary head.
    Vocab,
    /// A projection of a layer.
    Layer(usize, Projection),
}

/// The two factors at one site.
#[derive(Clone, Debug)]
pub struct LoraPair {
    /// `[r, in]`; at the embedding `[vocab, r]`, a row for each token.
    pub a: Matrix,
    /// `[out, r]`.
    pub b: Matrix,
    /// `α / r`, or `α / √r` for rank-stabilised adapters.
    pub scale: f32,
}

/// A loaded adapter. Its identity is the digest of its content.
#[derive(Debug)]
pub struct Adapter {
    /// SHA-256 of what it computes, as `sha256:…`: of its sites, scales and numbers, and of its
    /// head. Two folders with the same content have the same digest, wherever they lie.
    pub digest: String,
    /// The factors by site.
    pub pairs: BTreeMap<Site, LoraPair>,
    /// Its own head, where it brings one.
    pub head: Option<Head>,
    /// What it does to the base.
    pub report: AdapterReport,
}

impl Adapter {
    /// The same adapter over the same storage, recording no gradient: it follows variables that are
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

impl fmt::Display for Site {
    /// `embedding`, `vocab`, `layers.3.q`, `layers.3.experts.5.gate`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layer, projection) = match self {
            Site::Embedding => return f.write_str("embedding"),
            Site::Vocab => return f.write_str("vocab"),
            Site::Layer(layer, projection) => (layer, projection),
        };
        write!(f, "layers.{layer}.")?;
        match projection {
            Projection::Q => f.write_str("q"),
            Projection::K => f.write_str("k"),
            Projection::V => f.write_str("v"),
            Projection::O => f.write_str("o"),
            Projection::Gate => f.write_str("gate"),
            Projection::Up => f.write_str("up"),
            Projection::Down => f.write_str("down"),
            Projection::Router => f.write_str("router"),
            Projection::ExpertGate(expert) => write!(f, "experts.{expert}.gate"),
            Projection::ExpertUp(expert) => write!(f, "experts.{expert}.up"),
            Projection::ExpertDown(expert) => write!(f, "experts.{expert}.down"),
        }
    }
}
