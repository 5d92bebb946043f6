//! `instructions`: the 25 verifiable instructions of `IFEval` (2311.07911), and 56 of the 58 of
//! `IFBench` (2507.02833).
//!
//! The gold answer lists instruction ids with their arguments. An unknown id, a missing argument or
//! one of another type is a bad reference and never a pass; an empty response follows nothing.
//! Results stay in the order of the list, also where an id stands in it twice. Where the published
//! checks use nltk or langdetect, ours are named in docs/instructions.md.

mod arguments;
mod forms;
mod ifbench;
mod read;
mod scan;
mod tasks;
mod words;

use std::borrow::Cow;
use std::cell::LazyCell;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::accepted::{candidate, scan_cost};
use crate::{Claim, Fuel, Gold, Reason, UnitScore, Verdict, Verifier, VerifierId, VerifyError};
use read::Instruction;

/// Bytes that one unit of fuel checks.
const BYTES_PER_UNIT: u64 = 64;

/// Which form of a response must follow an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    /// The response as it is.
    #[default]
    Strict,
    /// It, or it without its first line, its last line, both, or any of these without asterisks.
    Loose,
}

/// The score of several instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionReward {
    /// 1 if all are followed (prompt-level accuracy).
    #[default]
    All,
    /// The share that is followed (instruction-level accuracy).
    Share,
}

/// How instructions are checked and scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstructionsConfig {
    /// Which form must follow them.
    pub mode: Strictness,
    /// The score of several.
    pub reward: InstructionReward,
}

/// Right when the response follows the instructions of the gold answer.
#[derive(Debug, Clone, Copy)]
pub struct InstructionsVerifier {
    config: InstructionsConfig,
}

impl InstructionsVerifier {
    /// Creates a verifier with this configuration.
    pub fn new(config: InstructionsConfig) -> Self {
        Self { config }
    }

    fn judge(self, instructions: &[(&str, Instruction)], text: &str, explain: bool) -> Verdict {
        // Made when the response as it is does not follow an instruction.
        let forms = LazyCell::new(|| match self.config.mode {
            Strictness::Strict => Vec::new(),
            Strictness::Loose => other_forms(text),
        });
        let is_followed = |instruction: &Instruction| {
            let holds = |form: &str| !form.trim().is_empty() && instruction.holds(form);
            holds(text) || forms.iter().any(|form| holds(form))
        };
        let followed: Vec<bool> = instructions.iter().map(|(_, one)| is_followed(one)).collect();
        let count = followed.iter().filter(|followed| **followed).count();
        let total = instructions.len();
        let score = match self.config.reward {
            InstructionReward::All => UnitScore::from(count == total),
            InstructionReward::Share => share(count, total),
        };
        let detail = || {
            let failed = instructions.iter().zip(&followed).filter(|(_, followed)| !**followed);
            let failed: Vec<&str> = failed.map(|((id, _), _)| *id).collect();
            match failed.as_slice() {
                [] => format!("{total} instructions are followed"),
                failed => format!("not followed: {}", failed.join(", ")),
            }
        };
        let (label, code) = match count {
            0 => ("none", "no_instruction_followed"),
            _ if count == total => ("all", "instructions_followed"),
            _ => ("some", "some_instructions_followed"),
        };
        Verdict::proven(score, label, Reason::explained(code, explain, detail))
    }
}

fn no_object() -> VerifyError {
    let detail = "give an object with 'instruction_id_list' and 'kwargs'";
    VerifyError::BadReference(Reason::with("reference_type", detail))
}

impl Verifier for InstructionsVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "instructions", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let parsed: Map<String, Value>;
        let fields = match claim.gold {
            Gold::Missing => return Err(VerifyError::missing_reference()),
            Gold::Object(fields) => fields,
            // As a column of texts has it.
            Gold::Text(text) => {
                parsed = serde_json::from_str(text).map_err(|_| no_object())?;
                &parsed
            }
            Gold::AnyOf(_) => return Err(no_object()),
        };
        let instructions = read::instructions(fields)
            .map_err(|detail| VerifyError::BadReference(Reason::with("bad_instruction", detail)))?;
        let n_scans = instructions.len() as u64 * 8;
        let cost = |text: &str| scan_cost(text.len(), BYTES_PER_UNIT).saturating_mul(n_scans);
        Ok(match candidate(claim.candidate, fuel, cost) {
            Ok(text) => self.judge(&instructions, text, claim.explain),
            Err(verdict) => verdict,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of instructions are small")]
fn share(part: usize, whole: usize) -> UnitScore {
    UnitScore::new(part as f64 / whole as f64).expect("a part of a whole that is not 0")
}

/// The forms of the loose criterion beside the response itself: seven, or fewer if some are equal.
fn other_forms(text: &str) -> Vec<Cow<'_, str>> {
    let without_first = text.split_once('\n').map_or("", |(_, rest)| rest);
    let without_last = text.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let without_both = without_first.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let mut forms = [without_first, without_last, without_both].map(str::trim).to_vec();
    forms.dedup();
    let starred = std::iter::once(text).chain(forms.iter().copied());
    let plain: Vec<_> = starred
        .filter(|form| form.contains('*'))
        .map(|form| form.replace('*', "").into())
        .collect();
    forms.into_iter().map(Cow::Borrowed).chain(plain).collect()
}
