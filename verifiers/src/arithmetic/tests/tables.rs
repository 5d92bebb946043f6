//! Tables of texts with the equalities found in them and their checks.

use super::{ArithmeticConfig, Rounding, RunOn, check, check_text, check_with, report};
use crate::arithmetic::{EqualityCheck, EqualitySource};

#[test]
fn notations_are_read() {
    for text in [
        "16 - 3 - 4 = 9",
        "2*3=6",
        "3 x 4 = 12",
        "3x4=12",
        "3 X $4 = $12",
        "3 × 4 = 12",
        "3 · 4 = 12",
        "10 ÷ 2 = 5",
        "10 − 2 = 8",
        "10 – 2 = 8",
        "$3.00 x 2.5 = $7.50",
        "1,200 + 34 = 1,234",
        "(2 + 3) * 4 = 20",
        "[2 + (3 - 1)] * 4 = 16",
        "2(3) + 1 = 7",
        "(2)(3) = 6",
        "-2 + 5 = 3",
        "2 * -3 = -6",
        "5 - -3 = 8",
        "2^3 = 8",
        "2**3 = 8",
        "2 ** 3 = 8",
        "2^-1 = 0.5",
        "3² + 4² = 25",
        "10^2 * 2 = 200",
        "1/2 + 1/4 = 3/4",
        "½ + ¼ = ¾",
        "2 1/2 * 2 = 5",
        "2½ * 2 = 5",
        ".5 * 4 = 2",
        "20% = 0.2",
        "20% * 50 = 10",
        "100% - 40% = 60%",
        "20% of 50 = 10",
        "20 percent of 50 = 10",
        "1/2 of 10 = 5",
        "25% of the 40 = 10",
        "3 hours * $10/hour = $30",
        "5 apples + 3 apples = 8",
        "50 patients/day * 7 days/week = 350",
        "\\frac{1}{2} + \\frac{1}{4} = \\frac{3}{4}",
        "3 \\times 4 = 12",
        "3 \\cdot 4 \\div 2 = 6",
        "50\\% \\cdot 8 = 4",
        "\\$5 + \\$6 = \\$11",
        "3 \\text{ eggs} \\times 4 = 12",
        "2^{3} = 8",
        "6 times .5 equals 3",
        "10 minus 4 is equal to 6",
        "14 divided by 2 is 7",
        "3 multiplied by 4 equals 12",
        "20% of 50 is 10",
        "5 cm^2 * 3 = 15",
        "7 * 2 == 14",
        "$100 \\% - 20 \\% = 80 \\%$",
        "5€ + 6€ = 11€",
    ] {
        let report = report(text);
        let [equality] = &report.steps[0].equalities[..] else {
            panic!("{text}: {report:?}");
        };
        assert!(
            matches!(equality.check, EqualityCheck::Right { .. }),
            "{text}: {:?}",
            equality.check
        );
        assert_eq!(equality.span, 0..text.len(), "{text}");
    }
}

#[test]
fn exact_values_are_reported() {
    check_text("3 x $2.50 = $7.50", "right: 7.5");
    check_text("2/3 + 2/3 = 4/3", "right: 4/3");
    check_text("2 + 2 = 5", "wrong: 4 is not 5");
    check_text("1/3 + 1/3 = 1/2", "wrong: 2/3 is not 0.5");
    check_text("5/0 = 0", "wrong: division by zero");
    check_text("0^-1 = 0", "wrong: division by zero");
    check_text("0^0 = 1", "unchecked: function");
    check_text("4^(1/2) = 2", "unchecked: function");
}

