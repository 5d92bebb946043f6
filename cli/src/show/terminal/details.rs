//! A row and its verdict as lines.

use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::show::ShownRow;

/// Columns of the bar of a score of 1.
const BAR: u8 = 10;

/// The text of a value that is one, or of the last of some messages; anything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.last().is_some_and(|last| last["content"].is_string()) => {
            items.last().map(|last| text_of(&last["content"])).unwrap_or_default()
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The lines of a row under the verdict of one scorer.
pub(super) fn lines(row: &ShownRow, verdict: Option<&Value>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    section(&mut lines, "Prompt", &row.input["prompt"]);
    let span = verdict.and_then(|verdict| span_of(&verdict["candidate"]["span"]));
    let response = text_of(&row.input["response"]);
    if !response.is_empty() {
        lines.push(head("Response"));
        lines.extend(marked(&response, span));
        lines.push(Line::default());
    }
    let responses = row.input["responses"].as_array().into_iter().flatten();
    for (at, response) in responses.enumerate() {
        section(&mut lines, &format!("Response {}", at + 1), response);
    }
    section(&mut lines, "Reference", &row.input["reference"]);
    match verdict {
        Some(verdict) => of_verdict(&mut lines, verdict),
        None => lines.push("This scorer has no verdict of the row.".italic().into()),
    }
    lines
}

fn head(title: &str) -> Line<'static> {
    title.to_owned().bold().underlined().into()
}

fn section(lines: &mut Vec<Line<'static>>, title: &str, value: &Value) {
    let text = text_of(value);
    if !text.is_empty() {
        lines.push(head(title));
        lines.extend(marked(&text, None));
        lines.push(Line::default());
    }
}

/// A range in code points.
fn span_of(span: &Value) -> Option<(usize, usize)> {
    let end = |at: usize| span[at].as_u64().and_then(|end| usize::try_from(end).ok());
    end(0).zip(end(1)).filter(|(start, end)| start < end)
}

/// The lines of a text, with the characters of a range marked.
fn marked(text: &str, span: Option<(usize, usize)>) -> Vec<Line<'static>> {
    let (start, end) = span.unwrap_or((0, 0));
    let mut lines = vec![Line::default()];
    let mut run = (String::new(), false);
    let flush = |lines: &mut Vec<Line<'static>>, (text, is_marked): (String, bool)| {
        let style = if is_marked { Style::new().bold().reversed() } else { Style::new() };
        if let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) {
            line.push_span(Span::styled(text, style));
        }
    };
    for (at, character) in text.chars().enumerate() {
        let is_marked = (start..end).contains(&at);
        if character == '\n' || is_marked != run.1 {
            let ended = std::mem::replace(&mut run, (String::new(), is_marked));
            flush(&mut lines, ended);
        }
        match character {
            '\n' => lines.push(Line::default()),
            '\t' => run.0.push_str("    "),
            // A terminal would obey it.
            character if character.is_control() => run.0.push('\u{fffd}'),
            character => run.0.push(character),
        }
    }
    flush(&mut lines, run);
    lines
}

fn of_verdict(lines: &mut Vec<Line<'static>>, verdict: &Value) {
    lines.push(head("Verdict"));
    let mut line = vec![styled_score(verdict)];
    for name in ["label", "raw"] {
        if !verdict[name].is_null() {
            line.push(Span::raw(format!("  {name} {}", clean(&verdict[name]))));
        }
    }
    lines.push(Line::from(line));
    let reason = &verdict["reason"];
    if reason.is_object() {
        lines.push(Line::from(format!("{}: {}", clean(&reason["code"]), clean(&reason["detail"]))));
    }
    let candidate = &verdict["candidate"];
    if candidate.is_object() {
        let (text, source) = (clean(&candidate["text"]), clean(&candidate["source"]));
        lines.push(Line::from(format!("extracted answer {text}, found as {source}")));
    }
    for (at, step) in verdict["steps"].as_array().into_iter().flatten().enumerate() {
        lines.push(part(&format!("step {}", at + 1), step, "label"));
        if let Some(critique) = step["critique"].as_str() {
            lines.extend(marked(critique, None));
        }
    }
    for one in verdict["parts"].as_array().into_iter().flatten() {
        lines.push(part(&clean(&one["name"]), one, "status"));
    }
    for (at, one) in verdict["candidates"].as_array().into_iter().flatten().enumerate() {
        lines.push(part(&format!("response {}", at + 1), one, "status"));
    }
    for output in verdict["outputs"].as_array().into_iter().flatten() {
        lines.push(Line::default());
        section(
            lines,
            &format!("What the model wrote as {}", clean(&output["role"])),
            &output["text"],
        );
    }
}

