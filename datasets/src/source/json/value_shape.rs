//! What the values of a column have in common.
//!
//! Shapes are learned from every row of a file and then become Arrow types. Values of two JSON
//! types in one place have the shape [`ValueShape::Mixed`], whose column holds each value's JSON as text,
//! so that nothing is turned into something else.

use std::fmt;

use arrow::datatypes::{DataType, Field, Fields};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json_text::json_text_field;

/// Names that the objects of one column may have; with more the object is a map from data to data,
/// and its column holds text.
const MAX_FIELDS: usize = 1000;

/// Integers up to here are exact as floating-point numbers.
const EXACT: u64 = 1 << 53;

/// What the values of a column have in common.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::source) enum ValueShape {
    /// Nothing but null so far.
    Null,
    Bool,
    /// Integers that are exact as floating-point numbers too.
    Int,
    /// Integers of 64 bits, of which some are not.
    Long,
    Float,
    Text,
    List(Box<ValueShape>),
    Struct(IndexMap<String, ValueShape>),
    Mixed,
}

/// Whether a float is as large as integers that 64 bits do not hold, which are read as floats.
fn is_beyond(float: Option<f64>) -> bool {
    float.is_some_and(|float| float.abs() >= 9_223_372_036_854_775_808.0)
}

impl ValueShape {
    /// The shape of one value. `has_long` says that its row has integers of more than 64 bits: the column
    /// of a number that may be one keeps it as it is written.
    fn of(value: &Value, has_long: bool) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Self::of_int(int),
                (None, Some(_)) => Self::Mixed,
                (None, None) if has_long && is_beyond(number.as_f64()) => Self::Mixed,
                (None, None) => Self::Float,
            },
            Value::String(_) => Self::Text,
            Value::Array(items) => {
                let mut shape = Self::Null;
                for item in items {
                    shape.observe(item, has_long);
                }
                Self::List(Box::new(shape))
            }
            Value::Object(entries) => {
                let field =
                    |(name, value): (&String, &Value)| (name.clone(), Self::of(value, has_long));
                Self::capped(entries.iter().map(field).collect())
            }
        }
    }

    fn of_int(int: i64) -> Self {
        if int.unsigned_abs() <= EXACT { Self::Int } else { Self::Long }
    }

    fn capped(fields: IndexMap<String, Self>) -> Self {
        if fields.len() > MAX_FIELDS { Self::Mixed } else { Self::Struct(fields) }
    }

    /// Widens the shape to take `value` too.
    pub(super) fn observe(&mut self, value: &Value, has_long: bool) {
        let own = std::mem::replace(self, Self::Null);
        *self = own.merge(Self::of(value, has_long));
    }

    /// The narrowest shape that takes what both take.
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, shape) | (shape, Self::Null) => shape,
            (Self::Bool, Self::Bool) => Self::Bool,
            (Self::Text, Self::Text) => Self::Text,
            (Self::Int, Self::Int) => Self::Int,
            (Self::Int | Self::Long, Self::Int | Self::Long) => Self::Long,
            (Self::Int | Self::Float, Self::Int | Self::Float) => Self::Float,
            (Self::List(left), Self::List(right)) => Self::List(Box::new(left.merge(*right))),
            (Self::Struct(mut left), Self::Struct(right)) => {
                for (name, shape) in right {
                    let own = left.entry(name).or_insert(Self::Null);
                    *own = std::mem::replace(own, Self::Null).merge(shape);
                }
                Self::capped(left)
            }
            (
                Self::Bool
                | Self::Int
                | Self::Long
                | Self::Float
                | Self::Text
                | Self::List(_)
                | Self::Struct(_)
                | Self::Mixed,
                _other,
            ) => Self::Mixed,
        }
    }

    /// The column of this shape. Every column may hold nulls: JSON promises nothing of later rows.
    pub(in crate::source) fn field(&self, name: &str) -> Field {
        match self {
            Self::Null => Field::new(name, DataType::Null, true),
            Self::Bool => Field::new(name, DataType::Boolean, true),
            Self::Int | Self::Long => Field::new(name, DataType::Int64, true),
            Self::Float => Field::new(name, DataType::Float64, true),
            Self::Text => Field::new(name, DataType::Utf8, true),
            Self::List(items) => {
                let item = items.field(Field::LIST_FIELD_DEFAULT_NAME);
                Field::new(name, DataType::List(item.into()), true)
            }
            // Parquet has no group without fields.
            Self::Struct(fields) if fields.is_empty() => json_text_field(name),
            Self::Struct(fields) => {
                let fields: Fields = fields.iter().map(|(n, shape)| shape.field(n)).collect();
                Field::new(name, DataType::Struct(fields), true)
            }
            Self::Mixed => json_text_field(name),
        }
    }
}

