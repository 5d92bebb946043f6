//! A checked plan of a filter run, and its passes.

use std::sync::{Arc, Mutex};

use arrow::datatypes::{Field, Schema, SchemaRef};

use super::columns::{NeededColumns, projected};
use super::grouping::{Grouping, PairRows};
use super::near_duplicates::Near;
use super::pass::{EarlierPass, FilteredRows, OutputRows, Pass, StepCounts};
use super::row_order::RowOrder;
use super::{
    Dedupe, DroppedRows, FilterOptions, FilterReport, FilterResources, GroupReport, NearReport,
    RejectSink, RowSink, lock,
};
use crate::minhash;
use datasets::scan::{Condition, ReadObserver, Scan};
use datasets::source::Dataset;
use datasets::{DatasetError, RecordBatch, Result};
use query::{QueryLimits, SelectedColumn, SqlEngine, SqlOption};

/// A checked plan of a filter run.
pub struct FilterPlan {
    pub(super) dataset: Dataset,
    pub(super) options: FilterOptions,
    resources: FilterResources,
    conditions: Vec<Condition>,
    near: Option<Near>,
    grouping: Option<Grouping>,
    /// Columns that the last pass reads; `None` for all.
    columns: Option<Vec<usize>>,
    /// SQL engine for the rows of the last pass.
    pub(super) engine: SqlEngine,
    selected: Option<Vec<SelectedColumn>>,
    ordering: Option<RowOrder>,
    output: Option<SchemaRef>,
    observer: ReadObserver,
}

/// Rows of the last pass.
struct LastPass {
    rows: LastRows,
    /// Rows that came out.
    n_rows: u64,
}

enum LastRows {
    FilteredRows(FilteredRows),
    Pairs(PairRows, StepCounts),
}

/// Results of the passes before the last.
struct PassResults {
    last: LastPass,
    near: Option<NearReport>,
    groups: Option<GroupReport>,
}

impl FilterPlan {
    /// Checks options against a dataset.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for invalid SQL, [`DatasetError::Usage`] for conflicting options.
    pub fn new(
        dataset: &Dataset,
        options: FilterOptions,
        resources: FilterResources,
    ) -> Result<Self> {
        refuse_clash(&options)?;
        let bounds = QueryLimits { memory_bytes: resources.memory_bytes, spill: None };
        let schema = dataset.schema();
        let engine = SqlEngine::new(schema, &bounds)?;
        let mut conditions = Vec::new();
        for condition in &options.wheres {
            conditions.extend(engine.conditions(condition, SqlOption::Where)?);
        }
        let near = near(schema, &bounds, &options, &resources)?;
        let exact = options.exact();
        let group = options.group.as_ref();
        let grouping = group.map(|group| Grouping::new((schema, exact), &bounds, group));
        let grouping = grouping.transpose()?;
        let pairs = grouping.as_ref().and_then(Grouping::pairs);
        let columns = match pairs {
            Some(pairs) => pairs.columns.clone(),
            None => columns_read(&engine, schema, &options)?,
        };
        // From here on rows have the columns that are read alone, or those of pairs.
        let schema = match pairs {
            Some(pairs) => pairs.schema.clone(),
            None => projected(schema, columns.as_deref()),
        };
        let engine = SqlEngine::new(&schema, &bounds)?;
        let select = |text: &String| engine.select(text, SqlOption::Select);
        let selected = options.select.as_ref().map(select).transpose()?;
        let ordering = RowOrder::new(&engine, &schema, &options)?;
        let output = match (&options.sql, &selected) {
            (Some(_), _) => None,
            (None, Some(selected)) => Some(selected_schema(selected)?),
            (None, None) => Some(schema),
        };
        Ok(Self {
            dataset: dataset.clone(),
            options,
            resources,
            conditions,
            near,
            grouping,
            columns,
            engine,
            selected,
            ordering,
            output,
            observer: ReadObserver::default(),
        })
    }

    /// Rows that all passes read together, as far as the options tell: a query may read rows several
    /// times, and a limit ends the last pass early.
    pub fn rows_to_read(&self) -> u64 {
        let passes = 1 + u64::from(self.near.is_some()) + u64::from(self.grouping.is_some());
        self.dataset.rows() * passes
    }

