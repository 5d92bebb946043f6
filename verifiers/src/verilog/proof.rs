//! Equivalence by Yosys: what simulation cannot show. Nothing that it prints is a verdict: a
//! counterexample of its own becomes a vector, and counts if the simulation shows the difference.

use sandbox::{Limits, NativeProgram, SandboxError, Session, Test, Tool};

use super::bench::BenchPlan;
use super::module::{PortDirection, VerilogText};
use crate::code::limit_verdict;

/// What became of a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equivalence {
    /// The policy does not try, or the simulation had decided.
    NotTried,
    /// Yosys found the modules equal where the outputs of the golden one are known.
    Proven,
    /// Neither a proof nor a difference that the simulation shows.
    Open,
    /// Yosys found a vector whose difference the simulation shows.
    Refuted,
}

impl Equivalence {
    /// The words in details.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotTried => "not tried",
            Self::Proven => "proven",
            Self::Open => "open",
            Self::Refuted => "refuted",
        }
    }
}

/// What Yosys found.
pub(super) enum Found {
    Proof,
    /// A vector, lowest bit first.
    Vector(Vec<bool>),
    Nothing,
}

/// Clock cycles by which registers are compared.
const CYCLES: u32 = 5;

/// Looks for a proof that both modules are equal, or for a vector by which they differ.
pub(super) fn search(
    golden: &VerilogText<'_>,
    candidate: &VerilogText<'_>,
    plan: &BenchPlan,
    limits: Limits,
    session: &mut Session<'_>,
) -> Result<Found, SandboxError> {
    let yosys = Tool::Yosys.path()?;
    let both = plan.ports.iter().any(|port| port.direction == PortDirection::Both);
    if both {
        return Ok(Found::Nothing);
    }
    let has_state = plan.clock.is_some() || !plan.edges.is_empty();
    let script = script(&plan.top, has_state, limits);
    let program = NativeProgram {
        files: vec![
            ("golden.v".to_owned(), golden.renamed("g_")),
            ("candidate.v".to_owned(), candidate.renamed("c_")),
        ],
        run: [yosys, "-T", "-p", &script].map(str::to_owned).into(),
        ..NativeProgram::default()
    };
    session.load_native(&program, limits)?;
    let report = session.run_native(&Test::Program { stdin: String::new() })?;
    if limit_verdict(report.ending(&limits)).is_some() {
        return Ok(Found::Nothing);
    }
    let text = String::from_utf8_lossy(&report.stdout);
    if has_state || text.rsplit_once(SOLVING).is_some_and(|(_, end)| end.contains(PROVEN)) {
        return Ok(Found::Proof);
    }
    Ok(counterexample(plan, &text).map_or(Found::Nothing, Found::Vector))
}

/// What Yosys prints before it solves, and when there is no difference. An error would lose what it has not
/// written yet, so the solver ends without one.
const SOLVING: &str = "Solving problem with ";
const PROVEN: &str = "no model found: SUCCESS!";

/// The commands. Those for circuits with a clock end with an error if there is no proof.
fn script(top: &str, has_state: bool, limits: Limits) -> String {
    let read = "read_verilog -sv golden.v; read_verilog -sv candidate.v";
    let seconds = limits.cpu.as_secs().max(1);
    if has_state {
        return format!(
            "{read}; hierarchy; proc; flatten; memory; opt_clean; equiv_make g_{top} c_{top} both; \
             hierarchy -top both; opt_clean; equiv_simple -undef -seq {CYCLES}; \
             equiv_induct -undef -seq {CYCLES}; equiv_status -assert"
        );
    }
    format!(
        "{read}; hierarchy; proc; flatten; memory; opt_clean; \
         miter -equiv -flatten -make_outputs -ignore_gold_x g_{top} c_{top} both; \
         sat -set-def-inputs -prove trigger 0 -show-inputs -timeout {seconds} both"
    )
}

/// The vector in the last table of inputs: lines of a name and its value in three bases.
fn counterexample(plan: &BenchPlan, text: &str) -> Option<Vec<bool>> {
    let (_, table) = text.rsplit_once("Signal Name")?;
    let fields = plan.fields();
    let total = fields.iter().map(|field| field.bits).sum();
    let mut vector = vec![false; total];
    let mut n_read = 0;
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, .., binary] = words[..] else { continue };
        let Some(name) = name.strip_prefix("\\in_") else { continue };
        let field = fields.iter().find(|field| plan.ports[field.port].name == name)?;
        if binary.len() != field.bits {
            return None;
        }
        for (offset, digit) in binary.bytes().rev().enumerate() {
            vector[field.low + offset] = digit == b'1';
        }
        n_read += 1;
    }
    (n_read == fields.len()).then_some(vector)
}
