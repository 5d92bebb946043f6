//! An adapter's effect on its base in numbers. They distinguish an adapter that changes nothing
//! from one that works.

use std::collections::BTreeSet;

use serde::Serialize;

/// The content and size of a loaded adapter.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AdapterReport {
    /// The trainer's path or name of the base. Information only.
    pub base_model: Option<String>,
    /// The task that it was trained for, such as `SEQ_CLS`.
    pub task_type: Option<String>,
    /// The sites that it changes, in order.
    pub sites: Vec<SiteReport>,
    /// The ranks that occur.
    pub ranks: BTreeSet<usize>,
    /// Storage types in the file.
    pub dtypes: BTreeSet<String>,
    /// Numbers in all factors and the head.
    pub parameters: u64,
    /// `√ Σ ‖s B A‖_F²` over all sites.
    pub norm: f64,
    /// Its own head; `None` if it uses the base's.
    pub head: Option<HeadReport>,
    /// Warnings, one sentence each, for instance about an update that is zero.
    pub warnings: Vec<String>,
}

/// One changed site.
#[derive(Clone, Debug, Serialize)]
pub struct SiteReport {
    /// The module in the file, such as `model.layers.0.self_attn.q_proj`.
    pub module: String,
    /// The site; several if the module holds several.
    pub site: String,
    /// r.
    pub rank: usize,
    /// `α / r` or `α / √r`.
    pub scale: f32,
    /// `‖s B A‖_F`.
    pub norm: f64,
}

/// An adapter's head.
#[derive(Clone, Debug, Serialize)]
pub struct HeadReport {
    /// Outputs.
    pub n_labels: usize,
    /// Whether it has a bias.
    pub bias: bool,
}

impl AdapterReport {
    /// Adds a site.
    pub(super) fn add(&mut self, site: SiteReport) {
        self.ranks.insert(site.rank);
        self.norm = self.norm.hypot(site.norm);
        self.sites.push(site);
    }

    /// Adds the warnings that follow from the numbers.
    pub(super) fn warn(&mut self) {
        let zero: Vec<&str> = self
            .sites
            .iter()
            .filter(|site| site.norm == 0.0)
            .map(|site| site.site.as_str())
            .collect();
        if self.sites.is_empty() {
            self.warnings.push("it changes no site of the base: only its head is its own".into());
        } else if zero.len() == self.sites.len() {
            self.warnings.push("its update is zero at every site: it runs as the base does".into());
        } else if let Some(first) = zero.first() {
            self.warnings.push(format!(
                "its update is zero at {} of {} sites, the first of them {first}",
                zero.len(),
                self.sites.len()
            ));
        }
    }
}
