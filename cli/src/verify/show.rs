//! A verdict for people.

use std::fmt::Write as _;

use openapi::{Candidate, CheckedEquality, Reason, ScoreResult, StepScore};
use serve::convert::status_name;

/// One fact a line.
pub(super) fn verdict(scorer: &str, result: &ScoreResult) -> String {
    let mut lines = vec![("status", status_name(result.status).to_owned())];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("score", result.score.map(|score| score.to_string()));
    add("label", result.label.clone());
    add("reason", result.reason.as_ref().map(reason));
    if let Some(candidate) = &result.candidate {
        add("candidate", Some(quoted(&candidate.text)));
        add("found", Some(found(candidate)));
    }
    for step in result.steps.iter().flatten() {
        add("step", Some(step_line(step)));
        for equality in step.equalities.iter().flatten() {
            add("", Some(equality_line(equality)));
        }
    }
    for part in result.parts.iter().flatten() {
        let status = part.status.map_or("not asked", status_name);
        let score = part.score.map_or_else(String::new, |score| format!(" {score}"));
        let why = part.reason.as_ref().map(|why| format!(" ({})", reason(why)));
        let why = why.unwrap_or_default();
        add("part", Some(format!("{}: {status}{score}, weight {}{why}", part.name, part.weight)));
    }
    add("scorer", Some(format!("{scorer} {}", result.digests.scorer)));
    let mut text = String::new();
    for (name, value) in lines {
        writeln!(text, "{name:10} {value}").expect("writing to memory does not fail");
    }
    text
}

fn reason(reason: &Reason) -> String {
    match &reason.detail {
        Some(detail) => format!("{}: {detail}", reason.code),
        None => reason.code.clone(),
    }
}

fn found(candidate: &Candidate) -> String {
    let [start, end] = candidate.span;
    let mut text = format!("{}, characters {start} to {end}", candidate.source);
    if candidate.count > 1 {
        write!(text, ", the last of {}", candidate.count).expect("writing to memory does not fail");
    }
    for flag in &candidate.flags {
        write!(text, ", {flag}").expect("writing to memory does not fail");
    }
    text
}

fn step_line(step: &StepScore) -> String {
    let [start, end] = step.span;
    format!("{}: {}, characters {start} to {end}", step.index, step.label)
}

fn equality_line(equality: &CheckedEquality) -> String {
    format!("{}: {} ({})", quoted(&equality.text), equality.label, equality.detail)
}

/// A text on one line, with an end in sight.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 200;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string().replace("\\\\", "\\").replace("\\'", "'").replace("\\\"", "\"")
}
