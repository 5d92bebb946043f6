//! Decisions over groups of rows: the responses to one prompt, in any order of the input.
//!
//! A pass reads only the keys, and a score and a digest of the response for each row. The SQL
//! engine sorts these by group, numbered in the order of first rows, so that only the rows of one group are
//! in memory. The result is a bit for each row, and the last pass reads the kept rows completely.
//!
//! Within a group rows are sorted by content, so that their positions do not matter.

mod decide;
mod drop_counts;
mod gather;
mod group_exprs;
mod operation;
mod pairs;

use std::sync::{Arc, Mutex};

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, SchemaRef, UInt64Type};

use self::decide::{GroupDecider, GroupDecisions, GroupRow, PairPositions};
use self::drop_counts::DropReason;
use self::gather::{AGAINST, CONTENT, GROUP, Gather, INDEX, POSITION, PROMPT, SCORE, TIE};
use self::group_exprs::{GroupExpr, GroupExprs, check};
use self::operation::Reads;
pub use self::operation::{ComparisonColumns, GroupOperation, GroupOptions};
use self::pairs::PairColumns;
pub(super) use self::pairs::PairRows;
use super::GroupReport;
use super::columns::{NeededColumns, projected};
use super::lock;
use super::pass::{EarlierPass, FilteredRows};
use datasets::scan::RowExpr;
use datasets::{DatasetError, Result};
use query::{QueryLimits, SortInput, SortStep, SqlEngine, SqlOption};

/// An expression over the columns of the pass.
type Expr = Arc<dyn RowExpr>;

/// A checked decision over groups.
pub(super) struct Grouping {
    options: GroupOptions,
    /// Columns that the pass reads; `None` for all.
    pub(super) columns: Option<Vec<usize>>,
    /// Schema of those columns.
    schema: SchemaRef,
    keys: Vec<(Expr, DataType)>,
    score: Option<Expr>,
    content: RowContent,
    prompt: Option<Expr>,
    /// Lists of comparisons and indices into them.
    orders: Option<(Expr, Expr)>,
    pairs: Option<PairColumns>,
}

/// Source of a row's content.
#[derive(Debug, Clone)]
enum RowContent {
    /// Nothing: the decision does not use it.
    None,
    /// An answer, in its normal form.
    Answer(Expr),
    /// A response and its prompt.
    Response(Expr),
    /// A response, and the complete row between equal responses.
    ResponseAndRow(Expr),
    /// The complete row.
    Row,
}

impl Grouping {
    /// Checks group options against a schema. `exact` are the columns of exact deduplication.
    pub(super) fn new(
        (schema, exact): (&SchemaRef, Option<&[String]>),
        bounds: &QueryLimits,
        options: &GroupOptions,
    ) -> Result<Self> {
        if let Some(problem) = options.operation.problem() {
            return Err(DatasetError::Usage(problem));
        }
        let texts = GroupExprs::new(schema, options)?;
        let whole = SqlEngine::new(schema, bounds)?;
        let reads = options.operation.reads();
        let mut needed = match reads {
            Reads::Responses => NeededColumns::all(),
            Reads::Pairs | Reads::Answers => NeededColumns::default(),
        };
        needed.add_exact(exact);
        for (text, place) in texts.expressions() {
            let found = whole.select(&text.sql, place)?;
            check(&text.shown, place, &found)?;
            needed.add(found.into_iter().flat_map(|column| column.reads));
        }
        let columns = needed.positions(schema);
        let own = projected(schema, columns.as_deref());
        let engine = SqlEngine::new(&own, bounds)?;
        let one = |text: &Option<GroupExpr>, place| -> Result<Option<Expr>> {
            let found = text.as_ref().map(|text| engine.expression(&text.sql, place));
            Ok(found.transpose()?.map(|found| found.expr))
        };
        let keys = engine.select(&texts.keys.sql, SqlOption::GroupBy)?;
        if keys.is_empty() {
            return Err(SqlOption::GroupBy.error("a column is wanted"));
        }
        let keys: Vec<_> = keys.into_iter().map(|key| (key.expr, key.data_type)).collect();
        let response = one(&texts.response, SqlOption::Response)?;
        let answer = one(&texts.answer, SqlOption::Answer)?;
        let content = match (reads, response, answer) {
            (_, _, Some(answer)) => RowContent::Answer(answer),
            (Reads::Pairs, Some(response), None) => RowContent::Response(response),
            (_, Some(response), None) => RowContent::ResponseAndRow(response),
            (Reads::Responses, None, None) => RowContent::Row,
            (Reads::Pairs | Reads::Answers, None, None) => RowContent::None,
        };
        let pairs = match (reads, &texts.prompt, &texts.response) {
            (Reads::Pairs, Some(prompt), Some(response)) => {
                Some(PairColumns::new((schema, exact), bounds, (&prompt.sql, &response.sql))?)
            }
            (Reads::Responses | Reads::Pairs | Reads::Answers, _, _) => None,
        };
        let grouping = Self {
            options: options.clone(),
            score: one(&texts.score, SqlOption::Score)?,
            prompt: one(&texts.prompt, SqlOption::Prompt)?,
            orders: one(&texts.against, SqlOption::Against)?
                .zip(one(&texts.index, SqlOption::Index)?),
            columns,
            schema: own,
            keys,
            content,
            pairs,
        };
        // Incomparable keys are refused before anything is read.
        grouping.key_rows()?;
        Ok(grouping)
    }

