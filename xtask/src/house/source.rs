//! Rust source as this tool reads it: code without comments, texts and tests, and the paths in it.

/// `text` with comments, the insides of string and character literals, and `#[cfg(test)]` modules
/// replaced by spaces. Lines and byte offsets stay.
pub(crate) fn code_of(text: &str) -> String {
    without_tests(&without_literals(text))
}

fn without_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if is_raw_string(bytes, at) => raw_string_end(bytes, at),
            b'\'' => char_end(bytes, at),
            _ => at,
        };
        if end > at {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n)
}

/// Block comments nest.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_raw_string(bytes: &[u8], at: usize) -> bool {
    let starts_word = at == 0
        || !is_word(bytes[at - 1])
        || bytes[at - 1] == b'b' && (at < 2 || !is_word(bytes[at - 2]));
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    starts_word && bytes.get(at + 1 + hashes) == Some(&b'"')
}

fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let hashes = bytes[start + 1..].iter().take_while(|b| **b == b'#').count();
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let body = start + hashes + 2;
    let found = bytes[body..].windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |n| body + n + close.len())
}

/// The end of a character literal at `start`, or `start` where the quote begins a lifetime.
fn char_end(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start + 1) {
        Some(b'\\') => {
            bytes[start + 3..].iter().position(|b| *b == b'\'').map_or(start, |n| start + n + 4)
        }
        Some(_) => {
            let window = &bytes[start + 2..bytes.len().min(start + 6)];
            let quote = window.iter().position(|b| *b == b'\'');
            // A letter outside ASCII is longer than a byte; between two lifetimes stands more.
            quote.filter(|n| *n == 0 || bytes[start + 1] >= 0x80).map_or(start, |n| start + n + 3)
        }
        None => start,
    }
}

fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.as_bytes().to_vec();
    for (at, _) in code.match_indices(MARK) {
        let end = item_end(code.as_bytes(), at + MARK.len());
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the item that begins after `start` ends: at its `;` or its closing brace.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A name that a `use` brings in, and the path it stands for. `*` is the name of a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// Every `use` of `code`, with its braces taken apart.
pub(crate) fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for tree in use_trees(code) {
        expand(&tree, &[], &mut found);
    }
    found
}

fn use_trees(code: &str) -> Vec<String> {
    let starts = code.match_indices("use ").filter(|(at, _)| {
        let before = code[..*at].trim_end();
        let starts_word = *at == 0 || !is_word(code.as_bytes()[at - 1]);
        starts_word
            && (before.is_empty()
                || before.ends_with([';', '}', '{', ')', ']'])
                || before.ends_with("pub"))
    });
    starts.filter_map(|(at, _)| Some(code[at + 4..].split_once(';')?.0.to_owned())).collect()
}

fn expand(tree: &str, before: &[String], found: &mut Vec<Import>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return leaf(tree, before, found);
    };
    let mut path = before.to_vec();
    path.extend(segments(&tree[..open]));
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    for part in split_top(inside) {
        expand(part, &path, found);
    }
}

fn leaf(tree: &str, before: &[String], found: &mut Vec<Import>) {
    if tree.is_empty() {
        return;
    }
    let (path_text, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let mut path = before.to_vec();
    path.extend(segments(path_text));
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let Some(last) = path.last() else { return };
    found.push(Import { name: alias.unwrap_or_else(|| last.clone()), path });
}

fn segments(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned)
}

/// The parts between the commas that stand in no brace.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Paths of two segments and more outside of `use`: `crate::a::b`, `child::function`.
pub(crate) fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut path = Vec::new();
        loop {
            let word = at;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            path.push(code[word..at].to_owned());
            if !(bytes[at..].starts_with(b"::") && bytes.get(at + 2).copied().is_some_and(is_word))
            {
                break;
            }
            at += 2;
        }
        let continues = code[..start].ends_with("::");
        if path.len() > 1 && !continues {
            found.push(path);
        }
    }
    found
}

/// A named item that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// It stands at the beginning of a line, so that it is in no function, impl or inline module.
    pub(crate) is_outermost: bool,
}

const KINDS: [&str; 8] = ["struct", "enum", "trait", "type", "union", "fn", "const", "static"];

/// Types, functions and constants that `code` defines.
pub(crate) fn definitions(code: &str) -> Vec<Definition> {
    code.lines().filter_map(definition).collect()
}

fn definition(line: &str) -> Option<Definition> {
    let is_outermost = !line.starts_with([' ', '\t']);
    let mut words = line.split_whitespace().map(|word| word.trim_start_matches("macro_rules!"));
    let mut word = words.next()?;
    while word.starts_with("pub")
        || matches!(word, "async" | "unsafe" | "default" | "extern")
        || word.ends_with(')')
    {
        word = words.next()?;
    }
    let mut kind = KINDS.into_iter().find(|kind| *kind == word)?;
    let mut name = words.next()?;
    if kind == "const" && name == "fn" {
        kind = "fn";
        name = words.next()?;
    }
    let name: String = name.bytes().take_while(|b| is_word(*b)).map(char::from).collect();
    (!name.is_empty()).then_some(Definition { kind, name, is_outermost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_no_code() {
        for (text, expected) in [
            ("a // b", "a     "),
            ("a /* b /* c */ */ d", "a                 d"),
            (r#"f("a::b", 'x', b'\'', '\u{1}')"#, "f(      ,    , b    ,        )"),
            ("r#\"a\"b\"# c", "         c"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("x;\n#[cfg(test)]\nmod t { a::b }\ny", "x;\n            \n              \ny"),
        ] {
            assert_eq!(code_of(text), expected, "{text}");
        }
    }

    #[test]
    fn uses_are_taken_apart() {
        let code = "use crate::{a::{B, c::{self, D}}, e as f};\npub(super) use super::g::*;\n";
        let found: Vec<String> =
            imports(code).iter().map(|i| format!("{}={}", i.name, i.path.join("::"))).collect();
        assert_eq!(
            found,
            ["B=crate::a::B", "c=crate::a::c", "D=crate::a::c::D", "f=crate::e", "*=super::g::*"]
        );
    }

    #[test]
    fn paths_in_code_are_found() {
        let found = inline_paths("let x = crate::a::b(c::D::new(), y.z);");
        let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
        assert_eq!(found, ["crate::a::b", "c::D::new"]);
    }

    #[test]
    fn definitions_are_found() {
        let found =
            definitions("pub(crate) struct A<T>(T);\n    pub const fn b() {}\nconst C: u8 = 1;");
        let found: Vec<String> =
            found.iter().map(|d| format!("{} {} {}", d.kind, d.name, d.is_outermost)).collect();
        assert_eq!(found, ["struct A true", "fn b false", "const C true"]);
    }
}
