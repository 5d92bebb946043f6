//! One part of a pipeline.

use crate::combine::Variance;
use crate::combine::ensemble::Standard;
use crate::config::Section;
use crate::pipeline::{Adjust, Combine, Measured, OnError, PartSpec, Role};

/// The words for a variance's divisor.
pub(super) const VARIANCES: &[(&str, Variance)] =
    &[("population", Variance::Population), ("unbiased", Variance::Unbiased)];

/// The keys of every part: name, scorer, and the effect of a failure.
pub(super) fn common(table: &Section<'_, '_>) -> Option<(String, String, OnError)> {
    let words = [("fail", OnError::Fail), ("skip", OnError::Skip), ("floor", OnError::Floor)];
    let scorer = table.required_text("scorer");
    let name = table.text("name").or_else(|| scorer.clone());
    let on_error = table.required_word("on_error", &words);
    Some((name?, scorer?, on_error?))
}

/// Reads a part of a pipeline with the combination `combine`.
pub(super) fn read_part(table: &Section<'_, '_>, combine: Combine, last: bool) -> Option<PartSpec> {
    let common = common(table);
    let adjust = match combine {
        Combine::Cascade => Some(Adjust::default()),
        Combine::WeightedSum
        | Combine::Mean
        | Combine::Min
        | Combine::Product
        | Combine::Uwo { .. }
        | Combine::R1
        | Combine::Gate
        | Combine::GRa => adjust(table),
    };
    let counting = counting(table, combine, last);
    let role = match combine {
        Combine::R1 => Some(role(table)?),
        Combine::WeightedSum
        | Combine::Mean
        | Combine::Min
        | Combine::Product
        | Combine::Uwo { .. }
        | Combine::Gate
        | Combine::GRa
        | Combine::Cascade => None,
    };
    let (name, scorer, on_error) = common?;
    let (weight, threshold) = counting?;
    let part = PartSpec { name, scorer, weight, threshold, on_error, role, adjust: adjust? };
    check_failure(table, &part);
    Some(part)
}

/// Weight and threshold.
fn counting(table: &Section<'_, '_>, combine: Combine, last: bool) -> Option<(f64, Option<f64>)> {
    let threshold = match (combine, last) {
        (Combine::Gate | Combine::GRa, false) => Some(table.required_number("threshold")?),
        (
            Combine::Gate
            | Combine::GRa
            | Combine::WeightedSum
            | Combine::Mean
            | Combine::Min
            | Combine::Product
            | Combine::Uwo { .. }
            | Combine::R1
            | Combine::Cascade,
            _,
        ) => None,
    };
    let weight = match combine {
        Combine::WeightedSum => table.required_number("weight")?,
        // A part that only opens the gate counts for nothing unless it is given a weight.
        Combine::Gate if threshold.is_some() => table.number("weight").unwrap_or(0.0),
        Combine::Gate | Combine::GRa => table.number("weight").unwrap_or(1.0),
        Combine::Mean
        | Combine::Min
        | Combine::Product
        | Combine::Uwo { .. }
        | Combine::R1
        | Combine::Cascade => 1.0,
    };
    Some((weight, threshold))
}

fn role(table: &Section<'_, '_>) -> Option<Role> {
    let words = [
        ("format", Role::Format),
        ("accuracy", Role::Accuracy),
        ("consistency", Role::Consistency),
    ];
    table.required_word("role", &words)
}

fn adjust(table: &Section<'_, '_>) -> Option<Adjust> {
    let words = [("score", Measured::Score), ("raw", Measured::Raw)];
    let measured = table.word("value", &words);
    let standardise = table.section("standardise").map(|section| {
        let standard = standard(&section);
        section.finish();
        standard
    });
    let clip = match table.numbers("clip").as_deref() {
        None => None,
        Some([least, greatest]) if least < greatest => Some([*least, *greatest]),
        Some(_) => {
            table.problem("clip", "expected [LEAST, GREATEST], the first below the second");
            None
        }
    };
    let pass = table.number("pass");
    // What is there and could not be read has been reported.
    let is_invalid = |key, is_read: bool| !is_read && table.has(key);
    if is_invalid("value", measured.is_some()) || is_invalid("standardise", standardise.is_some()) {
        return None;
    }
    let standardise = match standardise {
        None => None,
        Some(standard) => Some(standard?),
    };
    Some(Adjust { measured: measured.unwrap_or_default(), standardise, clip, pass })
}

/// `{ mean, std }`, or `{ reference, variance }` to compute them.
fn standard(section: &Section<'_, '_>) -> Option<Standard> {
    if section.has("reference") {
        let variance = section.word("variance", VARIANCES).unwrap_or(Variance::Population);
        let reference = section.numbers("reference")?;
        return Standard::of(&reference, variance)
            .map_err(|error| section.problem("reference", error.to_string()))
            .ok();
    }
    let (mean, std) = (section.required_number("mean"), section.required_number("std"));
    Standard::new(mean?, std?).map_err(|error| section.problem("std", error.to_string())).ok()
}

/// Checks `on_error` against the scale of the part.
fn check_failure(table: &Section<'_, '_>, part: &PartSpec) {
    let is_r1 = part.role.is_some();
    match part.on_error {
        OnError::Skip if is_r1 => {
            table.problem("on_error", "R1-Reward needs all of its parts: fail or floor");
        }
        // In R1-Reward 0 is what a consistency that could not be read counts as.
        OnError::Floor if part.adjust.standardise.is_some() && !is_r1 => {
            let rule = "a floor of 0 would be the average of the reference set: fail or skip";
            table.problem("on_error", rule);
        }
        OnError::Fail | OnError::Skip | OnError::Floor => {}
    }
}
