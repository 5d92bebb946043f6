//! Floats as `SQLite` makes them of integers, and as it writes them, for functions of our own: it hands them numbers
//! where they take texts.

use dashu::base::BitTest as _;
use dashu::integer::UBig;

/// The float nearest to an integer.
#[expect(clippy::cast_precision_loss, reason = "the nearest float, as in `SQLite`")]
pub(super) fn real(number: i64) -> f64 {
    number as f64
}

/// Digits that a text of a float has at most.
const PRECISION: u32 = 17;

/// A float as `SQLite` casts it to a text: 17 digits or fewer, and always a point.
pub(super) fn real_text(number: f64) -> String {
    if number == 0.0 {
        return "0.0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Inf");
    }
    let (value, power) = significant(number.abs());
    let digits = value.to_string();
    // Digits before the point.
    let whole = i32::try_from(digits.len()).expect("at most 17") + power;
    if !(-3..=17).contains(&whole) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let direction = if whole > 0 { '+' } else { '-' };
        return format!("{sign}{first}.{rest}e{direction}{:02}", (whole - 1).unsigned_abs());
    }
    let Some(whole) = usize::try_from(whole).ok().filter(|whole| *whole > 0) else {
        return format!("{sign}0.{}{digits}", "0".repeat(whole.unsigned_abs() as usize));
    };
    if whole >= digits.len() {
        return format!("{sign}{digits:0<whole$}.0");
    }
    let (before, after) = digits.split_at(whole);
    format!("{sign}{before}.{after}")
}

/// A positive number as an integer without zeros at its end, times a power of ten.
///
/// `SQLite` rounds a number of 18 digits or 19 to 17, which is not always the nearest one of 17, and
/// takes one of 14 or fewer where that is the same float.
fn significant(number: f64) -> (u64, i32) {
    let (value, power) = decimal(number);
    let length = value.ilog10() + 1;
    // `value` without its last digits.
    let cut = |digits: u32| {
        let left_out = length - digits;
        (value / 10_u64.pow(left_out), power + left_out.cast_signed())
    };
    let (start, _) = cut(16);
    let short = if start % 100 == 99 {
        let (value, power) = cut(14);
        Some((value + 1, power))
    } else if start.is_multiple_of(1000) || power >= 0 {
        Some(cut(13))
    } else {
        None
    };
    let is_same = |(value, power): &(u64, i32)| {
        let read = format!("{value}e{power}").parse::<f64>();
        read.is_ok_and(|read| read.to_bits() == number.to_bits())
    };
    let (mut value, mut power) = short.filter(is_same).unwrap_or_else(|| {
        let unit = 10_u64.pow(length - PRECISION);
        let (rounded, power) = cut(PRECISION);
        (rounded + u64::from(value % unit >= unit / 2), power)
    });
    while value.is_multiple_of(10) {
        value /= 10;
        power += 1;
    }
    (value, power)
}

/// A positive number as an integer of 18 digits or 19, times a power of ten: `sqlite3Fp2Convert10`,
/// with its powers of ten cut to 64 bits, so that its last digit is the same.
fn decimal(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    // The highest bit of the mantissa is set.
    let (mantissa, exponent) = match i32::try_from(bits >> 52).expect("11 bits") {
        0 => (bits << bits.leading_zeros(), -1074 - bits.leading_zeros().cast_signed()),
        biased => ((bits << 11) | (1 << 63), biased - 1086),
    };
    // Logarithms of 2 to the base 10, and of 10 to the base 2, as fractions.
    let power = 17 - (((exponent + 63) * 78_913) >> 18);
    let shift = -(exponent + ((power * 108_853) >> 15) + 2);
    let product = u128::from(mantissa) * u128::from(leading_bits(power));
    let doubled = u64::try_from(product >> 64).expect("the upper half") >> shift;
    (doubled.div_ceil(2), -power)
}

/// The 64 leading bits of a power of ten.
fn leading_bits(power: i32) -> u64 {
    let ten = UBig::from(10_u8).pow(power.unsigned_abs() as usize);
    let number =
        if power < 0 { (UBig::ONE << (ten.bit_len() + 64)) / &ten } else { ten << 64_usize };
    let rest = number.bit_len() - 64;
    u64::try_from(number >> rest).expect("64 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    /// What `SQLite` itself writes.
    fn cast(connection: &Connection, number: f64) -> String {
        let row = connection.query_row("SELECT CAST(?1 AS TEXT)", [number], |row| row.get(0));
        row.expect("a text")
    }

    #[test]
    fn floats_are_written_as_they_are_cast() {
        let connection = Connection::open_in_memory().expect("a database");
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (1.0 / 3.0, "0.33333333333333332"),
            (0.1 + 0.2, "0.30000000000000004"),
            (49.47, "49.47"),
            (-2.5, "-2.5"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e20, "1.0e+20"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (5e-324, "4.9406564584124654e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(real_text(number), expected, "{number}");
            assert_eq!(cast(&connection, number), expected, "{number}");
        }
        for exponent in -1074..1024 {
            let number = 2_f64.powi(exponent);
            assert_eq!(real_text(number), cast(&connection, number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn any_float_is_written_as_it_is_cast(
            number in any::<f64>(),
            high in any::<u32>(),
            low in any::<u32>(),
            places in 0..24,
        ) {
            let connection = Connection::open_in_memory().expect("a database");
            // One of few digits, as tables have them.
            let short = (f64::from(high % 1000) * 1e9 + f64::from(low)) / 10_f64.powi(places);
            for number in [number, short].into_iter().filter(|number| !number.is_nan()) {
                prop_assert_eq!(real_text(number), cast(&connection, number));
            }
        }
    }
}
