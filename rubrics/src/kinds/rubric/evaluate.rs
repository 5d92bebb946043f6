//! Evaluation of a response by a rubric: answers all items and combines them.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use verifiers::Reason;

use super::ask::{self, ItemContext, ItemTexts, code, verdict};
use super::options::{AnswerForm, OnItemError, RubricKind};
use crate::engine_client::EngineClient;
use crate::kinds::KindContext;
use crate::models::wording_digest;
use crate::outcome::{
    Evidence, Failure, FailureKind, ModelText, Outcome, PartReport, Score, Trace,
};
use crate::rubric::{
    ItemAnswer, Method, Rubric, RubricItem, Verification, Whole, from_json, path_text,
};
use crate::sample::Sample;
use crate::{Input, Responses, group};

/// Verifications that are under way at once: each holds a copy of the response.
const AT_ONCE: usize = 8;
/// Faults of an input's rubric that one message lists.
const MAX_LISTED_FAULTS: usize = 5;

/// Outcomes of the items.
struct ItemOutcomes {
    outcomes: Vec<Outcome>,
    texts: Vec<ModelText>,
    trace: Option<Trace>,
}

impl RubricKind {
    pub(super) async fn evaluate_sample(
        &self,
        sample: Sample<'_>,
        context: KindContext<'_>,
    ) -> Outcome {
        let inline = match &sample.input.rubric {
            Some(given) => {
                let (value, scorers) = (Value::Object(given.clone()), self.verifiers.clone());
                Some(context.client.run(move || read_inline(&value, &scorers)).await??)
            }
            None => None,
        };
        let rubric = inline.as_ref().or(self.rubric.as_ref()).ok_or_else(|| {
            let detail = "give 'rubric': this scorer has none of its own";
            Failure::refused("rubric_missing", detail)
        })?;
        let found = self.answers(rubric, sample, context).await?;
        overall(rubric, self.counting.on_item_error, found, context.client.options().explain)
    }

    /// The answers to all items, in order.
    async fn answers(
        &self,
        rubric: &Rubric,
        sample: Sample<'_>,
        context: KindContext<'_>,
    ) -> Result<ItemOutcomes, Failure> {
        let verified = self.verify(rubric, sample, context).await;
        let mut trace = group::trace(&verified);
        let mut verified = verified.into_iter();
        let mut texts = Vec::new();
        let mut replies = Vec::new().into_iter();
        if rubric.asks_model() {
            let trace = trace.get_or_insert_default();
            replies =
                self.ask(rubric, sample, context.client, (trace, &mut texts)).await?.into_iter();
        }
        let answers = rubric.items.iter().map(|item| {
            let next = if item.asks_model() { replies.next() } else { verified.next() };
            next.unwrap_or_else(|| Err(Failure::internal()))
        });
        Ok(ItemOutcomes { outcomes: answers.collect(), texts, trace })
    }

    /// The model's answers to the items without a verifier, in order.
    async fn ask(
        &self,
        rubric: &Rubric,
        sample: Sample<'_>,
        client: &EngineClient<'_>,
        (trace, texts): (&mut Trace, &mut Vec<ModelText>),
    ) -> Result<Vec<Outcome>, Failure> {
        let Some(name) = &self.model else {
            let detail = "the rubric has items for a model, and this scorer has none";
            return Err(Failure::refused("model_missing", detail));
        };
        let served = client.served(name)?;
        let (turns, response) = (sample.conversation(), sample.response.to_owned());
        let render = move || Arc::new(ItemTexts::of(&turns, &response));
        let shown = client.run(render).await?;
        let context = ItemContext { client, served, shown };
        let is_json = matches!(self.asking.ask, AnswerForm::Json(..));
        let is_graded = |item: &&RubricItem| is_json && matches!(item.answer, ItemAnswer::YesNo);
        let items = || rubric.items.iter().filter(|item| item.asks_model());
        let labelled: Vec<&RubricItem> = items().filter(|item| !is_graded(item)).collect();
        let read = self.asking.read(&context, &labelled, self.counting, trace).await?;
        let to_grade: Vec<&RubricItem> = items().filter(is_graded).collect();
        let mut graded = Vec::with_capacity(to_grade.len());
        for some in to_grade.chunks(ask::AT_ONCE) {
            let some = some.iter().map(|item| self.asking.grade(&context, item));
            graded.extend(join_all(some).await);
        }
        let mut read = read.into_iter();
        let mut graded = graded.into_iter();
        let answers = items().map(|item| {
            if !is_graded(&item) {
                return read.next().unwrap_or_else(|| Err(Failure::internal()));
            }
            let Some(graded) = graded.next() else {
                return Err(Failure::internal());
            };
            trace.add(&graded.trace);
            texts.extend(graded.texts);
            graded.outcome
        });
        let answers: Vec<Outcome> = answers.collect();
        trace.prompt =
            Some(wording_digest(&context.served, &[&self.asking.item, &self.asking.tiers]));
        Ok(answers)
    }

    /// The answers to the items that name a scorer, in order.
    async fn verify(
        &self,
        rubric: &Rubric,
        sample: Sample<'_>,
        context: KindContext<'_>,
    ) -> Vec<Outcome> {
        let verifications = rubric.items.iter().filter_map(|item| match &item.answer {
            ItemAnswer::Verifier(verification) => Some(verification),
            ItemAnswer::YesNo | ItemAnswer::Tiers(_) => None,
        });
        let verifications: Vec<&Verification> = verifications.collect();
        let mut outcomes = Vec::with_capacity(verifications.len());
        for some in verifications.chunks(AT_ONCE) {
            let some =
                some.iter().map(|verification| self.verify_one(verification, sample, context));
            outcomes.extend(join_all(some).await);
        }
        outcomes
    }

