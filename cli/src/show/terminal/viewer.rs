//! What is chosen and which rows are listed, changed by keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::details::text_of;
use crate::show::{ShownRow, ShownRows};

/// Lines that one press of a page key moves.
const PAGE: usize = 10;

/// Which verdicts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    All,
    /// With a score below 1.
    BelowOne,
    /// Without a score.
    Unscored,
}

impl Filter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Filter::All => "all rows",
            Filter::BelowOne => "scores below 1",
            Filter::Unscored => "rows without a score",
        }
    }

    fn next(self) -> Filter {
        match self {
            Filter::All => Filter::BelowOne,
            Filter::BelowOne => Filter::Unscored,
            Filter::Unscored => Filter::All,
        }
    }

    fn passes(self, score: Option<f64>) -> bool {
        match self {
            Filter::All => true,
            Filter::BelowOne => score.is_some_and(|score| score < 1.0),
            Filter::Unscored => score.is_none(),
        }
    }
}

/// The rows, which of them are listed, and what of them is shown.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) source: String,
    pub(super) total: u64,
    rows: Vec<ShownRow>,
    scorers: Vec<String>,
    scorer: usize,
    pub(super) filter: Filter,
    /// What the listed rows contain, in lower case.
    pub(super) search: String,
    /// What is being typed for `search`.
    pub(super) typing: Option<String>,
    pub(super) by_score: bool,
    /// Indices of the listed rows, in their order.
    listed: Vec<usize>,
    /// Index in `listed`.
    pub(super) chosen: usize,
    /// Lines of the details above the window.
    pub(super) scroll: usize,
    ended: bool,
}

impl Viewer {
    pub(super) fn new(source: &str, rows: ShownRows) -> Viewer {
        let mut scorers: Vec<String> = Vec::new();
        for name in rows.rows.iter().flat_map(|row| row.scores.keys()) {
            if !scorers.contains(name) {
                scorers.push(name.clone());
            }
        }
        let mut viewer = Viewer {
            source: source.to_owned(),
            total: rows.total,
            rows: rows.rows,
            scorers,
            scorer: 0,
            filter: Filter::All,
            search: String::new(),
            typing: None,
            by_score: false,
            listed: Vec::new(),
            chosen: 0,
            scroll: 0,
            ended: false,
        };
        viewer.list();
        viewer
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The scorer whose verdicts are listed.
    pub(super) fn scorer(&self) -> &str {
        self.scorers.get(self.scorer).map_or("", String::as_str)
    }

    /// The listed rows, each with its verdict.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&ShownRow, Option<&Value>)> {
        self.listed.iter().map(|&at| (&self.rows[at], self.verdict(&self.rows[at])))
    }

    /// The chosen row; `None` if no row is listed.
    pub(super) fn row(&self) -> Option<(&ShownRow, Option<&Value>)> {
        self.listed().nth(self.chosen)
    }

    pub(super) fn n_listed(&self) -> usize {
        self.listed.len()
    }

    fn verdict<'r>(&self, row: &'r ShownRow) -> Option<&'r Value> {
        row.scores.get(self.scorer())
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.ended |= key.code == KeyCode::Char('c');
            return;
        }
        if let Some(typed) = self.typing.take() {
            self.typing = self.type_search(typed, key.code);
            return;
        }
        // Keys without a meaning have no effect.
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "keyboards have more keys than meanings"
        )]
        match key.code {
            KeyCode::Char('q') => self.ended = true,
            // First what narrows the list goes.
            KeyCode::Esc if self.search.is_empty() => self.ended = true,
            KeyCode::Esc => self.search_for(String::new()),
            KeyCode::Char('j') | KeyCode::Down => self.choose(self.chosen.saturating_add(1)),
            KeyCode::Char('k') | KeyCode::Up => self.choose(self.chosen.saturating_sub(1)),
            KeyCode::Char('g') | KeyCode::Home => self.choose(0),
            KeyCode::Char('G') | KeyCode::End => self.choose(usize::MAX),
            KeyCode::Char(' ') | KeyCode::PageDown => self.scroll += PAGE,
            KeyCode::Char('b') | KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            KeyCode::Char('/') => self.typing = Some(self.search.clone()),
            KeyCode::Char('f') => {
                self.filter = self.filter.next();
                self.list();
            }
            KeyCode::Char('s') => {
                self.by_score = !self.by_score;
                self.list();
            }
            KeyCode::Tab => {
                self.scorer = (self.scorer + 1) % self.scorers.len().max(1);
                self.list();
            }
            _ => {}
        }
    }

    /// What is typed after one more key; `None` when typing has ended.
    fn type_search(&mut self, mut typed: String, key: KeyCode) -> Option<String> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "keyboards have more keys than meanings"
        )]
        match key {
            KeyCode::Enter => {
                self.search_for(typed.to_lowercase());
                return None;
            }
            KeyCode::Esc => return None,
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(c) => typed.push(c),
            _ => {}
        }
        Some(typed)
    }

    fn search_for(&mut self, search: String) {
        self.search = search;
        self.list();
    }

    fn choose(&mut self, at: usize) {
        self.chosen = at.min(self.listed.len().saturating_sub(1));
        self.scroll = 0;
    }

    /// Lists anew, and keeps the chosen row if it is still listed.
    fn list(&mut self) {
        let chosen = self.listed.get(self.chosen).copied();
        let scores: Vec<Option<f64>> =
            self.rows.iter().map(|row| score(self.verdict(row))).collect();
        let mut listed: Vec<usize> = (0..self.rows.len())
            .filter(|&at| self.filter.passes(scores[at]) && self.contains(&self.rows[at]))
            .collect();
        if self.by_score {
            // Rows without a score are first: they need looking at most.
            listed.sort_by(|&a, &b| match (scores[a], scores[b]) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            });
        }
        let at = listed.iter().position(|at| Some(*at) == chosen);
        self.listed = listed;
        self.choose(at.unwrap_or(0));
    }

    /// Whether the row's id, texts or reason contain what is searched for.
    fn contains(&self, row: &ShownRow) -> bool {
        if self.search.is_empty() {
            return true;
        }
        let id = row.id.as_ref().map(ToString::to_string);
        let inputs = ["prompt", "response", "reference"].map(|name| text_of(&row.input[name]));
        let responses = row.input["responses"].as_array().into_iter().flatten().map(text_of);
        let reason = self.verdict(row).map(|verdict| text_of(&verdict["reason"]));
        let mut texts = inputs.into_iter().chain(responses).chain(id).chain(reason);
        texts.any(|text| text.to_lowercase().contains(&self.search))
    }
}

