//! Programs that answer a linear or mixed-integer program: they run in the sandbox, and what they print
//! is the answer.

use std::time::Duration;

use sandbox::{Limits, Loaded, SandboxError, Session, Test};

use super::LpVerifier;
use crate::code::{CodeVerdict, limit_verdict, stderr};
use crate::{Candidate, Claim, Fuel, Gold, Reason, Verdict, Verifier as _, VerifyError};

/// The verdict on a program, and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct LpRun {
    /// The verdict on what it printed, or on how it failed.
    pub verdict: Verdict,
    /// Its CPU time.
    pub cpu: Duration,
}

/// Why there is no verdict. Never the program's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LpRunError {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The reference cannot be used.
    #[error(transparent)]
    Reference(#[from] VerifyError),
}

/// A program and what it is judged by.
#[derive(Debug, Clone, Copy)]
pub struct LpProgram<'a> {
    /// Its text in Python; `None` is no answer.
    pub source: Option<&'a str>,
    /// The reference.
    pub gold: Gold<'a>,
    /// Limits of its run.
    pub limits: Limits,
    /// Whether the verdict should carry its detail.
    pub explain: bool,
}

impl LpVerifier {
    /// Runs a program without input and judges its stdout as an answer.
    ///
    /// # Errors
    /// [`LpRunError`].
    pub fn run(
        &self,
        program: &LpProgram<'_>,
        fuel: &mut Fuel,
        session: &mut Session<'_>,
    ) -> Result<LpRun, LpRunError> {
        let LpProgram { source, gold, limits, explain } = *program;
        let Some(source) = source else {
            let claim = Claim {
                gold,
                candidate: Candidate::Missing,
                response: None,
                question: None,
                explain,
            };
            return Ok(LpRun { verdict: self.verify(&claim, fuel)?, cpu: Duration::ZERO });
        };
        let (printed, cpu) = run(source, limits, session)?;
        let candidate =
            printed.as_ref().map_or(Candidate::Missing, |text| Candidate::Text(text.as_str()));
        // The reference first, whatever became of the program.
        let verdict =
            self.verify(&Claim { gold, candidate, response: None, question: None, explain }, fuel)?;
        let verdict = match printed {
            Ok(_) => verdict,
            Err((failure, detail)) => Verdict::proven(
                false,
                failure.label(),
                Reason::explained(failure.code(), explain, || detail),
            ),
        };
        Ok(LpRun { verdict, cpu })
    }
}

/// What a program printed, or how it failed; and its CPU time.
type Printed = (Result<String, (CodeVerdict, String)>, Duration);

fn run(source: &str, limits: Limits, session: &mut Session<'_>) -> Result<Printed, SandboxError> {
    if let Loaded::NotCompiled(why) = session.load(source.trim_start(), limits)? {
        return Ok((Err((CodeVerdict::CompileError, why)), Duration::ZERO));
    }
    let report = session.run(&Test::Program { stdin: String::new() })?;
    let printed = match limit_verdict(report.ending(&limits)) {
        Some(failure) => Err((failure, stderr(&report))),
        None => Ok(String::from_utf8_lossy(&report.stdout).into_owned()),
    };
    Ok((printed, Duration::from_micros(report.guest.cpu_us)))
}
