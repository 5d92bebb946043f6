//! `kind = "judge"`: a model that judges by a rubric of one line of JSON, after up to six
//! demonstrations; a base model, or a LoRA adapter that was trained for it.
//!
//! The setting is that of the plug-and-play judge (arXiv 2506.05748): its rubric's text, its output
//! schema and its scoring formula are not public, and those here are ours. Pairs are judged in both
//! orders, our reading of Pairwise-RL (arXiv 2504.04950). Three modes: a grade for one response,
//! the better of two, and grades for a list in several random orders.
//!
//! Read `grade.rs` (or `pair.rs`, `list.rs`), then `ask.rs`: it renders the question, generates the
//! judgement if there is one, and reads the labels of the verdict.

mod ask;
mod demonstrations;
mod form;
mod grade;
mod list;
mod pair;
mod rules;
mod slots;

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::options::{Slots as SlotNames, Thinking, Wording, WritingOptions, read_share};
use super::{KindContext, Names, ScoreFuture, ScorerKind};
use crate::config::Section;
use crate::models::Models;
use crate::outcome::{Failure, Outcome};
use crate::sample::Sample;
use crate::{Message, group};
use ask::{JudgeCaller, JudgePrompt};
use form::{JudgementForm, Mode, Rationale};
use rules::{Average, GradeChoice, Inconsistent, ScoringRules};

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "judge";

/// Default criteria.
const CRITERIA: [&str; 4] = ["correct", "complete", "relevant", "clear"];
/// The best grade of a single response: with 0 as the least, every grade is one digit, which is one
/// token in most vocabularies.
const BEST_GRADE: u32 = 9;
/// The best grade of a list, whose grades are written and not read from one token.
const BEST_LISTED: u32 = 10;
const MOST_GRADES: u64 = 1000;
const MAX_TOKENS: usize = 512;
/// 56 questions, or 4 lists of 16 responses.
const MOST_PAIRED: u64 = 8;
const MOST_LISTED: u64 = 16;
const ORDERS: u64 = 2;

/// The options.
#[derive(Debug)]
struct JudgeKind {
    model: String,
    prompt_options: Arc<JudgePrompt>,
    rules: ScoringRules,
}

pub(crate) fn read(section: &Section<'_, '_>, names: &Names<'_>) -> Option<Box<dyn ScorerKind>> {
    let model = names.model(section, "model");
    let form = read_form(section);
    let rules = read_rules(section, &form);
    let (name, slots) = match form.mode {
        Mode::Grade => ("judge-grade", grade::SLOTS),
        Mode::Pair => ("judge-pair", pair::SLOTS),
        Mode::List => ("judge-list", list::SLOTS),
    };
    let wording = read_wording(section, name, slots);
    let min_label_mass = read_share(section, "min_label_mass").unwrap_or(0.5);
    let writing = WritingOptions::read(section, WritingOptions::greedy(MAX_TOKENS));
    if writing.reasoning {
        let message = "a judgement is JSON from its first token; `rationale = \"before\"` has it reason there";
        section.problem("reasoning", message);
    }
    let mut prompt_options = JudgePrompt {
        demonstrations: Vec::new(),
        thinking: Thinking::read(section),
        form,
        wording: wording?,
        min_label_mass,
        writing,
    };
    prompt_options.demonstrations = demonstrations::read_demonstrations(section, &prompt_options);
    Some(Box::new(JudgeKind { model: model?, prompt_options: Arc::new(prompt_options), rules }))
}

fn read_wording(
    section: &Section<'_, '_>,
    name: &str,
    needed: &'static [&'static str],
) -> Option<Wording> {
    let slots = SlotNames { needed, optional: &["rubric", "conversation"] };
    Wording::read(section, name, slots)
}

fn read_form(section: &Section<'_, '_>) -> JudgementForm {
    let modes = [("grade", Mode::Grade), ("pair", Mode::Pair), ("list", Mode::List)];
    let rationales =
        [("after", Rationale::After), ("before", Rationale::Before), ("none", Rationale::None)];
    let mode = section.word("mode", &modes).unwrap_or_default();
    let criteria = section.texts("criteria");
    let criteria = criteria.unwrap_or_else(|| CRITERIA.map(str::to_owned).to_vec());
    if criteria.is_empty() || criteria.iter().any(|text| text.trim().is_empty()) {
        section.problem("criteria", "must have a text, and no empty one");
    }
    let grade = |key, default: u32| {
        let grade = section.integer(key, 0..MOST_GRADES + 1);
        let grade = grade.and_then(|grade| u32::try_from(grade).ok());
        grade.unwrap_or(default)
    };
    let best = match mode {
        Mode::Grade | Mode::Pair => BEST_GRADE,
        Mode::List => BEST_LISTED,
    };
    let scale = (grade("scale_min", 0), grade("scale_max", best));
    if scale.0 >= scale.1 {
        section.problem("scale_max", "must be more than scale_min");
    }
    JudgementForm {
        mode,
        rationale: section.word("rationale", &rationales).unwrap_or_default(),
        criteria,
        scale,
    }
}

