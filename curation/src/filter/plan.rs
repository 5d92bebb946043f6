//! A question that can be answered, and how its steps follow each other.

use std::sync::{Arc, Mutex};

use arrow::datatypes::{Field, Schema, SchemaRef};
use futures_util::StreamExt as _;

use super::columns::{Needed, projected};
use super::grouping::{Grouping, PairRows};
use super::near::Near;
use super::order::Ordering;
use super::passage::{Counted, Earlier, Pass, Source, Writing, lock};
use super::sorting::Fault;
use super::{
    Dedupe, Dropped, GroupReport, NearReport, Options, Receiver, RejectSink, Report, Resources,
};
use crate::minhash;
use datasets::query::{Bounds, Engine, Place, Selected};
use datasets::scan::Scan;
use datasets::scan::term::Term;
use datasets::source::Dataset;
use datasets::{DatasetError, RecordBatch, Result};

/// A question that can be answered.
pub struct Plan {
    pub(super) dataset: Dataset,
    pub(super) options: Options,
    resources: Resources,
    terms: Vec<Term>,
    near: Option<Near>,
    grouping: Option<Grouping>,
    /// Positions of the columns that the last pass reads.
    columns: Option<Vec<usize>>,
    /// Over the rows that come to the last steps.
    pub(super) engine: Engine,
    selected: Option<Vec<Selected>>,
    ordering: Option<Ordering>,
    output: Option<SchemaRef>,
}

/// Rows of the last pass.
struct Last {
    rows: LastRows,
    /// Rows that came out.
    n_rows: u64,
}

enum LastRows {
    Source(Source),
    Pairs(PairRows, Counted),
}

/// What passes before the last have found.
struct Passed {
    last: Last,
    near: Option<NearReport>,
    groups: Option<GroupReport>,
}

