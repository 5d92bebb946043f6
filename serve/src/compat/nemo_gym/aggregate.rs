//! Aggregates `NeMo`-Gym verify replies: mean, maximum, minimum, median and standard deviation of
//! every numeric field, per task and overall.

use std::collections::{BTreeMap, BTreeSet};

use base::stats::{mean, median, sample_std};
use serde_json::{Map, Number, Value, json};

use super::types::AggregateReply;

const TASK: &str = "_ng_task_index";
const ROLLOUT: &str = "_ng_rollout_index";
const FAILURE: &str = "_ng_failure_class";
/// True in rows of other servers where the environment failed and not the policy.
const MASKED: &str = "mask_sample";

/// Numbers by field name.
type Columns = BTreeMap<String, Vec<f64>>;

/// Bytes of a task beside its figures.
const TASK_COST: usize = 2 << 10;
/// Bytes of a rollout beside its numbers.
const ROLLOUT_COST: usize = 640;
/// Bytes of the figures of one field, without its name.
const FIELD_COST: usize = 1 << 10;
/// Bytes of a number of one rollout, without its name.
const NUMBER_COST: usize = 160;
/// Copies of a field's name in its figures.
const NAME_COPIES: usize = 6;

/// Bytes that the figures of `rows` take, counted up to a little beyond `most`. A field has figures
/// for each task that has it, and over all tasks.
pub(super) fn cost_bytes(rows: &[Map<String, Value>], most: usize) -> usize {
    let mut tasks = BTreeSet::new();
    let mut fields = BTreeSet::new();
    let mut bytes = 0_usize;
    for row in rows {
        let task = index(row, TASK);
        if tasks.insert(task) {
            bytes += TASK_COST;
        }
        bytes += ROLLOUT_COST;
        if bytes > most {
            return bytes;
        }
        for (name, _) in numbers(row) {
            bytes += NUMBER_COST + name.len();
            for place in [Some(task), None] {
                if fields.insert((place, name)) {
                    bytes += FIELD_COST + NAME_COPIES * name.len();
                }
            }
            if bytes > most {
                return bytes;
            }
        }
    }
    bytes
}

/// Aggregates rows, leaving out those that were not measured. `proceed` is called for each task.
///
/// # Errors
/// That of `proceed`.
pub(super) fn figures<E>(
    rows: &[Map<String, Value>],
    proceed: impl Fn() -> Result<(), E>,
) -> Result<AggregateReply, E> {
    let measured = |row: &&Map<String, Value>| {
        row.get(FAILURE).is_none_or(Value::is_null) && row.get(MASKED) != Some(&Value::Bool(true))
    };
    let mut tasks: BTreeMap<i64, Vec<&Map<String, Value>>> = BTreeMap::new();
    for row in rows.iter().filter(measured) {
        tasks.entry(index(row, TASK)).or_default().push(row);
    }
    if tasks.is_empty() {
        return Ok(AggregateReply::default());
    }
    let all = described(&columns(tasks.values().flatten().copied()));
    let key_metrics = all.iter().filter(|(name, _)| name.starts_with("mean/"));
    let key_metrics = key_metrics.map(|(name, value)| (name.clone(), value.clone())).collect();
    let groups = tasks.iter().map(|(task, rows)| proceed().map(|()| group(*task, rows)));
    Ok(AggregateReply {
        key_metrics,
        group_level_metrics: groups.collect::<Result<_, E>>()?,
        agent_metrics: all,
    })
}

/// Aggregates the rows of one task.
fn group(task: i64, rows: &[&Map<String, Value>]) -> Map<String, Value> {
    let mut figures = described(&columns(rows.iter().copied()));
    let mut infos: Vec<(i64, Value)> = rows.iter().map(|row| info(task, row)).collect();
    infos.sort_by_key(|(rollout, _)| *rollout);
    let infos: Value = infos.into_iter().map(|(_, info)| info).collect();
    let more = [
        (TASK, json!(task)),
        ("sample", json!({ "agent_ref": { "name": "agent" } })),
        ("num_rollouts", json!(rows.len())),
        ("expected_num_rollouts", json!(rows.len())),
        ("missing_num_rollouts", json!(0)),
        ("reward_profile_completion_pct", json!(100.0)),
        ("rollout_infos", infos),
    ];
    figures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    figures
}

/// Extracts the retained fields of one rollout.
fn info(task: i64, row: &Map<String, Value>) -> (i64, Value) {
    let rollout = index(row, ROLLOUT);
    let mut info = Map::new();
    info.insert("rollout_id".to_owned(), json!(format!("{task}:{rollout}")));
    info.insert(TASK.to_owned(), json!(task));
    info.insert(ROLLOUT.to_owned(), json!(rollout));
    for (name, value) in numbers(row) {
        info.insert(name.to_owned(), number(value));
    }
    (rollout, info.into())
}

fn index(row: &Map<String, Value>, name: &str) -> i64 {
    row.get(name).and_then(Value::as_i64).unwrap_or(0)
}

