//! The schema of a scored table: verdicts in the column `scores`, or in flat columns.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, ListArray, RecordBatchOptions, StructArray,
};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use datasets::RecordBatch;
use datasets::verdict::{FIELDS, SIGNED_FIELDS};

use crate::error::RunError;
use crate::target::SCORES_COLUMN;

/// How verdicts are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerdictForm {
    /// One struct a scorer, in the column `scores`.
    Nested,
    /// The same with signatures.
    Signed,
    /// `NAME_status`, `NAME_score` and so on.
    Flat,
}

/// How verdicts that the input has already are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExistingVerdicts {
    /// They are an error.
    Refused,
    /// They are replaced.
    Replaced,
    /// They are kept, except those to retry.
    Retried,
}

/// Flat columns: the end of the name, and the field of a verdict that it holds.
const FLAT: [(&str, &str, Option<&str>); 9] = [
    ("status", "status", None),
    ("score", "score", None),
    ("raw", "raw", None),
    ("label", "label", None),
    ("reason", "reason", Some("code")),
    ("detail", "reason", Some("detail")),
    ("candidate", "candidate", Some("text")),
    ("steps", "steps", Some("score")),
    ("scorer", "digests", Some("scorer")),
];

/// The schema of the output and its relation to the input's.
pub(super) struct ScoredLayout {
    schema: SchemaRef,
    /// Positions of the input's columns that stay as they are.
    kept: Vec<usize>,
    /// Position of the input's column `scores`, and the positions of its scorers that stay.
    old: Option<(usize, Vec<usize>)>,
    form: VerdictForm,
}

impl ScoredLayout {
    /// Adds the verdicts of `scorers` to `schema`.
    ///
    /// # Errors
    /// Verdicts that may not be replaced, and a column `scores` of another kind.
    pub(super) fn new(
        schema: &Schema,
        scorers: &[String],
        form: VerdictForm,
        old: ExistingVerdicts,
    ) -> Result<Self, RunError> {
        match form {
            VerdictForm::Nested | VerdictForm::Signed => Self::nested(schema, scorers, form, old),
            VerdictForm::Flat => Self::flat(schema, scorers, old),
        }
    }

