//! Names of units: "weber" and `1 V s`.

use dashu::rational::RBig;

use crate::answer::{Answer, AnswerForm, Value};
use crate::expr::{Node, Workspace};
use crate::measure::{self, Conversion};

/// Returns whether a form is the name of a unit in words.
pub(super) fn is_named(form: &AnswerForm) -> bool {
    matches!(form, AnswerForm::Text(name) if measure::is_unit(name))
}

/// Returns whether an answer is one of a unit.
pub(super) fn is_one(answer: &Answer, ws: &Workspace<'_>) -> bool {
    matches!(&answer.form, AnswerForm::Value(Value { expr, unit: Some(_), .. })
        if matches!(ws.node(*expr), Node::Number(value) if *value == RBig::ONE))
}

/// Returns whether a candidate is one of the unit that the gold answer names.
pub(super) fn are_same(gold: &AnswerForm, candidate: &Answer, ws: &Workspace<'_>) -> bool {
    let (AnswerForm::Text(name), AnswerForm::Value(Value { unit: Some(unit), .. })) =
        (gold, &candidate.form)
    else {
        return false;
    };
    let known = if measure::is_unit(name) { measure::parse_marked_unit(name) } else { None };
    is_one(candidate, ws)
        && known.is_some_and(|known| match unit.conversion(&known) {
            Conversion::Same => true,
            Conversion::Linear { factor, offset } => factor == RBig::ONE && offset.is_zero(),
            Conversion::OtherDimension | Conversion::OtherThing => false,
        })
}
