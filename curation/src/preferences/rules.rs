//! Rules by strength.

use serde::Serialize;

use super::Strength;

/// A bound of strengths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrengthBound {
    /// A strength, in the unit of the scores.
    Strength(f64),
    /// The strength at this share, from 0 to 1, of all measured pairs in ascending order. Equal
    /// strengths on both sides of it lie neither below nor above, so that the order of pairs
    /// decides nothing.
    Quantile(f64),
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The pair is kept as it is; later rules do not apply.
    Keep,
    /// Chosen and rejected change places.
    Flip,
    /// The label is smoothed: q = (1 - ε) y + ε/2.
    Soften {
        /// ε, from 0 to 1.
        smoothing: f64,
    },
    /// Chosen and rejected change places, and the label is smoothed.
    FlipAndSoften {
        /// ε, from 0 to 1.
        smoothing: f64,
    },
    /// The pair is dropped.
    Drop,
}

/// An action for the pairs between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StrengthRule {
    /// Strengths from here on; `None` for all from the weakest on.
    pub from: Option<StrengthBound>,
    /// Strengths below this one; `None` for all to the strongest.
    pub below: Option<StrengthBound>,
    /// The action.
    pub action: Action,
}

/// Rules in order: the first that matches decides, and a pair without a matching rule is kept as it
/// is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StrengthRules {
    /// The rules.
    pub rules: Vec<StrengthRule>,
    /// Greatest spread between scorers; a pair above it is dropped before any rule applies. An
    /// unknown spread drops nothing.
    pub most_spread: Option<f64>,
    /// Least number of scorers that measured a pair; with fewer it is not judged.
    pub least_measured: usize,
}

/// Rules with quantiles resolved to strengths, which decide single pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedRules {
    ranges: Vec<ResolvedRule>,
    most_spread: Option<f64>,
    least_measured: usize,
}

/// A rule whose bounds are strengths. A quantile of no pairs is NaN, which matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResolvedRule {
    /// Strengths from here on.
    pub from: Option<f64>,
    /// Strengths below this one.
    pub below: Option<f64>,
    /// The action.
    pub action: Action,
}

/// The decision about a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum PairDecision {
    /// The pair is kept.
    Row {
        /// Whether chosen and rejected change places.
        flipped: bool,
        /// Probability that the chosen response, after the flip, is the better: the target of the
        /// loss -q log σ(Δ) - (1 - q) log σ(-Δ).
        label: f64,
        /// Mean preference of the scorers, after the flip: the adaptive margin of the loss -log σ(Δ
        /// - margin).
        margin: f64,
    },
    /// Dropped by a rule.
    Dropped,
    /// Dropped because the scorers differ too much.
    Disputed,
    /// Measured by too few scorers; never taken for a weak pair.
    NotMeasured,
}

/// Error of rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// A number is out of its range.
    #[error("rule {rule}: {what} is {value}; it must be {expected}")]
    OutOfRange {
        /// Position of the rule, from 1.
        rule: usize,
        /// The number.
        what: &'static str,
        /// The given value.
        value: f64,
        /// The valid range.
        expected: &'static str,
    },
    /// No strength can fall under a rule.
    #[error(
        "rule {rule}: it begins at {from} and ends below {below}, so that no pair falls under it"
    )]
    Empty {
        /// Position of the rule, from 1.
        rule: usize,
        /// Its first strength.
        from: f64,
        /// The strength that it ends below.
        below: f64,
    },
    /// The bound on the spread is out of its range.
    #[error("the greatest spread is {0}; it must be a number that is not negative")]
    Spread(f64),
}

impl StrengthRules {
    /// Whether a rule can be applied only when all strengths are known.
    pub fn need_all_strengths(&self) -> bool {
        let is_quantile = |bound: Option<StrengthBound>| match bound {
            Some(StrengthBound::Quantile(_)) => true,
            Some(StrengthBound::Strength(_)) | None => false,
        };
        let mut rules = self.rules.iter();
        rules.any(|rule| is_quantile(rule.from) || is_quantile(rule.below))
    }

    /// Whether a pair may be flipped.
    pub fn may_flip(&self) -> bool {
        let flips = |rule: &StrengthRule| match rule.action {
            Action::Flip | Action::FlipAndSoften { .. } => true,
            Action::Keep | Action::Soften { .. } | Action::Drop => false,
        };
        self.rules.iter().any(flips)
    }

    /// Turns quantiles into strengths over all pairs of a dataset. Pairs that were not measured, or
    /// not by enough scorers, do not count. The result does not depend on their order. Holds 8 bytes
    /// for each pair while it sorts.
    ///
    /// # Errors
    /// The first number that is out of its range, and a rule under which no pair can fall.
    pub fn resolve(
        &self,
        strengths: impl IntoIterator<Item = Option<Strength>>,
    ) -> Result<ResolvedRules, RuleError> {
        let mut sorted: Vec<f64> = strengths
            .into_iter()
            .flatten()
            .filter(|strength| strength.measured >= self.least_measured)
            .map(|strength| strength.mean)
            .collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if let Some(spread) = self.most_spread.filter(|spread| spread.is_nan() || *spread < 0.0) {
            return Err(RuleError::Spread(spread));
        }
        let range = |(rule, position): (&StrengthRule, usize)| rule.range(position, &sorted);
        let ranges = self.rules.iter().zip(1..).map(range);
        Ok(ResolvedRules {
            ranges: ranges.collect::<Result<_, _>>()?,
            most_spread: self.most_spread,
            least_measured: self.least_measured,
        })
    }
}

