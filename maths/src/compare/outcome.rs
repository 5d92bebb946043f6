//! The outcome of a comparison and the evidence for it.

use crate::proof::{Doubt, Proof, Rule, Witness};

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// They mean the same, by proof or by a documented rule.
    Equal(Evidence),
    /// They differ, by proof or by a documented rule.
    Different(Evidence),
    /// The candidate is of a type that no rule compares with the gold answer's.
    Incomparable(Evidence),
    /// Both were understood, and nothing was proven.
    Undecided(Doubt),
}

/// The rule that decided, and what shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Stable, for programs: the reason code of the verdict.
    pub code: &'static str,
    /// A point where two expressions differ.
    pub(crate) witness: Option<Witness>,
    /// The member of the gold answer that decided, counted from 1.
    pub(crate) member: Option<usize>,
}

impl Evidence {
    pub(crate) fn new(code: &'static str) -> Self {
        Self { code, witness: None, member: None }
    }
}

impl Comparison {
    pub(crate) fn equal(code: &'static str) -> Self {
        Self::Equal(Evidence::new(code))
    }

    pub(crate) fn different(code: &'static str) -> Self {
        Self::Different(Evidence::new(code))
    }

    pub(crate) fn incomparable(code: &'static str) -> Self {
        Self::Incomparable(Evidence::new(code))
    }

    /// Returns `equal` or `different`, by a rule that is a proof either way.
    pub(crate) fn proven(is_equal: bool, equal: &'static str, different: &'static str) -> Self {
        if is_equal { Self::equal(equal) } else { Self::different(different) }
    }

    pub(crate) fn is_equal(&self) -> bool {
        matches!(self, Self::Equal(_))
    }

    /// Returns the same with its place in a longer answer.
    pub(super) fn at(self, member: usize) -> Self {
        let place = |ground: Evidence| Evidence { member: Some(member + 1), ..ground };
        match self {
            Self::Equal(ground) => Self::Equal(place(ground)),
            Self::Different(ground) => Self::Different(place(ground)),
            Self::Incomparable(ground) => Self::Incomparable(place(ground)),
            Self::Undecided(doubt) => Self::Undecided(doubt),
        }
    }
}

/// The texts of both sides, for answers that are compared as they are written.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTexts<'t> {
    /// The gold answer as given.
    pub gold: &'t str,
    /// The candidate as given.
    pub candidate: &'t str,
}

/// Returns the reason why a candidate is at fault for a doubt.
pub(super) fn blame(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::LikelyEqual => "likely_equal",
        Doubt::NoRule => "candidate_no_rule",
        Doubt::NoValue => "candidate_no_value",
        Doubt::Costly => "candidate_too_costly",
    }
}

/// Returns a finding of algebra as an outcome.
pub(super) fn outcome(finding: Proof) -> Comparison {
    match finding {
        Proof::Equal(rule) => Comparison::equal(equal_code(rule)),
        Proof::Different(rule, witness) => {
            Comparison::Different(Evidence { code: different_code(rule), witness, member: None })
        }
        Proof::Undecided(doubt) => Comparison::Undecided(doubt),
    }
}

fn equal_code(rule: Rule) -> &'static str {
    match rule {
        Rule::Identical => "identical",
        Rule::Rational => "rational_equal",
        Rule::RationalFunction => "rational_function_equal",
        Rule::Algebraic => "algebraic_equal",
        Rule::Elementary => "elementary_equal",
        Rule::Calculus => "calculus_equal",
        Rule::Enclosure => "enclosure_equal",
        Rule::Definedness => "both_undefined",
    }
}

fn different_code(rule: Rule) -> &'static str {
    match rule {
        Rule::Identical => "symbols_different",
        Rule::Rational => "rational_different",
        Rule::RationalFunction => "rational_function_different",
        Rule::Algebraic => "algebraic_different",
        Rule::Elementary => "elementary_different",
        Rule::Calculus => "calculus_different",
        Rule::Enclosure => "enclosure_different",
        Rule::Definedness => "definedness_different",
    }
}
