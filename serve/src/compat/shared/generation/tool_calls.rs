//! Parses tool calls in generated text.
//!
//! A model that may call writes `<tool_call>{"name": …, "arguments": …}</tool_call>`, as Hermes and
//! Qwen do. One that must is constrained to the object alone. Text that does not parse as a call
//! stays text: a guessed call would run something that was not requested.

use super::types::{FunctionCall, ToolCall, ToolKind};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// How tool calls appear in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolCallMode {
    /// Not at all.
    Never,
    /// As blocks within text.
    Blocks {
        /// Whether more than the first is returned.
        several: bool,
    },
    /// As the only content.
    Whole,
}

/// Separates text from tool calls as the text arrives.
#[derive(Debug, Clone)]
pub(super) struct ToolCallParser {
    calling: ToolCallMode,
    /// Text that is, or may be, part of a call.
    held: String,
    in_calls: bool,
}

impl ToolCallParser {
    pub(super) fn new(calling: ToolCallMode) -> ToolCallParser {
        ToolCallParser { calling, held: String::new(), in_calls: calling == ToolCallMode::Whole }
    }

    /// Adds text; returns the text that is certainly not part of a call.
    pub(super) fn push(&mut self, text: String) -> String {
        if self.calling == ToolCallMode::Never {
            return text;
        }
        self.held += &text;
        if self.in_calls {
            return String::new();
        }
        let cut = if let Some(start) = self.held.find(OPEN) {
            self.in_calls = true;
            start
        } else {
            let longest = OPEN.len().min(self.held.len() + 1);
            let begins = |n: &usize| self.held.ends_with(&OPEN[..*n]);
            let begun = (1..longest).rev().find(begins).unwrap_or(0);
            self.held.len() - begun
        };
        let calls = self.held.split_off(cut);
        std::mem::replace(&mut self.held, calls)
    }

    /// Ends the text; returns held-back text that is not part of a call, and the calls. `whole`
    /// says that the text was not truncated; `known` whether a function exists.
    pub(super) fn finish(
        &mut self,
        whole: bool,
        known: impl Fn(&str) -> bool,
    ) -> (String, Vec<FunctionCall>) {
        let held = std::mem::take(&mut self.held);
        if !self.in_calls || !whole {
            return (held, Vec::new());
        }
        let calls = match self.calling {
            ToolCallMode::Never => None,
            ToolCallMode::Whole => parse_call(&held).map(|call| vec![call]),
            ToolCallMode::Blocks { several } => blocks(&held).map(|mut calls| {
                calls.truncate(if several { calls.len() } else { 1 });
                calls
            }),
        };
        match calls.filter(|calls| calls.iter().all(|call| known(&call.name))) {
            Some(calls) => (String::new(), calls),
            None => (held, Vec::new()),
        }
    }
}

/// Gives calls ids that are unique among replies.
pub(super) fn with_ids(calls: Vec<FunctionCall>, reply: &str, choice: u64) -> Vec<ToolCall> {
    let call = |(at, function): (usize, FunctionCall)| ToolCall {
        id: format!("call_{reply}_{choice}_{at}"),
        kind: ToolKind::Function,
        function,
    };
    calls.into_iter().enumerate().map(call).collect()
}

/// Parses blocks separated by white space only.
fn blocks(text: &str) -> Option<Vec<FunctionCall>> {
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let inside = rest.strip_prefix(OPEN)?;
        // The end is found by parsing the object, since text in it may contain the end marker.
        let (call, after) = leading_call(inside)?;
        calls.push(call);
        rest = after.trim_start().strip_prefix(CLOSE)?.trim_start();
    }
    Some(calls)
}

fn parse_call(text: &str) -> Option<FunctionCall> {
    let (call, rest) = leading_call(text)?;
    rest.trim().is_empty().then_some(call)
}

/// Parses the object at the beginning of a text; returns it with the rest.
fn leading_call(text: &str) -> Option<(FunctionCall, &str)> {
    let text = text.trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    let (object, rest) = text.split_at(values.byte_offset());
    let mut name = None;
    let mut arguments = None;
    for (key, value) in members(object)? {
        if key == "\"name\"" && name.is_none() {
            name = Some(serde_json::from_str(value).ok()?);
        } else if key == "\"arguments\"" && arguments.is_none() && value.starts_with('{') {
            arguments = Some(value.to_owned());
        } else {
            return None;
        }
    }
    let (name, arguments) = (name?, arguments?);
    Some((FunctionCall { name, arguments }, rest))
}

