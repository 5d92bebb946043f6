//! Options for decisions over groups.

use std::str::FromStr;

use curation::filter::{ComparisonColumns, GroupOperation, GroupOptions};
use curation::groups::{Band, Filtration};

use crate::error::CliError;

/// Groups: the responses to one prompt.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Groups (one operation a run)")]
pub(super) struct GroupArgs {
    /// Columns whose values make a group, such as the prompt; rows need not stand together
    #[arg(long, value_name = "SQL")]
    group_by: Option<String>,
    /// The score, a number or a truth value [default: the only scores.NAME.score]
    #[arg(long, value_name = "SQL", requires = "group_by")]
    score: Option<String>,
    /// Keep groups whose share of passing rows lies in the band, ends included
    #[arg(long, value_name = "LOW:HIGH")]
    pass_rate: Option<Band>,
    /// The least score that passes [default: 0.5]
    #[arg(long, value_name = "SCORE", requires = "pass_rate", allow_negative_numbers = true)]
    pass_mark: Option<f64>,
    /// Rows of a group that must have a score [default: 1]
    #[arg(long, value_name = "N", requires = "pass_rate")]
    min_measured: Option<usize>,
    /// Keep the best row of a group, or of N that are drawn from it
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "all")]
    best_of_n: Option<Of>,
    /// Make rows of preferences: prompt, chosen, rejected, their scores and the margin
    #[arg(long, value_enum, value_name = "HOW")]
    pairs: Option<PairsArg>,
    /// By how much the scores of a pair differ at least [default: 0, and never equal]
    #[arg(long, value_name = "M", requires = "pairs", allow_negative_numbers = true)]
    margin: Option<f64>,
    /// Keep pairs of which a judge prefers the chosen one in both orders: a list of the probabilities
    /// that this row, shown first, is the better one, against each row of the group
    #[arg(long, value_name = "SQL", requires = "pairs", requires = "index")]
    against: Option<String>,
    /// The place of a row in such lists, from 0
    #[arg(long, value_name = "SQL", requires = "against")]
    index: Option<String>,
    /// The column of prompts, for pairs [default: prompt]
    #[arg(long, value_name = "COLUMN", requires = "pairs")]
    prompt: Option<String>,
    /// The column of responses, for pairs and choices between equals [default: response]
    #[arg(long, value_name = "COLUMN", requires = "group_by")]
    response: Option<String>,
    /// Keep the rows of the answer that most rows of a group give, weighted by --score if that is given
    #[arg(long, requires = "answer")]
    majority: bool,
    /// The answer that a row gives
    #[arg(long, value_name = "SQL", requires = "majority")]
    answer: Option<String>,
    /// Keep the rows that a filter of PF-PPO keeps
    #[arg(long, value_enum, value_name = "FILTER")]
    filtration: Option<FiltrationArg>,
    /// Rows of a group that the filter reweight draws
    #[arg(long, value_name = "N", requires = "filtration")]
    keep: Option<usize>,
}

/// Number of rows that the best is chosen of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// All rows.
    All,
    /// This many sampled rows.
    Drawn(usize),
}

impl FromStr for Of {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            text => {
                let n = text.parse();
                n.map(Self::Drawn).map_err(|_| "give a number of rows, or none for all")
            }
        }
    }
}

/// Kind of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PairsArg {
    /// One of the best and the worst row of each group
    BestWorst,
}

/// Filter of policy filtration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FiltrationArg {
    /// The best
    BestOfN,
    /// The best and a random other
    BestRandom,
    /// The best and the worst
    BestWorst,
    /// Rows drawn in proportion to their squared scores
    Reweight,
}

impl FiltrationArg {
    fn filter(self) -> Filtration {
        match self {
            Self::BestOfN => Filtration::BestOfN,
            Self::BestRandom => Filtration::BestRandom,
            Self::BestWorst => Filtration::BestWorst,
            Self::Reweight => Filtration::Reweight,
        }
    }
}

impl GroupArgs {
    /// Converts the options; `None` without an operation.
    pub(super) fn options(self) -> Result<Option<GroupOptions>, CliError> {
        let mut operations = self.operations().into_iter();
        let usage = |message: String| Err(CliError::Usage(message));
        let (operation, by) = match (operations.next(), operations.next(), self.group_by) {
            (None, _, None) => return Ok(None),
            (None, _, Some(_)) => {
                return usage(
                    "--group-by makes groups: say what to decide over them, with --pass-rate, \
                     --best-of-n, --pairs, --majority or --filtration"
                        .to_owned(),
                );
            }
            (Some((name, _)), None, None) => {
                return usage(format!(
                    "{name} decides over groups: name the columns that make them with --group-by"
                ));
            }
            (Some((one, _)), Some((other, _)), _) => {
                return usage(format!(
                    "{one} and {other} are two decisions over groups: run twice, the second over \
                     the output of the first"
                ));
            }
            (Some((_, operation)), None, Some(by)) => (operation, by),
        };
        Ok(Some(GroupOptions {
            by,
            score: self.score,
            prompt: self.prompt,
            response: self.response,
            operation,
        }))
    }

    /// The given operations, each with its option.
    fn operations(&self) -> Vec<(&'static str, GroupOperation)> {
        let pass_rate = self.pass_rate.map(|band| GroupOperation::PassRate {
            band,
            mark: self.pass_mark.unwrap_or(0.5),
            least: self.min_measured.unwrap_or(1),
        });
        let best = self.best_of_n.map(|of| GroupOperation::BestOfN {
            n: match of {
                Of::All => None,
                Of::Drawn(n) => Some(n),
            },
        });
        let pairs = self.pairs.map(|how| match how {
            PairsArg::BestWorst => GroupOperation::BestWorstPairs {
                margin: self.margin.unwrap_or(0.0),
                orders: self
                    .against
                    .clone()
                    .zip(self.index.clone())
                    .map(|(against, index)| ComparisonColumns { against, index }),
            },
        });
        let answer = self.answer.clone().filter(|_| self.majority);
        let majority = answer.map(|answer| GroupOperation::Majority { answer });
        let filtration = self
            .filtration
            .map(|filter| GroupOperation::Filtration { filter: filter.filter(), keep: self.keep });
        let all = [
            ("--pass-rate", pass_rate),
            ("--best-of-n", best),
            ("--pairs", pairs),
            ("--majority", majority),
            ("--filtration", filtration),
        ];
        let given =
            |(name, operation): (&'static str, Option<GroupOperation>)| Some((name, operation?));
        all.into_iter().filter_map(given).collect()
    }
}
