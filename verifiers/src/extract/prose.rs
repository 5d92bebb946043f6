//! Telling sentences from formulas.

/// Commands whose argument is words, or a name and no text of its own.
const WORD_COMMANDS: [&str; 20] = [
    "text",
    "textbf",
    "textit",
    "textrm",
    "textnormal",
    "mathrm",
    "mathbf",
    "mathsf",
    "mathit",
    "mathbb",
    "mbox",
    "hbox",
    "operatorname",
    "begin",
    "end",
    "rm",
    "hspace",
    "vspace",
    "color",
    "textcolor",
];

/// Words of two or three letters that are no products of variables.
const SHORT_WORDS: [&str; 24] = [
    "an", "are", "as", "at", "but", "by", "can", "each", "has", "he", "in", "is", "it", "of", "on",
    "per", "she", "so", "the", "to", "was", "we", "with", "you",
];

/// Words of formulas: functions, constants and what joins the members of a list.
const FORMULA_WORDS: [&str; 47] = [
    "and",
    "or",
    "if",
    "for",
    "mod",
    "sin",
    "cos",
    "tan",
    "cot",
    "sec",
    "csc",
    "log",
    "ln",
    "lg",
    "exp",
    "sqrt",
    "pi",
    "inf",
    "infinity",
    "infty",
    "oo",
    "max",
    "min",
    "gcd",
    "lcm",
    "det",
    "arcsin",
    "arccos",
    "arctan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "abs",
    "floor",
    "ceil",
    "factorial",
    "theta",
    "alpha",
    "beta",
    "deg",
    "otherwise",
    "sen",
    "arcsen",
    "arctg",
];

/// Returns the words of `text` that may belong to no formula: runs of two letters or more outside
/// commands and their words, and Chinese or Japanese characters one by one. Linear in the text.
pub(super) fn words(text: &str) -> Words<'_> {
    Words { rest: text }
}

/// Returns whether `word` is of a sentence even where a formula is expected, and no product of
/// variables.
pub(super) fn is_prose(word: &str) -> bool {
    let is_small = word.chars().any(char::is_lowercase);
    let is_long = is_small && word.chars().nth(3).is_some();
    is_long || SHORT_WORDS.contains(&word)
}

/// Returns whether `word` is the corners of a figure: `AB`.
pub(super) fn is_figure(word: &str) -> bool {
    word.len() <= 3 && word.bytes().all(|b| b.is_ascii_uppercase())
}

/// See [`words`].
#[derive(Debug)]
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let first = self.rest.chars().next()?;
            if first == '\\' {
                self.rest = after_command(&self.rest[1..]);
                continue;
            }
            if !first.is_alphabetic() {
                self.rest = &self.rest[first.len_utf8()..];
                continue;
            }
            let len = if is_unspaced(first) {
                first.len_utf8()
            } else {
                let end = |c: char| !c.is_alphabetic() || is_unspaced(c);
                self.rest.find(end).unwrap_or(self.rest.len())
            };
            let (word, rest) = self.rest.split_at(len);
            self.rest = rest;
            let is_letter = word.chars().nth(1).is_none() && !is_unspaced(first);
            if !is_letter && !FORMULA_WORDS.contains(&word) {
                return Some(word);
            }
        }
    }
}

/// Returns whether `c` is of a script that writes words without spaces between.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

/// Returns what follows a command, and its argument where that is words.
fn after_command(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_ascii_alphabetic());
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    if name.is_empty() {
        let skipped = after.chars().next().map_or(0, char::len_utf8);
        let is_break = after.starts_with('\\');
        let after = &after[skipped..];
        // A line break may say how far: `\\[2pt]`.
        return if is_break { argument('[', ']', after) } else { after };
    }
    let inner = after.trim_start_matches(' ').strip_prefix('{');
    match inner {
        Some(inner) if WORD_COMMANDS.contains(&name) => {
            let end = inner.find(['{', '}', '\n']).unwrap_or(inner.len());
            let rest = &inner[end..];
            match rest.strip_prefix('}') {
                // The columns of an array.
                Some(rest) if name == "begin" => argument('{', '}', rest),
                Some(_) | None => rest,
            }
        }
        Some(_) | None => after,
    }
}

/// Returns what follows a short argument in `open` and `shut`, if one opens `rest`.
fn argument(open: char, shut: char, rest: &str) -> &str {
    // The longest plausible list of columns or length, in bytes.
    const MAX_BYTES: usize = 40;
    let length = rest.strip_prefix(open).and_then(|inner| inner.find([shut, '\n']));
    match length {
        Some(length) if length <= MAX_BYTES => &rest[length + 1..],
        Some(_) | None => rest,
    }
}
