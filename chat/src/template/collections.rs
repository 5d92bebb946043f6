//! Methods of maps and lists.

use super::args::Args;
use super::compare::{equal, lookup};
use super::error::{RenderError, invalid};
use super::heap::Heap;
use super::value::{Map, Seq, Value};

/// Calls a method of a map.
pub(super) fn of_map(
    heap: &Heap,
    value: &Value,
    map: &Map,
    name: &str,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    match name {
        "keys" => heap.list(map.entries.iter().map(|(k, _)| k.clone()).collect()),
        "values" => heap.list(map.entries.iter().map(|(_, v)| v.clone()).collect()),
        "items" => heap.list(pairs(heap, map)?),
        "get" => {
            args.only("get", &["key", "default"])?;
            let found = lookup(heap, map, args.need(0, "key")?)?;
            Ok(found.unwrap_or_else(|| args.get(1, "default").cloned().unwrap_or(Value::None)))
        }
        "copy" => Ok(value.clone()),
        _ => Err(invalid(format!("`{name}` would change the map"))),
    }
}

/// The entries of a map as tuples.
pub(super) fn pairs(heap: &Heap, map: &Map) -> Result<Vec<Value>, RenderError> {
    map.entries.iter().map(|(k, v)| heap.tuple(vec![k.clone(), v.clone()])).collect()
}

/// Calls a method of a list or tuple.
pub(super) fn of_list(
    heap: &Heap,
    value: &Value,
    seq: &Seq,
    name: &str,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    match name {
        "copy" => Ok(value.clone()),
        "count" | "index" => {
            let wanted = args.need(0, "value")?;
            let mut count = 0;
            for (i, item) in seq.items.iter().enumerate() {
                if equal(heap, item, wanted)? {
                    if name == "index" {
                        return Ok(Value::Int(i as i128));
                    }
                    count += 1;
                }
            }
            if name == "index" {
                return Err(invalid("the list has no such item"));
            }
            Ok(Value::Int(count))
        }
        _ => Err(invalid(format!("`{name}` would change the list"))),
    }
}
