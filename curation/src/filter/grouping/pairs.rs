//! Rows of preferences: the prompt, the best and the worst response of a group, side by side.
//!
//! The columns are those that trainers of preferences read (`prompt`, `chosen`, `rejected`), texts
//! or messages as the input has them. Where one of prompt and response is messages and the other a
//! text, the text becomes a message, because a trainer takes both in one form.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, ListArray, RecordBatch, StringArray,
    StructArray, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, UInt64Type};

use super::super::columns::{NeededColumns, projected};
use super::super::kept_rows::changed;
use super::super::pass::{FilteredRows, RowBatch};
use super::Expr;
use super::decide::PairPositions;
use datasets::Result;
use query::{QueryLimits, SelectedColumn, SortStep, SqlEngine, SqlOption};

/// Twice the number of a pair, and one more for the rejected row.
const SLOT: &str = "slot";

/// Batches that wait between the thread that sorts and the one that writes.
const WAITING: usize = 2;

/// The columns that pairs are made of.
pub(in super::super) struct PairColumns {
    /// The columns that the last pass reads.
    pub(in super::super) columns: Option<Vec<usize>>,
    /// The columns of pairs.
    pub(in super::super) schema: SchemaRef,
    prompt: SelectedColumn,
    response: SelectedColumn,
}

/// Pairs in the order of their groups.
///
/// A thread reads and sorts, and sends batches through a short channel: later steps pull batches
/// one by one, some of them inside a runtime on their own thread, where no other runtime can run.
pub(in super::super) struct PairRows {
    /// `Some` until the value is dropped.
    sorted: Option<Receiver<Result<RecordBatch>>>,
    thread: Option<JoinHandle<()>>,
    /// The receiver was dropped.
    is_over: Arc<AtomicBool>,
    schema: SchemaRef,
    pairs: Vec<PairPositions>,
    /// Pairs that came out.
    n_done: usize,
    /// A chosen row whose rejected row is still to come.
    left: Option<RecordBatch>,
}

impl PairColumns {
    pub(super) fn new(
        (schema, exact): (&SchemaRef, Option<&[String]>),
        bounds: &QueryLimits,
        (prompt, response): (&str, &str),
    ) -> Result<Self> {
        let whole = SqlEngine::new(schema, bounds)?;
        let mut needed = NeededColumns::default();
        needed.add_exact(exact);
        for (text, place) in [(prompt, SqlOption::Prompt), (response, SqlOption::Response)] {
            needed.add(whole.expression(text, place)?.reads);
        }
        let columns = needed.positions(schema);
        let engine = SqlEngine::new(&projected(schema, columns.as_deref()), bounds)?;
        let prompt = engine.expression(prompt, SqlOption::Prompt)?;
        let response = engine.expression(response, SqlOption::Response)?;
        let any_messages = [&prompt, &response].iter().any(|column| is_messages(&column.data_type));
        let field = |name: &str, column: &SelectedColumn| {
            if any_messages && column.data_type.is_string() {
                return Field::new(name, messages_type(), true);
            }
            Field::new(name, column.data_type.clone(), true).with_metadata(column.metadata.clone())
        };
        let score = |name: &str| Field::new(name, DataType::Float64, true);
        let schema = Arc::new(Schema::new(vec![
            field("prompt", &prompt),
            field("chosen", &response),
            field("rejected", &response),
            score("chosen_score"),
            score("rejected_score"),
            score("margin"),
        ]));
        Ok(Self { columns, schema, prompt, response })
    }

    /// The rows of `pairs`, which `source` keeps. A thread reads and sorts them.
    pub(in super::super) fn rows(
        &self,
        source: FilteredRows,
        pairs: Vec<PairPositions>,
        bounds: QueryLimits,
    ) -> PairRows {
        let fields = [("prompt", &self.prompt), ("response", &self.response)];
        let mut fields: Vec<Field> =
            fields.map(|(name, column)| Field::new(name, column.data_type.clone(), true)).to_vec();
        fields.push(Field::new(SLOT, DataType::UInt64, false));
        let numbered = Numbered {
            source,
            slots: slots(&pairs).into_iter(),
            prompt: self.prompt.expr.clone(),
            response: self.response.expr.clone(),
            schema: Arc::new(Schema::new(fields)),
            is_over: Arc::default(),
        };
        let is_over = numbered.is_over.clone();
        let (sender, sorted) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || sort(numbered, &bounds, &sender));
        PairRows {
            sorted: Some(sorted),
            thread: Some(thread),
            is_over,
            schema: self.schema.clone(),
            pairs,
            n_done: 0,
            left: None,
        }
    }
}

/// For each row of a pair, in the order of the rows: its position and its slot.
fn slots(pairs: &[PairPositions]) -> Vec<(u64, u64)> {
    let of_pair = |(number, pair): (u64, &PairPositions)| {
        let chosen = (pair.chosen, 2 * number);
        [chosen, (pair.rejected, 2 * number + 1)]
    };
    let mut slots: Vec<(u64, u64)> = (0..).zip(pairs).flat_map(of_pair).collect();
    slots.sort_unstable();
    slots
}

/// Rows of pairs in source order, with their slots.
struct Numbered {
    source: FilteredRows,
    slots: std::vec::IntoIter<(u64, u64)>,
    prompt: Expr,
    response: Expr,
    schema: SchemaRef,
    is_over: Arc<AtomicBool>,
}