#[test]
fn equalities_in_sentences_are_found() {
    check(
        "Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.",
        &["16 - 3 - 4 = <<16-3-4=9>>9 | right: 9"],
    );
    check(
        "so the house is worth 130,000*.15 = $<<130000*.15=19500.0>>195,000",
        &[
            "130,000*.15 = $<<130000*.15=19500.0>>195,000 | wrong: 19500 is not 195000",
            "130000*.15=19500.0 | right: 19500",
        ],
    );
    check("12 times 2 equals <<12*2=24>>24.", &["12 times 2 equals <<12*2=24>>24 | right: 24"]);
    check("She makes <<9*2=18>>18 dollars", &["9*2=18 | right: 18"]);
    check(
        "First 3 + 4 = 7 and then 7 * 2 = 15.",
        &["3 + 4 = 7 | right: 7", "7 * 2 = 15 | wrong: 14 is not 15"],
    );
    check(
        "1 + 1 = 2, 2 + 2 = 5 and 3 + 3 = 7",
        &["1 + 1 = 2 | right: 2", "2 + 2 = 5 | wrong: 4 is not 5", "3 + 3 = 7 | wrong: 6 is not 7"],
    );
    check("(since 2 + 2 = 4)", &["2 + 2 = 4 | right: 4"]);
    check("**3 * 4 = 12** eggs", &["3 * 4 = 12 | right: 12"]);
    check("3 * 4 = **12** eggs", &["3 * 4 = **12 | right: 12"]);
    check("\\(3 + 4 = 7\\)", &["3 + 4 = 7 | right: 7"]);
    check("$$3 + 4 = 7$$", &["$$3 + 4 = 7$$ | right: 7"]);
    check("\\[ 3 + 4 &= 7 \\]", &["3 + 4 &= 7 | right: 7"]);
}

#[test]
fn chains_state_equalities_in_turn() {
    check(
        "2*4 + 3*6 = 8 + 18 = 26",
        &["2*4 + 3*6 = 8 + 18 | right: 26", "8 + 18 = 26 | right: 26"],
    );
    check(
        "2+3 = 5 + 1 = 6",
        &["2+3 = 5 + 1 | wrong: 5 is not 6, a run-on chain", "5 + 1 = 6 | right: 6"],
    );
    check("Total = 3 * 4 = 13", &["3 * 4 = 13 | wrong: 12 is not 13"]);
    let config = ArithmeticConfig { run_on: RunOn::Unchecked, ..ArithmeticConfig::default() };
    check_with(
        config,
        "2+3 = 5 + 1 = 7",
        &["2+3 = 5 + 1 | unchecked: run_on", "5 + 1 = 7 | wrong: 6 is not 7"],
    );
}

#[test]
fn assignments_are_not_equalities() {
    for text in [
        "x = 5",
        "$x = 5$",
        "Total = 12",
        "A: 18",
        "#### 18",
        "Let x = the number of eggs, at least 3",
        "y = x + 60",
        "3 + 4 = x",
        "12 = the number of eggs",
        "The answer is 5",
        "There are 12 is",
        "3/5 is 12 people",
        "= 12",
        "a <= 12, b >= 3, 3 != 4, 5 => 6, ===== 7",
    ] {
        check(text, &[]);
    }
}

#[test]
fn unreadable_sides_are_unchecked() {
    check_text("2x = 10", "unchecked: variable");
    check_text("2 x = 10", "unchecked: variable");
    check_text("x + 5 = 12", "unchecked: variable");
    check_text("3*x = 24", "unchecked: variable");
    check_text("10 = 2x", "unchecked: variable");
    check_text("27 - 9 = (6 * x) - 3", "unchecked: variable");
    check_text("2(x + 1) * 3 = 12", "unchecked: variable");
    check_text("60g * 4/5 = 48", "unchecked: variable");
    check_text("5:30 - 2:15 = 3:15", "unchecked: time_or_ratio");
    check_text("5! = 120", "unchecked: function");
    check_text("\\sqrt{16} = 4", "unchecked: function");
    check_text("√16 = 4", "unchecked: function");
    check_text("1.234,5 * 2 = 2469", "unchecked: number_format");
    check_text("2e-05 * 2 = 4", "unchecked: number_format");
    check_text("$350 000 + 5 = 350005", "unchecked: adjacent_numbers");
    check_text("17 % 5 = 2", "unchecked: syntax");
    check_text("7 // 2 = 3", "unchecked: syntax");
    check_text("3 + * 4 = 7", "unchecked: syntax");
    check_text("f(3) + 4 = 7", "unchecked: variable");
    check("sqrt(16) = 4", &["(16) = 4 | unchecked: function"]);
    check("3 * 4 = ?", &["3 * 4 = | unchecked: syntax"]);
    check("30/2 = shoe size 15", &["30/2 = | unchecked: words"]);
    check("salary + 3 * 4 = 12", &["+ 3 * 4 = 12 | unchecked: words"]);
    check("3 + 4 = 7 - the rest", &["3 + 4 = 7 - | unchecked: words"]);
}

