//! The types of a verdict's columns.
//!
//! The columns are the fields of a verdict in JSON (docs/score.md) and the same for every scorer and
//! every file, so that any two files can be read together; fields that a scorer does not give are
//! null. JSON lines name no types: where a file holds complete verdicts, their columns have these
//! types and not those that its rows happen to show.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::json_text::is_json_text;

/// The column that holds a verdict for each scorer.
pub const SCORES_COLUMN: &str = "scores";

/// Fields that a verdict need not have.
const OPTIONAL: [&str; 2] = ["usage", "signature"];

/// Text.
pub const TEXT: DataType = DataType::Utf8;
const NUMBER: DataType = DataType::Float64;
/// An integer.
pub const INTEGER: DataType = DataType::Int64;

fn fields_of(fields: &[(&str, DataType)]) -> Fields {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    fields.iter().map(field).collect()
}

/// A list whose items may be null.
pub fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// A code and its detail.
pub fn reason_type() -> DataType {
    DataType::Struct(fields_of(&[("code", TEXT), ("detail", TEXT)]))
}

/// The judged part of a response.
pub fn candidate_type() -> DataType {
    DataType::Struct(fields_of(&[
        ("text", TEXT),
        ("span", list_of(INTEGER)),
        ("count", INTEGER),
        ("source", TEXT),
        ("flags", list_of(TEXT)),
    ]))
}

fn steps_type() -> DataType {
    let equality =
        fields_of(&[("span", list_of(INTEGER)), ("text", TEXT), ("label", TEXT), ("detail", TEXT)]);
    list_of(DataType::Struct(fields_of(&[
        ("index", INTEGER),
        ("span", list_of(INTEGER)),
        ("score", NUMBER),
        ("raw", NUMBER),
        ("label", TEXT),
        ("critique", TEXT),
        ("equalities", list_of(DataType::Struct(equality))),
    ])))
}

fn parts_type() -> DataType {
    list_of(DataType::Struct(fields_of(&[
        ("name", TEXT),
        ("status", TEXT),
        ("score", NUMBER),
        ("raw", NUMBER),
        ("weight", NUMBER),
        ("reason", reason_type()),
    ])))
}

fn candidates_type() -> DataType {
    list_of(DataType::Struct(fields_of(&[
        ("index", INTEGER),
        ("status", TEXT),
        ("score", NUMBER),
        ("rank", INTEGER),
        ("normalised", NUMBER),
        ("raw", NUMBER),
        ("label", TEXT),
        ("reason", reason_type()),
        ("candidate", candidate_type()),
        ("against", list_of(NUMBER)),
        ("steps", steps_type()),
        ("parts", parts_type()),
    ])))
}

/// Digests of what produced a verdict.
pub fn digests_type() -> DataType {
    DataType::Struct(fields_of(&[
        ("scorer", TEXT),
        ("model", TEXT),
        ("adapter", TEXT),
        ("prompt", TEXT),
        ("revisions", list_of(INTEGER)),
    ]))
}

/// Tokens.
pub fn usage_type() -> DataType {
    DataType::Struct(fields_of(&[
        ("input_tokens", INTEGER),
        ("output_tokens", INTEGER),
        ("total_tokens", INTEGER),
    ]))
}

/// The columns of a verdict.
pub static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    fields_of(&[
        ("status", TEXT),
        ("score", NUMBER),
        ("raw", NUMBER),
        ("label", TEXT),
        ("reason", reason_type()),
        ("candidate", candidate_type()),
        ("steps", steps_type()),
        ("parts", parts_type()),
        ("candidates", candidates_type()),
        ("label_mass", NUMBER),
        ("digests", digests_type()),
        ("usage", usage_type()),
    ])
});

/// The columns of a signed verdict.
pub static SIGNED_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let signature = Arc::new(Field::new("signature", signature_type(), true));
    FIELDS.iter().cloned().chain([signature]).collect()
});

/// A signature.
pub fn signature_type() -> DataType {
    DataType::Struct(fields_of(&[
        ("kid", TEXT),
        ("created", INTEGER),
        ("input", TEXT),
        ("value", TEXT),
    ]))
}

