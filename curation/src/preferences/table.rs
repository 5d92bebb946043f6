//! Columns with decisions, added to the columns of pairs.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray,
    StructArray, UInt32Array,
};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::{PairDecision, Strength};
use datasets::json_text::is_json_text;
use datasets::source::type_name;
use datasets::{DatasetError, Result};

/// Layout of the added columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnForm {
    /// One column, an object.
    Object,
    /// A column for each of its parts.
    Flat,
}

/// Columns that a table adds and exchanges.
#[derive(Debug, Clone)]
pub struct DenoiseTableOptions {
    /// Name of the added column, or prefix of the flat ones.
    pub column: String,
    /// Its form.
    pub form: ColumnForm,
    /// Names of the voters, in order.
    pub voters: Vec<String>,
    /// Positions of the columns that change places in flipped pairs, the chosen response's first.
    pub exchanged: Vec<(usize, usize)>,
    /// Whether a pair that was not measured stays a row.
    pub keep_unmeasured: bool,
}

/// One pair with votes and decision.
#[derive(Debug, Clone)]
pub struct DecidedPair {
    /// A vote of each voter on the original pair.
    pub votes: Vec<Option<f64>>,
    /// Their strength.
    pub strength: Option<Strength>,
    /// The decision.
    pub decision: PairDecision,
}

/// Kept and dropped rows, both with all columns.
#[derive(Debug, Clone)]
pub struct SplitRows {
    /// Kept pairs, flipped if decided.
    pub kept: RecordBatch,
    /// Dropped, disputed and not measured pairs, unchanged.
    pub left_out: RecordBatch,
}

/// Adds decisions to pairs.
#[derive(Debug, Clone)]
pub struct DenoiseTable {
    options: DenoiseTableOptions,
    schema: SchemaRef,
    /// The added fields, one object or a column each.
    added: Fields,
}

impl DenoiseTable {
    /// Creates a table for pairs with these columns.
    ///
    /// # Errors
    /// [`DatasetError::Query`] if an added column exists already, if two exchanged columns have
    /// different types, or if a column would be exchanged with two.
    pub fn new(schema: &SchemaRef, mut options: DenoiseTableOptions) -> Result<Self> {
        // A pair that is named in reverse is the same pair.
        let mut pairs = BTreeSet::new();
        options.exchanged.retain(|(a, b)| pairs.insert((*a.min(b), *a.max(b))));
        let mut seen = BTreeSet::new();
        if let Some(at) = pairs.iter().flat_map(|(a, b)| [*a, *b]).find(|at| !seen.insert(*at)) {
            return Err(DatasetError::Query {
                place: "--exchange".to_owned(),
                problem: format!(
                    "'{}' would be exchanged with two columns",
                    schema.field(at).name()
                ),
            });
        }
        for (chosen, rejected) in &options.exchanged {
            let (chosen, rejected) = (schema.field(*chosen), schema.field(*rejected));
            let alike = chosen.data_type() == rejected.data_type()
                && is_json_text(chosen) == is_json_text(rejected);
            if !alike {
                return Err(DatasetError::Query {
                    place: "--flip".to_owned(),
                    problem: format!(
                        "'{}' holds {} and '{}' holds {}, so they cannot change places; give both \
                         one type first",
                        chosen.name(),
                        held(chosen),
                        rejected.name(),
                        held(rejected),
                    ),
                });
            }
        }
        let added = added(&options.voters);
        let own: Vec<FieldRef> = match options.form {
            ColumnForm::Object => {
                let object = DataType::Struct(added.clone());
                vec![Arc::new(Field::new(&options.column, object, true))]
            }
            ColumnForm::Flat => flat(&options.column, &added),
        };
        let repeated = own.iter().find(|field| schema.column_with_name(field.name()).is_some());
        if let Some(field) = repeated {
            return Err(DatasetError::Query {
                place: "--column".to_owned(),
                problem: format!(
                    "the rows have a column '{}' already; give what is added another name",
                    field.name()
                ),
            });
        }
        let fields: Vec<FieldRef> = schema.fields().iter().cloned().chain(own).collect();
        Ok(Self { options, schema: Arc::new(Schema::new(fields)), added })
    }

