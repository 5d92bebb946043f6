//! `JudgeBench` (2410.12784): pairs with an objectively right side, judged in both orders.
//!
//! Each order that names the right side counts +1, each that names the other -1, and a tie 0. A
//! pair is right if the sum is positive. The benchmark counts an order without a verdict as a tie;
//! here such a pair is not judged. Scorers of single responses decide the same in both orders and
//! may be called once.

use super::{BenchmarkReport, IntervalOptions, Metric, MetricRow, one_if, share};

/// Prefixes of the benchmark's sources, with their topics.
const SOURCES: [(&str, &str); 4] = [
    ("mmlu-pro", "knowledge (mmlu-pro)"),
    ("livebench-reasoning", "reasoning (livebench-reasoning)"),
    ("livebench-math", "math (livebench-math)"),
    ("livecodebench", "coding (livecodebench)"),
];

/// The right side of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetterResponse {
    /// `A>B`
    A,
    /// `B>A`
    B,
}

/// Decision of a judge about a pair, independent of the order of presentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairPreference {
    /// A is better.
    A,
    /// B is better.
    B,
    /// Neither.
    Tie,
}

/// Orders in which a pair is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgeOrders {
    /// A first, and B first.
    Both,
    /// A first.
    Single,
}

/// A pair with the decisions on it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedPair {
    /// Source of the question.
    pub source: String,
    /// The right side.
    pub better: BetterResponse,
    /// Decision with A first.
    pub first: Option<PairPreference>,
    /// Decision with B first.
    pub second: Option<PairPreference>,
    /// Requested orders.
    pub orders: JudgeOrders,
}

impl PairPreference {
    /// Decides by two scores; `None` if one is missing.
    pub fn by_scores(a: Option<f64>, b: Option<f64>) -> Option<Self> {
        let (a, b) = (super::finite(a)?, super::finite(b)?);
        Some(if a > b {
            Self::A
        } else if b > a {
            Self::B
        } else {
            Self::Tie
        })
    }

    fn points(self, better: BetterResponse) -> i8 {
        match (self, better) {
            (Self::A, BetterResponse::A) | (Self::B, BetterResponse::B) => 1,
            (Self::A, BetterResponse::B) | (Self::B, BetterResponse::A) => -1,
            (Self::Tie, BetterResponse::A | BetterResponse::B) => 0,
        }
    }
}

impl JudgedPair {
    /// Returns the requested decisions; `None` if one is missing.
    fn decisions(&self) -> Option<Vec<PairPreference>> {
        match self.orders {
            JudgeOrders::Both => Some(vec![self.first?, self.second?]),
            JudgeOrders::Single => Some(vec![self.first?]),
        }
    }

    fn credit(&self) -> Option<f64> {
        let decisions = self.decisions()?;
        let points: i8 = decisions.iter().map(|d| d.points(self.better)).sum();
        Some(one_if(points > 0))
    }

    fn agrees(&self) -> Option<f64> {
        let decisions = self.decisions()?;
        Some(one_if(decisions.iter().all(|d| *d == decisions[0])))
    }

    fn all_right(&self) -> Option<f64> {
        let decisions = self.decisions()?;
        Some(one_if(decisions.iter().all(|d| d.points(self.better) > 0)))
    }
}

impl MetricRow for JudgedPair {
    fn stratum(&self) -> &str {
        let known = SOURCES.iter().find(|(prefix, _)| self.source.starts_with(prefix));
        known.map_or(self.source.as_str(), |(prefix, _)| prefix)
    }

    fn is_judged(&self) -> bool {
        self.decisions().is_some()
    }

    fn as_wrong(&self) -> Self {
        let other = match self.better {
            BetterResponse::A => PairPreference::B,
            BetterResponse::B => PairPreference::A,
        };
        // Two different wrong answers, so that the orders do not agree either.
        Self {
            source: self.source.clone(),
            better: self.better,
            first: Some(other),
            second: Some(PairPreference::Tie),
            orders: self.orders,
        }
    }
}

/// Computes the accuracy, overall and by source, and the agreement of the orders.
pub fn judge_bench(pairs: &[JudgedPair], intervals: IntervalOptions) -> BenchmarkReport {
    let all: Vec<&JudgedPair> = pairs.iter().collect();
    let credit = |pair: &JudgedPair| pair.credit();
    let mut metrics = vec![Metric::new("overall", share(&all, &credit, intervals))];
    for (prefix, name) in SOURCES {
        let members: Vec<&JudgedPair> =
            pairs.iter().filter(|pair| pair.stratum() == prefix).collect();
        if !members.is_empty() {
            metrics.push(Metric::new(name, share(&members, &credit, intervals)));
        }
    }
    let foreign = |pair: &&JudgedPair| !SOURCES.iter().any(|(prefix, _)| pair.stratum() == *prefix);
    let others: Vec<&JudgedPair> = pairs.iter().filter(foreign).collect();
    if !others.is_empty() {
        metrics.push(Metric::new("other sources", share(&others, &credit, intervals)));
    }
    let mut notes = Vec::new();
    if pairs.iter().any(|pair| pair.orders == JudgeOrders::Both) {
        let agrees = |pair: &JudgedPair| pair.agrees();
        let all_right = |pair: &JudgedPair| pair.all_right();
        metrics.push(Metric::new("both orders agree", share(&all, &agrees, intervals)));
        metrics.push(Metric::new("right in both orders", share(&all, &all_right, intervals)));
    } else {
        notes.push("every pair was judged in one order".to_owned());
    }
    BenchmarkReport { metrics, notes }
}
