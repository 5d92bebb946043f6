//! Splits a conversation that a chat template has rendered into its turns.
//!
//! Trainers send the input of their policy: the prompt as its template rendered it, and the
//! response with its end tokens. A verifier needs the response alone, and a judge the turns. The
//! turns are recognised by the markers of well-known template families; text without such markers
//! is one user turn.

use rubrics::Message;

/// The markers of a template family: `open role close content end`.
struct Marks {
    open: &'static str,
    close: &'static str,
    end: &'static str,
}

const FAMILIES: &[Marks] = &[
    // ChatML: Qwen, Yi, SmolLM, Hermes and others.
    Marks { open: "<|im_start|>", close: "\n", end: "<|im_end|>" },
    Marks { open: "<|start_header_id|>", close: "<|end_header_id|>\n\n", end: "<|eot_id|>" },
    Marks { open: "<start_of_turn>", close: "\n", end: "<end_of_turn>" },
];

/// A template family with a start token for each role.
struct RoleTokens {
    /// Start tokens with their roles.
    tokens: &'static [(&'static str, &'static str)],
    /// Whether a system prompt precedes the first token, without one of its own.
    bare_system: bool,
}

const ROLE_TOKENS: &[RoleTokens] = &[
    RoleTokens {
        tokens: &[("<|system|>", "system"), ("<|user|>", "user"), ("<|assistant|>", "assistant")],
        bare_system: false,
    },
    RoleTokens {
        tokens: &[("<｜User｜>", "user"), ("<｜Assistant｜>", "assistant")],
        bare_system: true,
    },
    RoleTokens { tokens: &[("[INST]", "user"), ("[/INST]", "assistant")], bare_system: false },
];

/// Starts of the assistant's turn.
const ASSISTANT: &[&str] = &[
    "<|im_start|>assistant\n",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<start_of_turn>model\n",
    "<|assistant|>",
    "<｜Assistant｜>",
    "[/INST]",
];

/// Tokens that end a turn or a text.
const ENDS: &[&str] = &[
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
    "<|end|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
];

/// Tokens that begin a text.
const BEGINNINGS: &[&str] =
    &["<|begin_of_text|>", "<bos>", "<s>", "<｜begin▁of▁sentence｜>", "[gMASK]<sop>"];

/// A rendered prompt, split into turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The turns.
    pub(crate) turns: Vec<Message>,
    /// The start of the assistant's turn as given to the policy, such as a thinking tag.
    pub(crate) begun: String,
}

/// Splits a rendered text; `None` without known markers.
pub(crate) fn split(text: &str) -> Option<Rendered> {
    // One of these begins each marker; most prompts have none, and a search for each marker takes longer
    // than parsing a short request.
    memchr::memchr2(b'<', b'[', text.as_bytes())?;
    let marked = FAMILIES.iter().find_map(|marks| by_marks(text, marks));
    let turns = marked.or_else(|| ROLE_TOKENS.iter().find_map(|roles| by_roles(text, roles)))?;
    let (last, before) = turns.split_last()?;
    // An unfinished last turn of the assistant is the one to continue.
    let (turns, begun) = if last.role == "assistant" && !ends(text) {
        (before.to_vec(), last.content.clone())
    } else {
        (turns, String::new())
    };
    Some(Rendered { turns, begun })
}

/// Splits a prompt into turns; text without markers is one user turn, empty text none.
pub(crate) fn prompt(text: &str) -> Rendered {
    let user = || vec![turn("user", text)].into_iter().filter(|turn| !turn.content.is_empty());
    split(text).unwrap_or_else(|| Rendered { turns: user().collect(), begun: String::new() })
}

/// Splits a rendered conversation at the start of the last assistant turn; `None` without one.
pub(crate) fn cut(text: &str) -> Option<(&str, &str)> {
    let places = ASSISTANT.iter().filter_map(|mark| text.rfind(mark).map(|at| at + mark.len()));
    places.max().map(|at| text.split_at(at))
}

/// Strips the end tokens of a response.
pub(crate) fn response(text: &str) -> &str {
    let mut rest = text;
    while let Some(shorter) = ENDS.iter().find_map(|end| rest.trim_end().strip_suffix(end)) {
        rest = shorter;
    }
    rest
}

fn ends(text: &str) -> bool {
    ENDS.iter().any(|end| text.trim_end().ends_with(end))
}

fn by_marks(text: &str, marks: &Marks) -> Option<Vec<Message>> {
    let text = without_beginning(text);
    let mut parts = text.split(marks.open);
    if !parts.next()?.trim().is_empty() {
        return None;
    }
    let read = |part: &str| {
        let (role, content) = part.split_once(marks.close)?;
        let ended = content.trim_end_matches('\n').strip_suffix(marks.end);
        let content = ended.unwrap_or(content);
        let role = role.trim();
        let is_name = role.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_name && !role.is_empty()).then(|| turn(as_role(role), content))
    };
    let turns: Vec<Message> = parts.map(read).collect::<Option<_>>()?;
    (!turns.is_empty()).then_some(turns)
}

