//! Accepts objects only for structs.
//!
//! serde also reads a struct from a JSON array, field by field in order. On a public interface that
//! would be a second, undocumented shape of every body, so request types refuse it.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::unused::{PassingOver, Unused};

/// A deserializer that reads structs from maps only.
#[derive(Debug)]
pub struct MapOnly<D> {
    /// The deserializer of the body.
    pub inner: D,
    /// Ignored fields.
    pub unused: &'static [Unused],
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for MapOnly<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(MapVisitor { visitor, unused: self.unused })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct MapVisitor<V> {
    visitor: V,
    unused: &'static [Unused],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for MapVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(PassingOver { map, unused: self.unused })
    }
}

/// Implements `Serialize` and `Deserialize` for a type that derives both with `#[serde(remote =
/// "Self")]`.
#[macro_export]
macro_rules! object {
    ($type:ty) => {
        $crate::object!($type, but & []);
    };
    // With ignored fields of published interfaces.
    ($type:ty, but $unused:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }

        $crate::read_object!($type, but $unused);
    };
}

/// Implements `Deserialize` for a type that derives it with `#[serde(remote = "Self")]`.
#[macro_export]
macro_rules! read_object {
    ($type:ty) => {
        $crate::read_object!($type, but & []);
    };
    ($type:ty, but $unused:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize($crate::map_only::MapOnly {
                    inner: deserializer,
                    unused: $unused,
                })
            }
        }
    };
}
