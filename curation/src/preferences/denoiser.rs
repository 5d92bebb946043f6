//! Decisions from votes, batch by batch.

use std::collections::BTreeMap;

use super::{
    DecidedPair, PairDecision, ResolvedRule, ResolvedRules, StdDevKind, Strength, Votes, rescaled,
    strength,
};

/// The votes on the pairs of a batch.
pub struct BatchVotes {
    /// One for each voter, pair after pair.
    pub votes: Vec<Option<f64>>,
    /// For each row the reason why it is not a pair; `None` for a pair.
    pub refusals: Vec<Option<String>>,
}

/// The votes on all pairs of a dataset, for rules that need them before the first decision.
pub struct AllVotes {
    votes: Votes,
    /// Divisor of each voter; `None` unless votes are rescaled.
    scales: Option<Vec<f64>>,
    refusals: BTreeMap<usize, String>,
}

impl AllVotes {
    /// Starts without votes.
    pub fn new(n_voters: usize) -> Self {
        Self { votes: Votes::new(n_voters), scales: None, refusals: BTreeMap::new() }
    }

    /// Adds the next batch. Rows that are no pairs count neither in strengths nor in scales.
    pub fn add(&mut self, mut batch: BatchVotes) {
        let n_voters = batch.votes.len() / batch.refusals.len().max(1);
        for (row, reason) in batch.refusals.iter().enumerate() {
            if reason.is_some() {
                batch.votes[row * n_voters..(row + 1) * n_voters].fill(None);
            }
        }
        let first = self.votes.n_pairs();
        let reasons = batch.refusals.into_iter().enumerate();
        self.refusals.extend(reasons.filter_map(|(at, reason)| Some((first + at, reason?))));
        self.votes.extend(&batch.votes);
    }

    /// Divides the votes of each voter by their root mean square, once all are added.
    pub fn rescale(&mut self) {
        self.scales = Some(self.votes.scales());
    }

    /// Returns the votes on one pair, rescaled if configured.
    fn pair(&self, index: usize) -> Vec<Option<f64>> {
        let votes = self.votes.pair(index);
        match &self.scales {
            Some(scales) => rescaled(&votes, scales),
            None => votes,
        }
    }

    /// Returns the strength of every pair; `None` for a pair without votes.
    pub fn strengths(&self, std_dev: StdDevKind) -> impl Iterator<Item = Option<Strength>> {
        (0..self.votes.n_pairs()).map(move |index| strength(&self.pair(index), std_dev))
    }

    /// Returns the votes on `n_pairs` pairs from position `first` on.
    pub fn batch(&self, first: usize, n_pairs: usize) -> BatchVotes {
        let pairs = first..first + n_pairs;
        BatchVotes {
            votes: pairs.clone().flat_map(|index| self.pair(index)).collect(),
            refusals: pairs.map(|index| self.refusals.get(&index).cloned()).collect(),
        }
    }
}

/// Counts of pairs by decision.
#[derive(Debug)]
pub struct DenoiseCounts {
    /// All pairs.
    pub pairs: u64,
    /// Pairs of each rule, in order.
    pub rules: Vec<RuleCount>,
    /// Pairs without a matching rule.
    pub kept: u64,
    /// Pairs on which the voters differ too much.
    pub disputed: u64,
    /// Pairs with too few votes.
    pub not_measured: u64,
    /// Number of votes of each voter.
    pub votes: Vec<u64>,
}

/// Pairs of one rule.
#[derive(Debug)]
pub struct RuleCount {
    /// The rule as it was written.
    pub rule: String,
    /// Its strengths.
    pub range: ResolvedRule,
    /// Number of pairs.
    pub pairs: u64,
}

impl DenoiseCounts {
    /// Starts at zero. `names` are those of the rules, in order.
    fn new(names: Vec<String>, rules: &ResolvedRules) -> Self {
        let rules = names.into_iter().zip(rules.ranges());
        Self {
            pairs: 0,
            rules: rules.map(|(rule, range)| RuleCount { rule, range: *range, pairs: 0 }).collect(),
            kept: 0,
            disputed: 0,
            not_measured: 0,
            votes: Vec::new(),
        }
    }

    fn add(&mut self, decision: &PairDecision, rule: Option<usize>, votes: &[Option<f64>]) {
        self.pairs += 1;
        self.votes.resize(votes.len(), 0);
        for (count, vote) in self.votes.iter_mut().zip(votes) {
            *count += u64::from(vote.is_some());
        }
        let count = match (rule, decision) {
            (Some(rule), _) => &mut self.rules[rule].pairs,
            (None, PairDecision::Row { .. } | PairDecision::Dropped) => &mut self.kept,
            (None, PairDecision::Disputed) => &mut self.disputed,
            (None, PairDecision::NotMeasured) => &mut self.not_measured,
        };
        *count += 1;
    }
}

/// Decides pairs by resolved rules and counts the decisions.
pub struct Denoiser {
    rules: ResolvedRules,
    std_dev: StdDevKind,
    counts: DenoiseCounts,
    /// The strength of every pair; NaN if not measured.
    means: Vec<f64>,
}

impl Denoiser {
    /// Creates a denoiser. `names` are the names of the rules, in order.
    pub fn new(rules: ResolvedRules, names: Vec<String>, std_dev: StdDevKind) -> Self {
        Self { counts: DenoiseCounts::new(names, &rules), rules, std_dev, means: Vec::new() }
    }

    /// Decides the pairs of a batch; `None` for a row that is not a pair.
    pub fn decide(&mut self, batch: &BatchVotes, n_voters: usize) -> Vec<Option<DecidedPair>> {
        let pairs = batch.votes.chunks(n_voters).zip(&batch.refusals);
        let decide = |(votes, refusal): (&[Option<f64>], &Option<String>)| {
            if refusal.is_some() {
                return None;
            }
            let strength = strength(votes, self.std_dev);
            let (decision, rule) = self.rules.decide(strength.as_ref());
            self.means.push(strength.map_or(f64::NAN, |strength| strength.mean));
            self.counts.add(&decision, rule, votes);
            Some(DecidedPair { votes: votes.to_vec(), strength, decision })
        };
        pairs.map(decide).collect()
    }

    /// Returns the counts and the strength of every pair (NaN if not measured).
    pub fn finish(self) -> (DenoiseCounts, Vec<f64>) {
        (self.counts, self.means)
    }
}
