//! Formats of numbers for people.

/// Formats `n` in groups of three digits with `separator` between them: `1,234,567`.
pub fn grouped(n: u64, separator: char) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(separator);
        }
        shown.push(digit);
    }
    shown
}

/// Formats a count with its noun: `1 tensor`, `2 tensors`.
pub fn count(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{s}")
}

/// Formats bytes in the largest unit that leaves at least one, with two decimals rounded down:
/// `1023 bytes`, `1.50 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| n >= *size) {
        None => format!("{n} bytes"),
        Some((size, unit)) => {
            // Integers, so that it is exact for any count of bytes.
            let hundredths = u128::from(n) * 100 / u128::from(*size);
            format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (n, shown) in [(0, "0"), (999, "999"), (1000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(n, ' '), shown);
        }
        assert_eq!((count(1, "row"), count(0, "row")), ("1 row".to_owned(), "0 rows".to_owned()));
        for (n, shown) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.00 KiB"),
            (1_572_864, "1.50 MiB"),
            (u64::MAX, "17179869183.99 GiB"),
        ] {
            assert_eq!(bytes(n), shown);
        }
    }
}
