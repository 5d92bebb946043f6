//! Typed answers: what readers return and comparisons take.
//!
//! A form is decided by how the answer is written, not by what it is compared with: `(0, 1)` is a
//! pair of values in round brackets, and whether it is a point or an interval is for the gold
//! answer to say.

use std::fmt;

use super::calendar::{Clock, Date};
use super::expr::Expr;
use super::fuel::Exhausted;
use super::measure::{Conversion, Measure};

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The subjects of the answer, outermost first: `x` of `x = 5` and of `x \in [0, 1)`,
    /// `f(x)` of `f(x) = x^2`, `(p, q)` of `(p, q) = (3, 2)`, both `a` and `b` of `a = b = 101`.
    pub(crate) subjects: Vec<Subject>,
    pub(crate) form: AnswerForm,
    /// Repairs and observations of the reader, in order.
    pub(crate) notes: Vec<Note>,
}

impl Answer {
    /// Joins `members` into one list.
    pub fn list(members: Vec<Self>) -> Self {
        Self { subjects: Vec::new(), form: AnswerForm::List(members), notes: Vec::new() }
    }

    /// Returns a list with the members of its lists in their places.
    #[must_use]
    pub fn flattened(self) -> Self {
        let AnswerForm::List(members) = self.form else {
            return self;
        };
        let mut flat = Vec::with_capacity(members.len());
        for member in members {
            let is_plain = |part: &Self| part.subjects.is_empty();
            let Self { subjects, form, notes } = member;
            if let AnswerForm::List(parts) = form {
                // `y = 3 + 5k, k \in \mathbb{Z}` declares the letter of all members.
                let declares = |part: &Self| {
                    matches!(&part.form, AnswerForm::Region(Region::Integers | Region::Naturals))
                };
                if subjects.is_empty() && parts.iter().any(declares) {
                    flat.extend(parts);
                } else if parts.iter().all(is_plain) {
                    let with_subjects = |part| Self { subjects: subjects.clone(), ..part };
                    flat.extend(parts.into_iter().map(with_subjects));
                } else {
                    flat.push(Self { subjects, form: AnswerForm::List(parts), notes });
                }
            } else {
                flat.push(Self { subjects, form, notes });
            }
        }
        Self { form: AnswerForm::List(flat), ..self }
    }

    /// Returns a list whose members answer the parts of a question, each with the label of its part.
    #[must_use]
    pub fn with_labels(self) -> Self {
        let AnswerForm::List(members) = self.form else {
            return self;
        };
        let labelled = (b'a'..=b'z').zip(members).map(|(letter, member)| {
            let label = format!("({})", char::from(letter));
            Self { subjects: vec![Subject::Text(label)], ..member }
        });
        Self { form: AnswerForm::List(labelled.collect()), ..self }
    }

    /// Returns how many members a list without brackets has; of any other answer one.
    pub fn member_count(&self) -> usize {
        if let AnswerForm::List(members) = &self.form { members.len() } else { 1 }
    }

    /// Returns whether the answer is in words.
    pub fn is_text(&self) -> bool {
        matches!(self.form, AnswerForm::Text(_))
    }

    /// Returns whether the answer is a yes or a no.
    pub fn is_truth(&self) -> bool {
        matches!(self.form, AnswerForm::Truth(_))
    }

    /// Returns whether the answer is a number or an expression.
    pub fn is_value(&self) -> bool {
        matches!(self.form, AnswerForm::Value(_))
    }

    /// Returns whether the answer is one decimal with digits behind the point.
    pub fn is_decimal(&self) -> bool {
        matches!(&self.form, AnswerForm::Value(value) if value.last_digit.is_some_and(|last| last < 0))
    }

    /// Returns whether the answer is one value with a unit.
    pub fn has_unit(&self) -> bool {
        matches!(&self.form, AnswerForm::Value(value) if value.unit.is_some())
    }

    /// Returns whether the answer is a list of values, each with a unit.
    pub fn are_amounts(&self) -> bool {
        matches!(&self.form, AnswerForm::List(members) if members.iter().all(Self::has_unit))
    }

    /// Returns the only member of a list of amounts that is in the unit of `other`.
    #[must_use]
    pub fn member_in_unit_of(&self, other: &Self) -> Option<Self> {
        let unit = |answer: &Self| {
            if let AnswerForm::Value(value) = &answer.form { value.unit.clone() } else { None }
        };
        let AnswerForm::List(members) = &self.form else {
            return None;
        };
        let own = unit(other)?;
        let mut alike = members.iter().filter(|member| {
            unit(member).is_some_and(|unit| matches!(unit.conversion(&own), Conversion::Same))
        });
        let only = alike.next()?.clone();
        alike.next().is_none().then_some(only)
    }