    fn nested(
        schema: &Schema,
        scorers: &[String],
        form: VerdictForm,
        old: ExistingVerdicts,
    ) -> Result<Self, RunError> {
        let is_scores = |at: &usize| schema.field(*at).name() == SCORES_COLUMN;
        let at = (0..schema.fields().len()).find(is_scores);
        let is_empty = |at: usize| *schema.field(at).data_type() == DataType::Null;
        let (mut inner, mut stays) = (Vec::new(), Vec::new());
        if let Some(at) = at.filter(|at| !is_empty(*at)) {
            let DataType::Struct(fields) = schema.field(at).data_type() else {
                let message = "the column 'scores' of the input is not an object of scores";
                return Err(RunError::Usage(message.to_owned()));
            };
            for (position, field) in fields.iter().enumerate() {
                if !scorers.contains(field.name()) {
                    inner.push(field.clone());
                    stays.push(position);
                } else if old == ExistingVerdicts::Refused {
                    return Err(existing_score_error(field.name()));
                }
            }
        }
        inner.extend(scorers.iter().map(|name| verdict_field(name, form)));
        let column = Arc::new(Field::new(SCORES_COLUMN, DataType::Struct(inner.into()), true));
        let kept: Vec<usize> = (0..schema.fields().len()).filter(|i| Some(*i) != at).collect();
        let fields = kept.iter().map(|position| schema.fields()[*position].clone());
        let fields: Vec<FieldRef> = fields.chain([column]).collect();
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            kept,
            old: at.map(|at| (at, stays)),
            form,
        })
    }

    fn flat(schema: &Schema, scorers: &[String], old: ExistingVerdicts) -> Result<Self, RunError> {
        let mut added = Vec::new();
        for scorer in scorers {
            for (ending, name, inner) in FLAT {
                let data_type = flat_type(name, inner);
                added.push(Arc::new(Field::new(format!("{scorer}_{ending}"), data_type, true)));
            }
        }
        let is_added = |name: &str| added.iter().any(|field| field.name() == name);
        let clash = schema.fields().iter().find(|field| is_added(field.name()));
        match (clash, old) {
            (Some(field), ExistingVerdicts::Refused) => {
                return Err(existing_score_error(field.name()));
            }
            (_, ExistingVerdicts::Retried) => {
                let message =
                    "--retry-status reads the column 'scores'; it does not go with --flat";
                return Err(RunError::Usage(message.to_owned()));
            }
            (Some(_), ExistingVerdicts::Replaced)
            | (None, ExistingVerdicts::Refused | ExistingVerdicts::Replaced) => {}
        }
        let all = 0..schema.fields().len();
        let kept: Vec<usize> = all.filter(|at| !is_added(schema.field(*at).name())).collect();
        let fields = kept.iter().map(|position| schema.fields()[*position].clone());
        let fields: Vec<FieldRef> = fields.chain(added).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), kept, old: None, form: VerdictForm::Flat })
    }

    /// Whether verdicts have signatures.
    pub(super) fn is_signed(&self) -> bool {
        self.form == VerdictForm::Signed
    }

    /// The columns of the output.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds verdicts to rows: one array for each scorer, in order.
    ///
    /// # Errors
    /// Rows and verdicts of different numbers.
    pub(super) fn attach(
        &self,
        batch: &RecordBatch,
        verdicts: Vec<StructArray>,
    ) -> Result<RecordBatch, ArrowError> {
        let kept = self.kept.iter().map(|position| batch.column(*position).clone());
        let mut columns: Vec<ArrayRef> = kept.collect();
        match self.form {
            VerdictForm::Flat => {
                for verdicts in &verdicts {
                    for (_, name, inner) in FLAT {
                        columns.push(flat_column(verdicts, name, inner)?);
                    }
                }
            }
            VerdictForm::Nested | VerdictForm::Signed => {
                let field = self.schema.fields().last().expect("the scores come last");
                columns.push(self.scores(field, batch, verdicts)?);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
    }

    fn scores(
        &self,
        field: &Field,
        batch: &RecordBatch,
        verdicts: Vec<StructArray>,
    ) -> Result<ArrayRef, ArrowError> {
        let DataType::Struct(fields) = field.data_type() else {
            unreachable!("the column of scores is made as a struct")
        };
        let mut columns: Vec<ArrayRef> = Vec::new();
        if let Some((at, stays)) = self.old.as_ref().filter(|(_, stays)| !stays.is_empty()) {
            let old = batch.column(*at).as_struct();
            for position in stays {
                columns.push(masked_field(old, *position)?);
            }
        }
        columns.extend(verdicts.into_iter().map(|array| Arc::new(array) as ArrayRef));
        let array =
            StructArray::try_new_with_length(fields.clone(), columns, None, batch.num_rows())?;
        Ok(Arc::new(array))
    }

    /// Returns the verdicts that rows have of a scorer, in the present schema; `None` where the input has
    /// none.
    ///
    /// # Errors
    /// Columns of other types.
    pub(super) fn old(
        &self,
        batch: &RecordBatch,
        scorer: &str,
    ) -> Result<Option<StructArray>, ArrowError> {
        let Some((at, _)) = &self.old else {
            return Ok(None);
        };
        let Some(old) = batch.column(*at).as_struct_opt() else {
            return Ok(None);
        };
        let Some((position, _)) = old.fields().find(scorer) else {
            return Ok(None);
        };
        let column = masked_field(old, position)?;
        if *column.data_type() == DataType::Null {
            return Ok(None);
        }
        let own = Field::new(scorer, column.data_type().clone(), true);
        let own = RecordBatch::try_new(Arc::new(Schema::new(vec![own])), vec![column])?;
        let wanted = Arc::new(Schema::new(vec![verdict_field(scorer, self.form)]));
        let adapted = datasets::adapt(&own, &wanted)?;
        Ok(adapted.column(0).as_struct_opt().cloned())
    }
}

/// Returns a field of a struct, with a null wherever the struct is null.
fn masked_field(column: &StructArray, position: usize) -> Result<ArrayRef, ArrowError> {
    let field = column.column(position);
    let Some(nulls) = column.nulls() else {
        return Ok(field.clone());
    };
    let is_null = arrow::array::BooleanArray::new(!nulls.inner(), None);
    arrow::compute::nullif(field, &is_null)
}

fn verdict_field(scorer: &str, form: VerdictForm) -> FieldRef {
    let fields = if form == VerdictForm::Signed { &SIGNED_FIELDS } else { &FIELDS };
    Arc::new(Field::new(scorer, DataType::Struct(Fields::clone(fields)), true))
}

fn existing_score_error(name: &str) -> RunError {
    RunError::Usage(format!(
        "the input has a score of '{name}' already; --overwrite-scores replaces it"
    ))
}

fn flat_type(name: &str, inner: Option<&str>) -> DataType {
    let (_, field) = FIELDS.find(name).expect("it is among the columns");
    match (field.data_type(), inner) {
        (data_type, None) => data_type.clone(),
        (DataType::Struct(fields), Some(inner)) => inner_type(fields, inner),
        (DataType::List(item), Some(inner)) => {
            let DataType::Struct(fields) = item.data_type() else {
                unreachable!("lists in a verdict are of structs")
            };
            let item = Field::new_list_field(inner_type(fields, inner), true);
            DataType::List(Arc::new(item))
        }
        (_, Some(_)) => unreachable!("only structs and lists have something inside"),
    }
}

fn inner_type(fields: &Fields, inner: &str) -> DataType {
    let (_, field) = fields.find(inner).expect("it is among the fields");
    field.data_type().clone()
}

fn flat_column(
    verdicts: &StructArray,
    name: &str,
    inner: Option<&str>,
) -> Result<ArrayRef, ArrowError> {
    let (position, _) = FIELDS.find(name).expect("it is among the columns");
    let column = masked_field(verdicts, position)?;
    let Some(inner) = inner else {
        return Ok(column);
    };
    if let Some(list) = column.as_list_opt::<i32>() {
        let items = list.values().as_struct();
        let (position, _) = items.fields().find(inner).expect("it is among the fields");
        let values = masked_field(items, position)?;
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
        return Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?));
    }
    let column = column.as_struct();
    let (position, _) = column.fields().find(inner).expect("it is among the fields");
    masked_field(column, position)
}