fn read_rules(section: &Section<'_, '_>, form: &JudgementForm) -> ScoringRules {
    let scores = [("expected", GradeChoice::Expected), ("sampled", GradeChoice::Sampled)];
    let inconsistents = [("abstain", Inconsistent::Abstain), ("average", Inconsistent::Average)];
    let averages = [("log_odds", Average::LogOdds), ("probability", Average::Probability)];
    let meant = [
        ("score", Mode::Grade),
        ("inconsistent", Mode::Pair),
        ("average", Mode::Pair),
        ("orders", Mode::List),
    ];
    for (key, mode) in meant {
        if mode != form.mode && section.has(key) {
            section.problem(key, "has no meaning in this mode");
        }
    }
    let score = section.word("score", &scores).unwrap_or_default();
    if score == GradeChoice::Sampled && !form.gives_reasons() {
        let what = "rationale = \"none\" reads the grade without writing one";
        section.problem("score", what);
    }
    let (most, limit) = match form.mode {
        Mode::Grade | Mode::Pair => (MOST_PAIRED, 65),
        Mode::List => (MOST_LISTED, 257),
    };
    let most = section.integer("max_group", 2..limit).unwrap_or(most);
    ScoringRules {
        score,
        inconsistent: section.word("inconsistent", &inconsistents).unwrap_or_default(),
        average: section.word("average", &averages).unwrap_or_default(),
        orders: section.integer("orders", 1..65).unwrap_or(ORDERS),
        max_group: usize::try_from(most).expect("it is at most 256"),
    }
}

impl ScorerKind for JudgeKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn revision(&self) -> u32 {
        2
    }

    fn description(&self) -> &'static str {
        match self.prompt_options.form.mode {
            Mode::Grade => "grades a response by a rubric",
            Mode::Pair => "says which response is better, in both orders",
            Mode::List => "grades the responses of a group side by side",
        }
    }

    fn options(&self) -> Value {
        json!([self.model, *self.prompt_options, self.rules])
    }

    fn models(&self) -> Vec<&str> {
        vec![&self.model]
    }

    fn is_pairwise(&self) -> bool {
        match self.prompt_options.form.mode {
            Mode::Grade => false,
            Mode::Pair | Mode::List => true,
        }
    }

    fn min_score(&self, _: &Sample<'_>) -> Option<f64> {
        (!self.is_pairwise()).then_some(0.0)
    }

    fn check(&self, models: &dyn Models) -> Result<(), String> {
        let served = models.find(&self.model).expect("its name was checked");
        if !served.has_vocabulary() {
            return Err(format!("'{}' has no vocabulary to judge in", self.model));
        }
        let conversation = [Message::new("user", "What is 2 + 2?")];
        let (slots, count, label_verdict) = match self.prompt_options.form.mode {
            Mode::Grade => (grade::slots(&self.prompt_options.form, &conversation, "4"), 1, true),
            Mode::Pair => {
                (pair::slots(&self.prompt_options.form, &conversation, ["4", "5"]), 2, true)
            }
            Mode::List => {
                (list::slots(&self.prompt_options.form, &conversation, &["4", "5"]), 2, false)
            }
        };
        let tried = self.prompt_options.try_on(&served, &slots, count, label_verdict);
        tried.map_err(Failure::into_message)
    }

    fn evaluate<'a>(&'a self, sample: Sample<'a>, context: KindContext<'a>) -> ScoreFuture<'a> {
        Box::pin(async move {
            let client = context.client;
            let served = client.served(&self.model)?;
            grade::judge_grades(&self.prompt_options, self.rules.score, served, sample, client)
                .await
        })
    }

    fn evaluate_group<'a>(
        &'a self,
        samples: Vec<Sample<'a>>,
        context: KindContext<'a>,
    ) -> ScoreFuture<'a> {
        Box::pin(self.evaluate_samples(samples, context))
    }
}

impl JudgeKind {
    async fn evaluate_samples<'a>(
        &'a self,
        samples: Vec<Sample<'a>>,
        context: KindContext<'a>,
    ) -> Outcome {
        let mode = self.prompt_options.form.mode;
        if mode != Mode::Grade && samples.len() > self.rules.max_group {
            let detail = format!(
                "{} responses; at most {} are compared (max_group)",
                samples.len(),
                self.rules.max_group
            );
            return Err(Failure::refused("group_too_large", detail));
        }
        let client = context.client;
        let served = client.served(&self.model)?;
        let caller = || JudgeCaller::new(&self.prompt_options, served, client);
        match mode {
            Mode::Grade => {
                let outcomes = samples.into_iter().map(|sample| self.evaluate(sample, context));
                group::outcome_mean(join_all(outcomes).await)
            }
            Mode::Pair => pair::judge_pairs(caller(), self.rules, &samples).await,
            Mode::List => list::judge_list(caller(), self.rules.orders, &samples).await,
        }
    }
}

#[cfg(test)]
mod tests;
