//! Which rows of a dataset stay, in which order, and with which columns.
//!
//! [`Plan::new`] checks everything that can be wrong with the question; [`Plan::run`] answers it in
//! one pass over the rows: conditions, then duplicates, then the sample, the order and the limit.
//! Rows stay in their order unless another is asked for, and the same input gives the same output.

mod dedupe;
mod histogram;
mod order;
mod passage;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use futures_util::StreamExt as _;
use serde::Serialize;

pub use self::histogram::{Bar, Histogram};
use self::order::Ordering;
use self::passage::{Source, Writing};
use crate::query::{Bounds, Engine, OnReject, Place, ScanTable, Selected};
use crate::scan::Scan;
use crate::scan::term::Term;
use crate::source::{Dataset, Reject};
use crate::{DatasetError, Result};

/// Memory for sorting and grouping that suits most machines.
pub const MEMORY_BYTES: usize = 256 << 20;

/// What is asked.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Options {
    /// Conditions that a row must meet, all of them.
    pub wheres: Vec<String>,
    /// Columns and expressions to write; all columns if not set.
    pub select: Option<String>,
    /// How rows are ordered; as they were if not set.
    pub order_by: Option<String>,
    /// Rows to keep from the top of the order.
    pub top_k: Option<u64>,
    /// Rows to keep from the beginning.
    pub limit: Option<u64>,
    /// Rows to draw, each with the same chance.
    pub sample: Option<u64>,
    /// What the draw follows from.
    pub seed: u64,
    /// Drop rows that are equal to an earlier one in these columns; in all of them if it is empty.
    pub dedupe_by: Option<Vec<String>>,
    /// A whole query, in place of everything above.
    pub sql: Option<String>,
}

/// What a run may use.
#[derive(Debug, Clone)]
pub struct Resources {
    /// Threads that read.
    pub threads: usize,
    /// Memory for sorting and grouping; more goes to files.
    pub memory_bytes: usize,
    /// Where rows go that memory has no room for. The folder need not be there.
    pub spill: PathBuf,
}

/// A question that can be answered.
pub struct Plan {
    dataset: Dataset,
    options: Options,
    resources: Resources,
    terms: Vec<Term>,
    /// Positions of the columns that are read.
    columns: Option<Vec<usize>>,
    engine: Engine,
    selected: Option<Vec<Selected>>,
    ordering: Option<Ordering>,
    output: Option<SchemaRef>,
}

/// Rows that one condition dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The condition as it was written.
    pub condition: String,
    /// Rows that it dropped, of those that the ones before it left. Not known where reading stopped
    /// because there was enough.
    pub rows: Option<u64>,
}

/// What became of the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Rows that were read.
    pub read: u64,
    /// Rows that could not be read.
    pub rejected: u64,
    /// What each condition dropped, in their order.
    pub dropped: Vec<Dropped>,
    /// Rows that were written.
    pub written: u64,
    /// How scores are spread over the rows that were written.
    #[serde(skip)]
    pub histograms: Vec<Histogram>,
}

/// Where a run puts what it finds.
pub trait Receiver {
    /// The columns of the rows that follow, once, before them.
    ///
    /// # Errors
    /// What the receiver cannot do; it ends the run.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// Some rows.
    ///
    /// # Errors
    /// What the receiver cannot do; it ends the run.
    fn rows(&mut self, batch: &RecordBatch) -> Result<()>;

    /// A row that could not be read.
    ///
    /// # Errors
    /// What the receiver cannot do; it ends the run.
    fn reject(&mut self, reject: &Reject) -> Result<()>;
}

impl Plan {
    /// Checks a question about a dataset.
    ///
    /// # Errors
    /// [`DatasetError::Query`] with the place of what is wrong, [`DatasetError::Usage`] for options
    /// that do not go together.
    pub fn new(dataset: &Dataset, options: Options, resources: Resources) -> Result<Self> {
        refuse_clash(&options)?;
        let bounds = Bounds {
            memory_bytes: resources.memory_bytes,
            spill: None,
        };
        let schema = dataset.schema();
        let engine = Engine::new(schema, &bounds)?;
        let mut terms = Vec::new();
        for condition in &options.wheres {
            terms.extend(engine.terms(condition, Place::Where)?);
        }
        let columns = columns_read(&engine, schema, &options)?;
        // From here on rows have the columns that are read alone.
        let schema = match &columns {
            Some(columns) => Arc::new(schema.project(columns).expect("positions of this schema")),
            None => schema.clone(),
        };
        let engine = Engine::new(&schema, &bounds)?;
        let select = |text: &String| engine.select(text, Place::Select);
        let selected = options.select.as_ref().map(select).transpose()?;
        let ordering = Ordering::new(&engine, &schema, &options)?;
        let output = match (&options.sql, &selected) {
            (Some(_), _) => None,
            (None, Some(selected)) => Some(selected_schema(selected)?),
            (None, None) => Some(schema),
        };
        Ok(Self {
            dataset: dataset.clone(),
            options,
            resources,
            terms,
            columns,
            engine,
            selected,
            ordering,
            output,
        })
    }

