//! What can be asked of groups.

use serde::Serialize;

use crate::groups::{Band, Filtration};

/// What is decided over groups of rows, and by which columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOptions {
    /// Columns and expressions whose values make a group, as in a GROUP BY.
    pub by: String,
    /// The score as an expression; the only column `scores.NAME.score` if not set.
    pub score: Option<String>,
    /// The column of the prompt; `prompt` if not set.
    pub prompt: Option<String>,
    /// The column of the response; `response` if not set.
    pub response: Option<String>,
    /// What is decided.
    pub operation: GroupOperation,
}

/// What is decided over the rows of a group, which are the responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOperation {
    /// All rows stay of groups whose share of passing rows lies in a band.
    PassRate {
        /// The band, ends included.
        band: Band,
        /// The least score that passes.
        mark: f64,
        /// Rows that must have a score.
        least: usize,
    },
    /// The row with the greatest score stays, of so many that are drawn if a number is set.
    BestOfN {
        /// Rows that are drawn; all if not set.
        n: Option<usize>,
    },
    /// One row of preferences comes from the best and the worst row of each group.
    BestWorstPairs {
        /// By how much the scores differ at least.
        margin: f64,
        /// What a judge of pairs said in both orders, which must agree; not asked if not set.
        orders: Option<ComparisonColumns>,
    },
    /// The rows of the answer that most rows give stay.
    Majority {
        /// The answer as an expression.
        answer: String,
    },
    /// The rows that a filter of policy filtration keeps.
    Filtration {
        /// The filter.
        filter: Filtration,
        /// Rows that it draws, where it draws.
        keep: Option<usize>,
    },
}

/// Where a row has its place in a matrix of comparisons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonColumns {
    /// A list as an expression: the probabilities that this row is the better one of the two when it
    /// is shown first, against each row of the group.
    pub against: String,
    /// The row's own place in such lists, from 0, as an expression.
    pub index: String,
}

/// What an operation reads beside the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Scores.
    Scores,
    /// Scores, and responses as far as there is a column of them.
    Responses,
    /// Scores, prompts and responses.
    Pairs,
    /// Answers, and scores where one is named.
    Answers,
}

impl GroupOperation {
    pub(super) fn reads(&self) -> Reads {
        match self {
            Self::PassRate { .. } => Reads::Scores,
            Self::BestOfN { .. } | Self::Filtration { .. } => Reads::Responses,
            Self::BestWorstPairs { .. } => Reads::Pairs,
            Self::Majority { .. } => Reads::Answers,
        }
    }

    /// The operation in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::PassRate { band, .. } => {
                let (low, high) = band.ends();
                format!("pass rate {low}:{high}")
            }
            Self::BestOfN { n: None } => "best of all".to_owned(),
            Self::BestOfN { n: Some(n) } => format!("best of {n}"),
            Self::BestWorstPairs { margin, .. } if *margin > 0.0 => {
                format!("best-worst pairs, margin {margin}")
            }
            Self::BestWorstPairs { .. } => "best-worst pairs".to_owned(),
            Self::Majority { answer } => format!("majority of {answer}"),
            Self::Filtration { filter, keep } => match (filter, keep) {
                (Filtration::BestOfN, _) => "filtration best-of-n".to_owned(),
                (Filtration::BestRandom, _) => "filtration best-random".to_owned(),
                (Filtration::BestWorst, _) => "filtration best-worst".to_owned(),
                (Filtration::Reweight, Some(n)) => format!("filtration reweight, {n} drawn"),
                (Filtration::Reweight, None) => "filtration reweight".to_owned(),
            },
        }
    }

    /// The ends of the band of pass rates, where there is one.
    pub(super) fn band(&self) -> Option<(f64, f64)> {
        match self {
            Self::PassRate { band, .. } => Some(band.ends()),
            Self::BestOfN { .. }
            | Self::BestWorstPairs { .. }
            | Self::Majority { .. }
            | Self::Filtration { .. } => None,
        }
    }

    /// What is wrong with the numbers, in the words of the command line.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::PassRate { mark, .. } if !mark.is_finite() => {
                Some(format!("--pass-mark is {mark}; it must be a finite number"))
            }
            Self::BestWorstPairs { margin, .. } if !(margin.is_finite() && *margin >= 0.0) => {
                Some(format!("--margin is {margin}; it must be a finite number, 0 or more"))
            }
            Self::BestOfN { n: Some(0) } => {
                Some("--best-of-n 0: the best of none is no row; give 1 or more".to_owned())
            }
            Self::Filtration { filter, keep } => match (filter, keep) {
                (Filtration::Reweight, None | Some(0)) => Some(
                    "--filtration reweight draws rows: say with --keep how many of each group, 1 \
                     or more"
                        .to_owned(),
                ),
                (Filtration::Reweight, Some(_)) | (_, None) => None,
                (Filtration::BestOfN, Some(_)) => Some(fixed("best-of-n", "one row")),
                (Filtration::BestRandom, Some(_)) => Some(fixed("best-random", "two rows")),
                (Filtration::BestWorst, Some(_)) => Some(fixed("best-worst", "two rows")),
            },
            Self::PassRate { .. }
            | Self::BestOfN { .. }
            | Self::BestWorstPairs { .. }
            | Self::Majority { .. } => None,
        }
    }
}

fn fixed(filter: &str, rows: &str) -> String {
    format!("--filtration {filter} keeps {rows} of a group; --keep is for reweight alone")
}
