//! The `configs` of a README.md: which files are of which split.
//!
//! The text between two lines `---` at the top is YAML, of which this reads the one key `configs`
//! and the few forms that it takes: lists and maps by indentation, plain and quoted scalars, and
//! `[a, b]`. What it cannot read is an error with its line, and never a guess.

use std::path::Path;

use crate::{DatasetError, Result};

/// A configuration: its splits, each with patterns of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) name: String,
    pub(super) is_default: bool,
    pub(super) splits: Vec<(String, Vec<String>)>,
}

/// A value of the subset.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A line with something on it.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

/// The configurations that list files; none where the text has no `configs`, or where they list no
/// files. `file` is for errors.
pub(super) fn configurations(text: &str, file: &str) -> Result<Vec<Configuration>> {
    let lines = configs_block(text);
    let fault = |(line, problem): (usize, String)| DatasetError::Row {
        file: file.to_owned(),
        row: line as u64,
        problem,
    };
    let Some(first) = lines.first() else {
        return Ok(Vec::new());
    };
    let number = first.number;
    let mut rest = &lines[..];
    let indent = first.indent;
    let node = block(&mut rest, indent).map_err(fault)?;
    if let Some(line) = rest.first() {
        return Err(fault((line.number, format!("'{}' stands too far left", line.text))));
    }
    let Node::List(entries) = node else {
        return Err(fault((number, "`configs` is no list".to_owned())));
    };
    let found: std::result::Result<Vec<_>, String> =
        entries.into_iter().map(configuration).collect();
    let found = found.map_err(|problem| fault((number, problem)))?;
    Ok(found.into_iter().flatten().collect())
}

/// The one configuration that is meant.
pub(super) fn choose(
    listed: Vec<Configuration>,
    wanted: Option<&str>,
    folder: &Path,
) -> Result<Configuration> {
    let names: Vec<&str> = listed.iter().map(|config| config.name.as_str()).collect();
    let have = names.join(", ");
    let position = match wanted {
        Some(wanted) => names.iter().position(|name| *name == wanted),
        None if listed.len() == 1 => Some(0),
        None => listed
            .iter()
            .position(|config| config.is_default)
            .or_else(|| names.iter().position(|name| *name == "default")),
    };
    match (position, wanted) {
        (Some(position), _) => {
            Ok(listed.into_iter().nth(position).expect("the position is of this list"))
        }
        (None, Some(wanted)) => {
            let problem = format!("no configuration '{wanted}'; there is {have}");
            Err(DatasetError::file(&folder.display().to_string(), problem))
        }
        (None, None) => {
            let problem = format!("several configurations, name one with --config-name: {have}");
            Err(DatasetError::file(&folder.display().to_string(), problem))
        }
    }
}

/// The lines below `configs:` in the front matter.
fn configs_block(text: &str) -> Vec<Line<'_>> {
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    if lines.next().is_none_or(|(_, line)| line.trim_end() != "---") {
        return Vec::new();
    }
    let matter = lines.take_while(|(_, line)| line.trim_end() != "---");
    let below = matter.skip_while(|(_, line)| !line.starts_with("configs:")).skip(1);
    below
        .map(|(number, line)| Line {
            number,
            indent: line.len() - line.trim_start_matches(' ').len(),
            text: without_comment(line).trim(),
        })
        .filter(|line| !line.text.is_empty())
        .take_while(|line| line.indent > 0 || line.text == "-" || line.text.starts_with("- "))
        .collect()
}

/// A line up to ` #`, unless that stands in quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before == ' ' => return &line[..at],
            (None, '"' | '\'') if " [,".contains(before) => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
        before = c;
    }
    line
}

type Parsed<T> = std::result::Result<T, (usize, String)>;

