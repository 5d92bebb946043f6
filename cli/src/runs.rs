//! `tribunal runs`: the logs of training runs as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Examples:
  tribunal runs runs/chain
  tribunal runs runs/grpo runs/rloo runs/ppo
  tribunal runs runs/* --metric greedy --metric reward

One run: its evaluations, the first and the last of them among at most eight. Several: the numbers
of each run's last evaluation, and the means over the last tenth of its steps. `tensorboard
--logdir runs` draws the curves; docs/training.md has other trackers.

Exit code: 0 printed; 2 a folder is no run's.";

/// Most evaluations of a run that are columns.
const MOST_COLUMNS: usize = 8;

/// Numbers of steps that are compared unless `--metric` names others.
pub(crate) const STEP_METRICS: [&str; 7] =
    ["loss", "reward", "right_share", "judge/reward", "entropy", "rollout/length", "max_abs_dlogp"];

/// Compares training runs, or shows the evaluations of one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    /// Folders of runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Show the numbers of this name, and of names below it (repeatable) [default: all of
    /// evaluations, the main ones of steps]
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
}

/// A line of a log.
#[derive(Debug)]
struct LogLine {
    step: u64,
    numbers: BTreeMap<String, f64>,
}

/// The logs of a run.
#[derive(Debug)]
struct RunLog {
    name: String,
    steps: Vec<LogLine>,
    evaluations: Vec<LogLine>,
}

/// Runs the command.
pub(crate) fn run(args: &RunsArgs) -> Result<CommandOutcome, CliError> {
    let logs =
        args.runs.iter().map(|folder| RunLog::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let text = match logs.as_slice() {
        [one] => evaluations(&one.evaluations, &args.metric)
            .unwrap_or_else(|| format!("{} has no numbers of evaluations\n", one.name)),
        several => comparison(several, &args.metric),
    };
    crate::print(&text)?;
    Ok(CommandOutcome::Done)
}

/// The evaluations of a run as a table; `None` if there is none.
pub(crate) fn evaluation_table(folder: &Path) -> Result<Option<String>, CliError> {
    Ok(evaluations(&read_lines(&folder.join("evaluations.jsonl"))?, &[]))
}

impl RunLog {
    fn read(folder: &Path) -> Result<Self, CliError> {
        let steps = folder.join("metrics.jsonl");
        std::fs::metadata(&steps).map_err(CliError::named(&steps))?;
        Ok(Self {
            name: folder.display().to_string(),
            steps: read_lines(&steps)?,
            evaluations: read_lines(&folder.join("evaluations.jsonl"))?,
        })
    }

    /// The step metric's mean over the last tenth of the steps that have it.
    fn late_mean(&self, metric: &str) -> Option<f64> {
        let values: Vec<f64> =
            self.steps.iter().filter_map(|line| line.numbers.get(metric).copied()).collect();
        base::stats::mean(&values[values.len() - values.len().div_ceil(10)..])
    }
}

/// The lines of a log; none where there is no file. A last line that is being written is left out.
fn read_lines(path: &Path) -> Result<Vec<LogLine>, CliError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |(at, line): (usize, &str)| {
        LogLine::parse(line).map_err(|why| {
            CliError::Usage(format!("{}:{}: no line of a run's log: {why}", path.display(), at + 1))
        })
    };
    whole.lines().enumerate().map(line).collect()
}

impl LogLine {
    fn parse(line: &str) -> Result<Self, String> {
        let fields: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        let step = fields.get("step").and_then(Value::as_u64).ok_or("no step")?;
        let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
        let is_metric = |name: &str| !["step", "time"].contains(&name);
        let numbers = fields.iter().filter(|(name, _)| is_metric(name)).filter_map(number);
        Ok(Self { step, numbers: numbers.collect() })
    }
}

/// Whether a number is chosen: by its name or that of a group, or by default where none is named.
fn is_chosen(name: &str, chosen: &[String], by_default: bool) -> bool {
    if chosen.is_empty() {
        return by_default;
    }
    let is_below = |group: &String| {
        name.strip_prefix(group.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    chosen.iter().any(is_below)
}

/// The chosen names that lines have, in their order.
fn names<'l>(
    lines: impl Iterator<Item = &'l LogLine>,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<&'l str> {
    let names = lines.flat_map(|line| line.numbers.keys().map(String::as_str));
    let mut names: Vec<&str> = names.filter(|name| is_wanted(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn evaluations(lines: &[LogLine], chosen: &[String]) -> Option<String> {
    let last = lines.len().checked_sub(1)?;
    let columns = lines.len().min(MOST_COLUMNS);
    // Evenly spaced, with the first and the last.
    let index = |at: usize| if columns == 1 { last } else { at * last / (columns - 1) };
    let shown: Vec<&LogLine> = (0..columns).map(|at| &lines[index(at)]).collect();
    let is_wanted = |name: &str| is_chosen(name, chosen, !name.starts_with("time/"));
    let mut rows = vec![vec!["evaluation after".to_owned()]];
    rows[0].extend(shown.iter().map(|line| line.step.to_string()));
    let names = names(shown.iter().copied(), is_wanted);
    if names.is_empty() && chosen.is_empty() {
        // A method without held-out rows measures nothing.
        return None;
    }
    for name in names {
        let cells = shown.iter().map(|line| cell(line.numbers.get(name).copied()));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    Some(aligned(&rows))
}

fn comparison(runs: &[RunLog], chosen: &[String]) -> String {
    let row = |name: &str, value: &dyn Fn(&RunLog) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(runs.iter().map(value)).collect()
    };
    let mut rows = vec![
        row("", &|run| run.name.clone()),
        row("steps", &|run| run.steps.last().map_or(0, |line| line.step).to_string()),
    ];
    let last = runs.iter().filter_map(|run| run.evaluations.last());
    let wanted = names(last, |name| is_chosen(name, chosen, !name.starts_with("time/")));
    if !wanted.is_empty() {
        rows.push(row("last evaluation, after", &|run| {
            run.evaluations.last().map_or_else(|| cell(None), |line| line.step.to_string())
        }));
    }
    for name in wanted {
        let value = |run: &RunLog| run.evaluations.last()?.numbers.get(name).copied();
        rows.push(row(&format!("  {name}"), &|run| cell(value(run))));
    }
    let steps = runs.iter().flat_map(|run| &run.steps);
    let wanted = names(steps, |name| is_chosen(name, chosen, STEP_METRICS.contains(&name)));
    if !wanted.is_empty() {
        rows.push(vec!["mean over the last tenth of the steps".to_owned()]);
    }
    for name in wanted {
        rows.push(row(&format!("  {name}"), &|run| cell(run.late_mean(name))));
    }
    aligned(&rows)
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// Lines of columns: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| cell.chars().count());
    let width = |at: usize| rows.iter().map(|row| length(row, at)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(line, "  {cell:>width$}").expect("memory takes it");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(log: &[&str]) -> Vec<LogLine> {
        log.iter().map(|line| LogLine::parse(line).expect("a line")).collect()
    }

    #[test]
    fn evaluations_are_columns() {
        let check = |log: &[&str], chosen: &[&str], expected: Option<&str>| {
            let chosen: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
            let table = evaluations(&lines(log), &chosen);
            assert_eq!(table.as_deref(), expected, "{log:?} {chosen:?}");
        };
        let log = [
            r#"{"step": 0, "time": 1.5, "greedy": 0.25, "near/auroc": null, "time/all": 2.0}"#,
            r#"{"step": 20, "time": 9.5, "greedy": 0.5, "near/auroc": 0.75, "time/all": 2.0}"#,
        ];
        check(&[], &[], None);
        check(
            &log,
            &[],
            Some(
                "evaluation after       0      20\n\
                 greedy            0.2500  0.5000\n\
                 near/auroc             -  0.7500\n",
            ),
        );
        check(&log[..1], &[], Some("evaluation after       0\ngreedy            0.2500\n"));
        check(&log, &["near"], Some("evaluation after  0      20\nnear/auroc        -  0.7500\n"));
        check(&[r#"{"step": 0, "time/all": 2.0}"#], &[], None);
        check(&log, &["gree"], Some("evaluation after  0  20\n"));
    }

    #[test]
    fn long_runs_show_the_first_and_the_last_evaluation() {
        let log: Vec<String> =
            (0..50).map(|step| format!("{{\"step\": {step}, \"greedy\": 0}}")).collect();
        let log: Vec<&str> = log.iter().map(String::as_str).collect();
        let table = evaluations(&lines(&log), &[]).expect("a table");
        let head: Vec<&str> = table.lines().next().expect("a line").split_whitespace().collect();
        assert_eq!(head[2..], ["0", "7", "14", "21", "28", "35", "42", "49"]);
    }

    #[test]
    fn runs_are_columns_with_means_of_their_last_steps() {
        let run = |name: &str, steps: u64, evaluations: &[&str]| RunLog {
            name: name.to_owned(),
            steps: (1..=steps)
                .map(|step| LogLine::parse(&format!("{{\"step\": {step}, \"loss\": {step}}}")))
                .map(|line| line.expect("a line"))
                .collect(),
            evaluations: lines(evaluations),
        };
        let table = comparison(
            &[run("a", 20, &[r#"{"step": 20, "greedy": 0.5}"#]), run("long/b", 3, &[])],
            &[],
        );
        let expected = "                                             a  long/b\n\
                        steps                                       20       3\n\
                        last evaluation, after                      20       -\n\
                        \u{20} greedy                                0.5000       -\n\
                        mean over the last tenth of the steps\n\
                        \u{20} loss                                 19.5000  3.0000\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn lines_that_are_no_log_are_refused() {
        for line in ["3", "{}", "{\"step\": -1}", "step"] {
            assert!(LogLine::parse(line).is_err(), "{line}");
        }
    }
}