/// The schema with the types of verdicts wherever the column `scores` holds complete ones.
pub(crate) fn typed(schema: &SchemaRef) -> SchemaRef {
    let Ok(at) = schema.index_of(SCORES_COLUMN) else {
        return schema.clone();
    };
    let column = schema.field(at);
    let DataType::Struct(scorers) = column.data_type() else {
        return schema.clone();
    };
    let scorers: Fields = scorers.iter().map(typed_verdict).collect();
    let mut fields: Vec<FieldRef> = schema.fields().to_vec();
    fields[at] = Arc::new(column.clone().with_data_type(DataType::Struct(scorers)));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn typed_verdict(field: &FieldRef) -> FieldRef {
    let DataType::Struct(found) = field.data_type() else {
        return field.clone();
    };
    let wanted = if found.find("signature").is_some() { &*SIGNED_FIELDS } else { &*FIELDS };
    let is_complete = wanted.iter().all(|field| {
        let name = field.name().as_str();
        OPTIONAL.contains(&name) || found.find(name).is_some()
    });
    if !is_complete || !all_fit(found, wanted) {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_data_type(DataType::Struct(wanted.clone())))
}

fn all_fit(found: &Fields, wanted: &Fields) -> bool {
    let wanted = |field: &FieldRef| wanted.find(field.name()).map(|(_, wanted)| wanted);
    found.iter().all(|field| wanted(field).is_some_and(|wanted| fits(field, wanted)))
}

/// Whether every value of a column can be one of another type, unchanged.
fn fits(found: &Field, wanted: &Field) -> bool {
    if is_json_text(found) {
        return false;
    }
    match (found.data_type(), wanted.data_type()) {
        (DataType::Null, _) | (DataType::Int64, DataType::Float64) => true,
        (DataType::Struct(found), DataType::Struct(wanted)) => all_fit(found, wanted),
        (DataType::List(found), DataType::List(wanted)) => fits(found, wanted),
        (found, wanted) => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERDICT: &str = r#"{"status": "ok", "score": 1, "raw": null, "label": null, "reason": null,
        "candidate": null, "steps": null, "parts": [], "candidates": null, "label_mass": null,
        "digests": {"scorer": "sha256:0", "model": null, "adapter": null, "prompt": null}"#;

    /// The type of the column of the scorer `m` in JSON lines.
    fn verdict_type(verdicts: &[&str]) -> DataType {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.jsonl");
        let line =
            |verdict: &&str| format!("{{\"scores\": {{\"m\": {}}}}}\n", verdict.replace('\n', ""));
        std::fs::write(&path, verdicts.iter().map(line).collect::<String>()).expect("ours");
        let names = [path.display().to_string()];
        let dataset =
            crate::source::Dataset::open(&names, &crate::source::SourceOptions::default())
                .expect("rows");
        let rows: usize =
            dataset.batches().map(|batch| batch.expect("typed").data.num_rows()).sum();
        assert_eq!(rows, verdicts.len());
        let DataType::Struct(scorers) = dataset.schema().field(0).data_type().clone() else {
            unreachable!("an object of verdicts")
        };
        scorers[0].data_type().clone()
    }

    #[test]
    fn complete_verdicts_have_one_type() {
        let all = DataType::Struct(FIELDS.clone());
        let signed = DataType::Struct(SIGNED_FIELDS.clone());
        let open = |more: &str| format!("{VERDICT}{more}}}");
        assert_eq!(verdict_type(&[&open("")]), all);
        let used = open(r#", "usage": {"input_tokens": 3, "output_tokens": 0, "total_tokens": 3}"#);
        assert_eq!(verdict_type(&[&used, &open("")]), all);
        assert_eq!(verdict_type(&["null", &open("")]), all);
        assert_eq!(verdict_type(&[&open(r#", "signature": {"kid": "a"}"#)]), signed);
        // Those of others, and parts of verdicts, keep what they show.
        for other in [
            open(r#", "mine": 1"#),
            r#"{"status": "ok", "score": 1.0}"#.to_owned(),
            open("").replace("\"score\": 1", "\"score\": \"high\""),
        ] {
            assert_ne!(verdict_type(&[&other]), all, "{other}");
        }
    }
}