/// A list or a map whose entries stand at `indent`.
fn block(lines: &mut &[Line<'_>], indent: usize) -> Parsed<Node> {
    let first = lines[0];
    if is_entry(first.text) {
        return list(lines, indent);
    }
    let mut entries = Vec::new();
    while let Some(line) = next_at(lines, indent)? {
        if is_entry(line.text) {
            break;
        }
        let (key, value) = key(line)?;
        *lines = &lines[1..];
        entries.push((key, value_of(value, lines, line, indent)?));
    }
    Ok(Node::Map(entries))
}

fn list(lines: &mut &[Line<'_>], indent: usize) -> Parsed<Node> {
    let mut entries = Vec::new();
    while let Some(line) = next_at(lines, indent)? {
        if !is_entry(line.text) {
            break;
        }
        let text = line.text[1..].trim_start();
        if text.is_empty() {
            *lines = &lines[1..];
            entries.push(value_of("", lines, line, indent)?);
        } else if key(Line { text, ..line }).is_ok() && !text.starts_with(['"', '\'', '[']) {
            // `- key: value` begins a map whose other keys stand below the first.
            let inner = indent + (line.text.len() - text.len());
            let mut all = Vec::from([Line { number: line.number, indent: inner, text }]);
            all.extend(lines[1..].iter().take_while(|line| line.indent > indent));
            let taken = all.len();
            let mut rest = &all[..];
            entries.push(block(&mut rest, inner)?);
            if let Some(line) = rest.first() {
                return Err((line.number, format!("'{}' does not stand below a key", line.text)));
            }
            *lines = &lines[taken..];
        } else {
            *lines = &lines[1..];
            entries.push(scalar(text, line.number)?);
        }
    }
    Ok(Node::List(entries))
}

/// The next line, if it is at `indent`; `None` if it is further left.
fn next_at<'t>(lines: &[Line<'t>], indent: usize) -> Parsed<Option<Line<'t>>> {
    match lines.first() {
        Some(line) if line.indent == indent => Ok(Some(*line)),
        Some(line) if line.indent > indent => {
            Err((line.number, format!("'{}' stands too far right", line.text)))
        }
        Some(_) | None => Ok(None),
    }
}

fn is_entry(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// `key: value`, where the value may be empty.
fn key(line: Line<'_>) -> Parsed<(String, &str)> {
    let split = line.text.split_once(": ").or_else(|| {
        let key = line.text.strip_suffix(':')?;
        Some((key, ""))
    });
    let (key, value) = split.ok_or((line.number, format!("'{}' is no `key: value`", line.text)))?;
    Ok((unquoted(key.trim()).to_owned(), value.trim()))
}

/// A value on its key's line, or the block below it.
fn value_of<'t>(value: &str, lines: &mut &[Line<'t>], at: Line<'t>, indent: usize) -> Parsed<Node> {
    if !value.is_empty() {
        return scalar(value, at.number);
    }
    match lines.first() {
        Some(line) if line.indent > indent => {
            let inner = line.indent;
            block(lines, inner)
        }
        // A list may stand right below its key.
        Some(line) if line.indent == indent && is_entry(line.text) && !is_entry(at.text) => {
            list(lines, indent)
        }
        Some(_) | None => Ok(Node::Scalar(String::new())),
    }
}

fn scalar(text: &str, number: usize) -> Parsed<Node> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let entries = inner.split(',').map(str::trim).filter(|t| !t.is_empty());
        let entries = entries.map(|entry| scalar(entry, number));
        return Ok(Node::List(entries.collect::<Parsed<_>>()?));
    }
    if text.starts_with(['{', '[', '&', '*', '!', '|', '>'])
        && !text.starts_with("**")
        && !text.starts_with("*.")
    {
        return Err((number, format!("'{text}' is a form that is not read here")));
    }
    Ok(Node::Scalar(unquoted(text).to_owned()))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}

/// An entry of `configs`; `None` if it lists no files.
fn configuration(entry: Node) -> std::result::Result<Option<Configuration>, String> {
    let Node::Map(entries) = entry else {
        return Err("an entry of `configs` is no map".to_owned());
    };
    let mut found =
        Configuration { name: "default".to_owned(), is_default: false, splits: Vec::new() };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("config_name", Node::Scalar(name)) => found.name = name,
            ("default", Node::Scalar(flag)) => found.is_default = flag == "true",
            ("data_files", value) => found.splits = splits(value)?,
            ("data_dir", Node::Scalar(folder)) if found.splits.is_empty() => {
                found.splits = vec![("train".to_owned(), vec![folder])];
            }
            // Other keys say how a file is read by other programs.
            (_, Node::Scalar(_) | Node::List(_) | Node::Map(_)) => {}
        }
    }
    Ok((!found.splits.is_empty()).then_some(found))
}

/// `data_files`: one pattern, a list of patterns, or a list of `{split, path}`.
fn splits(value: Node) -> std::result::Result<Vec<(String, Vec<String>)>, String> {
    let entries = match value {
        Node::Scalar(pattern) => return Ok(vec![("train".to_owned(), vec![pattern])]),
        Node::Map(entries) => {
            let split = |(name, value)| Ok((name, patterns(value)?));
            return entries.into_iter().map(split).collect();
        }
        Node::List(entries) => entries,
    };
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries {
        let (split, more) = match entry {
            Node::Map(entries) => split(entries)?,
            Node::Scalar(pattern) => ("train".to_owned(), vec![pattern]),
            Node::List(_) => return Err("a list in the list `data_files`".to_owned()),
        };
        match found.iter_mut().find(|(name, _)| *name == split) {
            Some((_, patterns)) => patterns.extend(more),
            None => found.push((split, more)),
        }
    }
    Ok(found)
}

