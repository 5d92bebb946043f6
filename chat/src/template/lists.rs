//! Filters over lists and maps. Those that are generators in Jinja are evaluated at once here;
//! their results can still be read but once.

use std::cmp::Ordering;

use super::args::Args;
use super::compare::{check_key, equal, order};
use super::error::{RenderError, invalid, needs_list};
use super::eval::evaluator::TemplateEvaluator;
use super::heap::Heap;
use super::operators::add;
use super::value::Value;
use super::{methods, predicates, write};
use crate::text::Text;

/// Applies a filter over lists; the last table that is searched.
pub(super) fn apply<'t>(
    ev: &mut TemplateEvaluator<'t>,
    name: &str,
    value: &Value,
    args: &Args<'t>,
) -> Result<Value, RenderError> {
    match name {
        "join" => {
            let items = attributes(ev, ev.items(value)?, args.get(1, "attribute"))?;
            let separator = match args.get(0, "d") {
                Some(separator) => write::str_of(&ev.heap, separator)?,
                None => Text::default(),
            };
            methods::join_values(&ev.heap, &items, &separator)
        }
        "list" => new_list(ev, ev.items(value)?),
        "first" => Ok(first(ev.lend(value)?)),
        "last" => match value {
            Value::Generator(_) => Err(needs_list()),
            other => Ok(ev.items(other)?.pop().unwrap_or(Value::Undefined)),
        },
        "reverse" => match value {
            Value::Str(s) => {
                ev.heap.chars(s.text.len())?;
                let mut out = Text::default();
                for (at, c) in s.text.as_str().char_indices().rev() {
                    out.push_part(&s.text, at..at + c.len_utf8());
                }
                ev.heap.text(out)
            }
            other => {
                let mut items = ev.items(other)?;
                items.reverse();
                // Python has an iterator for what it can read backwards, and copies what it cannot.
                match other {
                    Value::Generator(_) => new_list(ev, items),
                    _ => ev.heap.generator(items),
                }
            }
        },
        "map" => map(ev, value, args),
        "select" | "reject" => select(ev, value, args, (name == "select", false)),
        "selectattr" | "rejectattr" => select(ev, value, args, (name == "selectattr", true)),
        "sort" => {
            let items = ev.items(value)?;
            let how = (flag(args, 0, "reverse"), flag(args, 1, "case_sensitive"));
            let sorted = sorted(ev, items, args.get(2, "attribute"), how)?;
            new_list(ev, sorted)
        }
        "min" | "max" => {
            let items = ev.items(value)?;
            // The sort is stable: of equal ones, both take the first, as in Python.
            let how = (name == "max", flag(args, 0, "case_sensitive"));
            Ok(first(sorted(ev, items, args.get(1, "attribute"), how)?))
        }
        "dictsort" => dictsort(ev, value, args),
        "unique" => unique(ev, value, args),
        "sum" => sum(ev, value, args),
        "batch" | "slice" => chunks(ev, name, value, args),
        "groupby" => groupby(ev, value, args),
        _ => Err(invalid(format!("there is no filter `{name}`"))),
    }
}

/// Whether an argument is given and true.
fn flag(args: &Args<'_>, at: usize, name: &str) -> bool {
    args.get(at, name).is_some_and(Value::truth)
}

fn new_list(ev: &TemplateEvaluator<'_>, items: Vec<Value>) -> Result<Value, RenderError> {
    ev.heap.list(items)
}

fn first(items: Vec<Value>) -> Value {
    items.into_iter().next().unwrap_or(Value::Undefined)
}

/// The attribute of each item, or the items themselves without an attribute.
fn attributes(
    ev: &TemplateEvaluator<'_>,
    items: Vec<Value>,
    attribute: Option<&Value>,
) -> Result<Vec<Value>, RenderError> {
    match attribute {
        None | Some(Value::None) => Ok(items),
        Some(path) => items.iter().map(|item| at_path(ev, item, path, None)).collect(),
    }
}

/// An item by key or index, or by a path with dots, as Jinja's attribute getter finds it. Where a
/// part of the path leads nowhere, it goes on from the default.
fn at_path(
    ev: &TemplateEvaluator<'_>,
    item: &Value,
    path: &Value,
    default: Option<&Value>,
) -> Result<Value, RenderError> {
    let default = default.filter(|default| !matches!(default, Value::None));
    let or_default = |found: Value| match default {
        Some(default) if matches!(found, Value::Undefined) => default.clone(),
        _ => found,
    };
    let Some(path) = path.as_str() else {
        return ev.item(item, path).map(or_default);
    };
    let mut found = item.clone();
    for part in path.split('.') {
        let key = match part.parse::<i128>() {
            Ok(index) => Value::Int(index),
            Err(_) => ev.heap.str(part)?,
        };
        found = or_default(ev.item(&found, &key)?);
    }
    Ok(found)
}

