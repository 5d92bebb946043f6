//! Columns of each row that decisions need, ready to be sorted by groups.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray as _, Float64Array, RecordBatch, StringArray, UInt64Array,
    new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use arrow::row::{RowConverter, Rows, SortField};

use super::super::dedupe::{RowDigest, digest};
use super::super::pass::{FilteredRows, RowBatch, StepCounts};
use super::{Expr, Grouping, RowContent};
use crate::groups::normalised;
use base::seeded;
use datasets::{DatasetError, Result};
use query::SqlOption;

/// The number of a row's group, in the order of first rows.
pub(super) const GROUP: &str = "group";
/// Hash that orders the rows of a group by their content.
pub(super) const TIE: &str = "tie";
/// A row's position in the source.
pub(super) const POSITION: &str = "position";
/// Its score; null where it was not measured.
pub(super) const SCORE: &str = "score";
/// A digest of its content; empty where it has none.
pub(super) const CONTENT: &str = "content";
/// A hash of its prompt.
pub(super) const PROMPT: &str = "prompt";
/// Its place in lists of comparisons; null where there are none.
pub(super) const INDEX: &str = "index";
/// Its list of comparisons; null without one.
pub(super) const AGAINST: &str = "against";

/// Most groups: their numbers have 32 bits.
const MOST_GROUPS: usize = u32::MAX as usize;

/// Returns the schema of gathered rows.
pub(super) fn schema() -> SchemaRef {
    let nullable = [SCORE, INDEX, AGAINST];
    let field = |(name, data_type)| Field::new(name, data_type, nullable.contains(&name));
    let fields = [
        (GROUP, DataType::UInt64),
        (TIE, DataType::UInt64),
        (POSITION, DataType::UInt64),
        (SCORE, DataType::Float64),
        (CONTENT, DataType::Utf8),
        (PROMPT, DataType::UInt64),
        (INDEX, DataType::UInt64),
        (AGAINST, against_type()),
    ];
    Arc::new(Schema::new(fields.map(field).to_vec()))
}

fn against_type() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Float64, true)))
}

/// Rows of a source on their way to be sorted.
pub(super) struct Gather {
    source: FilteredRows,
    schema: SchemaRef,
    keys: Vec<Expr>,
    key_rows: RowConverter,
    score: Option<Expr>,
    content: RowContent,
    /// For whole rows: the columns that have an order, and how they become bytes.
    whole: Option<(Vec<usize>, RowConverter)>,
    prompt: Option<Expr>,
    /// Lists of comparisons and places in them.
    orders: Option<(Expr, Expr)>,
    /// The groups that were met, by the digest of their keys.
    numbers: HashMap<RowDigest, u32>,
    without_key: u64,
}

impl Grouping {
    /// Returns the converter of keys to bytes.
    pub(super) fn key_rows(&self) -> Result<RowConverter> {
        let field = |(_, data_type): &(Expr, DataType)| SortField::new(data_type.clone());
        RowConverter::new(self.keys.iter().map(field).collect())
            .map_err(|error| SqlOption::GroupBy.error(error))
    }

    /// Returns the converter of rows to bytes, without columns of unordered types.
    fn whole_rows(&self) -> Result<Option<(Vec<usize>, RowConverter)>> {
        match self.content {
            RowContent::None | RowContent::Answer(_) | RowContent::Response(_) => return Ok(None),
            RowContent::ResponseAndRow(_) | RowContent::Row => {}
        }
        let field = |column: &usize| {
            let field = SortField::new(self.schema.field(*column).data_type().clone());
            RowConverter::supports_fields(std::slice::from_ref(&field)).then_some(field)
        };
        let columns: Vec<usize> =
            (0..self.schema.fields().len()).filter(|column| field(column).is_some()).collect();
        let rows = RowConverter::new(columns.iter().filter_map(field).collect());
        let rows = rows.map_err(|error| SqlOption::GroupBy.error(error))?;
        Ok(Some((columns, rows)))
    }
}

impl Gather {
    pub(super) fn new(grouping: &Grouping, source: FilteredRows) -> Result<Self> {
        Ok(Self {
            source,
            schema: schema(),
            keys: grouping.keys.iter().map(|(key, _)| key.clone()).collect(),
            key_rows: grouping.key_rows()?,
            score: grouping.score.clone(),
            content: grouping.content.clone(),
            whole: grouping.whole_rows()?,
            prompt: grouping.prompt.clone(),
            orders: grouping.orders.clone(),
            numbers: HashMap::new(),
            without_key: 0,
        })
    }