    /// Returns the schema of the output.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds decisions to the rows of a batch and splits them; a row with `None` is not a pair and
    /// is left out of both parts.
    ///
    /// # Errors
    /// [`ArrowError`] for a batch with other columns.
    ///
    /// # Panics
    /// If the number of decisions is not the number of rows.
    pub fn parts(
        &self,
        batch: &RecordBatch,
        judged: &[Option<DecidedPair>],
    ) -> std::result::Result<SplitRows, ArrowError> {
        assert_eq!(judged.len(), batch.num_rows(), "one entry a row");
        let mut columns = self.exchanged(batch, judged)?;
        let parts = self.columns(judged);
        match self.options.form {
            ColumnForm::Object => columns.push(Arc::new(StructArray::try_new_with_length(
                self.added.clone(),
                parts,
                None,
                judged.len(),
            )?)),
            ColumnForm::Flat => {
                let votes = parts[0].as_any().downcast_ref::<StructArray>();
                columns.extend(votes.expect("votes are an object").columns().iter().cloned());
                columns.extend(parts[1..].iter().cloned());
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(judged.len()));
        let whole = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let mask = |wanted: bool| -> BooleanArray {
            let stays = judged.iter().map(|judged| {
                let stays = judged.as_ref().map(|judged| self.stays(&judged.decision));
                Some(stays == Some(wanted))
            });
            stays.collect()
        };
        Ok(SplitRows {
            kept: filter_record_batch(&whole, &mask(true))?,
            left_out: filter_record_batch(&whole, &mask(false))?,
        })
    }

    fn stays(&self, decision: &PairDecision) -> bool {
        match decision {
            PairDecision::Row { .. } => true,
            PairDecision::Dropped | PairDecision::Disputed => false,
            PairDecision::NotMeasured => self.options.keep_unmeasured,
        }
    }

    /// Returns the columns of the batch, exchanged in flipped pairs.
    fn exchanged(
        &self,
        batch: &RecordBatch,
        judged: &[Option<DecidedPair>],
    ) -> std::result::Result<Vec<ArrayRef>, ArrowError> {
        let mut columns = batch.columns().to_vec();
        let flips: BooleanArray =
            judged.iter().map(|judged| Some(is_flipped(judged.as_ref()))).collect();
        if flips.true_count() == 0 {
            return Ok(columns);
        }
        for (chosen, rejected) in &self.options.exchanged {
            let (first, second) = (columns[*chosen].clone(), columns[*rejected].clone());
            columns[*chosen] = zip(&flips, &second, &first)?;
            columns[*rejected] = zip(&flips, &first, &second)?;
        }
        Ok(columns)
    }

    /// Builds the added columns, in the order of [`added`].
    fn columns(&self, judged: &[Option<DecidedPair>]) -> Vec<ArrayRef> {
        let votes = (0..self.options.voters.len()).map(|voter| -> ArrayRef {
            let vote = |judged: &Option<DecidedPair>| judged.as_ref()?.votes[voter];
            Arc::new(judged.iter().map(vote).collect::<Float64Array>())
        });
        let DataType::Struct(fields) = self.added[0].data_type() else {
            return Vec::new();
        };
        let votes =
            StructArray::try_new_with_length(fields.clone(), votes.collect(), None, judged.len());
        let votes = votes.expect("a column of numbers for each voter");
        let strength = |of: fn(&Strength) -> Option<f64>| -> ArrayRef {
            let number = |judged: &Option<DecidedPair>| of(judged.as_ref()?.strength.as_ref()?);
            Arc::new(judged.iter().map(number).collect::<Float64Array>())
        };
        let count = |of: fn(&Strength) -> usize, none: usize| -> ArrayRef {
            let number = |judged: &Option<DecidedPair>| {
                let strength = judged.as_ref()?.strength.as_ref();
                u32::try_from(strength.map_or(none, of)).ok()
            };
            Arc::new(judged.iter().map(number).collect::<UInt32Array>())
        };
        let row = |of: fn(f64, f64) -> f64| -> ArrayRef {
            let number = |judged: &Option<DecidedPair>| match judged.as_ref()?.decision {
                PairDecision::Row { label, margin, .. } => Some(of(label, margin)),
                PairDecision::Dropped | PairDecision::Disputed | PairDecision::NotMeasured => None,
            };
            Arc::new(judged.iter().map(number).collect::<Float64Array>())
        };
        let words = judged.iter().map(|judged| Some(judged.as_ref()?.decision.name()));
        let flips = judged.iter().map(|judged| Some(is_flipped(judged.as_ref())));
        vec![
            Arc::new(votes),
            strength(|s| Some(s.mean)),
            strength(|s| s.spread),
            count(|s| s.measured, 0),
            count(|s| s.unmeasured, self.options.voters.len()),
            count(|s| s.against, 0),
            Arc::new(words.collect::<StringArray>()),
            Arc::new(flips.collect::<BooleanArray>()),
            row(|label, _| label),
            row(|_, margin| margin),
        ]
    }
}

fn is_flipped(judged: Option<&DecidedPair>) -> bool {
    judged.is_some_and(|judged| match judged.decision {
        PairDecision::Row { flipped, .. } => flipped,
        PairDecision::Dropped | PairDecision::Disputed | PairDecision::NotMeasured => false,
    })
}

/// Returns the added fields. Votes, mean, spread and counts describe the original pair; label and
/// margin the written one.
fn added(voters: &[String]) -> Fields {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let count = |name: &str| Field::new(name, DataType::UInt32, true);
    let votes: Fields = voters.iter().map(|voter| number(voter)).collect();
    vec![
        Field::new("votes", DataType::Struct(votes), true),
        number("mean"),
        number("std"),
        count("measured"),
        count("unmeasured"),
        count("against"),
        Field::new("decision", DataType::Utf8, true),
        Field::new("flipped", DataType::Boolean, true),
        number("label"),
        number("margin"),
    ]
    .into()
}

/// Returns a column for each vote and each other field.
fn flat(prefix: &str, added: &Fields) -> Vec<FieldRef> {
    let named = |name: &str, field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_name(name))
    };
    let mut columns = Vec::new();
    for field in added {
        if let DataType::Struct(votes) = field.data_type() {
            let vote = |vote: &FieldRef| named(&format!("{prefix}_vote_{}", vote.name()), vote);
            columns.extend(votes.iter().map(vote));
        } else {
            columns.push(named(&format!("{prefix}_{}", field.name()), field));
        }
    }
    columns
}