fn split(entries: Vec<(String, Node)>) -> std::result::Result<(String, Vec<String>), String> {
    let (mut name, mut files) = (None, Vec::new());
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("split", Node::Scalar(split)) => name = Some(split),
            ("path", value) => files = patterns(value)?,
            (_, Node::Scalar(_) | Node::List(_) | Node::Map(_)) => {}
        }
    }
    let name = name.ok_or("an entry of `data_files` has no `split`")?;
    if files.is_empty() {
        return Err(format!("split '{name}' of `data_files` has no `path`"));
    }
    Ok((name, files))
}

fn patterns(value: Node) -> std::result::Result<Vec<String>, String> {
    match value {
        Node::Scalar(pattern) => Ok(vec![pattern]),
        Node::List(entries) => entries
            .into_iter()
            .map(|entry| match entry {
                Node::Scalar(pattern) => Ok(pattern),
                Node::List(_) | Node::Map(_) => Err("a path that is no text".to_owned()),
            })
            .collect(),
        Node::Map(_) => Err("a path that is a map".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected`: configurations as `name: split=pattern+pattern`.
    #[track_caller]
    fn check(matter: &str, expected: &[&str]) {
        let text = format!("---\nlicense: mit\n{matter}\ntags:\n- math\n---\n# A dataset\n");
        let shown: Vec<String> = configurations(&text, "README.md")
            .expect("readable")
            .into_iter()
            .map(|config| {
                let split = |(name, patterns): (String, Vec<String>)| {
                    format!("{name}={}", patterns.join("+"))
                };
                let splits: Vec<String> = config.splits.into_iter().map(split).collect();
                let mark = if config.is_default { "!" } else { "" };
                format!("{}{mark}: {}", config.name, splits.join(" "))
            })
            .collect();
        assert_eq!(shown, expected, "{matter}");
    }

    #[test]
    fn configurations_are_read() {
        check("", &[]);
        check("configs:\n- config_name: main", &[]);
        check(
            "configs:\n- config_name: main\n  data_files: data/*.csv",
            &["main: train=data/*.csv"],
        );
        check(
            "configs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n  \
             - split: test\n    path: main/test-* # the rest",
            &["main: train=main/train-* test=main/test-*"],
        );
        check(
            "configs:\n  - config_name: \"a b\"\n    default: true\n    data_files:\n      - split: 'x'\n        \
             path:\n        - p.csv\n        - \"q#r.csv\"\n  - data_files: [one.csv, 'two.csv']",
            &["a b!: x=p.csv+q#r.csv", "default: train=one.csv+two.csv"],
        );
        check(
            "configs:\n- config_name: m\n  data_files:\n    train: a.csv\n    test: [b.csv]\n  sep: \"\\t\"",
            &["m: train=a.csv test=b.csv"],
        );
        check(
            "configs:\n-\n  config_name: m\n  data_files:\n  - '*.csv'\n  - '**/b.csv'",
            &["m: train=*.csv+**/b.csv"],
        );
        check("configs:\n- data_dir: data\n\n# note\n", &["default: train=data"]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        #[track_caller]
        fn check(matter: &str, line: u64, part: &str) {
            let text = format!("---\n{matter}\n---\n");
            let error = configurations(&text, "README.md").expect_err(matter).to_string();
            assert!(error.starts_with(&format!("README.md:{line}: ")), "{error}");
            assert!(error.contains(part), "{error}");
        }
        check("configs:\n- data_files: {train: a.csv}", 3, "not read here");
        check("configs:\n- data_files:\n    - split: a\n      path: b\n   - split: c", 6, "stands");
        check("configs:\n  a: b", 3, "no list");
        check("configs:\n- nonsense", 3, "no map");
        check("configs:\n- data_files:\n  - path: a.csv", 3, "no `split`");
        check("configs:\n- data_files:\n  - split: a", 3, "no `path`");
        check("configs:\n- config_name: x\n  what", 4, "no `key: value`");
    }

    #[test]
    fn other_texts_have_no_configurations() {
        for text in
            ["", "# Title\n", "---\nconfigs", "configs:\n- data_files: a\n", "---\n---\nconfigs:\n"]
        {
            assert_eq!(configurations(text, "README.md").expect("readable"), [], "{text:?}");
        }
    }
}
