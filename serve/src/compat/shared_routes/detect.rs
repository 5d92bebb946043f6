//! Detects the interface of a body on a path that several interfaces share.
//!
//! The signature of an interface is the set of fields that only it has. A body with a field of one
//! signature belongs to that interface. A body with fields of two is refused, since part of the
//! request would be dropped either way.

use std::fmt;

use openapi::{BodyError, malformed};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// An interface and the fields by which it is detected.
pub(crate) struct Interface {
    pub(crate) name: &'static str,
    pub(crate) signature: &'static [&'static str],
}

/// Detects the interface of a body, as an index into `interfaces`; 0 if the body has no field of
/// any signature.
///
/// # Errors
/// A body with fields of two signatures, with both names; a body that is not JSON.
pub(crate) fn detect(bytes: &[u8], interfaces: &[Interface]) -> Result<usize, BodyError> {
    let Keys(keys) = match serde_json::from_slice(bytes) {
        Ok(keys) => keys,
        // The parser of the interface reports bodies that are not objects.
        Err(error) if error.is_data() => return Ok(0),
        // Parsers that do not know the fields would report those first.
        Err(error) => return Err(malformed(&error)),
    };
    let found = interfaces.iter().enumerate().filter_map(|(at, one)| {
        let field = one.signature.iter().find(|field| keys.iter().any(|key| key == **field));
        field.map(|field| (at, field))
    });
    let found: Vec<(usize, &&str)> = found.collect();
    match found[..] {
        [] => Ok(0),
        [(at, _)] => Ok(at),
        [(one, field), (other, other_field), ..] => Err(BodyError::Invalid {
            path: (*other_field).to_owned(),
            message: format!(
                "the body fits two interfaces, {} by `{field}` and {} by `{other_field}`: \
                 keep to the fields of one",
                interfaces[one].name, interfaces[other].name
            ),
        }),
    }
}

/// The field names of an object.
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
