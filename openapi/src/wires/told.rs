//! Which of several interfaces a body speaks, where they share a path.
//!
//! Every interface has marks: fields that it has and the others have not. A body with the marks of
//! one is that interface's. A body with the marks of two is nobody's: whichever way it were read,
//! a part of what it asks would be dropped.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::BodyError;
use crate::body::malformed;

/// An interface and the fields that tell it.
pub(super) struct Interface {
    pub(super) name: &'static str,
    pub(super) marks: &'static [&'static str],
}

/// The interface whose marks a body has, as an index; the first where it has none.
///
/// # Errors
/// A body with the marks of two, by both names; and one that is no JSON.
pub(super) fn tell(bytes: &[u8], interfaces: &[Interface]) -> Result<usize, BodyError> {
    let Keys(keys) = match serde_json::from_slice(bytes) {
        Ok(keys) => keys,
        // What is no object is for the parser to say.
        Err(error) if error.is_data() => return Ok(0),
        // A parser that does not know the fields would stumble over them first.
        Err(error) => return Err(malformed(&error)),
    };
    let marked = interfaces.iter().enumerate().filter_map(|(at, one)| {
        let mark = one.marks.iter().find(|mark| keys.iter().any(|key| key == **mark));
        mark.map(|mark| (at, mark))
    });
    let marked: Vec<(usize, &&str)> = marked.collect();
    match marked[..] {
        [] => Ok(0),
        [(at, _)] => Ok(at),
        [(one, mark), (other, other_mark), ..] => Err(BodyError::Invalid {
            path: (*other_mark).to_owned(),
            message: format!(
                "the body fits two interfaces, {} by `{mark}` and {} by `{other_mark}`: \
                 keep to the fields of one",
                interfaces[one].name, interfaces[other].name
            ),
        }),
    }
}

/// The names of an object's fields.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = map.next_entry()? {
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}
