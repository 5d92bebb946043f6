//! Judgements in words, in the scorers' formats.

use std::fmt::Write as _;

use serde_json::json;

use crate::check::{CheckedSolution, LineFault};

/// `Yes` or `No`.
pub(super) fn yes(is_true: bool) -> String {
    if is_true { "Yes" } else { "No" }.to_owned()
}

/// `[Correct]` or `[Incorrect]`.
pub(super) fn correct(is_correct: bool) -> &'static str {
    if is_correct { "[Correct]" } else { "[Incorrect]" }
}

/// A line for each step that is wrong or builds on a wrong one, and the list of them.
pub(super) fn critique(judged: &CheckedSolution) -> String {
    let mut text = String::new();
    let mut numbers: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(&judged.lines) {
        let first = numbers.first().copied();
        let why = match (&line.fault, first) {
            (Some(fault), _) => fault.to_string(),
            (None, Some(first)) => format!("it builds on step {first}."),
            (None, None) => continue,
        };
        numbers.push(number);
        writeln!(text, "Step {number}: {why}").expect("memory takes it");
    }
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    text + "Wrong steps: [" + &numbers.join(", ") + "]"
}

/// The words of all steps and of the solution, after a line for each wrong step.
pub(super) fn retrospective(judged: &CheckedSolution) -> String {
    let word = |right: bool| if right { "right" } else { "wrong" };
    let mut text = String::new();
    for (number, line) in (1..).zip(&judged.lines) {
        if let Some(fault) = &line.fault {
            writeln!(text, "Step {number}: {fault}").expect("memory takes it");
        }
    }
    let words: Vec<String> =
        judged.local().into_iter().map(|right| format!("\"{}\"", word(right))).collect();
    let whole = word(judged.is_final_right());
    let steps = words.join(", ");
    text + &format!("Judgement: {{\"steps\": [{steps}], \"overall\": \"{whole}\"}}")
}

/// A grade, with a reason if the format has one.
pub(super) fn grade(judged: &CheckedSolution, with_reason: bool) -> String {
    let grade = judged.grade(9);
    if !with_reason {
        return json!({ "score": grade }).to_string();
    }
    let first = judged.first_error().map(|at| (at + 1, &judged.lines[at].fault));
    let reason = match first {
        Some((number, Some(fault))) => format!("Step {number}: {fault}"),
        Some((_, None)) | None => "Every step is right.".to_owned(),
    };
    json!({ "score": grade, "reason": reason }).to_string()
}

/// Three lines on a sentence.
pub(super) fn grounded(faithful: bool, fault: Option<&LineFault>) -> String {
    let word = |is_true: bool| if is_true { "yes" } else { "no" };
    let why = fault.map_or_else(|| "it follows.".to_owned(), LineFault::to_string);
    format!("Faithful: {}\nReasoning: {why}\nCorrect: {}", word(faithful), word(fault.is_none()))
}

/// The call of the tool that compares two answers.
pub(super) fn call(reference: i64, answer: i64) -> String {
    let arguments = format!("{{\"a\": \"{reference}\", \"b\": \"{answer}\"}}");
    format!(
        "<tool_call>\n{{\"name\": \"symbolic_verify\", \"arguments\": {arguments}}}\n</tool_call>"
    )
}

/// The tool's reply.
pub(super) fn result(is_equal: bool) -> String {
    let result = if is_equal { "equal" } else { "not equal (different)" };
    json!({ "status": "ok", "result": result }).to_string()
}

/// The verdict that ends a conversation with tools.
pub(super) fn conclusion(is_correct: bool) -> String {
    format!("\\boxed{{{}}}", correct(is_correct))
}