fn by_roles(text: &str, family: &RoleTokens) -> Option<Vec<Message>> {
    let text = without_beginning(text);
    let next = |from: usize| {
        let found = family.tokens.iter().filter_map(|(token, role)| {
            let at = text[from..].find(token)? + from;
            Some((at, at + token.len(), *role))
        });
        found.min_by_key(|(at, _, _)| *at)
    };
    let mut turns = Vec::new();
    let mut place = next(0)?;
    let before = text[..place.0].trim();
    if !before.is_empty() && !family.bare_system {
        return None;
    }
    if !before.is_empty() {
        turns.push(turn("system", before));
    }
    loop {
        let (_, start, role) = place;
        let following = next(start);
        let end = following.map_or(text.len(), |(at, _, _)| at);
        turns.push(turn(role, response(&text[start..end]).trim_start_matches('\n')));
        match following {
            None => return Some(turns),
            Some(following) => place = following,
        }
    }
}

fn without_beginning(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(shorter) = BEGINNINGS.iter().find_map(|token| rest.strip_prefix(token)) {
        rest = shorter.trim_start();
    }
    rest
}

/// Maps other names of roles to the usual ones.
fn as_role(role: &str) -> &str {
    match role {
        "model" => "assistant",
        "developer" => "system",
        "ipython" => "tool",
        other => other,
    }
}

fn turn(role: &str, content: &str) -> Message {
    Message { role: role.to_owned(), content: content.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)], begun: &str) {
        let read = split(text).expect("it has marks");
        let turns: Vec<(&str, &str)> =
            read.turns.iter().map(|turn| (turn.role.as_str(), turn.content.as_str())).collect();
        assert_eq!((turns.as_slice(), read.begun.as_str()), (expected, begun), "{text}");
    }

    #[test]
    fn markers_begin_with_the_bytes_that_are_looked_for() {
        let opens = FAMILIES.iter().map(|marks| marks.open);
        let tokens = ROLE_TOKENS.iter().flat_map(|roles| roles.tokens).map(|(token, _)| *token);
        for marker in opens.chain(tokens) {
            assert!(marker.starts_with(['<', '[']), "{marker}");
        }
    }

    #[test]
    fn prompts_of_known_families_are_split() {
        check(
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n1 + 1?<|im_end|>\n<|im_start|>assistant\n",
            &[("system", "Be brief."), ("user", "1 + 1?")],
            "",
        );
        check(
            "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n",
            &[("user", "Why?")],
            "<think>\n",
        );
        check(
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nA\n\nB<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            &[("user", "A\n\nB")],
            "",
        );
        check(
            "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n<start_of_turn>user\nHa<end_of_turn>\n<start_of_turn>model\n",
            &[("user", "Hi"), ("assistant", "Ho"), ("user", "Ha")],
            "",
        );
        check(
            "<｜begin▁of▁sentence｜>Be brief.<｜User｜>1 + 1?<｜Assistant｜><think>\n",
            &[("system", "Be brief."), ("user", "1 + 1?")],
            "<think>\n",
        );
        check("<|user|>\nHi<|end|>\n<|assistant|>\n", &[("user", "Hi")], "");
        check(
            "<s>[INST] Hi [/INST] Ho</s>[INST] Ha [/INST]",
            &[("user", " Hi "), ("assistant", " Ho"), ("user", " Ha ")],
            "",
        );
    }

    #[test]
    fn finished_conversation_keeps_its_last_turn() {
        check(
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n",
            &[("user", "Hi"), ("assistant", "Ho")],
            "",
        );
    }

    #[test]
    fn text_without_markers_is_not_split() {
        for text in [
            "",
            "What is 1 + 1?",
            "before <|im_start|>user\nHi",
            "<|im_start|>",
            "the mark [INST] is",
        ] {
            assert_eq!(split(text), None, "{text:?}");
        }
        assert_eq!(prompt("Hi").turns, [turn("user", "Hi")]);
        assert_eq!(prompt("").turns, []);
    }

    #[test]
    fn conversation_is_cut_at_the_last_answer() {
        for (text, expected) in [
            ("nd of a prompt<|im_end|>\n<|im_start|>assistant\n4<|im_end|>", Some("4<|im_end|>")),
            ("[INST]a[/INST]b[INST]c[/INST]d", Some("d")),
            ("no marks", None),
        ] {
            assert_eq!(cut(text).map(|(_, response)| response), expected, "{text}");
        }
    }

    #[test]
    fn end_tokens_of_responses_are_stripped() {
        for (text, expected) in [
            ("4<|im_end|>", "4"),
            ("4<|im_end|>\n", "4"),
            ("4\n\n<|eot_id|><|end_of_text|>", "4\n\n"),
            ("4", "4"),
            ("4 \n", "4 \n"),
            ("<|im_end|> is text here", "<|im_end|> is text here"),
            ("</s>", ""),
        ] {
            assert_eq!(response(text), expected, "{text:?}");
        }
    }
}