impl StrengthRule {
    fn range(&self, position: usize, sorted: &[f64]) -> Result<ResolvedRule, RuleError> {
        match self.action {
            Action::Keep | Action::Flip | Action::Drop => {}
            Action::Soften { smoothing } | Action::FlipAndSoften { smoothing } => {
                let expected = "from 0 to 1";
                in_range(position, "ε", smoothing, expected)?;
            }
        }
        let at = |side: Side| move |bound: StrengthBound| bound.at(side, position, sorted);
        let (from, below) = (
            self.from.map(at(Side::From)).transpose()?,
            self.below.map(at(Side::Below)).transpose()?,
        );
        // Quantiles of few pairs may coincide; two given strengths may not.
        if let (Some(StrengthBound::Strength(from)), Some(StrengthBound::Strength(below))) =
            (self.from, self.below)
            && from >= below
        {
            return Err(RuleError::Empty { rule: position, from, below });
        }
        Ok(ResolvedRule { from, below, action: self.action })
    }
}

impl StrengthBound {
    /// Resolves the bound to a strength.
    fn at(self, side: Side, rule: usize, sorted: &[f64]) -> Result<f64, RuleError> {
        match self {
            Self::Strength(strength) if strength.is_nan() => Err(RuleError::OutOfRange {
                rule,
                what: "a strength",
                value: strength,
                expected: "a number",
            }),
            Self::Strength(strength) => Ok(strength),
            Self::Quantile(share) => {
                in_range(rule, "a quantile", share, "from 0 to 1")?;
                Ok(quantile(side, sorted, share))
            }
        }
    }
}

fn in_range(
    rule: usize,
    what: &'static str,
    value: f64,
    expected: &'static str,
) -> Result<(), RuleError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(RuleError::OutOfRange { rule, what, value, expected })
}

/// A side of a quantile.
#[derive(Debug, Clone, Copy)]
enum Side {
    /// As strong, or stronger.
    From,
    /// Weaker.
    Below,
}

/// Returns the strength that separates the ⌊share × n⌋ weakest pairs from the rest: infinite beyond
/// the last pair, NaN without pairs.
fn quantile(side: Side, sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    // 0.29 of 100 pairs is 28.999999999999996 of them.
    let n_below = (share * sorted.len() as f64 + 1e-9).floor() as usize;
    let Some(first_above) = sorted.get(n_below) else {
        return f64::INFINITY;
    };
    let is_split = n_below > 0 && sorted[n_below - 1] >= *first_above;
    match side {
        Side::From if is_split => {
            let stronger = sorted[n_below..].iter().find(|s| *s > first_above);
            stronger.copied().unwrap_or(f64::INFINITY)
        }
        Side::From | Side::Below => *first_above,
    }
}

impl ResolvedRule {
    fn holds(&self, mean: f64) -> bool {
        self.from.is_none_or(|from| mean >= from) && self.below.is_none_or(|below| mean < below)
    }
}

impl PairDecision {
    /// Returns its name in columns and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Row { flipped, label, .. } => match (*flipped, *label < 1.0) {
                (false, false) => "keep",
                (true, false) => "flip",
                (false, true) => "soft_label",
                (true, true) => "flip_and_soft_label",
            },
            Self::Dropped => "drop",
            Self::Disputed => "disputed",
            Self::NotMeasured => "not_measured",
        }
    }
}

impl ResolvedRules {
    /// Returns the resolved rules, in order.
    pub fn ranges(&self) -> &[ResolvedRule] {
        &self.ranges
    }

    /// Decides a pair. Returns the decision and the position of the rule; `None` if no rule applies
    /// or matches.
    pub fn decide(&self, strength: Option<&Strength>) -> (PairDecision, Option<usize>) {
        let Some(strength) = strength.filter(|s| s.measured >= self.least_measured) else {
            return (PairDecision::NotMeasured, None);
        };
        if let (Some(most), Some(spread)) = (self.most_spread, strength.spread)
            && spread > most
        {
            return (PairDecision::Disputed, None);
        }
        let mean = strength.mean;
        let rule = self.ranges.iter().position(|range| range.holds(mean));
        (self.by_rule(rule, mean), rule)
    }

    fn by_rule(&self, rule: Option<usize>, mean: f64) -> PairDecision {
        let row = |flipped: bool, smoothing: f64| PairDecision::Row {
            flipped,
            label: 1.0 - smoothing / 2.0,
            margin: if flipped { -mean } else { mean },
        };
        match rule.map(|rule| self.ranges[rule].action) {
            None | Some(Action::Keep) => row(false, 0.0),
            Some(Action::Flip) => row(true, 0.0),
            Some(Action::Soften { smoothing }) => row(false, smoothing),
            Some(Action::FlipAndSoften { smoothing }) => row(true, smoothing),
            Some(Action::Drop) => PairDecision::Dropped,
        }
    }
}
