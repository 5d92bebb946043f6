//! The window: a line about the list, the list, the chosen row, and the keys.

use std::fmt::Write as _;

use base::human::grouped;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph, Row, Table, TableState, Wrap};

use super::details;
use super::viewer::Viewer;

const KEYS: &str =
    " j k rows   space b text   / search   f filter   s by score   tab scorer   q quit";

/// Draws the whole window.
pub(super) fn draw(viewer: &mut Viewer, frame: &mut Frame<'_>) {
    let rows = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Line::from(title(viewer)).reversed(), top);
    let columns = [Constraint::Percentage(40), Constraint::Percentage(60)];
    let [left, right] = Layout::horizontal(columns).areas(middle);
    list(viewer, frame, left);
    chosen(viewer, frame, right);
    let last = match &viewer.typing {
        Some(typed) => format!(" search: {typed}▏"),
        None => KEYS.to_owned(),
    };
    frame.render_widget(Line::from(last).dim(), bottom);
}

fn title(viewer: &Viewer) -> String {
    let n_listed = grouped(viewer.n_listed() as u64, ',');
    let mut title = format!(
        " {}: {n_listed} of {} rows, scorer {}, {}",
        viewer.source,
        grouped(viewer.total, ','),
        viewer.scorer(),
        viewer.filter.name()
    );
    if !viewer.search.is_empty() {
        write!(title, " with {:?}", viewer.search).expect("memory takes it");
    }
    if viewer.by_score {
        title += ", by score";
    }
    title
}

fn list(viewer: &Viewer, frame: &mut Frame<'_>, area: Rect) {
    // Only the rows of the window are made: a file may have millions.
    let height = usize::from(area.height);
    let first =
        viewer.chosen.saturating_sub(height / 2).min(viewer.n_listed().saturating_sub(height));
    let rows = viewer.listed().skip(first).take(height).map(|(row, verdict)| {
        let reason = verdict.map(|verdict| details::clean(&verdict["reason"]["code"]));
        let score = verdict.map(details::styled_score).unwrap_or_default();
        let id = row.id.as_ref().map_or_else(|| row.row.to_string(), details::clean);
        Row::new([Line::from(id), Line::from(score), Line::from(reason.unwrap_or_default())])
    });
    let widths = [Constraint::Fill(2), Constraint::Length(12), Constraint::Fill(3)];
    let table = Table::new(rows, widths).row_highlight_style(Style::new().reversed());
    let mut state = TableState::new().with_selected(viewer.chosen.checked_sub(first));
    frame.render_stateful_widget(table, area, &mut state);
}

fn chosen(viewer: &mut Viewer, frame: &mut Frame<'_>, area: Rect) {
    let lines = match viewer.row() {
        Some((row, verdict)) => details::lines(row, verdict),
        None => vec![Line::from("no such rows")],
    };
    let block = Block::new().borders(Borders::LEFT);
    let inner = block.inner(area);
    let text = Paragraph::new(lines).wrap(Wrap { trim: false });
    // The last lines stay in the window.
    let n_lines = text.line_count(inner.width);
    viewer.scroll = viewer.scroll.min(n_lines.saturating_sub(usize::from(inner.height)));
    let scroll = u16::try_from(viewer.scroll).unwrap_or(u16::MAX);
    frame.render_widget(text.block(block).scroll((scroll, 0)), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};
    use serde_json::json;

    use super::*;
    use crate::show::{ShownRow, ShownRows};

    fn viewer(n_rows: u64) -> Viewer {
        let row = |row: u64| {
            ShownRow {
            row,
            id: None,
            input: json!({"response": format!("line\n{}", "word ".repeat(400)), "reference": "7"}),
            scores: json!({"math": {"status": "ok", "score": 0, "reason": {"code": "different", "detail": "8"}}})
                .as_object()
                .cloned()
                .expect("an object"),
        }
        };
        Viewer::new("in.jsonl", ShownRows { total: n_rows, rows: (1..=n_rows).map(row).collect() })
    }

    /// What a terminal of this size shows after some keys, as lines.
    fn window(n_rows: u64, size: (u16, u16), keys: &str) -> String {
        let mut viewer = viewer(n_rows);
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a terminal");
        for key in keys.chars() {
            viewer.press(KeyEvent::from(KeyCode::Char(key)));
        }
        terminal.draw(|frame| draw(&mut viewer, frame)).expect("it is drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn windows_hold_the_list_and_the_chosen_row() {
        let check = |keys: &str, there: &[&str], absent: &[&str]| {
            let window = window(100, (90, 12), keys);
            for part in there {
                assert!(window.contains(part), "{part:?} after {keys:?} in\n{window}");
            }
            for part in absent {
                assert!(!window.contains(part), "{part:?} after {keys:?} in\n{window}");
            }
        };
        let title = "in.jsonl: 100 of 100 rows, scorer math, all rows";
        check("", &[title, "1 ", "different", "Response", "line", "q quit"], &["Verdict"]);
        check("G", &["100 "], &["\"1  "]);
        // The verdict is below the text.
        check("      ", &["Verdict", "different: 8"], &["Response"]);
        check("fs", &["scores below 1, by score"], &[]);
        check("ff", &["0 of 100 rows", "no such rows"], &[]);
        check("/x", &["search: x"], &["q quit"]);
    }

    #[test]
    fn no_size_is_too_small() {
        for size in [(1, 1), (2, 3), (5, 2), (200, 60)] {
            for n_rows in [1, 3, 500] {
                let shown = window(n_rows, size, "G  j");
                assert!(!shown.is_empty(), "{size:?}");
            }
        }
    }
}
