//! Rules by strength.

use serde::Serialize;

use super::Strength;

/// A bound on strengths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrengthBound {
    /// A strength, in the unit of the scores.
    Strength(f64),
    /// The strength at this share, from 0 to 1, of all measured pairs in ascending order. Pairs of
    /// equal strength on both sides of it lie neither below nor above: no order decides about them.
    Quantile(f64),
}

/// What is done with a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It stays as it is, whatever later rules say.
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
    /// The pair goes.
    Drop,
}

/// An action for the pairs between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rule {
    /// Strengths from here on; `None` for all from the weakest on.
    pub from: Option<StrengthBound>,
    /// Strengths below this one; `None` for all to the strongest.
    pub below: Option<StrengthBound>,
    /// What is done with them.
    pub action: Action,
}

/// Rules in order: the first that a pair falls under decides, and a pair that falls under none is
/// kept as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// A pair on which the scorers differ by more than this is dropped before any rule is asked. A
    /// spread that is not known is no reason to drop.
    pub most_spread: Option<f64>,
    /// A pair that fewer scorers measured is not judged.
    pub least_measured: usize,
}

/// Rules with their quantiles as strengths: what decides about single pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedRules {
    ranges: Vec<ResolvedRule>,
    most_spread: Option<f64>,
    least_measured: usize,
}

/// A rule whose bounds are strengths. A quantile of no pairs is no number, which nothing is below or
/// above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResolvedRule {
    /// Strengths from here on.
    pub from: Option<f64>,
    /// Strengths below this one.
    pub below: Option<f64>,
    /// What is done with them.
    pub action: Action,
}

/// What becomes of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum PairDecision {
    /// It stays a row.
    Row {
        /// Whether chosen and rejected change places.
        flipped: bool,
        /// Probability that the chosen response, after the flip, is the better: the target of the
        /// loss -q log σ(Δ) - (1 - q) log σ(-Δ).
        label: f64,
        /// By how much the scorers prefer it, after the flip: the adaptive margin of the loss
        /// -log σ(Δ - margin).
        margin: f64,
    },
    /// It goes, by a rule.
    Dropped,
    /// It goes, because the scorers differ too much.
    Disputed,
    /// Too few scorers measured it. It is never taken for a weak one.
    NotMeasured,
}

/// What is wrong with rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// A number is out of its range.
    #[error("rule {rule}: {what} is {value}; it must be {expected}")]
    OutOfRange {
        /// Position of the rule, from 1.
        rule: usize,
        /// The number.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What may be given.
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

impl Rules {
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
        let flips = |rule: &Rule| match rule.action {
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
        let range = |(rule, position): (&Rule, usize)| rule.range(position, &sorted);
        let ranges = self.rules.iter().zip(1..).map(range);
        Ok(ResolvedRules {
            ranges: ranges.collect::<Result<_, _>>()?,
            most_spread: self.most_spread,
            least_measured: self.least_measured,
        })
    }
}

impl Rule {
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
        // Quantiles of few pairs may well coincide; two strengths that were written down may not.
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
    /// The strength that the bound stands for.
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

/// Which side of a quantile is meant.
#[derive(Debug, Clone, Copy)]
enum Side {
    /// What is as strong, or stronger.
    From,
    /// What is weaker.
    Below,
}

/// The strength that parts the ⌊share × n⌋ weakest pairs from the rest. Beyond the last pair it is
/// infinite, and of no pairs it is no number.
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
    /// Its name in columns and reports.
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
    /// The rules with strengths for bounds, in order.
    pub fn ranges(&self) -> &[ResolvedRule] {
        &self.ranges
    }

    /// What becomes of a pair, and the position of the rule that says so; none for a pair that no
    /// rule is asked about or that falls under none.
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