impl Plan {
    /// Checks a question about a dataset.
    ///
    /// # Errors
    /// [`DatasetError::Query`] with the place of what is wrong, [`DatasetError::Usage`] for options
    /// that do not go together.
    pub fn new(dataset: &Dataset, options: Options, resources: Resources) -> Result<Self> {
        refuse_clash(&options)?;
        let bounds = Bounds { memory_bytes: resources.memory_bytes, spill: None };
        let schema = dataset.schema();
        let engine = Engine::new(schema, &bounds)?;
        let mut terms = Vec::new();
        for condition in &options.wheres {
            terms.extend(engine.terms(condition, Place::Where)?);
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
            near,
            grouping,
            columns,
            engine,
            selected,
            ordering,
            output,
        })
    }

    /// Answers the question. Each row that cannot be read is told to `rejects` once.
    ///
    /// # Errors
    /// [`DatasetError`] of reading, of a condition that meets a value it cannot work with, and of
    /// the receivers.
    pub fn run(self, receiver: &mut dyn Receiver, rejects: RejectSink) -> Result<Report> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime without drivers needs nothing from the system");
        if let Some(sql) = self.options.sql.clone() {
            return runtime.block_on(self.query(&sql, receiver, rejects));
        }
        let schema = self.output.clone().expect("known for all but whole queries");
        // Passes may use the folder for what memory has no room for: it is made once the output is
        // ours.
        receiver.begin(&schema)?;
        let passed = runtime.block_on(self.passes(rejects))?;
        match &self.ordering {
            Some(_) => runtime.block_on(self.ordered(&schema, passed, receiver)),
            None => self.straight(&schema, passed, receiver),
        }
    }

    /// What a run may use, files too.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            memory_bytes: self.resources.memory_bytes,
            spill: Some(self.resources.spill.clone()),
        }
    }

    /// Every column that the last pass reads, or a whole query.
    pub(super) fn last_scan(&self) -> Scan {
        self.scan(self.columns.clone())
    }

    fn scan(&self, columns: Option<Vec<usize>>) -> Scan {
        Scan {
            dataset: self.dataset.clone(),
            terms: self.terms.clone(),
            columns,
            threads: self.resources.threads,
        }
    }

    /// Everything that is decided before the last pass.
    async fn passes(&self, rejects: RejectSink) -> Result<Passed> {
        let exact = self.options.exact();
        let mut pass = Pass::First(rejects);
        let mut passed = (None, None);
        if let Some(near) = &self.near {
            let source = Source::new(self.scan(near.columns.clone()), exact, pass)?;
            let (earlier, report) = near.pass(source)?;
            (pass, passed.0) = (Pass::Later(earlier), Some(report));
        }
        let mut pairs = None;
        if let Some(grouping) = &self.grouping {
            let source = Source::new(self.scan(grouping.columns.clone()), exact, pass)?;
            let bounds = self.bounds();
            let found = grouping.pass(source, &bounds, self.options.seed).await?;
            let (earlier, report, found) = found;
            pairs = grouping.pairs().map(|columns| (columns, found));
            (pass, passed.1) = (Pass::Later(earlier), Some(report));
        }
        let counted = match &pass {
            Pass::Later(Earlier { counted, .. }) => counted.clone(),
            Pass::First(_) => Counted::default(),
        };
        let source = Source::new(self.last_scan(), exact, pass)?;
        let rows = match pairs {
            Some((columns, pairs)) => {
                LastRows::Pairs(columns.rows(source, pairs, self.bounds()), counted)
            }
            None => LastRows::Source(source),
        };
        Ok(Passed { last: Last { rows, n_rows: 0 }, near: passed.0, groups: passed.1 })
    }

    /// Rows in their own order, written as they are found.
    fn straight(
        self,
        schema: &SchemaRef,
        mut passed: Passed,
        receiver: &mut dyn Receiver,
    ) -> Result<Report> {
        let mut writing = Writing::new(schema, self.selected.as_deref());
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
            counted.dropped.push(Dropped::rows(condition, rows));
        }
        Ok(report(counted, writing, (passed.near, passed.groups)))
    }

    /// Rows in another order, or drawn.
    async fn ordered(
        mut self,
        schema: &SchemaRef,
        passed: Passed,
        receiver: &mut dyn Receiver,
    ) -> Result<Report> {
        self.engine = self.engine.within(&self.bounds())?;
        let ordering = self.ordering.take().expect("asked for");
        let last = Arc::new(Mutex::new(passed.last));
        let own = last.clone();
        let fault = Fault::default();
        let batches = fault.watch(std::iter::from_fn(move || lock(&own).next()));
        let seed = self.options.seed;
        let (mut stream, steps) = ordering.stream(&self.engine, seed, batches).await?;
        let mut writing = Writing::new(schema, self.selected.as_deref());
        let mut failed = Ok(());
        while let Some(batch) = stream.next().await {
            match batch {
                Ok(batch) => writing.write(&ordering.plain(&batch), receiver)?,
                Err(error) => {
                    failed = Err(ordering.explain(&self.engine, &error));
                    break;
                }
            }
        }
        drop(stream);
        fault.or(failed)?;
        let last = lock(&last);
        let mut counted = last.counted(false);
        counted.dropped.extend(steps.dropped(last.n_rows));
        Ok(report(counted, writing, (passed.near, passed.groups)))
    }
}

impl Last {
    fn counted(&self, is_cut: bool) -> Counted {
        match &self.rows {
            LastRows::Source(source) => source.counted(is_cut),
            LastRows::Pairs(_, counted) => counted.clone(),
        }
    }
}

impl Iterator for Last {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = match &mut self.rows {
            LastRows::Source(source) => source.next()?,
            LastRows::Pairs(pairs, _) => pairs.next()?,
        };
        let rows = next.as_ref().map_or(0, RecordBatch::num_rows);
        self.n_rows += rows as u64;
        Some(next)
    }
}

fn report(
    counted: Counted,
    writing: Writing<'_>,
    (near, groups): (Option<NearReport>, Option<GroupReport>),
) -> Report {
    Report {
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
    bounds: &Bounds,
    options: &Options,
    resources: &Resources,
) -> Result<Option<Near>> {
    let Some(Dedupe::Near { by, similarity, words }) = &options.dedupe else {
        return Ok(None);
    };
    let index = minhash::Options {
        threshold: *similarity,
        words: *words,
        seed: options.seed,
        max_bytes: resources.texts_bytes,
        ..minhash::Options::default()
    };
    Near::new(schema, bounds, (by, index)).map(Some)
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
    let mut needed = Needed::default();
    for selected in engine.select(select, Place::Select)? {
        needed.add(selected.reads);
    }
    if let Some(order_by) = &options.order_by {
        needed.add(engine.order_reads(order_by)?);
    }
    needed.add_exact(options.exact());
    Ok(needed.positions(schema))
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

fn refuse_clash(options: &Options) -> Result<()> {
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
