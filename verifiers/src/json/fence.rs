//! The Markdown fence that models put around documents.

/// The document in a response, and how many lines of the response come before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FencedText<'a> {
    pub(super) text: &'a str,
    pub(super) lines_before: usize,
}

/// Returns the content of the fence if all of `text` is one fenced block with one of `marks` or not
/// marked; otherwise all of it. White space around the block is allowed, prose is not.
pub(super) fn unfenced<'t>(text: &'t str, marks: &[&str]) -> FencedText<'t> {
    fenced(text, marks).unwrap_or(FencedText { text, lines_before: 0 })
}

fn fenced<'t>(text: &'t str, marks: &[&str]) -> Option<FencedText<'t>> {
    let block = text.trim_start();
    let opened = block.strip_prefix("```")?;
    let (mark, rest) = opened.split_once('\n')?;
    let mark = mark.trim();
    if !mark.is_empty() && !marks.iter().any(|known| mark.eq_ignore_ascii_case(known)) {
        return None;
    }
    let inside = rest.trim_end().strip_suffix("```")?;
    // The closing fence stands on a line of its own.
    let last_line = inside.rsplit('\n').next().unwrap_or(inside);
    if !last_line.trim().is_empty() {
        return None;
    }
    let before = &text[..text.len() - rest.len()];
    Some(FencedText { text: inside, lines_before: before.matches('\n').count() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lone_block_is_unfenced() {
        for (text, inside, lines_before) in [
            ("```json\n1\n```", "1\n", 1),
            ("\n```JSON \n{}\n ``` \n", "{}\n ", 2),
            ("```\n1\n```", "1\n", 1),
            ("```json\r\n1\r\n```", "1\r\n", 1),
            ("```json\n\"```\"\n```", "\"```\"\n", 1),
            ("```json\n```", "", 1),
            ("1", "1", 0),
        ] {
            let expected = FencedText { text: inside, lines_before };
            assert_eq!(unfenced(text, &["json"]), expected, "{text}");
        }
        for text in [
            "```python\n1\n```",
            "```json\n1```",
            "```json 1 ```",
            "```json\n1\n",
            "so\n```json\n1\n```",
            "```json\n1\n```\nso",
            "~~~\n1\n~~~",
            "```",
            "``````",
        ] {
            assert_eq!(unfenced(text, &["json"]).text, text);
        }
    }
}