    /// Groups that were met.
    pub(super) fn groups(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Rows whose keys are all null, which are of no group.
    pub(super) fn without_key(&self) -> u64 {
        self.without_key
    }

    /// Positions of the source that were met.
    pub(super) fn positions(&self) -> u64 {
        self.source.positions()
    }

    /// Returns the counts of rows so far.
    pub(super) fn counted(&self) -> StepCounts {
        self.source.counted(false)
    }

    /// Bytes that the keys take, by the capacity of their table.
    pub(super) fn memory_bytes(&self) -> usize {
        // A hash table keeps a byte of metadata a slot, and fills 7 of 8 slots.
        self.numbers.capacity() * 8 / 7 * (size_of::<(RowDigest, u32)>() + 1)
    }

    fn gathered(&mut self, taken: &RowBatch) -> Result<RecordBatch> {
        let batch = &taken.batch;
        let (groups, kept) = self.groups_of(batch)?;
        let scores = self.scores(batch)?;
        let wholes = self.wholes(batch)?;
        let contents = self.contents(batch, wholes.as_ref())?;
        let prompts = self.prompts(batch)?;
        let (places, against) = self.orders(batch)?;
        let kept_rows = UInt64Array::from_iter_values(kept.iter().map(|index| *index as u64));
        let of_kept = |column: &ArrayRef| {
            let taken = take(column, &kept_rows, None);
            taken.map_err(|error| SqlOption::Against.error(error))
        };
        let has_response = |index: usize| match self.content {
            // A null response has no score.
            RowContent::Response(_) | RowContent::ResponseAndRow(_) => !contents[index].is_empty(),
            RowContent::None | RowContent::Answer(_) | RowContent::Row => true,
        };
        let score = |index: &usize| scores[*index].filter(|_| has_response(*index));
        let tie = |index: &usize| {
            let whole = wholes.as_ref().map(|rows| rows.row(*index).data().to_vec());
            let content = contents[*index].as_bytes();
            let prompt = prompts[*index].to_le_bytes();
            seeded::hash(0, &[content, &prompt, &whole.unwrap_or_default()])
        };
        let numbers = |of: &dyn Fn(&usize) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(kept.iter().map(of)))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(groups)),
            match self.content {
                RowContent::None => numbers(&|_| 0),
                RowContent::Answer(_)
                | RowContent::Response(_)
                | RowContent::ResponseAndRow(_)
                | RowContent::Row => numbers(&tie),
            },
            numbers(&|index| taken.positions[*index]),
            Arc::new(kept.iter().map(score).collect::<Float64Array>()),
            Arc::new(StringArray::from_iter_values(kept.iter().map(|index| &contents[*index]))),
            numbers(&|index| prompts[*index]),
            of_kept(&places)?,
            of_kept(&against)?,
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        Ok(batch.expect("the columns of the schema, a value for each row that is kept"))
    }

    /// For each row with a key the number of its group, and its index.
    fn groups_of(&mut self, batch: &RecordBatch) -> Result<(Vec<u64>, Vec<usize>)> {
        let evaluated = |key: &Expr| values(key, batch, SqlOption::GroupBy);
        let keys: Vec<ArrayRef> = self.keys.iter().map(evaluated).collect::<Result<_>>()?;
        let nulls: Vec<Option<NullBuffer>> = keys.iter().map(Array::logical_nulls).collect();
        let is_null = |index: usize| {
            let mut nulls = nulls.iter();
            nulls.all(|nulls| nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)))
        };
        let rows = self.key_rows.convert_columns(&keys);
        let rows = rows.map_err(|error| SqlOption::GroupBy.error(error))?;
        let (mut groups, mut kept) = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            if is_null(index) {
                self.without_key += 1;
                continue;
            }
            let next = self.numbers.len();
            let number = match self.numbers.entry(digest(row.as_ref())) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(_) if next >= MOST_GROUPS => return Err(too_many()),
                Entry::Vacant(entry) => {
                    *entry.insert(u32::try_from(next).expect("below the bound above"))
                }
            };
            groups.push(u64::from(number));
            kept.push(index);
        }
        Ok((groups, kept))
    }

    /// Returns the score of each row; 1 if no score is configured.
    fn scores(&self, batch: &RecordBatch) -> Result<Vec<Option<f64>>> {
        let Some(score) = &self.score else {
            return Ok(vec![Some(1.0); batch.num_rows()]);
        };
        let scores = values(score, batch, SqlOption::Score)?;
        let scores = cast(&scores, &DataType::Float64);
        let scores = scores.map_err(|error| SqlOption::Score.error(error))?;
        let scores = scores.as_primitive::<Float64Type>().iter();
        Ok(scores.map(|score| score.filter(|score| score.is_finite())).collect())
    }

    fn wholes(&self, batch: &RecordBatch) -> Result<Option<Rows>> {
        let Some((columns, rows)) = &self.whole else {
            return Ok(None);
        };
        let columns: Vec<ArrayRef> = columns.iter().map(|at| batch.column(*at).clone()).collect();
        let rows = rows.convert_columns(&columns);
        rows.map(Some).map_err(|error| SqlOption::GroupBy.error(error))
    }

    /// Returns a digest of each row's content; empty without content.
    fn contents(&self, batch: &RecordBatch, wholes: Option<&Rows>) -> Result<Vec<String>> {
        match (&self.content, wholes) {
            (RowContent::Answer(answer), _) => {
                let answers = values(answer, batch, SqlOption::Answer)?;
                let answers = cast(&answers, &DataType::LargeUtf8);
                let answers = answers.map_err(|error| SqlOption::Answer.error(error))?;
                let digested = |answer: Option<&str>| {
                    let answer = answer.and_then(normalised);
                    answer.map_or_else(String::new, |answer| hexadecimal(answer.as_bytes()))
                };
                Ok(answers.as_string::<i64>().iter().map(digested).collect())
            }
            (RowContent::Response(response) | RowContent::ResponseAndRow(response), _) => {
                digests(response, batch, SqlOption::Response)
            }
            (RowContent::Row, Some(rows)) => {
                Ok(rows.iter().map(|row| hexadecimal(row.as_ref())).collect())
            }
            (RowContent::None, _) | (RowContent::Row, None) => {
                Ok(vec![String::new(); batch.num_rows()])
            }
        }
    }

    /// Places in lists of comparisons, and the lists.
    fn orders(&self, batch: &RecordBatch) -> Result<(ArrayRef, ArrayRef)> {
        let Some((against, index)) = &self.orders else {
            let none = |data_type| new_null_array(data_type, batch.num_rows());
            return Ok((none(&DataType::UInt64), none(&against_type())));
        };
        let as_type = |expr: &Expr, place: SqlOption, data_type| {
            let found = values(expr, batch, place)?;
            cast(&found, data_type).map_err(|error| place.error(error))
        };
        Ok((
            as_type(index, SqlOption::Index, &DataType::UInt64)?,
            as_type(against, SqlOption::Against, &against_type())?,
        ))
    }

    fn prompts(&self, batch: &RecordBatch) -> Result<Vec<u64>> {
        let Some(prompt) = &self.prompt else {
            return Ok(vec![0; batch.num_rows()]);
        };
        let prompts = digests(prompt, batch, SqlOption::Prompt)?;
        let hash = |prompt: &String| seeded::hash_bytes(0, prompt.as_bytes());
        Ok(prompts.iter().map(hash).collect())
    }
}

