//! Items judged by a model: their prompts, and the labels that are read after them.

use std::sync::Arc;

use engine::Output;
use verifiers::Reason;

use super::options::{AnswerForm, Counting, ItemPrompts, LETTERS, TierValue, labels_of};
use crate::Message;
use crate::engine_client::EngineClient;
use crate::labels::{LabelRead, Labels};
use crate::models::{Chat, Prompted, Served};
use crate::outcome::{Failure, Outcome, Score, Trace};
use crate::prompt::{lines, transcript};
use crate::rubric::{ItemAnswer, RubricItem, Tier};
use base::stats::sigmoid;

/// Questions encoded at a time: each holds the tokens of the conversation.
pub(super) const AT_ONCE: usize = 128;

/// Texts shared by all items of a sample, rendered once.
#[derive(Debug, Clone)]
pub(super) struct ItemTexts {
    conversation: String,
    prompt: String,
    response: String,
}

/// One conversation before one model.
pub(super) struct ItemContext<'s> {
    pub(super) client: &'s EngineClient<'s>,
    pub(super) served: Served,
    pub(super) shown: Arc<ItemTexts>,
}

/// An item as tokens, with the labels to read at its end.
struct ItemQuestion {
    prompt: Prompted,
    labels: Labels,
}

impl ItemTexts {
    /// A conversation and the text of it that is judged, which its last message holds.
    pub(super) fn of(conversation: &[Message], response: &str) -> Self {
        let prompt = conversation.split_last().map_or(&[][..], |(_, before)| before);
        Self {
            conversation: transcript(conversation),
            prompt: transcript(prompt),
            response: response.to_owned(),
        }
    }
}

impl ItemPrompts {
    /// Renders the prompt of an item. Only two slots are raw: the conversation, which is quoted
    /// already, and tiers, which are one line each.
    pub(super) fn prompt(
        &self,
        served: &Served,
        shown: &ItemTexts,
        item: &RubricItem,
    ) -> Result<Prompted, Failure> {
        let (wording, tiers) = match &item.answer {
            ItemAnswer::Tiers(tiers) => (&self.tiers, tier_list(tiers)),
            ItemAnswer::YesNo | ItemAnswer::Verifier(_) => (&self.item, String::new()),
        };
        let turns = wording.fill(&[
            ("conversation", &shown.conversation),
            ("prompt", &shown.prompt),
            ("response", &shown.response),
            ("criterion", &item.criterion),
            ("tiers", &tiers),
        ]);
        let reasoning = match self.ask {
            AnswerForm::Labels => false,
            AnswerForm::Json(writing, _) => {
                writing.reasoning && matches!(item.answer, ItemAnswer::YesNo)
            }
        };
        served.prompt(&Chat::with_generation_prompt(&turns).reasoning(reasoning))
    }

    /// Reads the answers of items, all of them together: one outcome each.
    ///
    /// # Errors
    /// What the engine could not do, for all items.
    pub(super) async fn read(
        &self,
        context: &ItemContext<'_>,
        items: &[&RubricItem],
        counting: Counting,
        trace: &mut Trace,
    ) -> Result<Vec<Outcome>, Failure> {
        let mut outcomes = Vec::with_capacity(items.len());
        for some in items.chunks(AT_ONCE) {
            outcomes.extend(self.read_some(context, some, counting, trace).await?);
        }
        Ok(outcomes)
    }

    async fn read_some(
        &self,
        context: &ItemContext<'_>,
        items: &[&RubricItem],
        counting: Counting,
        trace: &mut Trace,
    ) -> Result<Vec<Outcome>, Failure> {
        let (asking, host, shown) = (self.clone(), context.served.clone(), context.shown.clone());
        let own: Vec<RubricItem> = items.iter().copied().cloned().collect();
        let encode = move || -> Result<Vec<ItemQuestion>, Failure> {
            let questions = own.iter().map(|item| asking.question(&host, &shown, item));
            questions.collect()
        };
        let questions = context.client.run(encode).await??;
        let sequences = questions.iter().map(|question| {
            let task = question.labels.task(&question.prompt);
            (question.prompt.token_ids.clone(), task)
        });
        let sequences = sequences.collect();
        let outputs = context.client.read(&context.served, sequences, trace).await?;
        let explain = context.client.options().explain;
        let answered = items.iter().zip(&questions).zip(&outputs);
        let outcomes = answered.map(|((item, question), outputs)| {
            let read = read_one(&question.labels, outputs)?;
            trace.saw_mass(Some(read.mass));
            let enough = read.enough_mass(self.labels.min_label_mass);
            Ok(enough.map(|()| item_score(item, &read, counting, explain)))
        });
        outcomes.collect()
    }

