//! Judgements that a judge is shown before it judges: `[[scorer.demonstration]]` tables.

use super::ask::{Demonstration, JudgePrompt};
use super::form::Mode;
use super::{grade, list, pair};
use crate::Message;
use crate::config::Section;

/// As many as the paper shows.
const MOST: usize = 6;

/// Reads the demonstrations of a scorer: each as the messages of its question and the judgement in
/// the form that the model must write. Errors become problems.
pub(super) fn read_demonstrations(
    section: &Section<'_, '_>,
    prompt_options: &JudgePrompt,
) -> Vec<Demonstration> {
    let tables = section.sections("demonstration");
    if tables.len() > MOST {
        let what = format!("{} demonstrations; at most {MOST} are shown", tables.len());
        section.problem("demonstration", what);
    }
    let read = tables.into_iter().filter_map(|table| {
        let shown = demonstration(&table, prompt_options);
        table.finish();
        shown
    });
    read.collect()
}

fn demonstration(table: &Section<'_, '_>, prompt_options: &JudgePrompt) -> Option<Demonstration> {
    let form = &prompt_options.form;
    let conversation: Vec<_> =
        table.text("prompt").map(|text| Message::new("user", &text)).into_iter().collect();
    let judgement = table.required_text("judgement");
    let responses = match form.mode {
        Mode::Grade => vec![table.required_text("response")?],
        Mode::Pair | Mode::List => {
            table.require("responses");
            table.texts("responses")?
        }
    };
    let responses: Vec<&str> = responses.iter().map(String::as_str).collect();
    let slots = match (form.mode, &responses[..]) {
        (Mode::Grade, [response]) => grade::slots(form, &conversation, response),
        (Mode::Pair, [first, second]) => pair::slots(form, &conversation, [first, second]),
        (Mode::List, [_, _, ..]) => list::slots(form, &conversation, &responses),
        (Mode::Grade | Mode::Pair, _) => {
            table.problem("responses", "a pair has two responses");
            return None;
        }
        (Mode::List, _) => {
            table.problem("responses", "a list has two responses or more");
            return None;
        }
    };
    match form.parse(&judgement?, responses.len()) {
        Ok(judgement) => {
            // No demonstrations are there yet, so these are the messages of the question alone; the
            // system message is every question's own.
            let turns = prompt_options.turns(&slots).into_iter();
            let question = turns.filter(|turn| turn.role != "system");
            Some(Demonstration {
                question: question.map(|turn| (turn.role, turn.content)).collect(),
                judgement: form.to_text(&judgement),
            })
        }
        Err(what) => {
            table.problem("judgement", format!("is not what the judge writes: {what}"));
            None
        }
    }
}