fn map<'t>(
    ev: &mut TemplateEvaluator<'t>,
    value: &Value,
    args: &Args<'t>,
) -> Result<Value, RenderError> {
    // As in Jinja, which does not ask whether it could be iterated over.
    if !value.truth() {
        return ev.heap.generator(Vec::new());
    }
    let items = ev.lend(value)?;
    let named = |name: &str| args.named.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
    if let Some(path) = named("attribute") {
        let default = named("default");
        let found: Result<Vec<Value>, RenderError> =
            items.iter().map(|item| at_path(ev, item, path, default)).collect();
        return ev.heap.generator(found?);
    }
    let Some(filter) = args.positional.first().and_then(Value::as_str) else {
        return Err(invalid("`map` needs a filter or an attribute"));
    };
    ev.heap.steps(args.positional.len() as u64)?;
    let rest = Args { positional: args.positional[1..].to_vec(), named: args.named.clone() };
    let mut out = Vec::new();
    for item in &items {
        // The filter may be `map` again.
        out.push(ev.deeper(|ev| ev.apply_filter(filter, item, &rest))?);
    }
    ev.heap.generator(out)
}

fn select<'t>(
    ev: &mut TemplateEvaluator<'t>,
    value: &Value,
    args: &Args<'t>,
    (wanted, by_attribute): (bool, bool),
) -> Result<Value, RenderError> {
    // As in Jinja, which does not ask whether it could be iterated over.
    if !value.truth() {
        return ev.heap.generator(Vec::new());
    }
    let items = ev.lend(value)?;
    let at = usize::from(by_attribute);
    let test = match args.positional.get(at) {
        None => None,
        Some(test) => Some(test.as_str().ok_or_else(|| invalid("a test has a name"))?),
    };
    let rest = args.positional.get(at + 1..).unwrap_or_default();
    let mut kept = Vec::new();
    for item in items {
        let subject = if by_attribute {
            at_path(ev, &item, args.need(0, "attribute")?, None)?
        } else {
            item.clone()
        };
        let passes = match test {
            Some(test) => predicates::perform(&ev.heap, test, &subject, rest)?,
            None => subject.truth(),
        };
        if passes == wanted {
            kept.push(item);
        }
    }
    ev.heap.generator(kept)
}

/// What a value is compared by: text in lower case, unless cases count.
fn comparable(heap: &Heap, value: Value, exact: bool) -> Result<Value, RenderError> {
    if exact { Ok(value) } else { folded(heap, &value) }
}

/// Text in lower case, as Jinja compares by default.
fn folded(heap: &Heap, value: &Value) -> Result<Value, RenderError> {
    match value.as_text() {
        Some(text) => {
            heap.chars(text.len())?;
            heap.text(text.map_chars(|c, out| out.extend(c.to_lowercase())))
        }
        None => Ok(value.clone()),
    }
}