    /// Sets the observer of the rows that the passes read.
    #[must_use]
    pub fn observed_by(self, observer: ReadObserver) -> Self {
        Self { observer, ..self }
    }

    /// Runs the plan. Each unreadable row is passed to `rejects` once.
    ///
    /// # Errors
    /// [`DatasetError`] of reading, of evaluating expressions, and of the receivers.
    pub fn run(self, receiver: &mut dyn RowSink, rejects: RejectSink) -> Result<FilterReport> {
        if let Some(sql) = self.options.sql.clone() {
            return self.query(&sql, receiver, rejects);
        }
        let schema = self.output.clone().expect("known for all but whole queries");
        // Passes may use the folder for what memory has no room for: it is made once the output is
        // ours.
        receiver.begin(&schema)?;
        let passed = self.passes(rejects)?;
        match &self.ordering {
            Some(_) => self.ordered(&schema, passed, receiver),
            None => self.straight(&schema, passed, receiver),
        }
    }

    /// Resources of a run, spill files included.
    pub(super) fn bounds(&self) -> QueryLimits {
        QueryLimits {
            memory_bytes: self.resources.memory_bytes,
            spill: Some(self.resources.spill.clone()),
        }
    }

    /// The scan of the last pass or of a full query.
    pub(super) fn last_scan(&self) -> Scan {
        self.scan(self.columns.clone())
    }

    fn scan(&self, columns: Option<Vec<usize>>) -> Scan {
        Scan {
            dataset: self.dataset.clone(),
            conditions: self.conditions.clone(),
            columns,
            threads: self.resources.threads,
            observer: self.observer.clone(),
        }
    }

    /// Runs the passes before the last.
    fn passes(&self, rejects: RejectSink) -> Result<PassResults> {
        let exact = self.options.exact();
        let mut pass = Pass::First(rejects);
        let mut passed = (None, None);
        if let Some(near) = &self.near {
            let source = FilteredRows::new(self.scan(near.columns.clone()), exact, pass)?;
            let (earlier, report) = near.pass(source)?;
            (pass, passed.0) = (Pass::Later(earlier), Some(report));
        }
        let mut pairs = None;
        if let Some(grouping) = &self.grouping {
            let source = FilteredRows::new(self.scan(grouping.columns.clone()), exact, pass)?;
            let bounds = self.bounds();
            let found = grouping.pass(source, &bounds, self.options.seed)?;
            let (earlier, report, found) = found;
            pairs = grouping.pairs().map(|columns| (columns, found));
            (pass, passed.1) = (Pass::Later(earlier), Some(report));
        }
        let counted = match &pass {
            Pass::Later(EarlierPass { counted, .. }) => counted.clone(),
            Pass::First(_) => StepCounts::default(),
        };
        let source = FilteredRows::new(self.last_scan(), exact, pass)?;
        let rows = match pairs {
            Some((columns, pairs)) => {
                LastRows::Pairs(columns.rows(source, pairs, self.bounds()), counted)
            }
            None => LastRows::FilteredRows(source),
        };
        Ok(PassResults { last: LastPass { rows, n_rows: 0 }, near: passed.0, groups: passed.1 })
    }

    /// Runs the last pass without ordering.
    fn straight(
        self,
        schema: &SchemaRef,
        mut passed: PassResults,
        receiver: &mut dyn RowSink,
    ) -> Result<FilterReport> {
        let mut writing = OutputRows::new(schema, self.selected.as_deref());
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let mut is_cut = false;
        while writing.rows < limit {
            let Some(batch) = passed.last.next().transpose()? else {
                break;
            };
            let room = usize::try_from(limit - writing.rows).unwrap_or(usize::MAX);
            is_cut |= batch.num_rows() > room;
            writing.write(&batch.slice(0, batch.num_rows().min(room)), receiver)?;
        }
        is_cut |= writing.rows >= limit && self.options.limit.is_some();
        let mut counted = passed.last.counted(is_cut);
        if let Some(limit) = self.options.limit {
            let rows = (!is_cut).then_some(0);
            let condition = format!("limit {limit}");
            counted.dropped.push(DroppedRows::rows(condition, rows));
        }
        Ok(report(counted, writing, (passed.near, passed.groups)))
    }

