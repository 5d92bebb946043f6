//! Serialises floats in checkpoints as their bits: decimal text may be read back as a neighbouring
//! number, and a resumed run would differ from an uninterrupted one.

use serde::{Deserialize as _, Deserializer, Serializer};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn serialize<S: Serializer>(number: &f64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_u64(number.to_bits())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    u64::deserialize(input).map(f64::from_bits)
}

/// Lists of numbers.
pub(crate) mod list {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(numbers: &[f64], out: S) -> Result<S::Ok, S::Error> {
        let bits: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
        bits.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
        let bits = Vec::<u64>::deserialize(input)?;
        Ok(bits.into_iter().map(f64::from_bits).collect())
    }
}

/// Numbers by the problem that they belong to.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        numbers: &BTreeMap<u64, f64>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        let bits: Vec<(u64, u64)> = numbers.iter().map(|(at, n)| (*at, n.to_bits())).collect();
        bits.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<BTreeMap<u64, f64>, D::Error> {
        let bits = Vec::<(u64, u64)>::deserialize(input)?;
        let numbers = bits.into_iter();
        Ok(numbers.map(|(at, n)| (at, f64::from_bits(n))).collect())
    }
}
