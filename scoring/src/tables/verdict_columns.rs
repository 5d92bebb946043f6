//! Verdicts as columns.
//!
//! Their types are those of `datasets::verdict`.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, ListArray, StringArray,
    StructArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, FieldRef, Float64Type};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use datasets::verdict::{
    FIELDS, INTEGER, SIGNED_FIELDS, TEXT, candidate_type, digests_type, list_of, reason_type,
    signature_type, usage_type,
};
use openapi::{Candidate, Digests, Reason, ScoreResult, Signature, Status, Usage};
use serde::Serialize;

use crate::error::RunError;
use crate::status_counts::{STATUSES, StatusCounts};

/// Converts one scorer's results to a struct array with the columns of [`FIELDS`], or of
/// [`SIGNED_FIELDS`] if they are signed.
///
/// # Errors
/// Arrow's, which no result causes.
pub(super) fn array(results: &[&ScoreResult], are_signed: bool) -> Result<StructArray, ArrowError> {
    let number = |value: fn(&ScoreResult) -> Option<f64>| -> ArrayRef {
        let values = results.iter().map(|result| value(result));
        Arc::new(values.collect::<Float64Array>())
    };
    let nested = |name: &str| FIELDS.find(name).expect("it is among the columns").1;
    let mut columns = vec![
        texts(results.iter().map(|r| Some(serve::convert::status_name(r.status)))),
        number(|result| result.score),
        number(|result| result.raw),
        texts(results.iter().map(|result| result.label.as_deref())),
        reasons(results)?,
        candidates(results)?,
        by_json(nested("steps"), results.iter().map(|r| r.steps.as_deref()))?,
        by_json(nested("parts"), results.iter().map(|r| r.parts.as_deref()))?,
        by_json(nested("candidates"), results.iter().map(|result| result.candidates.as_deref()))?,
        number(|result| result.label_mass),
        digests(results)?,
        usage(results)?,
    ];
    if !are_signed {
        return StructArray::try_new(FIELDS.clone(), columns, None);
    }
    columns.push(signatures(results)?);
    StructArray::try_new(SIGNED_FIELDS.clone(), columns, None)
}

fn texts<'r>(values: impl Iterator<Item = Option<&'r str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn integers(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let values = values.map(|value| value.map(signed));
    Arc::new(values.collect::<Int64Array>())
}

/// A column of pairs of integers, with a null for `None`.
fn integer_pairs(values: impl Iterator<Item = Option<[u64; 2]>>) -> Result<ArrayRef, ArrowError> {
    let values: Vec<Option<[u64; 2]>> = values.collect();
    let lengths = values.iter().map(|pair| pair.map_or(0, |_| 2));
    let nulls = values.iter().map(Option::is_some).collect::<NullBuffer>();
    let items = integers(values.iter().flatten().flatten().map(|value| Some(*value)));
    let DataType::List(item) = list_of(INTEGER) else {
        unreachable!("a list of integers is a list")
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(item, offsets, items, Some(nulls))?))
}

fn reasons(results: &[&ScoreResult]) -> Result<ArrayRef, ArrowError> {
    let reasons: Vec<Option<&Reason>> = results.iter().map(|r| r.reason.as_ref()).collect();
    let code = reasons.iter().map(|r| r.map(|r| r.code.as_str()));
    let detail = reasons.iter().map(|r| r.and_then(|r| r.detail.as_deref()));
    let nulls = reasons.iter().map(Option::is_some);
    structs(&reason_type(), vec![texts(code), texts(detail)], nulls)
}

fn candidates(results: &[&ScoreResult]) -> Result<ArrayRef, ArrowError> {
    let found: Vec<Option<&Candidate>> = results.iter().map(|r| r.candidate.as_ref()).collect();
    let span = |c: &Candidate| c.span.map(|at| at as u64);
    let flags: Vec<&[String]> =
        found.iter().map(|found| found.map_or(&[][..], |found| &found.flags)).collect();
    let DataType::List(item) = list_of(TEXT) else { unreachable!("a list of texts is a list") };
    let offsets = OffsetBuffer::from_lengths(flags.iter().map(|flags| flags.len()));
    let items = texts(flags.iter().flat_map(|flags| flags.iter().map(|f| Some(f.as_str()))));
    let nulls = found.iter().map(Option::is_some).collect::<NullBuffer>();
    let columns = vec![
        texts(found.iter().map(|found| found.map(|c| c.text.as_str()))),
        integer_pairs(found.iter().map(|found| found.map(span)))?,
        integers(found.iter().map(|found| found.map(|c| c.count as u64))),
        texts(found.iter().map(|found| found.map(|c| c.source.as_str()))),
        Arc::new(ListArray::try_new(item, offsets, items, Some(nulls))?),
    ];
    structs(&candidate_type(), columns, found.iter().map(Option::is_some))
}

