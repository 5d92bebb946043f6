//! URPO (arXiv 2507.17515): one model is policy and rank judge in one GRPO loop over three kinds of data.
//!
//! | kind | role | reward |
//! |---|---|---|
//! | verifiable | policy | a verifier: 1 or 0 |
//! | preference | rank judge: scores N candidates | Kendall's tau with the gold ranks ([`rank_judge`]) |
//! | open | policy | the model's own scores for its answers, in several orders ([`open`]) |
//!
//! The abstract says that there are these three kinds and that all of them are updated together. The
//! rank judge's prompt and reward, the mixture and the warm-up are **our reconstruction**: options
//! with documented defaults, and none of them is the paper's value.
//!
//! Rewards are compared within the group of one prompt and never across kinds: a tau of 0.5, a
//! verifier's 1 and a score of 7 have no common scale.

pub mod open;
pub mod rank_judge;
pub mod schedule;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::error::{Result, TrainError};

pub use open::{Call, Open, calls, self_rewards};
pub use rank_judge::{RankJudgeConfig, SCORER, kendall_tau, preference_item, reward};
pub use schedule::{Mix, OpenRule, Schedule};

/// A row of data.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A problem with its gold answer.
    Verifiable {
        /// The prompt of the policy.
        prompt: String,
        /// The right answer.
        gold: String,
    },
    /// Candidates with a known order.
    Preference {
        /// The prompt.
        prompt: String,
        /// The answers, two or more.
        candidates: Vec<String>,
        /// Their ranks, the smallest being the best; equal ones are equally good.
        ranks: Vec<f64>,
    },
    /// An instruction without a known answer.
    Open {
        /// The prompt of the policy.
        prompt: String,
    },
}

/// A row of the file: `{kind, prompt, gold?, candidates?, gold_rank?}`, or the triple
/// `{prompt, chosen, rejected}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    kind: Option<RecordKind>,
    prompt: String,
    gold: Option<String>,
    candidates: Option<Vec<String>>,
    gold_rank: Option<Vec<f64>>,
    chosen: Option<String>,
    rejected: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordKind {
    Verifiable,
    Preference,
    Open,
}

/// Maximum faults of a file listed in one message.
const LISTED: usize = 20;

impl Record {
    /// Parses the rows of a JSONL file's text, one for each line that is not blank; errors name it
    /// `file`.
    ///
    /// # Errors
    /// The lines that cannot be used, with their numbers; a file without rows.
    pub fn read(file: &str, text: &str) -> Result<Vec<Self>> {
        let mut records = Vec::new();
        let mut problems = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let number: usize = number;
            if line.trim().is_empty() {
                continue;
            }
            let row = serde_json::from_str::<RecordLine>(line).map_err(|error| error.to_string());
            match row.and_then(Self::of) {
                Ok(record) => records.push(record),
                Err(problem) => problems.push(format!("{file}:{number}: {problem}")),
            }
        }
        if problems.len() > LISTED {
            let more = problems.len() - LISTED;
            problems.truncate(LISTED);
            problems.push(format!("{file}: and {more} more"));
        }
        if problems.is_empty() && records.is_empty() {
            problems.push(format!("{file}: no rows"));
        }
        if problems.is_empty() {
            return Ok(records);
        }
        Err(TrainError::Invalid(problems.join("\n")))
    }

    fn of(row: RecordLine) -> std::result::Result<Self, String> {
        let ranked = row.candidates.is_some() || row.gold_rank.is_some();
        let pair = row.chosen.is_some() || row.rejected.is_some();
        let kind = match row.kind {
            Some(kind) => kind,
            None if pair => RecordKind::Preference,
            None => return Err("kind is missing: verifiable, preference or open".to_owned()),
        };
        let prompt = row.prompt;
        match kind {
            RecordKind::Verifiable if !ranked && !pair => {
                let gold = row.gold.filter(|gold| !gold.trim().is_empty());
                let gold = gold.ok_or("a verifiable row needs gold")?;
                Ok(Self::Verifiable { prompt, gold })
            }
            RecordKind::Open if !ranked && !pair && row.gold.is_none() => Ok(Self::Open { prompt }),
            RecordKind::Verifiable | RecordKind::Open => Err("fields of another kind".to_owned()),
            RecordKind::Preference if row.gold.is_some() || (ranked && pair) => {
                Err("fields of another kind".to_owned())
            }
            RecordKind::Preference => {
                let (candidates, ranks) = if pair {
                    let both = row.chosen.zip(row.rejected);
                    let (chosen, rejected) = both.ok_or("chosen and rejected come together")?;
                    (vec![chosen, rejected], vec![1.0, 2.0])
                } else {
                    let both = row.candidates.zip(row.gold_rank);
                    both.ok_or("a preference row needs candidates and gold_rank")?
                };
                check_ranks(candidates.len(), &ranks)?;
                Ok(Self::Preference { prompt, candidates, ranks })
            }
        }
    }
}

pub(crate) fn check_ranks(candidates: usize, ranks: &[f64]) -> std::result::Result<(), String> {
    if candidates < 2 || candidates != ranks.len() {
        return Err(format!(
            "{candidates} candidates and {} ranks: two or more are ranked, each once",
            ranks.len()
        ));
    }
    if ranks.iter().any(|rank| !rank.is_finite()) {
        return Err("a rank is not finite".to_owned());
    }
    if ranks.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq()) {
        return Err("all candidates are ranked equal: nothing can be learnt from that".to_owned());
    }
    Ok(())
}