/// Lists the numeric fields of a row and of its response's usage; booleans count as 1 or 0.
fn numbers(row: &Map<String, Value>) -> impl Iterator<Item = (&str, f64)> {
    let usage = row.get("response").and_then(|response| response.get("usage"));
    let usage = usage.and_then(Value::as_object).into_iter().flatten();
    let own = row.iter().filter(|(name, _)| *name != TASK && *name != ROLLOUT);
    own.chain(usage).filter_map(|(name, value)| {
        let value = match value {
            Value::Bool(value) => f64::from(u8::from(*value)),
            Value::Number(value) => value.as_f64()?,
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name.as_str(), value))
    })
}

fn columns<'r>(rows: impl Iterator<Item = &'r Map<String, Value>>) -> Columns {
    let mut columns = Columns::new();
    for row in rows {
        // Fields of the usage replace those of the row with the same name.
        let own: BTreeMap<&str, f64> = numbers(row).collect();
        for (name, value) in own {
            columns.entry(name.to_owned()).or_default().push(value);
        }
    }
    columns
}

fn described(columns: &Columns) -> Map<String, Value> {
    // One value has no deviation. If all fields have one value, 0 reads better.
    let lone = columns.values().all(|values| values.len() < 2);
    let figures = columns.iter().flat_map(|(name, values)| {
        let std = sample_std(values).or(lone.then_some(0.0));
        let figures = [
            ("mean", mean(values)),
            ("max", values.iter().copied().reduce(f64::max)),
            ("min", values.iter().copied().reduce(f64::min)),
            ("median", median(values)),
            ("std", std),
        ];
        let named = figures.map(|(figure, value)| (format!("{figure}/{name}"), value));
        named.into_iter()
    });
    figures.filter_map(|(name, value)| Some((name, number(value?)))).collect()
}

/// Converts a number to JSON; null if it is not finite.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: Value) -> Vec<Map<String, Value>> {
        serde_json::from_value(rows).expect("a list of objects")
    }

    fn made(rows: &[Map<String, Value>]) -> AggregateReply {
        figures(rows, || Ok::<(), ()>(())).expect("nothing stops it")
    }

    #[test]
    fn the_cost_grows_with_the_fields_of_each_task() {
        let row = |task: usize, field: &str| json!({ TASK: task, field: 1.0 });
        let cost = |list: Vec<Value>| cost_bytes(&rows(list.into()), usize::MAX);
        let one = cost(vec![row(0, "a")]);
        assert!(cost(vec![row(0, "a"), row(0, "a")]) < 2 * one, "one field of one task");
        let tasks = cost((0..100).map(|task| row(task, "a")).collect());
        assert!(tasks > 30 * one, "{tasks}");
        let fields = cost((0..100).map(|at| row(0, &format!("field-{at}"))).collect());
        assert!(fields > 30 * one, "{fields}");
    }

    fn check(figures: &Map<String, Value>, name: &str, expected: Option<f64>) {
        let found = figures.get(name).and_then(Value::as_f64);
        let near = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(near, "{name}: {found:?}, not {expected:?}");
    }

    #[test]
    fn rows_are_aggregated_per_task_and_overall() {
        let rows = rows(json!([
            { TASK: 1, ROLLOUT: 1, "reward": 1.0, "right": true, "name": "b" },
            { TASK: 1, ROLLOUT: 0, "reward": 0.0, "right": false,
              "response": { "usage": { "total_tokens": 12 } } },
            { TASK: 0, "reward": 0.5 },
            { TASK: 0, ROLLOUT: 1, "reward": 0.0, FAILURE: "judge_failed" },
        ]));
        let figures = made(&rows);
        let all = &figures.agent_metrics;
        check(all, "mean/reward", Some(0.5));
        check(all, "median/reward", Some(0.5));
        check(all, "std/reward", Some(0.5));
        check(all, "max/right", Some(1.0));
        check(all, "std/total_tokens", None);
        check(all, "mean/total_tokens", Some(12.0));
        assert_eq!(figures.key_metrics.len(), 3, "{:?}", figures.key_metrics);
        let [zero, one] = &figures.group_level_metrics[..] else {
            unreachable!("two tasks: {:?}", figures.group_level_metrics)
        };
        check(zero, "mean/reward", Some(0.5));
        check(zero, "std/reward", Some(0.0));
        check(zero, "num_rollouts", Some(1.0));
        check(one, "std/reward", Some(0.5_f64.sqrt()));
        let ids: Vec<&Value> = one["rollout_infos"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|info| &info["rollout_id"])
            .collect();
        assert_eq!(ids, ["1:0", "1:1"]);
    }

    #[test]
    fn unscored_rows_have_no_aggregates() {
        let nothing = rows(json!([{ "reward": 0.0, FAILURE: "judge_failed" }]));
        assert_eq!(made(&nothing), AggregateReply::default());
        assert_eq!(made(&[]), AggregateReply::default());
    }
}