/// Names the type of a column, for people.
fn held(field: &Field) -> String {
    if is_json_text(field) {
        return "values of several types".to_owned();
    }
    type_name(field.data_type())
}

#[cfg(test)]
mod tests {
    use super::super::{StdDevKind, strength};
    use super::*;

    fn pairs() -> RecordBatch {
        let texts = |texts: [&str; 4]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        RecordBatch::try_from_iter([
            ("prompt", texts(["p", "q", "r", "s"])),
            ("chosen", texts(["a", "b", "c", "d"])),
            ("rejected", texts(["A", "B", "C", "D"])),
        ])
        .expect("columns of one length")
    }

    fn options(form: ColumnForm) -> DenoiseTableOptions {
        DenoiseTableOptions {
            column: "denoise".to_owned(),
            form,
            voters: vec!["x".to_owned(), "y".to_owned()],
            exchanged: vec![(1, 2)],
            keep_unmeasured: false,
        }
    }

    fn judged() -> Vec<Option<DecidedPair>> {
        let judged = |votes: [Option<f64>; 2], decision| {
            Some(DecidedPair {
                votes: votes.to_vec(),
                strength: strength(&votes, StdDevKind::Population),
                decision,
            })
        };
        let flip = PairDecision::Row { flipped: true, label: 0.95, margin: 2.0 };
        vec![
            judged([Some(-1.0), Some(-3.0)], flip),
            judged([Some(1.0), None], PairDecision::Dropped),
            None,
            judged([None, None], PairDecision::NotMeasured),
        ]
    }

