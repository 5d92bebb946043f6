//! Verdicts on circuits: a module beside a golden one, under the same stimuli in Icarus Verilog.
//!
//! Both are instances in a bench of ours, which compares their outputs bit by bit and prints counts
//! framed by a nonce that no text of either module can name. The score is computed here. This is no
//! [`Verifier`](crate::Verifier): it waits for processes.

mod bench;
mod constant;
mod guard;
mod macros;
mod module;
mod proof;
mod stimuli;
mod task;
mod tokens;

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use sandbox::{
    Limits, Loaded, NativeProgram, PressureWatch, Report, SandboxError, Session, Test, Tool,
};
use serde::Serialize;

use crate::code::{CodeVerdict, cut, fenced, limit_verdict};
use crate::{Reason, VerifyError, extract};
use bench::BenchPlan;
use module::VerilogText;
pub use proof::Equivalence;
use proof::Found;
use task::{MAX_BYTES, malformed};
pub use task::{MAX_CYCLES, VerilogTask};

/// How a module is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VerilogPolicy {
    /// Limits of a simulation.
    pub limits: Limits,
    /// Time by the clock for all benches.
    pub total: Duration,
    /// Cycles, or random vectors of a circuit without a clock, unless the task says.
    pub cycles: usize,
    /// Benches, each with its own seed.
    pub benches: usize,
    /// The seed of the first bench, unless the task says.
    pub seed: u64,
    /// Whether any value is right where an output of the golden module is `x`.
    pub ignores_unknown: bool,
    /// Whether judging ends at the first bench that shows a difference.
    pub stop_early: bool,
    /// Whether Yosys looks for what the benches did not show.
    pub proves: bool,
}

impl Default for VerilogPolicy {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            total: Duration::from_mins(2),
            cycles: 2000,
            benches: 1,
            seed: 1,
            ignores_unknown: true,
            stop_early: true,
            proves: false,
        }
    }
}

/// The result of a module.
#[derive(Debug, Clone, PartialEq)]
pub struct VerilogResult {
    /// [`CodeVerdict::Ok`] if no bench showed a difference.
    pub verdict: CodeVerdict,
    /// Benches without a difference.
    pub passed: usize,
    /// Benches of the policy.
    pub total: usize,
    /// Samples in which the golden module had a known output.
    pub compared: usize,
    /// Those of them with a difference.
    pub differing: usize,
    /// The seed of the first bench.
    pub seed: u64,
    /// What Yosys found.
    pub equivalence: Equivalence,
    /// What the first difference or the first failure was, for people.
    pub detail: String,
    /// CPU time of the simulations.
    pub cpu: Duration,
    /// Whether the time for all benches ended before the last one began.
    pub is_cut: bool,
}

/// Why there is no result. Never the module's fault, and never a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerilogError {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The golden module cannot be used.
    #[error(transparent)]
    Reference(#[from] VerifyError),
}

/// Time that Icarus has to compile a bench.
const COMPILE_TIME: Duration = Duration::from_secs(10);

/// The module in `response`: its last fenced block marked as Verilog, else the last block with a
/// module, else all visible text if it has one.
pub fn module_text(response: &str) -> Option<String> {
    let visible = extract::visible_response(response)?.text;
    let blocks = fenced(visible);
    let words = ["verilog", "systemverilog", "sv", "v"];
    let is_marked = |word: &str| words.contains(&word.to_lowercase().as_str());
    let marked = blocks.iter().rev().find(|(word, _)| is_marked(word));
    let has_module = |text: &str| text.contains("module");
    let found = marked.or_else(|| blocks.iter().rev().find(|(_, body)| has_module(body)));
    match found {
        Some((_, body)) => Some(body.clone()),
        None => (has_module(visible) && visible.contains("endmodule")).then(|| visible.to_owned()),
    }
}

/// Judges a module beside the golden module of a task.
///
/// # Errors
/// [`VerilogError`].
pub fn judge(
    candidate: &str,
    task: &VerilogTask,
    policy: &VerilogPolicy,
    session: &mut Session<'_>,
) -> Result<VerilogResult, VerilogError> {
    // Without the tools there is no verdict, not even on what would not be simulated.
    for tool in [Tool::Iverilog, Tool::Vvp] {
        tool.path()?;
    }
    if policy.proves {
        Tool::Yosys.path()?;
    }
    let golden =
        VerilogText::read(&task.golden).map_err(|why| malformed(format!("'golden': {why}")))?;
    let plan = BenchPlan::new(&golden, task)?;
    stimuli::check_size(&plan, task.cycles.unwrap_or(policy.cycles))?;
    let judge = Judge { golden: &golden, plan: &plan, task, policy };
    let result = match judge.read(candidate) {
        Err(refused) => refused,
        Ok(text) => {
            let result = judge.simulate(&text, session)?;
            if policy.proves && result.verdict == CodeVerdict::Ok {
                judge.prove(&text, result, session)?
            } else {
                result
            }
        }
    };
    // A golden module that does not run beside itself says nothing of another one.
    if result.verdict != CodeVerdict::Ok && result.differing == 0 {
        let policy = VerilogPolicy { benches: 1, ..*policy };
        let own = Judge { policy: &policy, ..judge }.simulate(&golden, session)?;
        if own.is_cut {
            // Without time for it, neither module is to blame.
            return Ok(VerilogResult { is_cut: true, ..result });
        }
        if own.verdict != CodeVerdict::Ok {
            let why = format!("{}: {}", own.verdict.code(), own.detail);
            return Err(VerifyError::BadReference(Reason::with("golden_failed", why)).into());
        }
    }
    Ok(result)
}

