//! Dataset cards: the `configs` in the YAML front matter of a README.md.
//!
//! Read as the library `datasets` of Hugging Face reads them; what it refuses is refused here, with the
//! line.

use std::path::Path;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};

use crate::{DatasetError, Result};

/// A configuration of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CardConfig {
    pub(super) name: String,
    pub(super) is_default: bool,
    /// Folder that patterns are relative to, itself relative to that of the card.
    pub(super) data_dir: Option<String>,
    /// Splits in order, each with its patterns; `None` if file names say the splits.
    pub(super) data_files: Option<Vec<(String, Vec<String>)>>,
}

/// Parses the configurations of a card; empty without front matter or `configs`. `file` is for errors.
///
/// # Errors
/// [`DatasetError::Row`] with the line of the error.
pub(super) fn configs(text: &str, file: &str) -> Result<Vec<CardConfig>> {
    let Some((yaml, first_line)) = front_matter(text) else {
        return Ok(Vec::new());
    };
    let fault = |line: usize, problem: String| DatasetError::Row {
        file: file.to_owned(),
        row: (first_line + line).saturating_sub(1) as u64,
        problem,
    };
    let documents = MarkedYaml::load_from_str(&yaml)
        .map_err(|error| fault(error.marker().line(), format!("not YAML: {}", error.info())))?;
    let Some(card) = documents.first() else {
        return Ok(Vec::new());
    };
    let Some(entries) = card.data.as_mapping_get("configs").filter(|entries| !is_empty(entries))
    else {
        return Ok(Vec::new());
    };
    let Some(list) = entries.data.as_sequence() else {
        return Err(fault(entries.span.start.line(), "`configs` is no list".to_owned()));
    };
    let mut configs: Vec<CardConfig> = Vec::new();
    for entry in list {
        let config = config(entry).map_err(|problem| fault(entry.span.start.line(), problem))?;
        match configs.iter_mut().find(|known| known.name == config.name) {
            Some(known) => *known = config,
            None => configs.push(config),
        }
    }
    Ok(configs)
}

/// Chooses a configuration: the wanted one, or else the only one, the one marked `default: true` or
/// the one named `default`.
///
/// # Errors
/// [`DatasetError::File`] if there is none or more than one.
pub(super) fn choose(
    configs: &[CardConfig],
    wanted: Option<&str>,
    folder: &Path,
) -> Result<CardConfig> {
    let fault = |problem: String| DatasetError::file(&folder.display().to_string(), problem);
    let names: Vec<&str> = configs.iter().map(|config| config.name.as_str()).collect();
    let have = names.join(", ");
    let is_only = configs.len() == 1;
    let is_chosen = |config: &CardConfig| match wanted {
        Some(wanted) => config.name == wanted,
        None => is_only || config.is_default || config.name == "default",
    };
    let mut chosen = configs.iter().filter(|config| is_chosen(config));
    match (chosen.next(), chosen.next(), wanted) {
        (Some(config), None, _) => Ok(config.clone()),
        (Some(one), Some(other), _) => {
            Err(fault(format!("several default configurations: {}, {}", one.name, other.name)))
        }
        (None, _, Some(wanted)) => {
            Err(fault(format!("no configuration '{wanted}'; there is {have}")))
        }
        (None, _, None) => {
            Err(fault(format!("several configurations, name one with --config-name: {have}")))
        }
    }
}

/// The text between two lines `---` at the top, and the number of its first line.
fn front_matter(text: &str) -> Option<(String, usize)> {
    let text = text.trim_start_matches('\u{feff}');
    let skipped = text.len() - text.trim_start().len();
    let opening = text[..skipped].matches('\n').count() + 1;
    let mut lines = text[skipped..].lines();
    if lines.next() != Some("---") {
        return None;
    }
    let lines: Vec<&str> = lines.collect();
    let closing = (1..lines.len()).find(|line| lines[*line] == "---")?;
    Some((lines[..closing].join("\n"), opening + 1))
}

fn is_empty(node: &MarkedYaml<'_>) -> bool {
    let is_null = matches!(node.data, YamlData::Value(Scalar::Null));
    is_null || node.data.as_sequence().is_some_and(Vec::is_empty)
}

/// Whether Python takes a value for true, with the booleans of YAML 1.1.
fn is_true(node: &MarkedYaml<'_>) -> bool {
    if let Some(text) = node.data.as_str() {
        return !matches!(text, "" | "no" | "No" | "NO" | "off" | "Off" | "OFF");
    }
    !is_empty(node) && node.data.as_bool() != Some(false) && node.data.as_integer() != Some(0)
}

