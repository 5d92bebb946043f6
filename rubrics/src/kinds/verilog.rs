//! `kind = "verilog"`: simulates the module of a response beside a golden module.
//!
//! The simulation runs in the crate `sandbox`; `verifiers::verilog` makes the bench and reads its
//! counts. A failure of the sandbox, or a missing simulator, is no score. The scorer calls no model.

use std::time::{Duration, Instant};

use sandbox::{Isolation, SandboxError, Session};
use serde::Serialize;
use serde_json::{Value, json};
use verifiers::code::CodeVerdict;
use verifiers::verilog::{
    self, MAX_CYCLES, VerilogError, VerilogPolicy, VerilogResult, VerilogTask,
};
use verifiers::{Certainty, Reason, Verdict};

use super::code::{read_limits, read_sandbox};
use super::{KindContext, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::outcome::{Evidence, Failure, Outcome, Score};
use crate::programs::{Programs, failure};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "verilog";

/// A policy and the sandbox that it is applied in.
struct VerilogScorer {
    policy: VerilogPolicy,
    reward: CircuitReward,
    programs: Programs,
}

/// The score of a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CircuitReward {
    /// 1 if no bench showed a difference.
    #[default]
    All,
    /// The share of the benches without a difference.
    PassRate,
    /// The share of the samples without a difference.
    MatchRate,
}

pub(crate) fn read(section: &Section<'_, '_>) -> Box<dyn ScorerKind> {
    let rewards = [
        ("all", CircuitReward::All),
        ("pass_rate", CircuitReward::PassRate),
        ("match_rate", CircuitReward::MatchRate),
    ];
    let unknown = [("ignore", true), ("compare", false)];
    let reward = section.word("reward", &rewards).unwrap_or_default();
    let default = VerilogPolicy::default();
    let count =
        |key, most| section.integer(key, 1..most + 1).and_then(|count| usize::try_from(count).ok());
    let total = section.integer("total_ms", 1..3_600_001).map(Duration::from_millis);
    let policy = VerilogPolicy {
        limits: read_limits(section),
        total: total.unwrap_or(default.total),
        cycles: count("cycles", MAX_CYCLES).unwrap_or(default.cycles),
        benches: count("benches", 64).unwrap_or(default.benches),
        seed: section.integer("seed", 0..u64::MAX).unwrap_or(default.seed),
        ignores_unknown: section.word("unknown", &unknown).unwrap_or(default.ignores_unknown),
        stop_early: reward == CircuitReward::All,
        proves: section.boolean("prove").unwrap_or(default.proves),
    };
    Box::new(VerilogScorer { policy, reward, programs: Programs::new(read_sandbox(section)) })
}

impl ScorerKind for VerilogScorer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "simulates the Verilog module of a response beside a golden module"
    }

    /// The options that may change a score. Slots and the interpreter's path do not.
    fn options(&self) -> Value {
        json!({
            "policy": self.policy,
            "reward": self.reward,
            "floor": self.programs.config().floor,
        })
    }

    fn programs(&self) -> Option<&Programs> {
        Some(&self.programs)
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context))
    }
}

/// What a slot returns.
struct Simulated {
    result: Result<VerilogResult, VerilogError>,
    isolation: Option<Isolation>,
    queue: Duration,
}

impl VerilogScorer {
    async fn evaluate_sample(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        let task = VerilogTask::read(super::answer::gold(sample.input.reference.as_ref()))
            .map_err(|error| Failure::from_error(error, Evidence::default()))?;
        let Some(candidate) = verilog::module_text(sample.response) else {
            return Ok(Score::from_verdict(Verdict::no_answer(), Evidence::default()));
        };
        let deadline = context.client.options().deadline;
        let simulated = self.simulate(candidate, task, deadline).await?;
        match &simulated.result {
            Ok(result) => {
                let micros = u64::try_from(result.cpu.as_micros()).unwrap_or(u64::MAX);
                context.client.bounds().spend(micros);
                Ok(self.score(result, &simulated, context.client.options().explain))
            }
            Err(VerilogError::Sandbox(error)) => Err(failure(error)),
            Err(VerilogError::Reference(error)) => {
                Err(Failure::from_error(error.clone(), Evidence::default()))
            }
        }
    }