#[test]
fn list_markers_are_not_numbers() {
    for (text, expected) in [
        ("1. 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("2) 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("(3) 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("* 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("## 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("Step 3: 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
        ("Tuesday: 3 + 4 = 7", "3 + 4 = 7 | right: 7"),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn rounded_results_are_right() {
    check_text("10/3 = 3.33", "right: 10/3, written rounded");
    check_text("20/3 = 6.67", "right: 20/3, written rounded");
    check_text("20/3 = 6.66", "right: 20/3, written truncated");
    check_text("20/3 = 6.65", "wrong: 20/3 is not 6.65");
    check_text("20/3 = 6.68", "wrong: 20/3 is not 6.68");
    check_text("1/8 = 0.13", "right: 0.125, written rounded");
    check_text("-20/3 = -6.67", "right: -20/3, written rounded");
    check_text("-20/3 = -6.66", "right: -20/3, written truncated");
    check_text("3.33 = 10/3", "right: 3.33, written rounded");
    check_text("10/3 = 3", "wrong: 10/3 is not 3");
    check_text("1/7 * 100% = 14%", "right: 1/7, written rounded");
    check_text("1/7 * 100% = 15%", "wrong: 1/7 is not 0.15");
    check_text("10/3 ≈ 3", "right: 10/3, written rounded");
    check_text("10/3 = about 3", "right: 10/3, written rounded");
    check_text("10/3 \\approx 3.3", "right: 10/3, written rounded");
    check("10/3 = 4, rounded up", &["10/3 = 4 | right: 10/3, written rounded"]);
    check("Roughly, 1234 + 1 = 1200", &["1234 + 1 = 1200 | right: 1235, written rounded"]);
    check_text("10/3 ≈ 5", "wrong: 10/3 is not 5");
    check_text("1/30 = 0.0", "wrong: 1/30 is not 0");
    check_text("40000*1.1=44000.00000000001", "right: 44000, within floating-point error");
    check_text("10/3=3.3333333333333335", "right: 10/3, within floating-point error");
}

#[test]
fn configuration_restricts_rounding() {
    let exact = ArithmeticConfig { decimals: Rounding::Exact, ..ArithmeticConfig::default() };
    check_with(exact, "10/3 = 3.33", &["10/3 = 3.33 | wrong: 10/3 is not 3.33"]);
    let nearest = ArithmeticConfig { decimals: Rounding::Nearest, ..ArithmeticConfig::default() };
    check_with(nearest, "20/3 = 6.66", &["20/3 = 6.66 | wrong: 20/3 is not 6.66"]);
    let whole_numbers =
        ArithmeticConfig { whole_numbers: Rounding::Nearest, ..ArithmeticConfig::default() };
    check_with(whole_numbers, "10/3 = 3", &["10/3 = 3 | right: 10/3, written rounded"]);
}

#[test]
fn percent_points_are_right() {
    check_text("5/20*100 = 25%", "right: 25, written in percent");
    check_text("100 - 54 = 46%", "right: 46, written in percent");
    check_text("5/20 = 25%", "right: 0.25");
    check_text("150/5 = 30%", "unchecked: percent");
    check_text("5/20*100 = 26%", "wrong: 25 is not 0.26");
}

#[test]
fn equalities_name_their_source() {
    let sources = |text: &str| -> Vec<EqualitySource> {
        let equalities = report(text).steps.remove(0).equalities;
        equalities.iter().map(|equality| equality.source).collect()
    };
    assert_eq!(sources("48/2 = 24"), [EqualitySource::Prose]);
    assert_eq!(sources("so <<48/2=24>>24"), [EqualitySource::Annotation]);
    assert_eq!(sources("48/2 = <<48/2=24>>24"), [EqualitySource::Both]);
    assert_eq!(
        sources("48/2 = <<48/2=24>>25"),
        [EqualitySource::Prose, EqualitySource::Annotation]
    );
    assert_eq!(sources("2*4 = 8 = <<2*4=8>>8"), [EqualitySource::Prose, EqualitySource::Both]);
    assert_eq!(sources("x+1 = <<x+1=8>>8"), [EqualitySource::Both]);
    assert_eq!(sources("2 = <<2=2"), [EqualitySource::Prose]);
}