/// Reads one value and says whether `shape` takes it as it is. Most rows are like those before, so
/// that this is all that learning takes; errors are those of broken JSON.
#[derive(Clone, Copy)]
pub(super) struct FitsShape<'s>(pub(super) &'s ValueShape);

/// A value without an expected shape, parsed completely so that its strings are checked.
pub(super) struct CheckedValue;

impl<'de> DeserializeSeed<'de> for FitsShape<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FitsShape<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(matches!(self.0, ValueShape::Bool | ValueShape::Mixed))
    }

    fn visit_i64<E>(self, int: i64) -> Result<bool, E> {
        Ok(match self.0 {
            ValueShape::Long | ValueShape::Mixed => true,
            ValueShape::Int | ValueShape::Float => int.unsigned_abs() <= EXACT,
            ValueShape::Null
            | ValueShape::Bool
            | ValueShape::Text
            | ValueShape::List(_)
            | ValueShape::Struct(_) => false,
        })
    }

    fn visit_u64<E>(self, int: u64) -> Result<bool, E> {
        Ok(match self.0 {
            ValueShape::Mixed => true,
            ValueShape::Long => i64::try_from(int).is_ok(),
            ValueShape::Int | ValueShape::Float => int <= EXACT,
            ValueShape::Null
            | ValueShape::Bool
            | ValueShape::Text
            | ValueShape::List(_)
            | ValueShape::Struct(_) => false,
        })
    }

    fn visit_f64<E>(self, float: f64) -> Result<bool, E> {
        Ok(match self.0 {
            ValueShape::Mixed => true,
            ValueShape::Float => !is_beyond(Some(float)),
            ValueShape::Null
            | ValueShape::Bool
            | ValueShape::Int
            | ValueShape::Long
            | ValueShape::Text
            | ValueShape::List(_)
            | ValueShape::Struct(_) => false,
        })
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(matches!(self.0, ValueShape::Text | ValueShape::Mixed))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let (items, mut fits) = match self.0 {
            ValueShape::List(items) => (&**items, true),
            ValueShape::Mixed => (&ValueShape::Mixed, true),
            ValueShape::Null
            | ValueShape::Bool
            | ValueShape::Int
            | ValueShape::Long
            | ValueShape::Float
            | ValueShape::Text
            | ValueShape::Struct(_) => (&ValueShape::Mixed, false),
        };
        while let Some(item) = seq.next_element_seed(FitsShape(items))? {
            fits &= item;
        }
        Ok(fits)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let fields = match self.0 {
            ValueShape::Struct(fields) => Some(fields),
            ValueShape::Null
            | ValueShape::Bool
            | ValueShape::Int
            | ValueShape::Long
            | ValueShape::Float
            | ValueShape::Text
            | ValueShape::List(_)
            | ValueShape::Mixed => None,
        };
        let mut fits = fields.is_some() || *self.0 == ValueShape::Mixed;
        let mut seen = Positions::default();
        while let Some(field) = map.next_key_seed(FieldSeed(fields))? {
            let Some((position, name, shape)) = field else {
                fits &= fields.is_none();
                map.next_value_seed(CheckedValue)?;
                continue;
            };
            if !seen.insert(position) {
                return Err(A::Error::custom(format!("two values for '{name}'")));
            }
            fits &= map.next_value_seed(FitsShape(shape))?;
        }
        Ok(fits)
    }
}

impl<'de> DeserializeSeed<'de> for CheckedValue {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        FitsShape(&ValueShape::Mixed).deserialize(deserializer).map(drop)
    }
}

/// A field: its position, name and shape.
type Known<'s> = (usize, &'s String, &'s ValueShape);

/// The fields of an object that were met, most of them without memory of their own.
#[derive(Default)]
struct Positions {
    first: u64,
    others: Vec<usize>,
}

impl Positions {
    /// False if the position was there already.
    fn insert(&mut self, position: usize) -> bool {
        if position < 64 {
            let bit = 1 << position;
            let is_new = self.first & bit == 0;
            self.first |= bit;
            return is_new;
        }
        let is_new = !self.others.contains(&position);
        self.others.push(position);
        is_new
    }
}

/// A key, looked up among the fields.
struct FieldSeed<'s>(Option<&'s IndexMap<String, ValueShape>>);

impl<'de, 's> DeserializeSeed<'de> for FieldSeed<'s> {
    type Value = Option<Known<'s>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'s> Visitor<'_> for FieldSeed<'s> {
    type Value = Option<Known<'s>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.and_then(|fields| fields.get_full(key)))
    }
}