impl Numbered {
    fn numbered(&mut self, taken: &RowBatch) -> Result<RecordBatch> {
        let mut slots = Vec::with_capacity(taken.positions.len());
        for position in &taken.positions {
            match self.slots.next() {
                Some((expected, slot)) if expected == *position => slots.push(slot),
                Some(_) | None => return Err(changed()),
            }
        }
        let column = |expr: &Expr, place: SqlOption| {
            expr.evaluate(&taken.batch).map_err(|error| place.error(error))
        };
        let columns: Vec<ArrayRef> = vec![
            column(&self.prompt, SqlOption::Prompt)?,
            column(&self.response, SqlOption::Response)?,
            Arc::new(UInt64Array::from(slots)),
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        batch.map_err(|error| SqlOption::Response.error(error))
    }
}

impl Iterator for Numbered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.is_over.load(Ordering::Relaxed) {
            return None;
        }
        let taken = self.source.next_taken().transpose()?;
        Some(taken.and_then(|taken| self.numbered(&taken)))
    }
}

/// Sends rows by their slots, and at last what went wrong, if something did.
fn sort(numbered: Numbered, bounds: &QueryLimits, sender: &SyncSender<Result<RecordBatch>>) {
    let schema = numbered.schema.clone();
    let by = SortStep { columns: &[SLOT], ..SortStep::default() };
    let sorted = SqlEngine::new(&schema, bounds)
        .and_then(|engine| engine.sort(&schema, Box::new(numbered), &[by], SqlOption::Response));
    match sorted {
        Ok(sorted) => {
            for batch in sorted {
                let failed = batch.is_err();
                // A dropped receiver had enough.
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        }
        Err(error) => {
            // A dropped receiver has its own error.
            let _ = sender.send(Err(error));
        }
    }
}

impl PairRows {
    fn paired(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let schema = batch.schema();
        let batch = match self.left.take() {
            Some(left) => concat_batches(&schema, [&left, &batch]).expect("one schema"),
            None => batch,
        };
        let n = batch.num_rows() / 2;
        if batch.num_rows() % 2 == 1 {
            self.left = Some(batch.slice(2 * n, 1));
        }
        let slots = batch.column(2).as_primitive::<UInt64Type>();
        let first = 2 * self.n_done as u64;
        let expected = (first..).zip(slots.values());
        if self.n_done + n > self.pairs.len() || !expected.into_iter().all(|(a, b)| a == *b) {
            return Err(changed());
        }
        let pairs = &self.pairs[self.n_done..self.n_done + n];
        self.n_done += n;
        let side = |column: usize, offset: u64| {
            let rows = (0..n as u64).map(|pair| 2 * pair + offset);
            let rows = UInt64Array::from_iter_values(rows);
            take(batch.column(column), &rows, None).expect("rows of this batch")
        };
        let score = |of: fn(&PairPositions) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(pairs.iter().map(of)))
        };
        let typed = |(column, index, role): (ArrayRef, usize, &str)| {
            let wanted = self.schema.field(index).data_type();
            if column.data_type() == wanted { column } else { as_messages(&column, role) }
        };
        let mut columns =
            [(side(0, 0), 0, "user"), (side(1, 0), 1, "assistant"), (side(1, 1), 2, "assistant")]
                .map(typed)
                .to_vec();
        columns.extend([
            score(|pair| pair.chosen_score),
            score(|pair| pair.rejected_score),
            score(|pair| pair.chosen_score - pair.rejected_score),
        ]);
        let pairs = RecordBatch::try_new(self.schema.clone(), columns);
        pairs.map_err(|error| SqlOption::Response.error(error))
    }
}

impl Iterator for PairRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match self.sorted.as_ref()?.recv() {
            Ok(batch) => Some(batch.and_then(|batch| self.paired(batch))),
            // The thread has sent everything.
            Err(_) if self.n_done == self.pairs.len() && self.left.is_none() => None,
            Err(_) => {
                self.n_done = self.pairs.len();
                self.left = None;
                Some(Err(changed()))
            }
        }
    }
}

impl Drop for PairRows {
    /// Waits for the thread, which may have files where memory had no room: they go before the folder
    /// that they are in.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.sorted = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has ended its rows, which was an error then.
            let _ = thread.join();
        }
    }
}

/// Whether a column has messages: lists of objects with a role and a content.
fn is_messages(data_type: &DataType) -> bool {
    let has = |fields: &Fields, name: &str| fields.iter().any(|field| field.name() == name);
    let (DataType::List(item) | DataType::LargeList(item)) = data_type else {
        return false;
    };
    matches!(item.data_type(), DataType::Struct(fields) if has(fields, "role") && has(fields, "content"))
}

/// The fields of a message.
fn message_fields() -> Fields {
    ["role", "content"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec().into()
}

fn message_item() -> FieldRef {
    Arc::new(Field::new("item", DataType::Struct(message_fields()), true))
}

fn messages_type() -> DataType {
    DataType::List(message_item())
}

/// Texts as lists of one message each; a null stays one.
fn as_messages(texts: &ArrayRef, role: &str) -> ArrayRef {
    let texts = cast(texts, &DataType::Utf8).expect("only texts have another type than theirs");
    let n = texts.len();
    let roles: ArrayRef = Arc::new(StringArray::from(vec![role; n]));
    let nulls = texts.nulls().cloned();
    let messages = StructArray::new(message_fields(), vec![roles, texts], None);
    let offsets = OffsetBuffer::from_repeated_length(1, n);
    Arc::new(ListArray::new(message_item(), offsets, Arc::new(messages), nulls))
}
