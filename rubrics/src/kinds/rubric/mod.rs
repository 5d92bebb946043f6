//! `kind = "rubric"`: a checklist or graded dimensions, judged item by item and aggregated.
//!
//! Each item is a separate request over one shared conversation, the item last, so that the
//! conversation is computed once. A model answers with one token whose log-probabilities are read
//! (`ask = "labels"`), or writes the grader's JSON object of `RuscaRL` (2508.16949; `ask =
//! "json"`); tiers, as in Rubicon (2508.12790), are always read from one token; items that name a
//! verifier are answered by that scorer. [`crate::rubric`] aggregates the items.

mod ask;
mod evaluate;
mod grade;
pub(crate) mod options;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use options::{AnswerForm, RubricKind, labels_of};

use super::{InputFields, KindContext, ScoreFuture, ScorerKind};
use crate::Message;
use crate::labels::Labels;
use crate::models::{Models, Served};
use crate::rubric::{ItemAnswer, Rubric, RubricItem, Tier};
use crate::sample::Sample;

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "rubric";

impl ScorerKind for RubricKind {
    fn name(&self) -> &'static str {
        NAME
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

    fn scorers(&self) -> Vec<&str> {
        self.verifiers.iter().map(String::as_str).collect()
    }

    fn input_fields(&self) -> InputFields {
        InputFields { rubric: self.inline, ..InputFields::default() }
    }

    /// The least of the rubric that is applied; one that is missing or cannot be read is refused by the
    /// evaluation.
    fn min_score(&self, sample: &Sample<'_>) -> Option<f64> {
        let Some(given) = &sample.input.rubric else {
            return self.rubric.as_ref()?.least();
        };
        let given = Value::Object(given.clone());
        evaluate::read_inline(&given, &self.verifiers).ok()?.least()
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
        self.probe(&served, ItemAnswer::YesNo)?;
        if most_tiers > 0 {
            let tier = |n: usize| Tier {
                text: "a tier".to_owned(),
                value: if n == 0 { 0.0 } else { 1.0 },
            };
            self.probe(&served, ItemAnswer::Tiers((0..most_tiers).map(tier).collect()))?;
        }
        Ok(())
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_sample(sample, context))
    }
}

impl RubricKind {
    /// Asks as a request would, up to the model.
    fn probe(&self, served: &Served, answer: ItemAnswer) -> Result<(), String> {
        let item = RubricItem {
            id: "probe".to_owned(),
            criterion: "It is short.".to_owned(),
            points: 1.0,
            tags: Vec::new(),
            answer,
            veto: None,
        };
        let conversation =
            [Message::new("user", "A question."), Message::new("assistant", "An answer.")];
        let shown = ask::ItemTexts::of(&conversation, "An answer.");
        let prompt = self.asking.prompt(served, &shown, &item);
        let prompt =
            prompt.map_err(|failure| failure.reason.detail.unwrap_or_default().to_string())?;
        match (&item.answer, self.asking.ask) {
            (ItemAnswer::YesNo, AnswerForm::Json(..)) => grade::check(served),
            (answer, _) => {
                let labels = labels_of(answer);
                Labels::after(served, &prompt, labels, self.asking.labels.spellings).map(drop)
            }
        }
    }
}