struct Judge<'a> {
    golden: &'a VerilogText<'a>,
    plan: &'a BenchPlan,
    task: &'a VerilogTask,
    policy: &'a VerilogPolicy,
}

impl Judge<'_> {
    fn empty(&self) -> VerilogResult {
        VerilogResult {
            verdict: CodeVerdict::Ok,
            passed: 0,
            total: self.policy.benches,
            compared: 0,
            differing: 0,
            seed: self.task.seed.unwrap_or(self.policy.seed),
            equivalence: Equivalence::NotTried,
            detail: String::new(),
            cpu: Duration::ZERO,
            is_cut: false,
        }
    }

    fn refused(&self, verdict: CodeVerdict, detail: String) -> VerilogResult {
        VerilogResult { verdict, detail, ..self.empty() }
    }

    /// Reads a candidate; the verdict on one that is not simulated.
    fn read<'t>(&self, candidate: &'t str) -> Result<VerilogText<'t>, VerilogResult> {
        let not_compiled = |why| self.refused(CodeVerdict::CompileError, why);
        if candidate.len() > MAX_BYTES {
            return Err(not_compiled(format!("the text is longer than {MAX_BYTES} bytes")));
        }
        let tokens = tokens::tokens(candidate).map_err(not_compiled)?;
        if let Some(why) = guard::forbidden(&tokens) {
            return Err(self.refused(CodeVerdict::Security, why));
        }
        let text = VerilogText::read(candidate).map_err(not_compiled)?;
        let Some(module) = text.module(&self.plan.top) else {
            return Err(not_compiled(format!("there is no module '{}'", self.plan.top)));
        };
        match self.plan.difference(module) {
            Some(why) => Err(self.refused(CodeVerdict::WrongAnswer, why)),
            None => Ok(text),
        }
    }

    /// Adds what Yosys finds to a result without a difference.
    fn prove(
        &self,
        candidate: &VerilogText<'_>,
        result: VerilogResult,
        session: &mut Session<'_>,
    ) -> Result<VerilogResult, VerilogError> {
        let limits = self.policy.limits;
        let found = proof::search(self.golden, candidate, self.plan, limits, session)?;
        let equivalence = match found {
            Found::Proof => Equivalence::Proven,
            Found::Nothing => Equivalence::Open,
            Found::Vector(vector) => {
                let own = self.simulate_vectors(candidate, Some(&vector), session)?;
                if own.verdict != CodeVerdict::Ok {
                    let cpu = result.cpu + own.cpu;
                    // Every bench would have shown it, had its seed been luckier.
                    return Ok(VerilogResult { cpu, equivalence: Equivalence::Refuted, ..own });
                }
                Equivalence::Open
            }
        };
        Ok(VerilogResult { equivalence, ..result })
    }

    fn simulate(
        &self,
        candidate: &VerilogText<'_>,
        session: &mut Session<'_>,
    ) -> Result<VerilogResult, VerilogError> {
        self.simulate_vectors(candidate, None, session)
    }

    /// Simulates the benches, or the one vector that is given.
    fn simulate_vectors(
        &self,
        candidate: &VerilogText<'_>,
        only: Option<&[bool]>,
        session: &mut Session<'_>,
    ) -> Result<VerilogResult, VerilogError> {
        let (start, watch) = (Instant::now(), PressureWatch::start());
        let mut result = self.empty();
        let program = self.program(candidate)?;
        if let Loaded::NotCompiled(message) = session.load_native(&program, self.policy.limits)? {
            result.verdict = CodeVerdict::CompileError;
            result.detail = cut(message.trim());
            return Ok(result);
        }
        let cycles = self.task.cycles.unwrap_or(self.policy.cycles);
        for index in 0..self.policy.benches as u64 {
            if start.elapsed() >= self.policy.total {
                if watch.was_starved(result.cpu) {
                    return Err(SandboxError::Starved.into());
                }
                result.is_cut = true;
                result.fail(CodeVerdict::TimeLimitWall, "the benches before took the time".into());
                break;
            }
            let vectors = match only {
                Some(vector) => vec![stimuli::hex(vector)],
                None => stimuli::vectors(self.plan, cycles, result.seed.wrapping_add(index)),
            };
            let nonce = nonce();
            let stdin = format!("{nonce}\n{}\n{}\n", vectors.len(), vectors.join("\n"));
            let report = session.run_native(&Test::Program { stdin })?;
            result.cpu += Duration::from_micros(report.guest.cpu_us);
            let looks = bench::looks_of(self.plan, vectors.len());
            match limit_verdict(report.ending(&self.policy.limits)) {
                Some(verdict) => result.fail(verdict, failed(&report)),
                None => self.count(&mut result, &report, &nonce, looks),
            }
            if result.verdict != CodeVerdict::Ok && self.policy.stop_early {
                break;
            }
        }
        if result.verdict == CodeVerdict::Ok && result.compared == 0 {
            let why = "no output of the golden module was ever known";
            return Err(VerifyError::BadReference(Reason::with("golden_unknown", why)).into());
        }
        Ok(result)
    }

    /// The bench as a program. The nonce of its results is not in it.
    fn program(&self, candidate: &VerilogText<'_>) -> Result<NativeProgram, SandboxError> {
        let (iverilog, vvp) = (Tool::Iverilog.path()?, Tool::Vvp.path()?);
        let id = nonce();
        // A text without a unit of its own has that of the bench; its lines keep their numbers.
        let file = |name: &str, text: &str| {
            let text = format!("`timescale 1ns/1ps\n`line 1 \"{name}\" 0\n{text}\n");
            (name.to_owned(), text)
        };
        let files = vec![
            file("golden.v", &self.golden.renamed(&format!("g{id}_"))),
            file("bench.v", &self.plan.text(&id, self.policy.ignores_unknown)),
            file("candidate.v", &candidate.renamed(&format!("c{id}_"))),
        ];
        let top = format!("tb_{id}");
        // `-u`: macros and names of a file are its own.
        let compile = [
            iverilog,
            "-g2012",
            "-u",
            "-s",
            &top,
            "-o",
            "bench.vvp",
            "golden.v",
            "bench.v",
            "candidate.v",
        ];
        // `-n`: no prompt; `-N`: a stop is a failure.
        let run = [vvp, "-n", "-N", "bench.vvp"];
        Ok(NativeProgram {
            files,
            compile: vec![compile.map(str::to_owned).into()],
            keep: Some("bench.vvp".to_owned()),
            run: run.map(str::to_owned).into(),
            compile_time: COMPILE_TIME,
            ..NativeProgram::default()
        })
    }

    /// Adds what a bench printed.
    fn count(&self, result: &mut VerilogResult, report: &Report, nonce: &str, looks: usize) {
        let stdout = String::from_utf8_lossy(&report.stdout);
        let lines: Vec<Vec<&str>> = stdout
            .lines()
            .filter_map(|line| line.strip_prefix(nonce)?.strip_prefix(' '))
            .map(|line| line.split(' ').collect())
            .collect();
        let number = |text: &str| text.parse::<usize>().ok();
        let name = |index: &str| {
            let port = number(index).and_then(|index| self.plan.ports.get(index));
            port.map_or("?", |port| port.name.as_str()).to_owned()
        };
        let mut first = None;
        let mut ends = Vec::new();
        for line in &lines {
            match line.as_slice() {
                ["W", index, golden, own] if golden != own => {
                    let why = format!("port '{}' has {own} bits, not {golden}", name(index));
                    return result.fail(CodeVerdict::WrongAnswer, why);
                }
                ["W", ..] => {}
                ["M", cycle, index, expected, found] => {
                    first.get_or_insert_with(|| {
                        format!(
                            "vector {cycle}, output '{}': expected {}, found {}",
                            name(index),
                            cut(expected),
                            cut(found)
                        )
                    });
                }
                ["E", n, seen, bad] => ends.push((number(n), number(seen), number(bad))),
                _ => ends.push((None, None, None)),
            }
        }
        let [(Some(n), Some(seen), Some(bad))] = ends[..] else {
            let why = format!("the bench did not end: {}", failed(report));
            return result.fail(CodeVerdict::RuntimeError, why);
        };
        if n != looks || bad > looks || seen > looks {
            return result.fail(CodeVerdict::RuntimeError, "the bench did not run".to_owned());
        }
        result.compared += seen;
        result.differing += bad;
        if bad == 0 {
            result.passed += 1;
        } else {
            result.fail(CodeVerdict::WrongAnswer, first.unwrap_or_default());
        }
    }
}

impl VerilogResult {
    fn fail(&mut self, verdict: CodeVerdict, detail: String) {
        if self.verdict == CodeVerdict::Ok {
            (self.verdict, self.detail) = (verdict, detail);
        }
    }

    /// The share of the samples without a difference; 0 for a module that was not simulated to
    /// the end.
    pub fn match_rate(&self) -> f64 {
        let is_measured = matches!(self.verdict, CodeVerdict::Ok | CodeVerdict::WrongAnswer);
        let equal = self.compared.saturating_sub(self.differing);
        if is_measured { share(equal, self.compared) } else { 0.0 }
    }

    /// The share of the benches without a difference.
    pub fn pass_rate(&self) -> f64 {
        share(self.passed, self.total)
    }
}

#[expect(clippy::cast_precision_loss, reason = "samples are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What a simulation said last.
fn failed(report: &Report) -> String {
    let text = String::from_utf8_lossy(&report.stderr);
    cut(text.trim_end().lines().last().unwrap_or("it said nothing"))
}

/// 128 bits that are new in every call.
fn nonce() -> String {
    let half = || RandomState::new().hash_one(Instant::now());
    format!("{:016x}{:016x}", half(), half())
}