fn sorted(
    ev: &TemplateEvaluator<'_>,
    items: Vec<Value>,
    attribute: Option<&Value>,
    (reverse, exact): (bool, bool),
) -> Result<Vec<Value>, RenderError> {
    let mut keyed = Vec::new();
    let keys = attributes(ev, items.clone(), attribute)?;
    for (item, key) in items.into_iter().zip(keys) {
        keyed.push((comparable(&ev.heap, key, exact)?, item));
    }
    sort_by_key(&ev.heap, &mut keyed, reverse)?;
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// A stable merge sort. The standard library's may panic if values have no total order.
fn sort_by_key<T>(
    heap: &Heap,
    keyed: &mut Vec<(Value, T)>,
    reverse: bool,
) -> Result<(), RenderError> {
    let wanted = if reverse { Ordering::Greater } else { Ordering::Less };
    let mut positions: Vec<usize> = (0..keyed.len()).collect();
    let mut width = 1;
    while width < positions.len() {
        let mut merged = Vec::with_capacity(positions.len());
        for run in positions.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
                if order(heap, &keyed[*r].0, &keyed[*l].0)? == Some(wanted) {
                    merged.push(*r);
                    right = right_rest;
                } else {
                    merged.push(*l);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        positions = merged;
        width *= 2;
    }
    let mut slots: Vec<Option<(Value, T)>> = keyed.drain(..).map(Some).collect();
    keyed.extend(positions.into_iter().filter_map(|at| slots[at].take()));
    Ok(())
}

fn dictsort(
    ev: &TemplateEvaluator<'_>,
    value: &Value,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    let Value::Map(map) = value else {
        return Err(invalid(format!("`dictsort` needs a map, not {}", value.kind())));
    };
    let exact = flag(args, 0, "case_sensitive");
    let by_value = match args.get(1, "by").map(Value::as_str) {
        None | Some(Some("key")) => false,
        Some(Some("value")) => true,
        Some(_) => return Err(invalid("`dictsort` sorts by key or by value")),
    };
    let mut keyed = Vec::new();
    for (k, v) in &map.entries {
        let key = if by_value { v } else { k };
        let key = comparable(&ev.heap, key.clone(), exact)?;
        keyed.push((key, ev.heap.tuple(vec![k.clone(), v.clone()])?));
    }
    sort_by_key(&ev.heap, &mut keyed, flag(args, 2, "reverse"))?;
    new_list(ev, keyed.into_iter().map(|(_, pair)| pair).collect())
}

fn sum(ev: &TemplateEvaluator<'_>, value: &Value, args: &Args<'_>) -> Result<Value, RenderError> {
    let items = attributes(ev, ev.items(value)?, args.get(0, "attribute"))?;
    let mut total = args.get(1, "start").cloned().unwrap_or(Value::Int(0));
    for item in &items {
        total = add(&ev.heap, &total, item)?;
    }
    Ok(total)
}

/// `batch(n)`: rows of `n` items; `slice(n)`: `n` rows.
fn chunks(
    ev: &TemplateEvaluator<'_>,
    name: &str,
    value: &Value,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    let items = ev.lend(value)?;
    let count = args.need(0, if name == "batch" { "linecount" } else { "slices" })?.as_int();
    let count = count.and_then(|n| usize::try_from(n).ok());
    let Some(count) = count.filter(|n| *n > 0) else {
        return Err(invalid(format!("`{name}` needs a positive count")));
    };
    let fill = args.get(1, "fill_with").filter(|v| !matches!(v, Value::None));
    ev.heap.room(count.saturating_mul(size_of::<Value>()))?;
    let mut rows = Vec::new();
    if name == "batch" {
        for row in items.chunks(count) {
            let mut row = row.to_vec();
            if let Some(fill) = fill {
                row.resize(count, fill.clone());
            }
            rows.push(new_list(ev, row)?);
        }
        return ev.heap.generator(rows);
    }
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.as_slice();
    for i in 0..count {
        let (row, later) = rest.split_at(each + usize::from(i < longer));
        rest = later;
        let mut row = row.to_vec();
        if let Some(fill) = fill.filter(|_| i >= longer && longer > 0) {
            row.push(fill.clone());
        }
        rows.push(new_list(ev, row)?);
    }
    ev.heap.generator(rows)
}

/// `groupby(attribute)`: pairs of a key and the items that have it, in the order of the keys.
fn groupby(
    ev: &TemplateEvaluator<'_>,
    value: &Value,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    args.only("groupby", &["attribute", "default", "case_sensitive"])?;
    let path = args.need(0, "attribute")?;
    let exact = flag(args, 2, "case_sensitive");
    let mut keyed = Vec::new();
    for item in ev.items(value)? {
        let key = at_path(ev, &item, path, args.get(1, "default"))?;
        keyed.push((comparable(&ev.heap, key.clone(), exact)?, (key, item)));
    }
    sort_by_key(&ev.heap, &mut keyed, false)?;
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for (compared, (key, item)) in keyed {
        match groups.last_mut() {
            Some((last, _, items)) if equal(&ev.heap, last, &compared)? => items.push(item),
            _ => groups.push((compared, key, vec![item])),
        }
    }
    let mut pairs = Vec::new();
    for (_, key, items) in groups {
        let items = new_list(ev, items)?;
        pairs.push(ev.heap.group(key, items)?);
    }
    new_list(ev, pairs)
}

/// `unique`: the items without those whose attribute, or who themselves, equal an earlier one's.
fn unique(
    ev: &TemplateEvaluator<'_>,
    value: &Value,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    args.only("unique", &["case_sensitive", "attribute"])?;
    let exact = flag(args, 0, "case_sensitive");
    let items = ev.lend(value)?;
    let keys = attributes(ev, items.clone(), args.get(1, "attribute"))?;
    let (mut seen, mut kept): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    'items: for (item, key) in items.into_iter().zip(keys) {
        check_key(&key)?;
        let key = comparable(&ev.heap, key, exact)?;
        for other in &seen {
            if equal(&ev.heap, other, &key)? {
                continue 'items;
            }
        }
        seen.push(key);
        kept.push(item);
    }
    ev.heap.generator(kept)
}