    /// Returns the number of a congruence that has one residue: 9 of `9 \pmod{12}`.
    #[must_use]
    pub fn residue(&self) -> Option<Self> {
        let AnswerForm::Congruence { residues, .. } = &self.form else {
            return None;
        };
        let [only] = residues.as_slice() else {
            return None;
        };
        let form = AnswerForm::Value(Value::bare(*only));
        Some(Self { subjects: Vec::new(), form, notes: Vec::new() })
    }

    /// Returns whether an approximation that followed the answer was left out.
    pub fn drops_approximation(&self) -> bool {
        self.notes.contains(&Note::ApproximationDropped)
    }

    /// Returns whether the answer says of what it is the value.
    pub fn is_named(&self) -> bool {
        !self.subjects.is_empty()
    }

    /// Returns whether the answer is a set or a tuple.
    pub fn is_enclosed(&self) -> bool {
        matches!(self.form, AnswerForm::Set(_) | AnswerForm::Tuple(..))
    }

    /// Returns whether the answer is a list whose members have names in words: "maximum 18, minimum -2".
    pub fn names_members(&self) -> bool {
        let is_named = |member: &Self| match member.subjects.first() {
            // Labels of the parts of a question are no names.
            Some(Subject::Text(name)) => !name.starts_with('('),
            Some(Subject::Expr(_) | Subject::Several(_)) | None => false,
        };
        matches!(&self.form, AnswerForm::List(members)
            if members.len() > 1 && members.iter().all(is_named))
    }

    /// Returns whether the answer says where a quantity lies: an inequality or an interval.
    pub fn is_condition(&self) -> bool {
        matches!(self.form, AnswerForm::Inequality(_) | AnswerForm::Region(_))
    }

    /// Returns whether the answer is a tuple, or a matrix of one row or column.
    pub fn is_vector(&self) -> bool {
        let is_line = |rows: &[Vec<Expr>]| rows.len() == 1 || rows.iter().all(|row| row.len() == 1);
        matches!(&self.form, AnswerForm::Tuple(..))
            || matches!(&self.form, AnswerForm::Matrix(rows) if is_line(rows))
    }

    /// Returns whether the answer is a list without brackets.
    pub fn is_list(&self) -> bool {
        matches!(self.form, AnswerForm::List(_))
    }
}

/// The left-hand side of `x = …` and its kin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A variable, an unknown function's value, a product of capital letters (`AB`), or a quotient
    /// of such.
    Expr(Expr),
    /// `(p, q)`: a tuple or list of such.
    Several(Vec<Expr>),
    /// Words: `Area = 5`.
    Text(String),
}

/// The types of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// A number or an expression, with or without a unit.
    Value(Value),
    /// `left = right` where the left side is more than a [`Subject`].
    Equation(Expr, Expr),
    /// `first r1 second r2 third …` with at least one relation that is no `=`.
    Inequality(Chain),
    /// Something written with interval brackets `[a, b)`, with `\cup`, `\cap`, `\setminus`, or as a
    /// named set of numbers.
    Region(Region),
    /// `{…}`: a finite set.
    Set(Vec<Answer>),
    /// `(…)`, `[…]` or `⟨…⟩` with two members or more.
    Tuple(Brackets, Vec<Answer>),
    /// Members without brackets, joined by commas, semicolons, "and", "or", or expanded from `\pm`.
    List(Vec<Answer>),
    /// At least one row, all of the same length, which is at least one.
    Matrix(Vec<Vec<Expr>>),
    /// Values with the conditions under which they hold; at most one, the last, has none.
    Piecewise(Vec<(Expr, Option<Condition>)>),
    /// `residues` modulo `modulus`; at least one residue.
    Congruence { residues: Vec<Expr>, modulus: Expr },
    /// A numeral in a base from 2 to 36.
    Numeral(Numeral),
    /// `a : b` or longer, at least two terms.
    Ratio(Vec<Expr>),
    /// A day of the calendar.
    Date(Date),
    /// A time of day.
    Clock(Clock),
    /// A truth value: true, false; yes and no are those.
    Truth(bool),
    /// Something with an ellipsis: compared as written, without white space and commands that only
    /// set type.
    Sequence(String),
    /// Words.
    Text(String),
}

/// A number or an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// The value in terms of the unit; a percent sign is a factor of 1/100 in it.
    pub(crate) expr: Expr,
    /// For one decimal literal: the power of ten of its last digit, after percent signs and powers
    /// of ten.
    pub(crate) last_digit: Option<i32>,
    /// Whether it was written with a percent sign.
    pub(crate) is_percent: bool,
    /// Boxed, because it is larger than all of the other forms, and answers move often.
    pub(crate) unit: Option<Box<Measure>>,
    /// Notation of a fraction.
    pub(crate) is_reduced: bool,
}

