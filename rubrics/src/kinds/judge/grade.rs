//! A grade for one response: the expected value over the grade tokens, and the one that was
//! written.

use std::sync::Arc;

use verifiers::Reason;

use super::ask::{JudgeCaller, JudgePrompt, Slots};
use super::form::{JudgementForm, Said};
use super::rules::GradeChoice;
use super::slots::{common_slots, conversation_before};
use crate::Message;
use crate::combine::grade::expected;
use crate::engine_client::EngineClient;
use crate::kinds::options::nothing_shown;
use crate::models::Served;
use crate::outcome::{Outcome, PartReport, Score};
use crate::sample::Sample;

/// The slots that a wording must have.
pub(super) const SLOTS: &[&str] = &["response"];

pub(super) fn slots(form: &JudgementForm, conversation: &[Message], response: &str) -> Slots {
    let mut slots = common_slots(form, conversation);
    slots.push(("response", response.to_owned()));
    slots
}

pub(super) async fn judge_grades(
    prompt_options: &Arc<JudgePrompt>,
    scored: GradeChoice,
    served: Served,
    sample: Sample<'_>,
    client: &EngineClient<'_>,
) -> Outcome {
    let form = &prompt_options.form;
    let response = prompt_options.thinking.shown(sample.response);
    if response.trim().is_empty() {
        return Ok(nothing_shown());
    }
    let slots = slots(form, &conversation_before(&sample), &response);
    let mut caller = JudgeCaller::new(prompt_options, served, client);
    let answered = caller.ask(vec![(slots, 1)], true).await?.remove(0);
    let mut evidence = caller.evidence;
    let answered = match answered {
        Ok(answered) => answered,
        Err(failure) => return Err(failure.with_evidence(evidence)),
    };
    let labels = answered.labels.expect("grades are read");
    let grades: Vec<f64> = (form.scale.0..=form.scale.1).map(f64::from).collect();
    let mean = expected(&grades, &labels.shares()).expect("shares are a distribution");
    let written = answered.judgement.map(|judgement| match judgement.said {
        Said::Grade(grade) => grade,
        Said::Winner(_) | Said::Grades(_) => unreachable!("a grade was requested"),
    });
    let (grade, code) = match (scored, written) {
        (GradeChoice::Sampled, Some(grade)) => (f64::from(grade), "sampled_grade"),
        (GradeChoice::Sampled | GradeChoice::Expected, _) => (mean, "expected_grade"),
    };
    let mut parts = vec![grade_part("expected", scored == GradeChoice::Expected, mean, form)];
    if let Some(grade) = written {
        let counts = scored == GradeChoice::Sampled;
        parts.push(grade_part("sampled", counts, f64::from(grade), form));
    }
    evidence.parts = Some(parts);
    Ok(Score {
        raw: Some(grade),
        label: written.map(|grade| grade.to_string().into()),
        evidence,
        ..Score::proven(form.share(grade), Reason::code(code))
    })
}

fn grade_part(name: &'static str, counts: bool, grade: f64, form: &JudgementForm) -> PartReport {
    PartReport {
        name: name.to_owned(),
        weight: if counts { 1.0 } else { 0.0 },
        outcome: Some(Ok(Score {
            raw: Some(grade),
            ..Score::proven(form.share(grade), Reason::code("grade"))
        })),
    }
}