    /// Columns of pairs; `None` unless pairs are made.
    pub(super) fn pairs(&self) -> Option<&PairColumns> {
        self.pairs.as_ref()
    }

    /// Describes the operation and the keys.
    fn words(&self) -> String {
        format!("{} by {}", self.options.operation.words(), self.options.by)
    }

    /// Decides every group.
    pub(super) fn pass(
        &self,
        source: FilteredRows,
        bounds: &QueryLimits,
        seed: u64,
    ) -> Result<(EarlierPass, GroupReport, Vec<PairPositions>)> {
        let gather = Arc::new(Mutex::new(Gather::new(self, source)?));
        let own = gather.clone();
        let batches = Box::new(std::iter::from_fn(move || lock(&own).next()));
        let judge = GroupDecider { operation: &self.options.operation, by: &self.options.by, seed };
        let mut decided = decide_batches(&judge, batches, bounds, &gather)?;
        let gather = lock(&gather);
        let without_key = usize::try_from(gather.without_key());
        decided.tally.rows(DropReason::NoKey, without_key.unwrap_or(usize::MAX));
        let operation = self.words();
        let mut counted = gather.counted();
        counted.dropped.extend(decided.tally.dropped_rows(&operation));
        let pair_bytes = decided.pairs.capacity() * size_of::<PairPositions>();
        let report = GroupReport {
            operation,
            groups: gather.groups(),
            kept: decided.tally.kept,
            memory_bytes: (gather.memory_bytes() + decided.kept.memory_bytes() + pair_bytes) as u64,
            rates: decided.tally.rates(),
            band: self.options.operation.band(),
        };
        let kept = Arc::new(decided.kept);
        Ok((EarlierPass { kept, counted }, report, decided.pairs))
    }
}

/// Sorts rows by group and decides each group.
fn decide_batches(
    judge: &GroupDecider<'_>,
    batches: SortInput,
    bounds: &QueryLimits,
    gather: &Mutex<Gather>,
) -> Result<GroupDecisions> {
    let schema = gather::schema();
    let engine = SqlEngine::new(&schema, bounds)?;
    let by = SortStep { columns: &[GROUP, TIE, POSITION], ..SortStep::default() };
    let mut sorted = engine.sort(&schema, batches, &[by], SqlOption::GroupBy)?;
    let mut next = sorted.next().transpose()?;
    // A sort gives its first rows once it has seen the last.
    let mut decided = GroupDecisions::new(lock(gather).positions());
    let (mut group, mut rows) = (None, Vec::new());
    while let Some(batch) = next {
        for (number, row) in read_group_rows(&batch) {
            if group != Some(number) && !rows.is_empty() {
                judge.decide(&rows, &mut decided);
                rows.clear();
            }
            group = Some(number);
            rows.push(row);
        }
        next = sorted.next().transpose()?;
    }
    if !rows.is_empty() {
        judge.decide(&rows, &mut decided);
    }
    Ok(decided)
}

/// The rows of a sorted batch, each with its group.
fn read_group_rows(batch: &RecordBatch) -> impl Iterator<Item = (u64, GroupRow)> {
    let column = |name: &str| {
        let column = batch.column_by_name(name);
        column.expect("a column of our own table").clone()
    };
    let numbers = [GROUP, POSITION, PROMPT, INDEX].map(column);
    let [groups, positions, prompts, indices] =
        numbers.map(|numbers| numbers.as_primitive::<UInt64Type>().clone());
    let scores = column(SCORE).as_primitive::<Float64Type>().clone();
    let contents = column(CONTENT).as_string::<i32>().clone();
    let against = column(AGAINST).as_list::<i32>().clone();
    (0..batch.num_rows()).map(move |index| {
        let row = GroupRow {
            position: positions.value(index),
            score: scores.is_valid(index).then(|| scores.value(index)),
            content: contents.value(index).to_owned(),
            prompt: prompts.value(index),
            index: indices
                .is_valid(index)
                .then(|| usize::try_from(indices.value(index)).unwrap_or(usize::MAX)),
            against: if against.is_valid(index) {
                let list = against.value(index);
                list.as_primitive::<Float64Type>().iter().collect()
            } else {
                Vec::new()
            },
        };
        (groups.value(index), row)
    })
}
