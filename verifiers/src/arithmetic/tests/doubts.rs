//! Texts whose doubts excuse a difference, and texts that are wrong despite doubts.

use super::{check, check_text, report};
use crate::arithmetic::{ArithmeticStep, StepLabel};

#[test]
fn explained_differences_are_unchecked() {
    check("15 gallons = 120 pints", &["15 gallons = 120 | unchecked: units"]);
    check("30 minutes * 2 = 1 hour", &["30 minutes * 2 = 1 | unchecked: units"]);
    check("90 + 30 = 2 hours", &["90 + 30 = 2 | unchecked: units"]);
    check("25 * 4 = $1.00", &["25 * 4 = $1.00 | unchecked: units"]);
    check("100 + 65 = 2 hours and 45 minutes", &["100 + 65 = 2 | unchecked: units"]);
    check("$3.50 + 75 cents = $4.25", &["$3.50 + 75 cents = $4.25 | unchecked: units"]);
    check("$1 - 25¢ = 75¢", &["$1 - 25¢ = 75 | unchecked: units"]);
    check("2 hours + 30 minutes = 150", &["2 hours + 30 minutes = 150 | unchecked: units"]);
    check(
        "2 boxes = 2 * 12 = 24",
        &["2 boxes = 2 * 12 | unchecked: units", "2 * 12 = 24 | right: 24"],
    );
    check("500,000 * 4 = 2 million", &["500,000 * 4 = 2 | unchecked: units"]);
    check_text("3 squared + 4 squared = 25", "unchecked: units");
    check("100 + 10% = 110", &["100 + 10% = 110 | unchecked: percent"]);
    check("7% * 3 = 21", &["7% * 3 = 21 | unchecked: percent"]);
    check("20% = 10 people", &["20% = 10 | unchecked: proportion"]);
    check("2/5 is equal to 12.8", &["2/5 is equal to 12.8 | unchecked: proportion"]);
    check("Week 2 = 3 + 4", &["2 = 3 + 4 | unchecked: name"]);
    check("half of 20 + 10 = 20", &["20 + 10 = 20 | unchecked: words"]);
    check("twice 5 + 3 = 16", &["5 + 3 = 16 | unchecked: words"]);
    check("20 - 5 = 5 more than 10", &["20 - 5 = 5 | unchecked: words"]);
    check("He lost 13*1.5=19.5 times $1.5", &["13*1.5=19.5 times $1.5 | unchecked: words"]);
    check("1440 parts in 24 hours / 30 days = 48", &["24 hours / 30 days = 48 | unchecked: words"]);
    check(
        "2 degrees/10 minutes * 30 minutes = 60 degrees",
        &["2 degrees/10 minutes * 30 minutes = 60 | unchecked: ambiguous"],
    );
    check(
        "1/4 container = 60/4 = 15 pints",
        &["1/4 container = 60/4 | unchecked: proportion", "60/4 = 15 | right: 15"],
    );
    check("so there are (1-.30)=20 red beans", &["(1-.30)=20 | unchecked: proportion"]);
}

#[test]
fn another_reading_excuses_a_difference() {
    check_text("8/2(4) = 1", "unchecked: ambiguous");
    check_text("100/10/5 = 50", "unchecked: ambiguous");
    check_text("-3^2 = 9", "unchecked: ambiguous");
    check_text("2^3^2 = 64", "unchecked: ambiguous");
    check_text("3 1/2 * 4 = 2", "unchecked: mixed_number");
    check_text("2-1/2 * 4 = 10", "unchecked: mixed_number");
    check("- 3 + 5 = 2", &["3 + 5 = 2 | unchecked: list_marker"]);
    check("- 3 + 5 = 8", &["3 + 5 = 8 | right: 8"]);
    check("- 3 + 5 = 9", &["3 + 5 = 9 | wrong: 8 is not 9"]);
    check_text("4/0.3333 = 12", "unchecked: rounded_operand");
    check_text("1200 * 3 ≈ 3500", "unchecked: approximate");
    check("2 * 6 = 12, 000", &["2 * 6 = 12 | right: 12"]);
    check("2 * 6000 = 12, 000", &["2 * 6000 = 12 | unchecked: adjacent_numbers"]);
}

#[test]
fn changing_surroundings_leave_equalities_unchecked() {
    for text in [
        "|3| - 5 = 3",
        "\"x\" - 5 = 3",
        "(apples) - 5 = 3",
        "f'(2) = 4",
        "log 8 + 2 = 5",
        "log(8) + 2 = 5",
        "⌊7/2⌋ = 4",
        "floor(7/2) + 1 = 4",
        "3 + 4 = 2 (mod 5)",
        "3 + 4 = 12 in base 5",
        "Is 3 + 4 = 8?",
        "3 + 4 = 8 is wrong",
        "Suppose 3 + 4 = 8",
        "not 3 + 4 = 8",
        "3 + 4 is not equal to 8",
        "the product of 3 and 4 + 5 = 27",
        "the mean of 2, 4, 6 = 4",
        "the mean of 2, 4, 6 + 3 = 5",
        "9 + 5 = 2 pm",
        "20 - 30 = 10 degrees below zero",
        "17 choose 2 + 1 = 137",
        "10²³ = 1000",
        "5C2 = 10",
        "101_2 + 1 = 6",
        "0.\\overline{3} * 3 = 1",
        "2\\pi = 6",
        "if x == 3 and 3 == 4:",
        "a[0] + 3 = 5",
        "(2, 3) + (4, 5) = (6, 8)",
        "17 / 5 = 3 R 2",
        "three plus 4 = 7",
        "five times 3 + 4 = 20",
        "5'10\" = 70 inches",
        "x_1 + 3 = 7",
        "$50 - 10% off = $45",
        "15% tip on $40 = $6",
        "5 * 3-hour sessions = 15 hours",
        "Round 2: 3 = 5",
        "Pages 10-15 = 6 pages",
        "0x10 = 16",
        "3 - 5 = minus 2",
    ] {
        let labels: Vec<StepLabel> = report(text).steps.iter().map(ArithmeticStep::label).collect();
        assert_eq!(labels, [StepLabel::Unchecked], "{text}: {:?}", report(text));
    }
    check("17 / 5 = 3 with remainder 2", &["17 / 5 = 3 | right: 3.4, written rounded"]);
    check("7 / 2 = 3 full boxes", &["7 / 2 = 3 | right: 3.5, written rounded"]);
}

#[test]
fn units_excuse_no_difference() {
    check("5 * 3 = 16 apples", &["5 * 3 = 16 | wrong: 15 is not 16"]);
    check("3 boxes * 12 eggs = 35 eggs", &["3 boxes * 12 eggs = 35 | wrong: 36 is not 35"]);
    check("$3 * 4 = $13", &["$3 * 4 = $13 | wrong: 12 is not 13"]);
    check("5 apples + 3 apples = 9 apples", &["5 apples + 3 apples = 9 | wrong: 8 is not 9"]);
    check("20% * 50 = 11", &["20% * 50 = 11 | wrong: 10 is not 11"]);
    check("100% - 40% = 70%", &["100% - 40% = 70% | wrong: 0.6 is not 0.7"]);
    check("a total of 5 + 3 = 9", &["5 + 3 = 9 | wrong: 8 is not 9"]);
    check("60 minutes * 3 = 190 minutes", &["60 minutes * 3 = 190 | wrong: 180 is not 190"]);
}