impl Iterator for Gather {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let taken = self.source.next_taken().transpose()?;
        Some(taken.and_then(|taken| self.gathered(&taken)))
    }
}

/// The values of an expression.
fn values(expr: &Expr, batch: &RecordBatch, place: SqlOption) -> Result<ArrayRef> {
    expr.evaluate(batch).map_err(|error| place.error(error))
}

/// A digest of each value, of whatever type; empty for a null.
fn digests(expr: &Expr, batch: &RecordBatch, place: SqlOption) -> Result<Vec<String>> {
    let column = values(expr, batch, place)?;
    let nulls = column.logical_nulls();
    let rows = RowConverter::new(vec![SortField::new(column.data_type().clone())])
        .and_then(|rows| rows.convert_columns(std::slice::from_ref(&column)));
    let rows = rows.map_err(|error| place.error(error))?;
    let is_null = |index| nulls.as_ref().is_some_and(|nulls| nulls.is_null(index));
    let digested = |(index, row): (usize, arrow::row::Row<'_>)| {
        if is_null(index) { String::new() } else { hexadecimal(row.as_ref()) }
    };
    Ok(rows.iter().enumerate().map(digested).collect())
}

/// The digest of some bytes in hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * size_of::<RowDigest>());
    for byte in digest(bytes) {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn too_many() -> DatasetError {
    SqlOption::GroupBy.error(format!(
        "more than {MOST_GROUPS} groups; divide the rows by something that groups share"
    ))
}