fn digests(results: &[&ScoreResult]) -> Result<ArrayRef, ArrowError> {
    let text = |value: fn(&Digests) -> Option<&str>| {
        texts(results.iter().map(move |result| value(&result.digests)))
    };
    let columns = vec![
        text(|digests| Some(&digests.scorer)),
        text(|digests| digests.model.as_deref()),
        text(|digests| digests.adapter.as_deref()),
        text(|digests| digests.prompt.as_deref()),
        integer_pairs(results.iter().map(|result| result.digests.revisions))?,
    ];
    structs(&digests_type(), columns, results.iter().map(|_| true))
}

fn signatures(results: &[&ScoreResult]) -> Result<ArrayRef, ArrowError> {
    let signed: Vec<Option<&Signature>> = results.iter().map(|r| r.signature.as_deref()).collect();
    let text = |value: fn(&Signature) -> &str| texts(signed.iter().map(|one| one.map(value)));
    let columns = vec![
        text(|signature| &signature.kid),
        integers(signed.iter().map(|one| one.map(|signature| signature.created))),
        text(|signature| &signature.input),
        text(|signature| &signature.value),
    ];
    structs(&signature_type(), columns, signed.iter().map(Option::is_some))
}

fn usage(results: &[&ScoreResult]) -> Result<ArrayRef, ArrowError> {
    let spent = |result: &&ScoreResult| Some(result.usage).filter(|u| *u != Usage::default());
    let spent: Vec<Option<Usage>> = results.iter().map(spent).collect();
    let count = |value: fn(&Usage) -> u64| {
        integers(spent.iter().map(move |usage| usage.as_ref().map(value)))
    };
    let columns = vec![
        count(|usage| usage.input_tokens),
        count(|usage| usage.output_tokens),
        count(|usage| usage.total_tokens),
    ];
    structs(&usage_type(), columns, spent.iter().map(Option::is_some))
}

fn structs(
    data_type: &DataType,
    columns: Vec<ArrayRef>,
    is_there: impl Iterator<Item = bool>,
) -> Result<ArrayRef, ArrowError> {
    let DataType::Struct(fields) = data_type else {
        unreachable!("the callers name types of structs")
    };
    let nulls = is_there.collect::<NullBuffer>();
    let array = StructArray::try_new(fields.clone(), columns, Some(nulls))?;
    Ok(Arc::new(array))
}

/// A column of rarely used nested values, converted through JSON.
fn by_json<T: Serialize>(
    field: &FieldRef,
    values: impl Iterator<Item = Option<T>>,
) -> Result<ArrayRef, ArrowError> {
    let values: Vec<Option<T>> = values.collect();
    if values.iter().all(Option::is_none) {
        return Ok(new_null_array(field.data_type(), values.len()));
    }
    let builder = ReaderBuilder::new_with_field(field.clone()).with_batch_size(values.len());
    let mut decoder = builder.build_decoder()?;
    decoder.serialize(&values)?;
    let batch = decoder.flush()?.expect("there are values");
    Ok(batch.column(0).clone())
}

/// Counts the verdicts of a struct array.
///
/// # Errors
/// A status that this program does not know.
pub(super) fn tally(verdicts: &StructArray) -> Result<StatusCounts, RunError> {
    let mut tally = StatusCounts::default();
    let (at, _) = FIELDS.find("reason").expect("it is among the columns");
    let reasons = verdicts.column(at).as_struct();
    let [codes, details] = [0, 1].map(|column| reasons.column(column).as_string::<i32>());
    for row in 0..verdicts.len() {
        let Some(status) = status(verdicts, row)? else {
            continue;
        };
        let scores = verdicts.column(1).as_primitive::<Float64Type>();
        let score = scores.is_valid(row).then(|| scores.value(row));
        let detail = details.is_valid(row).then(|| details.value(row));
        let has_reason = reasons.is_valid(row) && codes.is_valid(row);
        tally.add_one(status, score, has_reason.then(|| (codes.value(row), detail)));
    }
    Ok(tally)
}

/// Returns the status of a verdict; `None` for a null.
///
/// # Errors
/// A status that this program does not know.
pub(super) fn status(verdicts: &StructArray, row: usize) -> Result<Option<Status>, RunError> {
    let statuses = verdicts.column(0).as_string::<i32>();
    if verdicts.is_null(row) || statuses.is_null(row) {
        return Ok(None);
    }
    let name = statuses.value(row);
    let is_of = |status: &&Status| serve::convert::status_name(**status) == name;
    let found = STATUSES.iter().find(is_of).copied();
    found.map(Some).ok_or_else(|| {
        RunError::Failed(format!("a verdict has the status '{name}', which is none"))
    })
}
