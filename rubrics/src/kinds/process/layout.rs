//! One token sequence for a response and all of its steps.
//!
//! The separators are inside the assistant's message, which the chat template renders first. An
//! unused character marks their places in the template; then the marks become trusted separators.
//! Request text that spells the separator keeps its origin and never becomes its token.

use std::collections::BTreeSet;
use std::ops::Range;

use engine::{Origin, Text};

use super::options::{ProcessOptions, StepMethod};
use crate::Message;
use crate::models::{Chat, Prompted, Served};
use crate::outcome::Failure;

/// A rendered response with its separators.
pub(super) struct Laid {
    pub(super) prompt: Prompted,
    /// The token to read for each step.
    pub(super) at: Vec<usize>,
    /// End of the first separator, in bytes of the rendered text.
    pub(super) first_end: usize,
}

/// Lays out a conversation whose last turn has these steps. Text between two steps precedes the
/// second, unless it is white space; text after the last step affects no step and is left out.
pub(super) fn lay(
    options: &ProcessOptions,
    served: &Served,
    mut turns: Vec<Message>,
    steps: &[Range<usize>],
) -> Result<Laid, Failure> {
    let separator = options.separator.as_str();
    let ids = separator_ids(options, served)?;
    let mark = unused_character(&turns)?;
    let last = turns.last_mut().expect("a response is a turn");
    last.content = marked(options, &last.content, steps, mark);
    let rendered = served.render(&Chat::without_generation_prompt(&turns));
    let rendered = rendered.map_err(|what| Failure::refused("prompt_not_rendered", what))?;
    let (text, ends) = separated(&rendered, mark, separator);
    if ends.len() != steps.len() {
        let detail = format!(
            "the chat template keeps {} of the response's {} steps",
            ends.len(),
            steps.len()
        );
        return Err(Failure::refused("steps_not_rendered", detail));
    }
    let token_ids = served.encode_prompt(&text)?;
    let at = places(&token_ids, &ids);
    let is_spelled = match options.method {
        StepMethod::Head { .. } => false,
        StepMethod::Labels { .. } => occurrences(text.as_str(), separator) != steps.len(),
    };
    if at.len() != steps.len() || is_spelled {
        let detail = format!(
            "the separator {separator:?} cannot be told from the text around it: {} places for {} steps",
            at.len(),
            steps.len()
        );
        return Err(Failure::refused("separator_unclear", detail));
    }
    Ok(Laid { prompt: Prompted { token_ids: token_ids.into(), text }, at, first_end: ends[0] })
}

/// The tokens of the separator after a word. A head is read at one token that no text can spell.
fn separator_ids(options: &ProcessOptions, served: &Served) -> Result<Vec<u32>, Failure> {
    const BEFORE: &str = "x";
    let separator = options.separator.as_str();
    let after = |origin| {
        let mut text = Text::new(BEFORE, Origin::Request);
        let alone = served.encode(&text)?;
        text.push_str(separator, origin);
        let whole = served.encode(&text)?;
        let rest = whole.strip_prefix(alone.as_slice());
        Ok(rest.map(<[u32]>::to_vec))
    };
    let refused = |what: String| Failure::refused("separator_unusable", what);
    let ids = after(Origin::Template).map_err(refused)?;
    let ids = ids.filter(|ids| !ids.is_empty()).ok_or_else(|| {
        refused(format!(
            "the separator {separator:?} changes how this model reads the text before it"
        ))
    })?;
    match options.method {
        StepMethod::Labels { .. } => Ok(ids),
        StepMethod::Head { .. } => {
            let spelled = after(Origin::Request).map_err(refused)?;
            if ids.len() == 1 && spelled.as_ref() != Some(&ids) {
                return Ok(ids);
            }
            Err(refused(format!(
                "the separator {separator:?} is no added token of this model, so text could spell it"
            )))
        }
    }
}

/// Returns a character of the private use areas that does not occur in the conversation.
fn unused_character(turns: &[Message]) -> Result<char, Failure> {
    let private = |c: &char| matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}');
    let used = turns.iter();
    let used = used.flat_map(|turn| turn.role.chars().chain(turn.content.chars()));
    let used: BTreeSet<char> = used.filter(private).collect();
    let mut all = ('\u{e000}'..='\u{f8ff}').chain('\u{f0000}'..='\u{ffffd}');
    all.find(|c| !used.contains(c)).ok_or_else(|| {
        let detail = "the conversation has every character of the private use areas";
        Failure::refused("text_unusable", detail)
    })
}

/// The response with a mark after each of its steps.
fn marked(options: &ProcessOptions, response: &str, steps: &[Range<usize>], mark: char) -> String {
    let mut out = String::with_capacity(response.len() + steps.len() * mark.len_utf8());
    let mut end = 0;
    for step in steps {
        if end > 0 {
            out.push_str(&options.joint);
        }
        out.push_str(&options.splitter.between(&response[end..step.start]));
        out.push_str(&response[step.clone()]);
        out.push(mark);
        end = step.end;
    }
    out
}

/// The text with separators of ours in the place of the marks, and where each of them ends.
fn separated(rendered: &Text, mark: char, separator: &str) -> (Text, Vec<usize>) {
    let mut out = Text::default();
    let mut ends = Vec::new();
    let mut from = 0;
    let string = rendered.as_str();
    for known in rendered.marks() {
        out.push_str(&string[from..known.range.start], Origin::Template);
        for (index, piece) in string[known.range.clone()].split(mark).enumerate() {
            if index > 0 {
                out.push_str(separator, Origin::Template);
                ends.push(out.as_str().len());
            }
            push_untrusted(&mut out, piece, known.origin, separator);
        }
        from = known.range.end;
    }
    out.push_str(&string[from..], Origin::Template);
    (out, ends)
}

/// Appends untrusted text, which may become added tokens that are not special, except the
/// separator.
fn push_untrusted(out: &mut Text, piece: &str, origin: Origin, separator: &str) {
    for (index, part) in piece.split(separator).enumerate() {
        if index > 0 {
            out.push_str(separator, Origin::Request);
        }
        out.push_str(part, origin);
    }
}

/// Returns the last token of each separator.
fn places(token_ids: &[u32], separator: &[u32]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while from + separator.len() <= token_ids.len() {
        if token_ids[from..].starts_with(separator) {
            from += separator.len();
            places.push(from - 1);
        } else {
            from += 1;
        }
    }
    places
}

/// Counts occurrences of one text in another, overlapping ones included.
fn occurrences(text: &str, part: &str) -> usize {
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut count = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find(part) {
        count += 1;
        from += at + step;
    }
    count
}