    /// Answers the question.
    ///
    /// # Errors
    /// [`DatasetError`] of reading, of a condition that meets a value it cannot work with, and of
    /// the receiver.
    pub fn run(self, receiver: &mut dyn Receiver) -> Result<Report> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime without drivers needs nothing from the system");
        match (&self.options.sql, &self.ordering) {
            (Some(sql), _) => {
                let sql = sql.clone();
                runtime.block_on(self.query(&sql, receiver))
            }
            (None, Some(_)) => runtime.block_on(self.ordered(receiver)),
            (None, None) => self.straight(receiver),
        }
    }

    /// What a run may use, files too.
    fn bounds(&self) -> Bounds {
        Bounds {
            memory_bytes: self.resources.memory_bytes,
            spill: Some(self.resources.spill.clone()),
        }
    }

    fn scan(&self) -> Scan {
        Scan {
            dataset: self.dataset.clone(),
            terms: self.terms.clone(),
            columns: self.columns.clone(),
            threads: self.resources.threads,
        }
    }

    /// Rows in their own order, written as they are found.
    fn straight(self, receiver: &mut dyn Receiver) -> Result<Report> {
        let schema = self
            .output
            .clone()
            .expect("known for all but whole queries");
        receiver.begin(&schema)?;
        let mut source = Source::new(&self)?;
        let mut writing = Writing::new(&schema, self.selected.as_deref());
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let mut is_cut = false;
        while writing.rows < limit {
            let Some((batch, rejects)) = source.next()? else {
                break;
            };
            for reject in &rejects {
                receiver.reject(reject)?;
            }
            let room = usize::try_from(limit - writing.rows).unwrap_or(usize::MAX);
            is_cut |= batch.num_rows() > room;
            writing.write(&batch.slice(0, batch.num_rows().min(room)), receiver)?;
        }
        is_cut |= writing.rows >= limit && self.options.limit.is_some();
        let mut dropped = source.dropped(&self, is_cut);
        if let Some(limit) = self.options.limit {
            let rows = (!is_cut).then_some(0);
            dropped.push(Dropped {
                condition: format!("limit {limit}"),
                rows,
            });
        }
        Ok(writing.report(&source, dropped))
    }

    /// Rows in another order, or drawn.
    async fn ordered(mut self, receiver: &mut dyn Receiver) -> Result<Report> {
        let schema = self
            .output
            .clone()
            .expect("known for all but whole queries");
        receiver.begin(&schema)?;
        // The folder is made once the output is ours.
        self.engine = self.engine.within(&self.bounds())?;
        let ordering = self.ordering.take().expect("asked for");
        let source = Arc::new(Mutex::new(Source::new(&self)?));
        let taking = source.clone();
        let seed = self.options.seed;
        let mut failed = None;
        let fault = Arc::new(Mutex::new(None));
        let told = fault.clone();
        let mut found: Vec<Reject> = Vec::new();
        let rejects = Arc::new(Mutex::new(Vec::new()));
        let kept = rejects.clone();
        let next = move || -> Option<RecordBatch> {
            let next = lock(&taking).next();
            match next {
                Ok(Some((batch, found))) => {
                    lock(&kept).extend(found);
                    Some(batch)
                }
                Ok(None) => None,
                Err(error) => {
                    *lock(&told) = Some(error);
                    None
                }
            }
        };
        let (mut stream, steps) = ordering.stream(&self.engine, seed, Box::new(next)).await?;
        let mut writing = Writing::new(&schema, self.selected.as_deref());
        while let Some(batch) = stream.next().await {
            match batch {
                Ok(batch) => writing.write(&ordering.plain(&batch), receiver)?,
                Err(error) => {
                    failed = Some(self.engine.explain(&error, Place::OrderBy, ""));
                    break;
                }
            }
        }
        found.append(&mut lock(&rejects));
        for reject in &found {
            receiver.reject(reject)?;
        }
        if let Some(error) = lock(&fault).take().or(failed) {
            return Err(error);
        }
        let source = lock(&source);
        let mut dropped = source.dropped(&self, false);
        dropped.extend(steps.dropped(source.rows));
        Ok(writing.report(&source, dropped))
    }

    /// A whole query.
    async fn query(mut self, sql: &str, receiver: &mut dyn Receiver) -> Result<Report> {
        let rejects = Arc::new(Mutex::new(Vec::new()));
        let kept = rejects.clone();
        let on_reject: OnReject = Arc::new(move |reject| lock(&kept).push(reject));
        let table = || ScanTable::new(self.scan(), on_reject.clone());
        // Nothing is read before the first row is asked for: this plan says the columns.
        let planned = self.engine.query(sql, table()).await?;
        let schema = planned.schema();
        drop(planned);
        refuse_repeated(&schema, "--sql")?;
        receiver.begin(&schema)?;
        let table = table();
        self.engine = self.engine.within(&self.bounds())?;
        let mut stream = self.engine.query(sql, table).await?;
        let mut writing = Writing::new(&schema, None);
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.failed(error, sql))?;
            writing.write(&batch, receiver)?;
        }
        let rejects = lock(&rejects);
        for reject in rejects.iter() {
            receiver.reject(reject)?;
        }
        Ok(Report {
            read: self.dataset.rows(),
            rejected: rejects.len() as u64,
            dropped: Vec::new(),
            written: writing.rows,
            histograms: writing.histograms.finish(),
        })
    }

    /// An error of a running query; one of reading comes out as it went in.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other kinds are explained alike"
    )]
    fn failed(&self, error: DataFusionError, sql: &str) -> DatasetError {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<DatasetError>() {
                Ok(own) => *own,
                Err(other) => Place::Sql.fault(other),
            },
            error => self.engine.explain(&error, Place::Sql, sql),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("one thread takes it, never twice at a time")
}

