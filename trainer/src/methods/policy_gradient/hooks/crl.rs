//! CRL (`[method.crl]`): critiques of the step's rollouts, in one batch with the policy's groups.

use super::super::config::CrlSection;
use super::super::hook::{Hook, HookContext, StepData};
use super::super::rollouts::Phase;
use crate::error::Result;
use crate::judge_data::Templates;
use crate::judge_data::crl::Crl;

/// Adds critiques to the batch.
#[derive(Debug)]
pub(in super::super) struct CrlHook {
    crl: Crl,
}

impl CrlHook {
    pub(in super::super) fn new(section: &CrlSection) -> Result<CrlHook> {
        let templates = Templates::built_in(&section.templates)?;
        Ok(CrlHook { crl: Crl::new(section.options.clone(), templates)? })
    }
}

impl Hook for CrlHook {
    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let count = self.crl.beside(data.batch.train_groups.len());
        let (items, counts) = self.crl.draw(&data.verified, count, cx.seed(), cx.mistakes());
        cx.metrics.add_all("crl/", &counts);
        let scored = cx.rollouts.roll_out(cx.step, &items, Phase::Critic, cx.metrics)?;
        data.batch.train_groups.extend(scored.train_groups);
        Ok(())
    }
}