    /// Simulates in a slot. Dropping the future ends the processes.
    async fn simulate(
        &self,
        candidate: String,
        task: VerilogTask,
        deadline: Option<Instant>,
    ) -> Result<Simulated, Failure> {
        let (submitted, policy) = (Instant::now(), self.policy);
        let work = move |session: &mut Session<'_>| {
            let start = Instant::now();
            let left = deadline.map_or(policy.total, |end| end.saturating_duration_since(start));
            let is_late = deadline.is_some() && left < policy.total;
            let policy = VerilogPolicy { total: policy.total.min(left), ..policy };
            // A deadline of the request is no limit of the module.
            let result = match verilog::judge(&candidate, &task, &policy, session) {
                Ok(result) if is_late && result.is_cut => Err(SandboxError::Cancelled.into()),
                result => result,
            };
            Simulated { result, isolation: session.isolation(), queue: start - submitted }
        };
        self.programs.in_slot(work).await
    }

    fn score(&self, result: &VerilogResult, simulated: &Simulated, explain: bool) -> Score {
        let score = match self.reward {
            CircuitReward::All if result.verdict == CodeVerdict::Ok => 1.0,
            CircuitReward::All => 0.0,
            CircuitReward::PassRate => result.pass_rate(),
            CircuitReward::MatchRate => result.match_rate(),
        };
        let detail = || {
            let rungs = simulated.isolation.as_ref().map_or(String::new(), Isolation::names);
            let counts = format!(
                "{} of {} benches passed, {} of {} samples differ; seed {}; equivalence {}; CPU time {} \
                 ms, queue {} ms; isolation: {rungs}",
                result.passed,
                result.total,
                result.differing,
                result.compared,
                result.seed,
                result.equivalence.name(),
                result.cpu.as_millis(),
                simulated.queue.as_millis(),
            );
            if result.detail.is_empty() { counts } else { format!("{}; {counts}", result.detail) }
        };
        Score {
            score,
            raw: None,
            label: Some(result.verdict.label().into()),
            reason: Reason::explained(result.verdict.code(), explain, detail),
            certainty: Certainty::Proven,
            evidence: Evidence::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{Floor, SandboxConfig};
    use verifiers::Gold;

    use super::*;

    const GOLDEN: &str = "module m(input [7:0] a, output [7:0] y); assign y = ~a; endmodule";
    const WRONG: &str = "module m(input [7:0] a, output [7:0] y); assign y = a; endmodule";

    /// What a deadline keeps from running is neither a score nor a fault of the golden module.
    #[test]
    fn deadline_after_a_difference_is_no_score() {
        const BENCHES: usize = 64;
        let reference = json!({ "golden": GOLDEN }).to_string();
        for (candidate, millis) in
            [(WRONG, 0), (GOLDEN, 0), (WRONG, 200), (WRONG, 400), (WRONG, 2000)]
        {
            let policy = VerilogPolicy {
                benches: BENCHES,
                cycles: usize::try_from(MAX_CYCLES).expect("it fits"),
                stop_early: false,
                ..VerilogPolicy::default()
            };
            let programs =
                SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
            let programs = Programs::new(programs);
            let scorer = VerilogScorer { policy, reward: CircuitReward::PassRate, programs };
            let task = VerilogTask::read(Gold::Text(&reference)).expect("a task");
            let deadline = Some(Instant::now() + Duration::from_millis(millis));
            let simulating = scorer.simulate(candidate.to_owned(), task, deadline);
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let simulated = runtime.expect("a runtime").block_on(simulating);
            let result = simulated.unwrap_or_else(|_| panic!("a slot answers")).result;
            if let Err(VerilogError::Sandbox(SandboxError::MissingTool { tool, .. })) = result {
                println!("skipped: there is no {tool}");
                return;
            }
            // A fast machine may have simulated all of it.
            let is_complete = millis > 0
                && matches!(&result, Ok(result) if result.total == BENCHES && !result.is_cut);
            // On a busy one the compiler may have had no time.
            let is_no_score = matches!(
                &result,
                Err(VerilogError::Sandbox(SandboxError::Cancelled | SandboxError::Starved))
            );
            assert!(is_complete || is_no_score, "{candidate} {millis}: {result:?}");
        }
    }
}
