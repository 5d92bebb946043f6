use crate::calibration::{Binning, Prediction, auroc, bins, expected_error, figures};

/// Parses predictions: `0.7+` is a right one of probability 0.7, `0.7-` a wrong one.
fn predictions(text: &str) -> Vec<Prediction> {
    let read = |word: &str| {
        let (probability, truth) = word.split_at(word.len() - 1);
        Prediction { probability: probability.parse().expect("a number"), right: truth == "+" }
    };
    text.split_whitespace().map(read).collect()
}

#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
}

#[test]
fn auroc_counts_ties_as_half() {
    let check = |text: &str, expected| near(auroc(&predictions(text)).expect("both"), expected);
    check("0.1- 0.9+", 1.0);
    check("0.9- 0.1+", 0.0);
    check("0.5- 0.5+", 0.5);
    // Pairs: 0.8 beats both wrong ones, 0.4 ties with one and beats one: 3.5 of 4.
    check("0.8+ 0.4+ 0.4- 0.2-", 0.875);
    check("0.5+ 0.5+ 0.5- 0.7-", 0.25);
    check("0+ -0-", 0.5);
    assert_eq!(auroc(&predictions("0.5+ 0.6+")), None);
    assert_eq!(auroc(&[]), None);
}

#[test]
fn bins_of_one_width_and_of_one_mass() {
    let check = |text: &str, how, expected: &[(usize, f64, f64)]| {
        let bins = bins(&predictions(text), how);
        assert_eq!(bins.len(), expected.len(), "{bins:?}");
        for (bin, (count, mean, right)) in bins.iter().zip(expected) {
            assert_eq!(bin.count, *count, "{bins:?}");
            near(bin.mean, *mean);
            near(bin.right, *right);
        }
    };
    let width = Binning::EqualWidth(2);
    check("0.1- 0.3+ 0.5+ 1+", width, &[(2, 0.2, 0.5), (2, 0.75, 1.0)]);
    check("1+ 0.9-", width, &[(2, 0.95, 0.5)]);
    let mass = Binning::EqualMass(2);
    check("0.6- 0.7+ 0.8+ 0.9+", mass, &[(2, 0.65, 0.5), (2, 0.85, 1.0)]);
    // Ties stay together, in whatever order they come.
    check("0.6- 0.6+ 0.6+ 0.9+", mass, &[(3, 0.6, 2.0 / 3.0), (1, 0.9, 1.0)]);
    check("0.6+ 0.9+ 0.6- 0.6+", mass, &[(3, 0.6, 2.0 / 3.0), (1, 0.9, 1.0)]);
    check("0.5+", Binning::EqualMass(10), &[(1, 0.5, 1.0)]);
    check("", mass, &[]);
    check("0.5+", Binning::EqualWidth(0), &[]);
    check("0.5+", Binning::EqualMass(0), &[]);
}

#[test]
fn errors_of_calibration() {
    // Bins (2, 0.2, 0.5) and (2, 0.75, 1): (2 x 0.3 + 2 x 0.25) / 4.
    let all = predictions("0.1- 0.3+ 0.5+ 1+");
    near(expected_error(&bins(&all, Binning::EqualWidth(2))), 0.275);
    near(expected_error(&[]), 0.0);
}

#[test]
fn all_figures() {
    let got = figures(&predictions("0.75+ 0.25- 0.25+ 0.75-")).expect("both classes");
    near(got.brier, (0.0625 + 0.0625 + 0.5625 + 0.5625) / 4.0);
    near(got.nll, -(2.0 * 0.75_f64.ln() + 2.0 * 0.25_f64.ln()) / 4.0);
    near(got.auroc, 0.5);
    near(got.ece, 0.25);
    near(got.ece_mass, 0.25);
    // Sure and wrong is very bad, and not infinite.
    let sure = figures(&predictions("0+ 0-")).expect("both classes");
    near(sure.nll, 12.0 * 10.0_f64.ln() / 2.0);
    for bad in ["0.5+ 0.6+", "0.5- NaN+", "1.5- 0.5+", "-0.5- 0.5+", ""] {
        assert_eq!(figures(&predictions(bad)), None, "{bad}");
    }
}