/// Relation of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A chain of relations, `0 < x \le 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) first: Expr,
    /// At least one.
    pub(crate) rest: Vec<(Relation, Expr)>,
}

/// When a piece holds: all of the chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition(pub(crate) Vec<Chain>);

/// A set of numbers that is not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Region {
    Interval {
        from: Expr,
        to: Expr,
        /// Whether `from` belongs to it.
        has_from: bool,
        /// Whether `to` belongs to it.
        has_to: bool,
    },
    Points(Vec<Expr>),
    Empty,
    Integers,
    Naturals,
    Rationals,
    Reals,
    Complexes,
    Union(Vec<Region>),
    Intersection(Vec<Region>),
    /// The first without the second.
    Difference(Box<Region>, Box<Region>),
    /// `{ variable | chains }`: where all of the chains hold.
    Where(Expr, Vec<Chain>),
    /// Conditions that commas join: where all of them hold, or where any does if none holds with
    /// the others, as in `x < -2, x > 3`.
    Joined(Vec<Region>),
}

/// The brackets of a tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Brackets {
    Round,
    Square,
    Angle,
}

/// Digits with a base: `101_2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numeral {
    pub(crate) is_negative: bool,
    /// Upper case, without leading zeros; "0" for zero. All below `base`.
    pub(crate) digits: String,
    pub(crate) base: u8,
}

/// A repair or an observation of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Note {
    /// `\frac12`, `\frac1{72}`.
    FractionBraces,
    /// `\sqrt3`.
    RootBraces,
    /// A brace or delimiter that opens or shuts nothing was left out.
    StrayDelimiter,
    /// Every backslash was written twice.
    DoubleBackslash,
    /// A comma was read as a decimal point, as configured.
    DecimalComma,
    /// An approximation after the exact value was left out.
    ApproximationDropped,
    /// A chain of equalities was cut to its last side.
    ChainShortened,
    /// `\pm` was expanded.
    PlusMinusExpanded,
    /// A word for a number was read.
    NumberWord,
}

impl Note {
    /// Returns the note for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::FractionBraces => "missing braces of a fraction were added",
            Self::RootBraces => "missing braces of a root were added",
            Self::StrayDelimiter => "a stray delimiter was left out",
            Self::DoubleBackslash => "doubled backslashes were read as single ones",
            Self::DecimalComma => "a comma was read as a decimal point",
            Self::ApproximationDropped => "an approximation behind the exact value was left out",
            Self::ChainShortened => "the last side of a chain of equalities was taken",
            Self::PlusMinusExpanded => "± was read as two values",
            Self::NumberWord => "a word was read as a number",
        }
    }

    /// Returns whether malformed text was repaired, which the configuration can forbid.
    pub(crate) fn is_repair(self) -> bool {
        match self {
            Self::FractionBraces
            | Self::RootBraces
            | Self::StrayDelimiter
            | Self::DoubleBackslash => true,
            Self::DecimalComma
            | Self::ApproximationDropped
            | Self::ChainShortened
            | Self::PlusMinusExpanded
            | Self::NumberWord => false,
        }
    }
}

/// Reason why a text was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// No grammar reads all of it.
    NotMaths,
    /// It nests too deep or costs too much.
    TooCostly,
    /// It has more than [`MAX_BYTES`].
    TooLong,
}

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

impl From<Exhausted> for Unread {
    fn from(_: Exhausted) -> Self {
        Self::TooCostly
    }
}

impl AnswerForm {
    /// Returns the name of the type, for explanations.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Value(_) => "value",
            Self::Equation(..) => "equation",
            Self::Inequality(_) => "inequality",
            Self::Region(_) => "region",
            Self::Set(_) => "set",
            Self::Tuple(..) => "tuple",
            Self::List(_) => "list",
            Self::Matrix(_) => "matrix",
            Self::Piecewise(_) => "piecewise",
            Self::Congruence { .. } => "congruence",
            Self::Numeral(_) => "numeral",
            Self::Ratio(_) => "ratio",
            Self::Date(_) => "date",
            Self::Clock(_) => "clock time",
            Self::Truth(_) => "truth value",
            Self::Sequence(_) => "sequence",
            Self::Text(_) => "text",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "≠",
            Self::Less => "<",
            Self::LessOrEqual => "≤",
            Self::Greater => ">",
            Self::GreaterOrEqual => "≥",
        })
    }
}