/// The score of a verdict that has one.
pub(super) fn score(verdict: Option<&Value>) -> Option<f64> {
    verdict.and_then(|verdict| verdict["score"].as_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn viewer() -> Viewer {
        let row = |row: u64, response: &str, score: Value| {
            ShownRow {
            row,
            id: Some(json!(format!("id-{row}"))),
            input: json!({"prompt": "p", "response": response}),
            scores: json!({"math": {"status": "ok", "score": score}, "exact": {"status": "ok", "score": 1}})
                .as_object()
                .cloned()
                .expect("an object"),
        }
        };
        let rows = vec![
            row(1, "One", json!(1.0)),
            row(2, "two", json!(0.0)),
            row(3, "three", Value::Null),
        ];
        Viewer::new("in.jsonl", ShownRows { total: 3, rows })
    }

    #[test]
    fn keys_list_and_choose_rows() {
        // Keys, the numbers of the listed rows, and that of the chosen one.
        let check = |keys: &str, listed: &[u64], chosen: Option<u64>| {
            let mut viewer = viewer();
            for key in keys.chars() {
                let code = match key {
                    '\t' => KeyCode::Tab,
                    '\n' => KeyCode::Enter,
                    '\u{8}' => KeyCode::Backspace,
                    '\u{1b}' => KeyCode::Esc,
                    key => KeyCode::Char(key),
                };
                viewer.press(KeyEvent::from(code));
            }
            let rows: Vec<u64> = viewer.listed().map(|(row, _)| row.row).collect();
            assert_eq!(rows, listed, "{keys:?}");
            assert_eq!(viewer.row().map(|(row, _)| row.row), chosen, "{keys:?}");
        };
        check("", &[1, 2, 3], Some(1));
        check("jjjj", &[1, 2, 3], Some(3));
        check("Gk", &[1, 2, 3], Some(2));
        check("Gg", &[1, 2, 3], Some(1));
        check("f", &[2], Some(2));
        check("ff", &[3], Some(3));
        check("jfff", &[1, 2, 3], Some(3));
        check("js", &[3, 2, 1], Some(2));
        check("\tf", &[], None);
        check("\tfj f", &[], None);
        check("/ONE\n", &[1], Some(1));
        check("/id-2\n", &[2], Some(2));
        check("/twx\u{8}o\n", &[2], Some(2));
        check("/two\u{1b}", &[1, 2, 3], Some(1));
        check("/two\n\u{1b}", &[1, 2, 3], Some(2));
        check("/q\n", &[], None);
    }

    #[test]
    fn quitting_ends() {
        let check = |key: KeyEvent, ends: bool| {
            let mut viewer = viewer();
            viewer.press(key);
            assert_eq!(viewer.has_ended(), ends, "{key:?}");
        };
        check(KeyEvent::from(KeyCode::Char('q')), true);
        check(KeyEvent::from(KeyCode::Esc), true);
        check(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), true);
        check(KeyEvent::from(KeyCode::Char('c')), false);
    }
}
