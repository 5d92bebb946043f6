//! Samples responses to items, on any thread.

use std::sync::Arc;

use engine::StopStrings;

use crate::error::Result;
use crate::item::{ItemRole, TrainingItem};
use crate::rollout::{
    RewardManager, RolloutParams, SampleRequest, SampledResponse, Sampler, ToolLoop,
};

/// Samples responses to items: those of the policy in turns if it has tools, and up to the run's stop
/// texts.
#[derive(Clone, Debug)]
pub(super) struct Responder {
    sampler: Sampler,
    /// Runs the calls of tools.
    rewards: Arc<RewardManager>,
    /// The tools of the policy; `None` if its rollouts have one turn.
    tools: Option<Arc<ToolLoop>>,
    /// The texts that end the policy's responses.
    stop: Option<StopStrings>,
}

impl Responder {
    /// Without tools.
    pub(super) fn new(
        sampler: Sampler,
        rewards: Arc<RewardManager>,
        stop: Option<StopStrings>,
    ) -> Responder {
        Responder { sampler, rewards, tools: None, stop }
    }

    pub(super) fn set_tools(&mut self, tools: ToolLoop) {
        self.tools = Some(Arc::new(tools));
    }

    pub(super) fn tools(&self) -> Option<&ToolLoop> {
        self.tools.as_deref()
    }

    /// Samples one response for each request.
    pub(super) fn respond(
        &self,
        mut requests: Vec<(SampleRequest, &TrainingItem)>,
        params: RolloutParams,
    ) -> Result<Vec<SampledResponse>> {
        for (request, item) in &mut requests {
            request.stop = self.stop.clone().filter(|_| item.role == ItemRole::Policy);
        }
        if let Some(tools) = &self.tools {
            return tools.sample((&self.sampler, &self.rewards), &requests, params);
        }
        let requests: Vec<SampleRequest> = requests.into_iter().map(|own| own.0).collect();
        self.sampler.sample(&requests, params)
    }
}