    /// Runs the last pass with ordering or sampling.
    fn ordered(
        mut self,
        schema: &SchemaRef,
        passed: PassResults,
        receiver: &mut dyn RowSink,
    ) -> Result<FilterReport> {
        self.engine = self.engine.within(&self.bounds())?;
        let ordering = self.ordering.take().expect("requested");
        let last = Arc::new(Mutex::new(passed.last));
        let own = last.clone();
        let batches = Box::new(std::iter::from_fn(move || lock(&own).next()));
        let (rows, steps) = ordering.sorted(&self.engine, self.options.seed, batches)?;
        let mut writing = OutputRows::new(schema, self.selected.as_deref());
        for batch in rows {
            writing.write(&ordering.plain(&batch?), receiver)?;
        }
        let last = lock(&last);
        let mut counted = last.counted(false);
        counted.dropped.extend(steps.dropped(last.n_rows));
        Ok(report(counted, writing, (passed.near, passed.groups)))
    }
}

impl LastPass {
    fn counted(&self, is_cut: bool) -> StepCounts {
        match &self.rows {
            LastRows::FilteredRows(source) => source.counted(is_cut),
            LastRows::Pairs(_, counted) => counted.clone(),
        }
    }
}

impl Iterator for LastPass {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = match &mut self.rows {
            LastRows::FilteredRows(source) => source.next()?,
            LastRows::Pairs(pairs, _) => pairs.next()?,
        };
        let rows = next.as_ref().map_or(0, RecordBatch::num_rows);
        self.n_rows += rows as u64;
        Some(next)
    }
}

fn report(
    counted: StepCounts,
    writing: OutputRows<'_>,
    (near, groups): (Option<NearReport>, Option<GroupReport>),
) -> FilterReport {
    FilterReport {
        read: counted.read,
        rejected: counted.rejected,
        dropped: counted.dropped,
        written: writing.rows,
        near,
        groups,
        histograms: writing.histograms(),
    }
}

fn near(
    schema: &SchemaRef,
    bounds: &QueryLimits,
    options: &FilterOptions,
    resources: &FilterResources,
) -> Result<Option<Near>> {
    let Some(Dedupe::Near { by, similarity, words }) = &options.dedupe else {
        return Ok(None);
    };
    let index = minhash::MinHashOptions {
        threshold: *similarity,
        words: *words,
        seed: options.seed,
        max_bytes: resources.texts_bytes,
        ..minhash::MinHashOptions::default()
    };
    Near::new(schema, bounds, (by, index)).map(Some)
}

/// The positions of the columns that the steps after the conditions read; `None` for all.
fn columns_read(
    engine: &SqlEngine,
    schema: &SchemaRef,
    options: &FilterOptions,
) -> Result<Option<Vec<usize>>> {
    let Some(select) = &options.select else {
        return Ok(None);
    };
    let mut needed = NeededColumns::default();
    for selected in engine.select(select, SqlOption::Select)? {
        needed.add(selected.reads);
    }
    if let Some(order_by) = &options.order_by {
        needed.add(engine.order(order_by)?);
    }
    needed.add_exact(options.exact());
    Ok(needed.positions(schema))
}

fn selected_schema(selected: &[SelectedColumn]) -> Result<SchemaRef> {
    let field = |selected: &SelectedColumn| {
        Field::new(&selected.name, selected.data_type.clone(), true)
            .with_metadata(selected.metadata.clone())
    };
    let schema = Arc::new(Schema::new(selected.iter().map(field).collect::<Vec<_>>()));
    refuse_repeated(&schema, "--select")?;
    Ok(schema)
}

/// Files have one column of each name.
pub(super) fn refuse_repeated(schema: &SchemaRef, place: &str) -> Result<()> {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let repeated = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    match repeated {
        Some((_, name)) => Err(DatasetError::Query {
            place: place.to_owned(),
            problem: format!("two columns named '{name}'; name one otherwise with AS"),
        }),
        None => Ok(()),
    }
}

fn refuse_clash(options: &FilterOptions) -> Result<()> {
    let others = !options.wheres.is_empty()
        || options.select.is_some()
        || options.order_by.is_some()
        || options.top_k.is_some()
        || options.limit.is_some()
        || options.sample.is_some()
        || options.dedupe.is_some()
        || options.group.is_some();
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
