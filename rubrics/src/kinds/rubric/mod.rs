//! `kind = "rubric"`: a checklist or graded dimensions, item by item, and what they come to.
//!
//! Each item is a question of its own over one shared conversation, the item last, so that the
//! conversation is computed once. A model answers with one token whose log-probabilities are read
//! (`ask = "labels"`), or writes the grader's JSON object of `RuscaRL` (2508.16949; `ask =
//! "json"`); tiers, as in Rubicon (2508.12790), are always read from one token; items that name a
//! verifier are answered by that scorer. What the items come to is [`crate::rubric`]'s business.

mod ask;
mod grade;
mod judge;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::options::{LabelOptions, Wording, WritingOptions};
use super::{Case, Judging, Kind, Reads, turn};
use crate::Scorer;
use crate::labels::Labels;
use crate::models::{Models, Served};
use crate::rubric::{Answer, Item, Rubric, Tier};

pub(crate) use read::read;

/// What configurations call it.
pub(crate) const WORD: &str = "rubric";

/// The options.
#[derive(Serialize)]
struct RubricKind {
    /// Who answers the items that no verifier answers; none where all are verified.
    model: Option<String>,
    /// The configured rubric; without one, each input brings its own.
    rubric: Option<Rubric>,
    /// Whether an input's own rubric is read, in the place of the configured one.
    inline: bool,
    /// The scorers that items may name.
    #[serde(serialize_with = "names")]
    verifiers: Vec<Arc<Scorer>>,
    asking: Asking,
    counting: Counting,
}

/// How items are asked.
#[derive(Debug, Clone, Serialize)]
struct Asking {
    ask: Ask,
    labels: LabelOptions,
    /// The question for labels or for JSON, as `ask` has it.
    item: Wording,
    tiers: Wording,
}

/// How a model answers whether a criterion is met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ask {
    /// With one token, `Yes` or `No`, that is read and not written.
    Labels,
    /// With a JSON object that it writes, and so many more tries after one that was cut.
    Json(WritingOptions, u64),
}

/// How answers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Counting {
    /// Whether probabilities and verifiers' scores are partial credit.
    soft: bool,
    tiers: TierValue,
    on_item_error: OnItemError,
}

/// What of the tiers' probabilities is the value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TierValue {
    /// The mean of the tiers' values.
    #[default]
    Expected,
    /// The value of the likeliest tier, the first of equals.
    Likeliest,
}

/// What an item without an answer means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum OnItemError {
    /// The whole fails.
    #[default]
    Fail,
    /// The item is left out.
    Skip,
    /// The item is not met, as in the paper's code.
    Unmet,
}

/// The answers to a yes/no item.
const YES_NO: [&str; 2] = ["Yes", "No"];
/// The letters of tiers.
const LETTERS: [&str; 26] = [
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S",
    "T", "U", "V", "W", "X", "Y", "Z",
];

impl Kind for RubricKind {
    fn word(&self) -> &'static str {
        WORD
    }

    fn description(&self) -> &'static str {
        "judges a response by the items of a rubric"
    }

    fn options(&self) -> Value {
        json!(self)
    }

    fn models(&self) -> Vec<&str> {
        self.model.as_deref().into_iter().collect()
    }

    fn scorers(&self) -> Vec<&Arc<Scorer>> {
        self.verifiers.iter().collect()
    }

    fn reads(&self) -> Reads {
        Reads { rubric: self.inline, ..Reads::default() }
    }

    /// The least of the configured rubric; where inputs bring theirs, 0.
    fn floor(&self) -> Option<f64> {
        let configured = self.rubric.as_ref().and_then(Rubric::least);
        Some(configured.unwrap_or(0.0))
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let Some(name) = &self.model else {
            return Ok(());
        };
        let served = models.find(name).expect("its name was checked");
        if !served.has_vocabulary() {
            return Err(format!("'{name}' has no vocabulary head to answer with"));
        }
        let most_tiers = self.rubric.as_ref().map_or(0, Rubric::most_tiers);
        self.probe(&served, Answer::YesNo)?;
        if most_tiers > 0 {
            let tier = |n: usize| Tier {
                text: "a tier".to_owned(),
                value: if n == 0 { 0.0 } else { 1.0 },
            };
            self.probe(&served, Answer::Tiers((0..most_tiers).map(tier).collect()))?;
        }
        Ok(())
    }

    fn judge<'a>(
        &'a self,
        case: Case<'a>,
        session: &'a crate::session::Session<'a>,
    ) -> Judging<'a> {
        Box::pin(self.judge_one(case, session))
    }
}

impl RubricKind {
    /// Asks as a request would, up to the model.
    fn probe(&self, served: &Served, answer: Answer) -> Result<(), String> {
        let item = Item {
            id: "probe".to_owned(),
            criterion: "It is short.".to_owned(),
            points: 1.0,
            tags: Vec::new(),
            answer,
            veto: None,
        };
        let conversation = [turn("user", "A question."), turn("assistant", "An answer.")];
        let shown = ask::Shown::of(&conversation, "An answer.");
        let prompt = self.asking.prompt(served, &shown, &item);
        let prompt =
            prompt.map_err(|failure| failure.reason.detail.unwrap_or_default().to_string())?;
        match (&item.answer, self.asking.ask) {
            (Answer::YesNo, Ask::Json(..)) => grade::check(served),
            (answer, _) => {
                let labels = labels_of(answer);
                Labels::after(served, &prompt, labels, self.asking.labels.spellings).map(drop)
            }
        }
    }
}

/// The answers that are read for an item.
fn labels_of(answer: &Answer) -> &'static [&'static str] {
    match answer {
        Answer::YesNo | Answer::Verifier(_) => &YES_NO,
        Answer::Tiers(tiers) => &LETTERS[..tiers.len().min(LETTERS.len())],
    }
}

fn names<S: serde::Serializer>(scorers: &[Arc<Scorer>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(scorers.iter().map(|scorer| scorer.name()))
}