    fn question(
        &self,
        served: &Served,
        shown: &ItemTexts,
        item: &RubricItem,
    ) -> Result<ItemQuestion, Failure> {
        let prompt = self.prompt(served, shown, item)?;
        // The first question that does not fit ends the others before they are written down.
        let (given, most) = (prompt.token_ids.len(), served.host.engine.limits().max_positions);
        if given > most {
            let detail = format!("the question is {given} tokens long; the model reads {most}");
            return Err(Failure::refused("too_long", detail));
        }
        let labels = labels_of(&item.answer);
        let labels = Labels::after(served, &prompt, labels, self.labels.spellings)
            .map_err(|what| Failure::refused("labels_unusable", what))?;
        Ok(ItemQuestion { prompt, labels })
    }
}

fn read_one(labels: &Labels, outputs: &[Output]) -> Result<LabelRead, Failure> {
    let [output] = outputs else {
        return Err(Failure::internal());
    };
    labels.read(output)
}

/// Scores an item by its labels.
fn item_score(item: &RubricItem, read: &LabelRead, counting: Counting, explain: bool) -> Score {
    match &item.answer {
        ItemAnswer::Tiers(tiers) => tier(tiers, read, counting.tiers, explain),
        ItemAnswer::YesNo | ItemAnswer::Verifier(_) => yes_no(read, counting.soft, explain),
    }
}

/// Met where Yes is likelier than No; with partial credit the value is the share of Yes.
fn yes_no(read: &LabelRead, soft: bool, explain: bool) -> Score {
    let margin = read.margin();
    let share = sigmoid(margin);
    let is_met = margin > 0.0;
    let value = match (soft, is_met) {
        (true, _) => share,
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    let detail = || format!("of Yes and No, Yes holds {share:.3}");
    verdict(value, is_met, Some(margin), Reason::explained(code(is_met), explain, detail))
}

fn tier(tiers: &[Tier], read: &LabelRead, value: TierValue, explain: bool) -> Score {
    let shares = read.shares();
    let expected = tiers.iter().zip(&shares).map(|(tier, share)| tier.value * share);
    let expected: f64 = expected.sum();
    let mut best = 0;
    for (at, share) in shares.iter().enumerate() {
        if *share > shares[best] {
            best = at;
        }
    }
    let detail = || {
        let share = shares[best];
        format!("{}: {} ({share:.3} of all tiers)", LETTERS[best], tiers[best].text)
    };
    Score {
        score: match value {
            TierValue::Expected => expected,
            TierValue::Likeliest => tiers[best].value,
        },
        label: Some(LETTERS[best].into()),
        ..verdict(0.0, false, None, Reason::explained("tier", explain, detail))
    }
}

/// The answer to a yes/no item.
pub(super) fn verdict(value: f64, is_met: bool, raw: Option<f64>, reason: Reason) -> Score {
    Score {
        raw,
        label: Some(if is_met { "met" } else { "unmet" }.into()),
        ..Score::proven(value, reason)
    }
}

/// The reason's code of a yes/no item.
pub(super) fn code(is_met: bool) -> &'static str {
    if is_met { "criterion_met" } else { "criterion_unmet" }
}

/// Tiers by their letters, one line each, whatever their texts hold.
fn tier_list(tiers: &[Tier]) -> String {
    let lines = tiers.iter().zip(LETTERS).map(|(tier, letter)| {
        let words: Vec<&str> = lines(&tier.text).collect();
        format!("{letter}: {}", words.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}
