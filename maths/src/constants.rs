//! Constants of physics in place of their symbols.

use serde::Serialize;

use crate::answer::{Answer, AnswerForm};
use crate::expr::{Node, Workspace};
use crate::fuel::Exhausted;
use crate::measure::constant_named;

/// The symbol of a constant of physics that the tables know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PhysicalConstant(String);

/// The tables know no such constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no constant of physics is known by this symbol; `c`, `h`, `hbar`, `k_B`, `N_A`, `G`, `R` are"
)]
pub struct UnknownConstant;

impl std::str::FromStr for PhysicalConstant {
    type Err = UnknownConstant;

    fn from_str(symbol: &str) -> Result<Self, UnknownConstant> {
        let known = constant_named(symbol);
        known.map(|_| Self(symbol.to_owned())).ok_or(UnknownConstant)
    }
}

/// Replaces the symbols of `constants` in the value of `answer` by their numbers in SI units.
///
/// # Errors
/// [`Exhausted`] when the fuel ran out.
pub fn with_constants(
    answer: &Answer,
    constants: &[PhysicalConstant],
    ws: &mut Workspace<'_>,
) -> Result<Answer, Exhausted> {
    let mut answer = answer.clone();
    if let AnswerForm::Value(value) = &mut answer.form {
        value.expr = ws.replaced(value.expr, &mut |ws, node| {
            let Node::Symbol(name) = node else {
                return Ok(None);
            };
            let spelling = ws.spelling(*name);
            let is_configured = constants.iter().any(|known| known.0 == spelling);
            let known = is_configured.then(|| constant_named(spelling)).flatten();
            known.map(|known| ws.number(known.value)).transpose()
        })?;
    }
    Ok(answer)
}