/// One part of a verdict: its name, score, bar, and a word about it.
fn part(name: &str, value: &Value, word: &str) -> Line<'static> {
    let bar = value["score"].as_f64().map_or_else(String::new, bar);
    Line::from(vec![
        Span::raw(format!("{name:<14} ")),
        styled_score(value),
        Span::raw(format!(" {bar:<width$} {}", clean(&value[word]), width = usize::from(BAR))),
    ])
}

fn bar(score: f64) -> String {
    let filled = (0..BAR).filter(|&at| score * f64::from(BAR) > f64::from(at) + 0.5);
    "█".repeat(filled.count())
}

/// The score, or the status of a verdict without one, in its colour.
pub(super) fn styled_score(verdict: &Value) -> Span<'static> {
    let text = match verdict["score"].as_f64() {
        Some(score) => shown_number(score),
        None => verdict["status"].as_str().unwrap_or("–").to_owned(),
    };
    let colour = match verdict["score"].as_f64() {
        Some(score) if score >= 0.5 => Color::Green,
        Some(_) => Color::Red,
        None => Color::Yellow,
    };
    Span::styled(text, Style::new().fg(colour))
}

/// A number in at most four digits after the point.
fn shown_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A value as one line without control characters.
pub(super) fn clean(value: &Value) -> String {
    text_of(value).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;
    use serde_json::json;

    use super::*;

    #[test]
    fn ranges_are_marked_in_code_points_and_nothing_controls_the_terminal() {
        // The lines of a text, with marked runs in brackets.
        let check = |text: &str, span: Option<(usize, usize)>, expected: &[&str]| {
            let drawn: Vec<String> = marked(text, span)
                .iter()
                .map(|line| {
                    let pieces = line.spans.iter().map(|span| {
                        if span.style.add_modifier.contains(Modifier::REVERSED) {
                            format!("[{}]", span.content)
                        } else {
                            span.content.to_string()
                        }
                    });
                    pieces.collect()
                })
                .collect();
            assert_eq!(drawn, expected, "{text:?} {span:?}");
        };
        check("é is 12.", Some((5, 7)), &["é is [12]."]);
        check("a\nb", Some((0, 3)), &["[a]", "[b]"]);
        check("a\n\nb", None, &["a", "", "b"]);
        check("12", Some((0, 90)), &["[12]"]);
        check("12", Some((7, 9)), &["12"]);
        check("\u{1b}[2Jx\ty\r", None, &["\u{fffd}[2Jx    y\u{fffd}"]);
        check("", Some((0, 1)), &[""]);
    }

    #[test]
    fn verdicts_have_scores_reasons_and_parts() {
        let row = ShownRow {
            row: 1,
            id: None,
            input: json!({"prompt": [{"role": "user", "content": "2+2?"}], "response": "4", "reference": ["4", "four"]}),
            scores: serde_json::Map::new(),
        };
        let check = |verdict: Option<Value>, expected: &[&str]| {
            let lines = lines(&row, verdict.as_ref());
            let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let text = text.join("\n");
            assert!(
                text.starts_with("Prompt\n2+2?\n\nResponse\n4\n\nReference\n[\"4\",\"four\"]\n"),
                "{text}"
            );
            for part in expected {
                assert!(text.contains(part), "{part:?} in {text}");
            }
        };
        check(None, &["no verdict of the row"]);
        check(Some(json!({"status": "ok", "score": 0.123_456})), &["Verdict\n0.1235"]);
        check(
            Some(
                json!({"status": "abstain", "score": null, "reason": {"code": "unclear", "detail": "a\nb"}}),
            ),
            &["Verdict\nabstain\nunclear: a b"],
        );
        check(
            Some(
                json!({"status": "ok", "score": 1, "steps": [{"label": "right", "score": 1.0}, {"label": "wrong", "score": 0.2}]}),
            ),
            &["step 1         1 ██████████ right", "step 2         0.2 ██ "],
        );
        check(
            Some(
                json!({"status": "ok", "score": 1, "parts": [{"name": "math", "status": "timeout"}]}),
            ),
            &["math           timeout"],
        );
    }
}
