//! Mutation of structured inputs: JSON with a value changed still parses, so that what lies behind
//! the parser is reached.

use std::sync::{Mutex, PoisonError};

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};

/// Most entries of a pool.
const POOL: usize = 1024;

/// Members of the objects that were mutated before: names and values for other objects.
static MEMBERS: Pool<(String, Value)> = Pool::new();

/// Mutates the first `size` bytes of `data` and returns their new number: seven times in eight by
/// `structured`, unless it returns `None` or more than `max_size` bytes, and else byte by byte.
pub(crate) fn with(
    data: &mut [u8],
    (size, max_size): (usize, usize),
    seed: u32,
    structured: impl FnOnce(&[u8], &mut Random) -> Option<Vec<u8>>,
) -> usize {
    let mut random = Random(u64::from(seed));
    if random.below(8) > 0
        && let Some(made) = structured(&data[..size], &mut random)
        && made.len() <= max_size
    {
        data[..made.len()].copy_from_slice(&made);
        return made.len();
    }
    fuzzer_mutate(data, size, max_size)
}

/// JSON with one to three values changed; `None` for other texts.
pub(crate) fn json(text: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(text).ok()?;
    for _ in 0..=random.below(3) {
        change(&mut document, random);
    }
    serde_json::to_vec(&document).ok()
}

fn change(document: &mut Value, random: &mut Random) {
    if let Value::Object(fields) = place(document, random)
        && let Some((name, value)) = fields.iter().nth(random.below(fields.len()))
    {
        MEMBERS.learn((name.clone(), value.clone()), random);
    }
    let other = place(document, random).clone();
    let chosen = place(document, random);
    match random.below(8) {
        0 => *chosen = plain(random),
        1 => *chosen = other,
        2 => *chosen = MEMBERS.any(random).map_or(Value::Null, |(_, value)| value),
        3 | 4 => grow(chosen, random),
        5 => shrink(chosen, random),
        _ => nudge(chosen, random),
    }
}

/// A place of a document. Shallow places are as likely as those below them, however many these are.
fn place<'v>(value: &'v mut Value, random: &mut Random) -> &'v mut Value {
    let inside = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if inside == 0 || random.below(4) == 0 {
        return value;
    }
    let at = random.below(inside);
    match value {
        Value::Array(items) => place(&mut items[at], random),
        Value::Object(fields) => place(fields.values_mut().nth(at).expect("it is one"), random),
        scalar => scalar,
    }
}

fn grow(value: &mut Value, random: &mut Random) {
    let member = MEMBERS.any(random);
    match (value, member) {
        (Value::Object(fields), Some((name, value))) => {
            fields.insert(name, value);
        }
        (Value::Array(items), member) => {
            let own = items.get(random.below(items.len())).cloned();
            let item = if random.below(2) == 0 { own } else { member.map(|(_, value)| value) };
            let times = 1 << random.below(5);
            items.extend(item.into_iter().cycle().take(times));
        }
        (value, _) => nudge(value, random),
    }
}

fn shrink(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let mut index = 0..;
            fields.retain(|_, _| index.next() != Some(at));
        }
        Value::Array(items) if !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        value => nudge(value, random),
    }
}

/// A small change.
fn nudge(value: &mut Value, random: &mut Random) {
    match value {
        Value::Null => *value = plain(random),
        Value::Bool(truth) => *truth = !*truth,
        Value::Number(number) => {
            let old = number.as_f64().unwrap_or_default();
            *value = match (random.below(6), number.as_i64()) {
                (0, Some(old)) => json!(old.wrapping_add(1)),
                (1, Some(old)) => json!(old.wrapping_sub(1)),
                (2, Some(old)) => json!(old.wrapping_mul(2)),
                (3, _) => json!(-old),
                (4, _) => json!(old * 0.37),
                _ => json!(number.to_string()),
            };
        }
        Value::String(text) => *text = bytes(text),
        Value::Array(items) => {
            let (a, b) = (random.below(items.len()), random.below(items.len()));
            if a < items.len() {
                items.swap(a, b);
            }
        }
        Value::Object(fields) => {
            if let Some(name) = fields.keys().nth(random.below(fields.len())).cloned() {
                let value = fields.get(&name).cloned().unwrap_or_default();
                fields.insert(bytes(&name), value);
            }
        }
    }
}

/// A text with a byte or a few changed, as far as it is UTF-8 then.
fn bytes(text: &str) -> String {
    let most = text.len() + 16;
    let mut buffer = text.as_bytes().to_vec();
    buffer.resize(most, 0);
    let size = fuzzer_mutate(&mut buffer, text.len(), most);
    String::from_utf8_lossy(&buffer[..size]).into_owned()
}

/// Values at the ends of ranges.
fn plain(random: &mut Random) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(0.5),
        json!(-0.0),
        json!(1e-320),
        json!(1e308),
        json!(-1e308),
        json!(65_536),
        json!(1_u64 << 31),
        json!(1_u64 << 53),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(""),
        json!("\0"),
        json!("e\u{301}\u{1f3b2}"),
        json!("a".repeat(random.below(600))),
        json!([]),
        json!({}),
    ];
    values[random.below(values.len())].clone()
}

/// Entries of earlier inputs.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Clone + PartialEq> Pool<T> {
    pub(crate) const fn new() -> Pool<T> {
        Pool(Mutex::new(Vec::new()))
    }

    /// Keeps an entry, in the place of another once the pool is full.
    pub(crate) fn learn(&self, entry: T, random: &mut Random) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= POOL {
            kept[random.below(POOL)] = entry;
        } else if !kept.contains(&entry) {
            kept.push(entry);
        }
    }

    pub(crate) fn any(&self, random: &mut Random) -> Option<T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(random.below(kept.len())).cloned()
    }
}

/// Numbers from a seed (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    /// A number below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap_or(0) % end.max(1)
    }
}