    #[test]
    fn flipped_pairs_are_exchanged_and_others_left_out() {
        let table =
            DenoiseTable::new(pairs().schema_ref(), options(ColumnForm::Object)).expect("columns");
        let parts = table.parts(&pairs(), &judged()).expect("rows");
        let shown = |batch: &RecordBatch| datasets::json_text::json_lines(batch).expect("JSON");
        assert_eq!(
            shown(&parts.kept),
            concat!(
                r#"{"prompt":"p","chosen":"A","rejected":"a","denoise":{"votes":{"x":-1.0,"y":-3.0},"#,
                r#""mean":-2.0,"std":1.0,"measured":2,"unmeasured":0,"against":2,"#,
                r#""decision":"flip_and_soft_label","flipped":true,"label":0.95,"margin":2.0}}"#,
                "\n"
            )
        );
        assert_eq!(
            shown(&parts.left_out),
            concat!(
                r#"{"prompt":"q","chosen":"b","rejected":"B","denoise":{"votes":{"x":1.0,"y":null},"#,
                r#""mean":1.0,"std":0.0,"measured":1,"unmeasured":1,"against":0,"#,
                r#""decision":"drop","flipped":false,"label":null,"margin":null}}"#,
                "\n",
                r#"{"prompt":"s","chosen":"d","rejected":"D","denoise":{"votes":{"x":null,"y":null},"#,
                r#""mean":null,"std":null,"measured":0,"unmeasured":2,"against":0,"#,
                r#""decision":"not_measured","flipped":false,"label":null,"margin":null}}"#,
                "\n"
            )
        );
        let keeping = DenoiseTableOptions { keep_unmeasured: true, ..options(ColumnForm::Object) };
        let table = DenoiseTable::new(pairs().schema_ref(), keeping).expect("columns");
        let parts = table.parts(&pairs(), &judged()).expect("rows");
        assert_eq!((parts.kept.num_rows(), parts.left_out.num_rows()), (2, 1));
    }

    /// A pair that is named twice, or in reverse, is exchanged once.
    #[test]
    fn columns_are_exchanged_once() {
        let made = |exchanged: &[(usize, usize)]| {
            let options = DenoiseTableOptions {
                exchanged: exchanged.to_vec(),
                ..options(ColumnForm::Object)
            };
            DenoiseTable::new(pairs().schema_ref(), options)
        };
        let kept = |exchanged: &[(usize, usize)]| {
            let parts = made(exchanged).expect("columns").parts(&pairs(), &judged()).expect("rows");
            datasets::json_text::json_lines(&parts.kept).expect("JSON")
        };
        assert!(kept(&[(1, 2)]).starts_with(r#"{"prompt":"p","chosen":"A","rejected":"a""#));
        for twice in [[(1, 2), (1, 2)], [(1, 2), (2, 1)]] {
            assert_eq!(kept(&twice), kept(&[(1, 2)]), "{twice:?}");
        }
        let error = made(&[(1, 2), (0, 2)]).expect_err("two places").to_string();
        assert!(error.contains("'rejected' would be exchanged with two columns"), "{error}");
    }

    #[test]
    fn flat_columns_are_the_parts() {
        let table =
            DenoiseTable::new(pairs().schema_ref(), options(ColumnForm::Flat)).expect("columns");
        let parts = table.parts(&pairs(), &judged()).expect("rows");
        let schema = parts.kept.schema();
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(
            names[3..],
            [
                "denoise_vote_x",
                "denoise_vote_y",
                "denoise_mean",
                "denoise_std",
                "denoise_measured",
                "denoise_unmeasured",
                "denoise_against",
                "denoise_decision",
                "denoise_flipped",
                "denoise_label",
                "denoise_margin",
            ]
        );
        assert_eq!(parts.kept.num_rows(), 1);
    }

    #[test]
    fn existing_or_mismatched_columns_are_refused() {
        #[track_caller]
        fn check(schema: Schema, parts: &[&str]) {
            let table = DenoiseTable::new(&Arc::new(schema), options(ColumnForm::Object));
            let error = table.expect_err("refused").to_string();
            for part in parts {
                assert!(error.contains(part), "{part:?} is missing: {error}");
            }
        }
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let text = |name: &str| field(name, DataType::Utf8);
        check(
            Schema::new(vec![text("denoise"), text("chosen"), text("rejected")]),
            &["--column", "a column 'denoise' already"],
        );
        check(
            Schema::new(vec![text("p"), text("chosen"), field("rejected", DataType::Int64)]),
            &["'chosen' holds text", "'rejected' holds integer"],
        );
        check(
            Schema::new(vec![
                text("p"),
                text("chosen"),
                datasets::json_text::json_text_field("rejected"),
            ]),
            &["'rejected' holds values of several types"],
        );
    }
}
