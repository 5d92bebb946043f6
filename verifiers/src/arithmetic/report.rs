//! Reports of the arithmetic step checker.

use std::ops::Range;

use super::exact::Exact;

/// A solution, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// The steps in the order of the text.
    pub steps: Vec<ArithmeticStep>,
    /// Position in `steps` of the first step with a wrong equality.
    pub first_wrong: Option<usize>,
    /// Whether the fuel ran out before all text was read. The rest is unchecked.
    pub exhausted: bool,
}

impl StepReport {
    pub(super) fn new(steps: Vec<ArithmeticStep>, exhausted: bool) -> Self {
        let first_wrong = steps.iter().position(|step| step.label() == StepLabel::Wrong);
        Self { steps, first_wrong, exhausted }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArithmeticStep {
    /// Position, from 0.
    pub index: usize,
    /// Half-open byte range.
    pub span: Range<usize>,
    /// The equalities that the step states, in the order of their starts.
    pub equalities: Vec<Equality>,
}

/// The class of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepLabel {
    /// At least one equality was checked and every checked one holds.
    Right,
    /// At least one equality does not hold.
    Wrong,
    /// Nothing in the step could be checked.
    Unchecked,
}

impl StepLabel {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unchecked => "unchecked",
        }
    }
}

impl ArithmeticStep {
    /// Returns the class of the step. Equalities that could not be read have no say in it.
    pub fn label(&self) -> StepLabel {
        let mut label = StepLabel::Unchecked;
        for equality in &self.equalities {
            match equality.check.label() {
                StepLabel::Wrong => return StepLabel::Wrong,
                StepLabel::Right => label = StepLabel::Right,
                StepLabel::Unchecked => {}
            }
        }
        label
    }

    /// Returns 1 when right, 0 when wrong, `None` when unchecked.
    pub fn score(&self) -> Option<f64> {
        match self.label() {
            StepLabel::Right => Some(1.0),
            StepLabel::Wrong => Some(0.0),
            StepLabel::Unchecked => None,
        }
    }
}

/// A stated equality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equality {
    /// Half-open byte range, from the start of the left side to the end of the right side.
    pub span: Range<usize>,
    /// Place of the statement.
    pub source: EqualitySource,
    /// The result of the check.
    pub check: EqualityCheck,
}

/// Place where an equality is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EqualitySource {
    /// In the running text.
    Prose,
    /// In a calculator annotation, `<<48/2=24>>`.
    Annotation,
    /// In both: the text states with its annotation removed what the annotation states inside it.
    /// The span is the one in the text.
    Both,
}

/// The result of checking an equality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EqualityCheck {
    /// It holds.
    Right {
        /// The exact value of the left side.
        computed: Exact,
        /// By which rule.
        rule: EqualityRule,
    },
    /// It does not hold.
    Wrong {
        /// The exact value of the left side.
        left: Exact,
        /// The exact value of the right side.
        right: Exact,
        /// The right side continues with the value of the left one, as in `2 + 3 = 5 + 1 = 6`: a
        /// chain of results rather than a miscalculation, and still false.
        run_on: bool,
    },
    /// It divides by zero, so that it cannot hold.
    DividesByZero,
    /// It could not be read, or not for certain.
    Unchecked {
        /// The reason.
        why: Why,
    },
}

impl EqualityCheck {
    /// Returns the class.
    pub fn label(&self) -> StepLabel {
        match self {
            Self::Right { .. } => StepLabel::Right,
            Self::Wrong { .. } | Self::DividesByZero => StepLabel::Wrong,
            Self::Unchecked { .. } => StepLabel::Unchecked,
        }
    }

    /// Describes the computation, or why there is none, for people.
    pub fn detail(&self) -> String {
        match self {
            Self::Right { computed, rule } => match rule.note() {
                Some(note) => format!("{computed}, {note}"),
                None => computed.to_string(),
            },
            Self::Wrong { left, right, run_on } => {
                let tail = if *run_on { ", a run-on chain" } else { "" };
                format!("{left} is not {right}{tail}")
            }
            Self::DividesByZero => "division by zero".to_owned(),
            Self::Unchecked { why } => why.as_str().to_owned(),
        }
    }
}

/// The rule by which an equality holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EqualityRule {
    /// The sides are equal.
    Exact,
    /// The written side is the other one rounded to the places that are written.
    Rounded,
    /// The written side is the other one cut after the places that are written.
    Truncated,
    /// The sides differ by the error of binary floating point, and a number shows it.
    FloatingPoint,
    /// The written side states in percent what the other one states in hundredths:
    /// `5/20*100 = 25%`.
    PercentPoints,
}

impl EqualityRule {
    /// Returns what the reader should know beside the value.
    fn note(self) -> Option<&'static str> {
        match self {
            Self::Exact => None,
            Self::Rounded => Some("written rounded"),
            Self::Truncated => Some("written truncated"),
            Self::FloatingPoint => Some("within floating-point error"),
            Self::PercentPoints => Some("written in percent"),
        }
    }
}

/// Reason why an equality was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// A side holds a letter or a name that stands for a number.
    Variable,
    /// Words belong to a side, and what they change is not known.
    Words,
    /// The numbers differ, and the units may explain it: `30 minutes * 2 = 1 hour`.
    Units,
    /// The numbers differ, and another reading of a percent sign may explain it.
    Percent,
    /// A share is set equal to an amount: `20% = 10 people`.
    Proportion,
    /// The left side is a number that may be a name: `Week 2 = 3 + 4`.
    Name,
    /// Two numbers stand side by side.
    AdjacentNumbers,
    /// A number in a notation that is not read: `1.234,5`, `2e-05`, `3.33...`.
    NumberFormat,
    /// `3:30`.
    TimeOrRatio,
    /// A function, factorial or unknown command.
    Function,
    /// An operator lacks an operand, or a side is missing.
    Syntax,
    /// Precedence or grouping is not certain: `8/2(4)`.
    Ambiguous,
    /// `2 1/2` may be two and a half, and `2-1/2` too.
    MixedNumber,
    /// A dash before the first number may be a list marker or a sign.
    ListMarker,
    /// The numbers differ by no more than a number that looks rounded explains: `4/0.3333 = 12`.
    RoundedOperand,
    /// Said to be approximate, and near.
    Approximate,
    /// A chain of results, where the configuration leaves those unchecked.
    RunOn,
    /// The check would cost too much.
    TooCostly,
}

impl Why {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Words => "words",
            Self::Units => "units",
            Self::Percent => "percent",
            Self::Proportion => "proportion",
            Self::Name => "name",
            Self::AdjacentNumbers => "adjacent_numbers",
            Self::NumberFormat => "number_format",
            Self::TimeOrRatio => "time_or_ratio",
            Self::Function => "function",
            Self::Syntax => "syntax",
            Self::Ambiguous => "ambiguous",
            Self::MixedNumber => "mixed_number",
            Self::ListMarker => "list_marker",
            Self::RoundedOperand => "rounded_operand",
            Self::Approximate => "approximate",
            Self::RunOn => "run_on",
            Self::TooCostly => "too_costly",
        }
    }
}
