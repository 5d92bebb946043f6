//! Reflection at test time (SPARK, arXiv 2509.22624): the model judges its own greedy answer, and solves
//! the problem again with that answer before it if it does not find it right. The last answer stands
//! unjudged. The published penalty for repetition is left out.

use std::sync::Arc;

use super::answers::{answers, set_mean};
use crate::error::Result;
use crate::item::{ItemRole, Rollout, TrainingItem};
use crate::judge_data::{Template, TemplateKind, Templates};
use crate::methods::PolicyGradient;
use crate::methods::policy_gradient::SparkSection;
use crate::metrics::Metrics;
use crate::rollout::RolloutParams;

/// The rounds of an evaluation, and the wordings of its questions: the first of each kind.
pub(super) struct Reflection {
    rounds: usize,
    templates: Templates,
}

/// The reward of a judgement that is `Yes`.
const YES: f64 = 1.0;

impl Reflection {
    /// # Errors
    /// Templates that lack a kind of question.
    pub(super) fn new(section: &SparkSection, rounds: usize) -> Result<Reflection> {
        let templates = Templates::built_in(&section.templates)?;
        templates.require(&[TemplateKind::Pointwise, TemplateKind::ReflectAnswer])?;
        Ok(Reflection { rounds, templates })
    }

    /// The share of right answers after all rounds (`reflect`), the share that was solved again
    /// (`reflect/again`), and of the first judgements the share of right answers that were rejected and of
    /// wrong ones that were accepted: reflection helps where both add up to less than 1 (2510.12157).
    ///
    /// # Errors
    /// Questions that cannot be sampled or scored.
    pub(super) fn measure(
        &self,
        policy_gradient: &PolicyGradient,
        items: &[&TrainingItem],
        mut solved: Vec<Rollout>,
        params: RolloutParams,
    ) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        let mut open: Vec<usize> = (0..items.len()).collect();
        for round in 0..self.rounds {
            let questions = self.questions(TemplateKind::Pointwise, (items, &open), &solved);
            let judged = respond(policy_gradient, &questions, params)?;
            let is_accepted: Vec<bool> =
                judged.iter().map(|rollout| rollout.reward == Ok(YES)).collect();
            if round == 0 {
                report_first(&solved, &is_accepted, &mut metrics);
            }
            let mut accepted = is_accepted.iter();
            open.retain(|_| !accepted.next().is_some_and(|accepted| *accepted));
            let questions = self.questions(TemplateKind::ReflectAnswer, (items, &open), &solved);
            let again = respond(policy_gradient, &questions, params)?;
            for (at, rollout) in open.iter().zip(again) {
                solved[*at] = rollout;
            }
        }
        let right: Vec<f64> =
            solved.iter().filter_map(|rollout| rollout.right).map(share).collect();
        set_mean(&mut metrics, "reflect", &right);
        Ok(metrics)
    }

    /// Questions about the answers to the items `open`.
    fn questions(
        &self,
        kind: TemplateKind,
        (items, open): (&[&TrainingItem], &[usize]),
        solved: &[Rollout],
    ) -> Vec<TrainingItem> {
        let template = &self.templates.of(kind)[0];
        open.iter().map(|at| question(template, items[*at], &solved[*at])).collect()
    }
}

fn report_first(solved: &[Rollout], is_accepted: &[bool], metrics: &mut Metrics) {
    let again: Vec<f64> = is_accepted.iter().map(|accepted| share(!accepted)).collect();
    set_mean(metrics, "reflect/again", &again);
    let of = |right: bool, accepted: bool| -> Vec<f64> {
        let both = solved.iter().zip(is_accepted);
        let known = both.filter(|(rollout, _)| rollout.right == Some(right));
        known.map(|(_, own)| share(*own == accepted)).collect()
    };
    set_mean(metrics, "reflect/false_rejections", &of(true, false));
    set_mean(metrics, "reflect/false_acceptances", &of(false, true));
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// A question about an answer: a judgement, whose gold label is that the answer is right, or the problem
/// again.
fn question(template: &Template, item: &TrainingItem, solved: &Rollout) -> TrainingItem {
    let turns = template.fill(&[
        ("problem", &item.problem),
        ("answer", solved.answer.as_deref().unwrap_or_default()),
        ("solution", &solved.text),
    ]);
    if template.kind == TemplateKind::Pointwise {
        return TrainingItem {
            role: ItemRole::Pointwise,
            turns,
            gold: Some(template.label(true)),
            scorer: template.scorer.clone(),
            fields: Arc::default(),
            ..item.clone()
        };
    }
    TrainingItem { role: ItemRole::Reflection, turns, ..item.clone() }
}

fn respond(
    policy_gradient: &PolicyGradient,
    items: &[TrainingItem],
    params: RolloutParams,
) -> Result<Vec<Rollout>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let items: Vec<&TrainingItem> = items.iter().collect();
    answers(policy_gradient, &items, 1, params)
}