fn config(entry: &MarkedYaml<'_>) -> std::result::Result<CardConfig, String> {
    if entry.data.as_mapping().is_none() {
        return Err("an entry of `configs` is no map".to_owned());
    }
    let field = |name: &str| entry.data.as_mapping_get(name).filter(|node| !is_empty(node));
    let text = |name: &str| {
        field(name)
            .map(|node| text_of(node).ok_or_else(|| format!("`{name}` is no text")))
            .transpose()
    };
    Ok(CardConfig {
        name: text("config_name")?
            .ok_or_else(|| "an entry of `configs` has no `config_name`".to_owned())?,
        is_default: field("default").is_some_and(is_true),
        data_dir: text("data_dir")?,
        data_files: field("data_files").map(data_files).transpose()?,
    })
}

/// The text of a scalar, without the line end of a block.
fn text_of(node: &MarkedYaml<'_>) -> Option<String> {
    node.data.as_str().map(|text| text.trim_end_matches('\n').to_owned())
}

/// Parses `data_files`: a pattern, a list of patterns, or a list of `{split, path}`.
fn data_files(node: &MarkedYaml<'_>) -> std::result::Result<Vec<(String, Vec<String>)>, String> {
    if let Some(pattern) = text_of(node) {
        return Ok(vec![("train".to_owned(), vec![pattern])]);
    }
    let Some(list) = node.data.as_sequence() else {
        return Err("`data_files` is neither a text nor a list".to_owned());
    };
    if let Some(patterns) = list.iter().map(text_of).collect::<Option<Vec<String>>>() {
        return Ok(vec![("train".to_owned(), patterns)]);
    }
    let mut splits: Vec<(String, Vec<String>)> = Vec::new();
    for entry in list {
        let (split, patterns) = parse_split(entry)?;
        if splits.iter().any(|(known, _)| *known == split) {
            return Err(format!("split '{split}' is there twice in `data_files`"));
        }
        splits.push((split, patterns));
    }
    Ok(splits)
}

fn parse_split(entry: &MarkedYaml<'_>) -> std::result::Result<(String, Vec<String>), String> {
    let Some(fields) = entry.data.as_mapping() else {
        return Err("`data_files` holds texts and maps; it takes one or the other".to_owned());
    };
    let name = entry.data.as_mapping_get("split").and_then(text_of);
    let name = name.ok_or("an entry of `data_files` has no `split`")?;
    if !is_split_name(&name) {
        return Err(format!("'{name}' is no name of a split: letters, digits, '_' and '.' are"));
    }
    let path = entry.data.as_mapping_get("path");
    let patterns = path.and_then(|path| match (text_of(path), path.data.as_sequence()) {
        (Some(pattern), _) => Some(vec![pattern]),
        (None, Some(list)) => list.iter().map(text_of).collect(),
        (None, None) => None,
    });
    let patterns =
        patterns.ok_or_else(|| format!("split '{name}' of `data_files` has no `path`"))?;
    if fields.len() != 2 {
        return Err("an entry of `data_files` has `split` and `path` and nothing else".to_owned());
    }
    Ok((name, patterns))
}

/// Whether a name has the form `\w+(\.\w+)*`.
pub(super) fn is_split_name(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    name.split('.').all(|part| !part.is_empty() && part.chars().all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_card_is_an_error_with_its_line() {
        #[track_caller]
        fn check(matter: &str, line: u64, part: &str) {
            let text = format!("---\n{matter}\n---\n");
            let error = configs(&text, "README.md").expect_err(matter).to_string();
            assert!(error.starts_with(&format!("README.md:{line}: ")), "{error}");
            assert!(error.contains(part), "{error}");
        }
        check("configs:\n- config_name: x\n  data_files: *.csv", 4, "not YAML");
        check(
            "configs:\n- data_files:\n    - split: a\n      path: b\n   - split: c",
            6,
            "not YAML",
        );
        check("configs:\n  a: b", 3, "no list");
        check("configs:\n- nonsense", 3, "no map");
        check("configs:\n- data_files: a.csv", 3, "no `config_name`");
        let named = "configs:\n- config_name: x\n  data_files:";
        check(&format!("{named}\n  - path: a.csv"), 3, "no `split`");
        check(&format!("{named}\n  - split: a"), 3, "no `path`");
        check(&format!("{named} {{train: a.csv}}"), 3, "neither a text nor a list");
        check(&format!("{named}\n  - split: a-b\n    path: a.csv"), 3, "no name of a split");
    }

    #[test]
    fn text_without_front_matter_has_no_configs() {
        for text in [
            "",
            "# Title\n",
            "---\nconfigs",
            "configs:\n- data_files: a\n",
            "---\n---\nconfigs:\n",
            "---\nlicense: mit\nconfigs:\n---\n",
        ] {
            assert_eq!(configs(text, "README.md").expect("readable"), [], "{text:?}");
        }
    }
}
