//! Measures of the house: circles of imports, arrows that run back, lines, and overworked names.
//!
//! Files are the nodes. A file names another where its code (tests left out) imports or spells out
//! an item that the other defines; re-exports are followed to the definition, and imports
//! of the enclosing modules do not count. A circle is a group of
//! files that reach each other. Arrows are counted between the children of one module: an arrow runs
//! back if it goes against the order of the children in which the fewest do.

mod graph;
mod modules;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use crate::cargo;
use modules::Crate;

/// A name of types that stands for more things than this is listed.
const MOST_MEANINGS: usize = 3;

/// The command `house`: of the crates in `only`, or of all.
pub(crate) fn run(only: &[String]) -> ExitCode {
    match measure_crates(only) {
        Ok(report) => {
            print!("{}", report.text());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Measures of the crates.
#[derive(Debug, Default)]
struct HouseReport {
    /// Crate and lines of Rust below its `src`.
    lines: Vec<(String, usize)>,
    /// Files of each circle.
    circles: Vec<Vec<String>>,
    /// From module to module, and how many imports.
    back: Vec<(String, String, usize)>,
    /// Type names with the files that define them.
    types: BTreeMap<String, Vec<String>>,
    /// Free functions by name, where many share one.
    functions: BTreeMap<String, usize>,
}

fn measure_crates(only: &[String]) -> Result<HouseReport, String> {
    let mut report = HouseReport::default();
    for name in members()? {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let folder = cargo::root().join(&name).join("src");
        if folder.is_dir() {
            let krate =
                Crate::read(cargo::root(), &name).map_err(|error| format!("{name}: {error}"))?;
            report.add(&krate);
        }
    }
    if report.lines.is_empty() {
        return Err(format!("no crate of this workspace is called {}", only.join(" or ")));
    }
    Ok(report)
}

/// The members of the workspace, as the root manifest lists them.
fn members() -> Result<Vec<String>, String> {
    let text =
        std::fs::read_to_string(cargo::root().join("Cargo.toml")).map_err(|e| e.to_string())?;
    let list = text.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.ok_or("Cargo.toml lists no members")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

impl HouseReport {
    fn add(&mut self, krate: &Crate) {
        self.lines.push((krate.name.clone(), krate.lines));
        let edges = krate.edges();
        for circle in graph::circles(&edges) {
            self.circles.push(circle.iter().map(|at| krate.modules[*at].file.clone()).collect());
        }
        self.add_back_arrows(krate, &edges);
        for module in &krate.modules {
            for definition in &module.definitions {
                match definition.kind {
                    // Inside an impl, `type Output` is another crate's name; `Result` is each crate's own alias
                    // of the standard type by convention.
                    "type" if definition.name == "Result" => {}
                    "struct" | "enum" | "trait" | "type" | "union" if definition.is_outermost => {
                        let files = self.types.entry(definition.name.clone()).or_default();
                        files.push(module.file.clone());
                    }
                    "fn" if definition.is_outermost => {
                        *self.functions.entry(definition.name.clone()).or_default() += 1;
                    }
                    _ => {}
                }
            }
        }
    }

    fn add_back_arrows(&mut self, krate: &Crate, edges: &[BTreeSet<usize>]) {
        let mut levels: BTreeMap<Vec<String>, BTreeMap<(String, String), usize>> = BTreeMap::new();
        for (from, targets) in edges.iter().enumerate() {
            for to in targets {
                let (from, to) = (&krate.modules[from].path, &krate.modules[*to].path);
                let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
                // A module and its own child are one layer.
                if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                    let level = levels.entry(from[..shared].to_vec()).or_default();
                    *level.entry((a.clone(), b.clone())).or_default() += 1;
                }
            }
        }
        for (level, arrows) in levels {
            let at = |child: &str| {
                let mut path = vec![krate.name.as_str()];
                path.extend(level.iter().map(String::as_str));
                path.push(child);
                path.join("::")
            };
            let back = graph::back_arrows(&arrows);
            self.back.extend(back.into_iter().map(|(from, to, count)| (at(&from), at(&to), count)));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |content: String| {
            text.push_str(&content);
            text.push('\n');
        };
        for (name, lines) in &self.lines {
            line(format!("lines {lines:7} {name}"));
        }
        let total: usize = self.lines.iter().map(|(_, lines)| lines).sum();
        line(format!("lines {total:7} in all, below src"));
        line(format!("\ncircles: {}", self.circles.len()));
        for circle in &self.circles {
            line(format!("  {} files: {}", circle.len(), circle.join(" ")));
        }
        let back: usize = self.back.iter().map(|(_, _, count)| count).sum();
        line(format!("\nback-running arrows: {back}"));
        for (from, to, count) in &self.back {
            line(format!("  {count} {from} -> {to}"));
        }
        let many = self.types.iter().filter(|(_, files)| files.len() > MOST_MEANINGS);
        let many: Vec<_> = many.collect();
        line(format!("\nnames of more than {MOST_MEANINGS} types: {}", many.len()));
        for (name, files) in many {
            line(format!("  {name} {}: {}", files.len(), files.join(" ")));
        }
        let shared = self.functions.iter().filter(|(_, count)| **count > 2 * MOST_MEANINGS);
        let shared: Vec<String> = shared.map(|(name, count)| format!("{name} {count}")).collect();
        line(format!(
            "\nnames of more than {} free functions: {}",
            2 * MOST_MEANINGS,
            shared.join(", ")
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the house has now. A change may lower these numbers and does not raise them.
    const MOST_CIRCLES: usize = 0;
    const MOST_FILES_OF_A_CIRCLE: usize = 0;
    const MOST_BACK_ARROWS: usize = 2;
    const MOST_OVERWORKED_NAMES: usize = 0;

    #[test]
    fn the_house_keeps_its_measures() {
        let report = measure_crates(&[]).expect("the sources are there");
        let text = report.text();
        let largest = report.circles.iter().map(Vec::len).max().unwrap_or(0);
        let back: usize = report.back.iter().map(|(_, _, count)| count).sum();
        let names = report.types.values().filter(|files| files.len() > MOST_MEANINGS).count();
        for (measure, found, most) in [
            ("circles", report.circles.len(), MOST_CIRCLES),
            ("files of a circle", largest, MOST_FILES_OF_A_CIRCLE),
            ("back-running arrows", back, MOST_BACK_ARROWS),
            ("overworked names", names, MOST_OVERWORKED_NAMES),
        ] {
            assert!(found <= most, "{measure}: {found}, at most {most}\n{text}");
        }
    }

    #[test]
    fn an_unknown_crate_is_an_error() {
        let problem = measure_crates(&["nothing".to_owned()]).expect_err("no such crate");
        assert!(problem.contains("nothing"), "{problem}");
    }
}
