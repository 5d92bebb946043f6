//! Reading an answer as a type that the caller names.

use super::region_of;
use crate::answer::{Answer, AnswerForm, Brackets};

/// The type of an answer as given by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerType {
    /// A number or an expression.
    Number,
    /// An interval or another region, also written as an inequality or a pair.
    Interval,
    /// A tuple or a list.
    Tuple,
    /// A set, a list or a tuple, whose order does not count.
    Set,
    /// The text as it is written.
    Text,
}

impl AnswerType {
    const NAMES: [(&'static str, Self); 5] = [
        ("number", Self::Number),
        ("interval", Self::Interval),
        ("tuple", Self::Tuple),
        ("set", Self::Set),
        ("text", Self::Text),
    ];

    /// Finds the type called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
    }
}

impl Answer {
    /// Converts an answer that was read from `text` to the type `wanted`; `None` if it is of
    /// another type.
    pub fn into_type(self, wanted: AnswerType, text: &str) -> Option<Self> {
        let form = match (wanted, self.form) {
            (AnswerType::Text, _) => AnswerForm::Text(text.trim().to_owned()),
            (AnswerType::Number, form @ AnswerForm::Value(_))
            | (AnswerType::Interval, form @ (AnswerForm::Region(_) | AnswerForm::Inequality(_)))
            | (AnswerType::Tuple, form @ AnswerForm::Tuple(..)) => form,
            (AnswerType::Interval, form @ AnswerForm::Tuple(..)) => {
                AnswerForm::Region(region_of(&form)?)
            }
            (AnswerType::Tuple, AnswerForm::List(members)) => {
                AnswerForm::Tuple(Brackets::Round, members)
            }
            (
                AnswerType::Set,
                AnswerForm::Set(members)
                | AnswerForm::List(members)
                | AnswerForm::Tuple(_, members),
            ) => AnswerForm::Set(members),
            (
                AnswerType::Number | AnswerType::Interval | AnswerType::Tuple | AnswerType::Set,
                _,
            ) => return None,
        };
        Some(Self { form, ..self })
    }
}
