//! Expected grade of a judge: the plug-and-play judge (2506.05748).
//!
//! The paper's scoring formula is not public. The expected value over the grade tokens is our
//! reading; it separates responses with the same likeliest grade.

use super::numbers::{CombineError, at_least, equally_many, finite, not_negative, result};

/// Returns `Σ k·p(k) / Σ p(k)` over the grades `k`.
///
/// # Errors
/// No grades, lists of different lengths, a number that is not finite, a negative probability, and
/// probabilities that are all 0.
pub fn expected(grades: &[f64], probabilities: &[f64]) -> Result<f64, CombineError> {
    at_least(1, "grades", grades.len())?;
    equally_many("probabilities", probabilities.len(), grades.len())?;
    finite("grade", grades)?;
    not_negative("probability", probabilities)?;
    let mass: f64 = probabilities.iter().sum();
    let sum: f64 = grades.iter().zip(probabilities).map(|(k, p)| k * p).sum();
    if mass <= 0.0 {
        return Err(CombineError::OutOfRange {
            what: "probability",
            index: 0,
            range: "more than 0",
        });
    }
    result(sum / mass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2_expected_grade() {
        let check = |grades: &[f64], probabilities: &[f64], expected_grade: f64| {
            let found = expected(grades, probabilities).expect("a grade");
            assert!((found - expected_grade).abs() < 1e-12, "{found}");
        };
        check(&[7.0], &[0.2], 7.0);
        check(&[0.0, 1.0, 2.0], &[0.25, 0.5, 0.25], 1.0);
        // The probability outside the grades is divided away: (7·0.3 + 8·0.1) / 0.4.
        check(&[7.0, 8.0], &[0.3, 0.1], 7.25);
        check(&[-1.0, 1.0], &[1e-300, 1e-300], 0.0);
    }

    #[test]
    fn invalid_distribution_has_no_grade() {
        for (grades, probabilities) in [
            (&[][..], &[][..]),
            (&[1.0][..], &[][..]),
            (&[1.0][..], &[0.0][..]),
            (&[1.0][..], &[-0.5][..]),
            (&[f64::NAN][..], &[1.0][..]),
            (&[1.0][..], &[f64::INFINITY][..]),
        ] {
            assert!(expected(grades, probabilities).is_err(), "{grades:?}");
        }
    }
}