/// Returns the members of an object as written, so that arguments keep every digit. `text` is one
/// valid JSON value.
fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut members = Vec::new();
    while !rest.trim().is_empty() {
        let (key, after) = rest.split_at(extent(rest, b':'));
        let value = after.strip_prefix(':')?;
        let (value, after) = value.split_at(extent(value, b','));
        members.push((key.trim(), value.trim()));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Some(members)
}

/// Returns the bytes before a mark that is in no string and no nested value.
fn extent(json: &str, mark: u8) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ if byte == mark && depth == 0 => return at,
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks text and calls for every split of the text.
    #[track_caller]
    fn check(calling: ToolCallMode, text: &str, content: &str, calls: &[(&str, &str)]) {
        let known = |name: &str| name.len() == 1;
        for step in [1, 2, 3, 7, usize::MAX] {
            let mut separator = ToolCallParser::new(calling);
            let mut out = String::new();
            let chars: Vec<char> = text.chars().collect();
            for part in chars.chunks(step.min(chars.len().max(1))) {
                out += &separator.push(part.iter().collect());
            }
            let (rest, found) = separator.finish(true, known);
            let found: Vec<(&str, &str)> =
                found.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
            assert_eq!((out + &rest).as_str(), content, "{text} by {step}");
            assert_eq!(found, calls, "{text} by {step}");
        }
    }

    #[test]
    fn blocks_become_calls_and_other_text_stays() {
        let several = |text: &str, content: &str, calls: &[(&str, &str)]| {
            check(ToolCallMode::Blocks { several: true }, text, content, calls);
        };
        let stays = |text: &str| several(text, text, &[]);
        let block = |json: &str| format!("<tool_call>\n{json}\n</tool_call>");
        let f = block(r#"{"name": "f", "arguments": {"a": 1.50}}"#);
        let g = block(r#"{"arguments":{"x":"</tool_call>, \"}{"},"name":"g"}"#);
        several(&f, "", &[("f", r#"{"a": 1.50}"#)]);
        several(
            &format!("Well. {f}\n{g}\n"),
            "Well. ",
            &[("f", r#"{"a": 1.50}"#), ("g", r#"{"x":"</tool_call>, \"}{"}"#)],
        );
        stays("no call at all");
        stays("a < b, <tool, <tool_cal");
        stays("<tool_call>");
        stays(&format!("{f} and then"));
        stays(&f[..f.len() - 1]);
        for json in [
            "",
            "{}",
            "[]",
            "5",
            "{\"name\": \"f\"}",
            "{\"name\": \"f\", \"arguments\": \"{}\"}",
            "{\"name\": 3, \"arguments\": {}}",
            "{\"name\": \"unknown\", \"arguments\": {}}",
            "{\"name\": \"f\", \"arguments\": {}, \"more\": 1}",
            "{\"name\": \"f\", \"name\": \"g\", \"arguments\": {}}",
            "{\"name\": \"f\", \"arguments\": {}} {}",
            "{\"name\": \"f\", \"arguments\": {}",
        ] {
            stays(&block(json));
        }
        let one = ToolCallMode::Blocks { several: false };
        check(one, &format!("{f}{g}"), "", &[("f", r#"{"a": 1.50}"#)]);
    }

    #[test]
    fn entire_text_is_one_call() {
        let text = r#" {"name":"f","arguments":{ }} "#;
        check(ToolCallMode::Whole, text, "", &[("f", "{ }")]);
        check(ToolCallMode::Whole, "not JSON", "not JSON", &[]);
        check(ToolCallMode::Never, "<tool_call>", "<tool_call>", &[]);
        let mut cut = ToolCallParser::new(ToolCallMode::Whole);
        assert_eq!(cut.push("{\"na".to_owned()), "");
        assert_eq!(cut.finish(false, |_| true), ("{\"na".to_owned(), vec![]));
    }
}