/// The positions of the columns that the steps after the conditions read; `None` for all.
fn columns_read(
    engine: &Engine,
    schema: &SchemaRef,
    options: &Options,
) -> Result<Option<Vec<usize>>> {
    let Some(select) = &options.select else {
        return Ok(None);
    };
    let mut names: Vec<String> = Vec::new();
    for selected in engine.select(select, Place::Select)? {
        names.extend(selected.reads);
    }
    if let Some(order_by) = &options.order_by {
        names.extend(engine.order_reads(order_by)?);
    }
    match &options.dedupe_by {
        Some(columns) if columns.is_empty() => return Ok(None),
        Some(columns) => names.extend(columns.iter().cloned()),
        None => {}
    }
    let position = |name: &String| schema.index_of(name).ok();
    let mut columns: Vec<usize> = names.iter().filter_map(position).collect();
    columns.sort_unstable();
    columns.dedup();
    Ok(Some(columns))
}

fn selected_schema(selected: &[Selected]) -> Result<SchemaRef> {
    let field = |selected: &Selected| {
        Field::new(&selected.name, selected.data_type.clone(), true)
            .with_metadata(selected.metadata.clone())
    };
    let schema = Arc::new(Schema::new(selected.iter().map(field).collect::<Vec<_>>()));
    refuse_repeated(&schema, "--select")?;
    Ok(schema)
}

/// Files have one column of each name.
fn refuse_repeated(schema: &SchemaRef, place: &str) -> Result<()> {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let repeated = names
        .iter()
        .enumerate()
        .find(|(at, name)| names[..*at].contains(name));
    match repeated {
        Some((_, name)) => Err(DatasetError::Query {
            place: place.to_owned(),
            problem: format!("two columns named '{name}'; name one otherwise with AS"),
        }),
        None => Ok(()),
    }
}

fn refuse_clash(options: &Options) -> Result<()> {
    let others = !options.wheres.is_empty()
        || options.select.is_some()
        || options.order_by.is_some()
        || options.top_k.is_some()
        || options.limit.is_some()
        || options.sample.is_some()
        || options.dedupe_by.is_some();
    let usage = |message: &str| Err(DatasetError::Usage(message.to_owned()));
    if options.sql.is_some() && others {
        return usage("--sql is a whole query; write conditions, order and limit in it");
    }
    if options.top_k.is_some() && options.order_by.is_none() {
        return usage("--top-k takes the first rows of an order: name it with --order-by");
    }
    if options.top_k.is_some() && options.limit.is_some() {
        return usage("--top-k and --limit both say how many rows there are; give one");
    }
    Ok(())
}
