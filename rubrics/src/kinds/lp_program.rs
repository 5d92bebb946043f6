//! `kind = "lp-program"`: runs the program of a response, which solves a linear or mixed-integer program.
//!
//! It runs in the crate `sandbox`; `verifiers::lp` judges what it prints. A failure of the sandbox is no
//! score. The scorer calls no model.

use std::sync::Arc;
use std::time::Instant;

use sandbox::{Language, Limits, SandboxError, Session};
use serde_json::{Value, json};
use verifiers::code::CodeVerdict;
use verifiers::lp::{LpAnswer, LpConfig, LpProgram, LpRun, LpRunError, LpVerifier};
use verifiers::{Fuel, code};

use super::answer::options::lp_verifier;
use super::code::{read_limits, read_sandbox};
use super::{KindContext, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::outcome::{Evidence, Failure, Outcome, Score};
use crate::programs::{Programs, failure};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "lp-program";

/// A verifier of what programs print, and the sandbox that they run in.
struct LpProgramScorer {
    config: LpConfig,
    verifier: Arc<LpVerifier>,
    limits: Limits,
    fuel: u64,
    programs: Programs,
}

/// Reads the options; `None` if a tolerance is no decimal, which is a problem of the section.
pub(crate) fn read(section: &Section<'_, '_>) -> Option<Box<dyn ScorerKind>> {
    let verifier = lp_verifier(section, LpAnswer::Objective);
    let limits = read_limits(section);
    let fuel = section.integer("fuel", 1..u64::MAX).unwrap_or(Fuel::DEFAULT);
    let programs = Programs::new(read_sandbox(section));
    let (config, verifier) = verifier?;
    let verifier = Arc::new(verifier);
    Some(Box::new(LpProgramScorer { config, verifier, limits, fuel, programs }))
}

impl ScorerKind for LpProgramScorer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn revision(&self) -> u32 {
        2
    }

    fn description(&self) -> &'static str {
        "runs the program of a response, which solves a linear or mixed-integer program"
    }

    /// The options that may change a score. Slots and the interpreter's path do not.
    fn options(&self) -> Value {
        json!({
            "lp": self.config,
            "limits": self.limits,
            "fuel": self.fuel,
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

impl LpProgramScorer {
    async fn evaluate_sample(&self, sample: Sample<'_>, context: KindContext<'_>) -> Outcome {
        let source = code::source(sample.response, Language::Python);
        let options = context.client.options();
        let run = self.run(source, sample, options.explain, options.deadline).await?;
        match run {
            Ok(run) => {
                let micros = u64::try_from(run.cpu.as_micros()).unwrap_or(u64::MAX);
                context.client.bounds().spend(micros);
                Ok(Score::from_verdict(run.verdict, Evidence::default()))
            }
            Err(LpRunError::Sandbox(error)) => Err(failure(&error)),
            Err(LpRunError::Reference(error)) => {
                Err(Failure::from_error(error, Evidence::default()))
            }
        }
    }

    /// Runs and judges in a slot. Dropping the future ends the processes.
    async fn run(
        &self,
        source: Option<String>,
        sample: Sample<'_>,
        explain: bool,
        deadline: Option<Instant>,
    ) -> Result<Result<LpRun, LpRunError>, Failure> {
        let reference = sample.input.reference.clone();
        let (verifier, limits, fuel) = (Arc::clone(&self.verifier), self.limits, self.fuel);
        let work = move |session: &mut Session<'_>| {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let wall = left.map_or(limits.wall, |left| left.min(limits.wall));
            let is_late = wall < limits.wall;
            let program = LpProgram {
                source: source.as_deref(),
                gold: super::answer::gold(reference.as_ref()),
                limits: Limits { wall, ..limits },
                explain,
            };
            let run = verifier.run(&program, &mut Fuel::new(fuel), session)?;
            // A deadline of the request is no limit of the program.
            if is_late && run.verdict.reason.code == CodeVerdict::TimeLimitWall.code() {
                return Err(SandboxError::Cancelled.into());
            }
            Ok(run)
        };
        self.programs.in_slot(work).await
    }
}
