//! Operations over groups.

use serde::Serialize;

use crate::groups::{Band, Filtration};

/// Options of a decision over groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOptions {
    /// Columns and expressions whose values make a group, as in a GROUP BY.
    pub by: String,
    /// Score expression; `None` for the only column `scores.NAME.score`.
    pub score: Option<String>,
    /// Prompt column; `None` for `prompt`.
    pub prompt: Option<String>,
    /// Response column; `None` for `response`.
    pub response: Option<String>,
    /// The operation.
    pub operation: GroupOperation,
}

/// An operation over the responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOperation {
    /// Keeps groups whose pass rate lies in a band.
    PassRate {
        /// The band, ends included.
        band: Band,
        /// Minimum passing score.
        mark: f64,
        /// Minimum number of measured rows.
        least: usize,
    },
    /// Keeps the row with the greatest score, of all or of `n` sampled rows.
    BestOfN {
        /// Number of sampled rows; `None` for all.
        n: Option<usize>,
    },
    /// Makes a preference row of the best and the worst row.
    BestWorstPairs {
        /// Minimum difference of the scores.
        margin: f64,
        /// Comparisons of a pairwise judge, which must agree in both orders; `None` without one.
        orders: Option<ComparisonColumns>,
    },
    /// Keeps the rows of the majority answer.
    Majority {
        /// The answer as an expression.
        answer: String,
    },
    /// Keeps the rows that a filter of policy filtration keeps.
    Filtration {
        /// The filter.
        filter: Filtration,
        /// Number of rows that it draws; `None` for filters that do not draw.
        keep: Option<usize>,
    },
}

/// Columns of pairwise comparisons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonColumns {
    /// List expression: probability against each row of the group that this row is better when shown
    /// first.
    pub against: String,
    /// Expression for the index of the row in such lists, from 0.
    pub index: String,
}

/// Inputs of an operation besides the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
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
            Self::PassRate { .. } | Self::BestOfN { .. } | Self::Filtration { .. } => {
                Reads::Responses
            }
            Self::BestWorstPairs { .. } => Reads::Pairs,
            Self::Majority { .. } => Reads::Answers,
        }
    }

    /// Describes the operation.
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

    /// Ends of the band of pass rates; `None` for other operations.
    pub(super) fn band(&self) -> Option<(f64, f64)> {
        match self {
            Self::PassRate { band, .. } => Some(band.ends()),
            Self::BestOfN { .. }
            | Self::BestWorstPairs { .. }
            | Self::Majority { .. }
            | Self::Filtration { .. } => None,
        }
    }

    /// Checks the numbers; returns the problem in terms of command-line options.
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