    async fn verify_one(
        &self,
        verification: &Verification,
        sample: Sample<'_>,
        context: KindContext<'_>,
    ) -> Outcome {
        let input = Arc::new(Input {
            prompt: sample.input.prompt.clone(),
            responses: Responses::One(sample.passage.clone()),
            reference: verification.reference.clone().or_else(|| sample.input.reference.clone()),
            steps: sample.input.steps.clone(),
            principles: sample.input.principles.clone(),
            rubric: None,
            context: sample.input.context.clone(),
        });
        let own = Sample { input: &input, ..sample };
        let judged = context.scorers.evaluate(&verification.scorer, own).await?;
        let is_met = judged.score >= verification.at_least;
        let value = match (self.counting.soft, is_met) {
            (true, _) => judged.score.clamp(0.0, 1.0),
            (false, true) => 1.0,
            (false, false) => 0.0,
        };
        let said = judged.reason.detail.as_deref().unwrap_or(judged.reason.code);
        let detail = || format!("{}: {said}", verification.scorer);
        let reason = Reason::explained(code(is_met), context.client.options().explain, detail);
        Ok(Score {
            evidence: judged.evidence,
            ..verdict(value, is_met, Some(judged.score), reason)
        })
    }
}

/// Parses the rubric of an input; a refusal lists its faults.
pub(super) fn read_inline(value: &Value, scorers: &[String]) -> Result<Rubric, Failure> {
    from_json(value, scorers).map_err(|faults| {
        let listed = faults.iter().take(MAX_LISTED_FAULTS);
        let mut lines: Vec<String> = listed
            .map(|fault| format!("{}: {}", path_text("rubric", &fault.at), fault.message))
            .collect();
        if faults.len() > MAX_LISTED_FAULTS {
            lines.push(format!("and {} more", faults.len() - MAX_LISTED_FAULTS));
        }
        Failure::refused("rubric_unusable", lines.join("; "))
    })
}

/// Aggregates the items' outcomes.
fn overall(rubric: &Rubric, on_error: OnItemError, found: ItemOutcomes, explain: bool) -> Outcome {
    let ItemOutcomes { outcomes, texts, trace } = found;
    let answered = rubric.items.iter().zip(&outcomes);
    let values: Result<Vec<Option<f64>>, Failure> =
        answered.map(|(item, outcome)| value_of(item, outcome, on_error)).collect();
    let judged = values.and_then(|values| {
        let whole = rubric.aggregate(&values).map_err(|error| {
            let reason = Reason::with("rubric_without_value", error.to_string());
            Failure::new(FailureKind::Abstain, reason)
        })?;
        Ok((whole, reason(rubric, &values, &whole, explain)))
    });
    let parts = rubric.items.iter().zip(outcomes).map(|(item, outcome)| PartReport {
        name: item.id.clone(),
        weight: item.points,
        outcome: Some(outcome),
    });
    let evidence = Evidence {
        parts: Some(parts.collect()),
        outputs: explain.then_some(texts).filter(|texts| !texts.is_empty()),
        trace,
        ..Evidence::default()
    };
    match judged {
        Ok((whole, reason)) => Ok(Score {
            raw: Some(whole.unclipped),
            label: whole.vetoed_by.map(|_| "vetoed".into()),
            evidence,
            ..Score::proven(whole.score, reason)
        }),
        Err(failure) => Err(failure.with_evidence(evidence)),
    }
}

/// Returns the value of an item; `None` leaves it out. Two failures always fail the rubric: a
/// transient one, or scores would depend on the machine's load, and one of an item with a veto, or
/// a broken judge would let responses pass that it should stop.
fn value_of(
    item: &RubricItem,
    outcome: &Outcome,
    on_error: OnItemError,
) -> Result<Option<f64>, Failure> {
    let failure = match outcome {
        Ok(scored) => return Ok(Some(scored.score)),
        Err(failure) => failure,
    };
    match on_error {
        OnItemError::Skip if failure.kind.is_lasting() && item.veto.is_none() => Ok(None),
        OnItemError::Unmet if failure.kind.is_lasting() && item.veto.is_none() => {
            Ok(Some(item.unmet()))
        }
        OnItemError::Fail | OnItemError::Skip | OnItemError::Unmet => {
            let code = failure.reason.code;
            let said = failure.reason.detail.as_deref().unwrap_or(code);
            let detail = format!("item '{}': {said}", item.id);
            Err(Failure::new(failure.kind, Reason::with(code, detail)))
        }
    }
}

fn reason(rubric: &Rubric, values: &[Option<f64>], whole: &Whole, explain: bool) -> Reason {
    let code = match (&rubric.method, whole.vetoed_by) {
        (_, Some(_)) => "vetoed",
        (Method::Points, None) => "points",
        (Method::Rubicon(_), None) => "rubicon",
    };
    Reason::explained(code, explain, || {
        let counted = values.iter().flatten().count();
        let veto = whole.vetoed_by.map(|at| format!("vetoed by '{}'; ", rubric.items[at].id));
        format!(
            "{}{counted} of {} items counted; unclipped {:.4}, clipped {:.4}",
            veto.unwrap_or_default(),
            values.len(),
            whole.unclipped,
            whole.clipped
        )
    })
}
