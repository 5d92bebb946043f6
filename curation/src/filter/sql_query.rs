//! A whole query in place of all steps.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use datafusion::error::DataFusionError;
use futures_util::StreamExt as _;

use super::pass::OutputRows;
use super::plan::refuse_repeated;
use super::sorting::lock;
use super::{FilterPlan, FilterReport, RejectSink, RowSink};
use crate::seeded;
use datasets::query::{OnReject, ScanTable, SqlOption};
use datasets::source::Reject;
use datasets::{DatasetError, Result};

/// Rejects of a query. One that reads the table several times meets each of them several times.
struct Rejects {
    sink: RejectSink,
    /// Those that were told, by a hash of their places.
    told: HashSet<u64>,
}

impl Rejects {
    fn tell(&mut self, reject: &Reject) -> Result<()> {
        let place = [reject.file.as_bytes(), &reject.row.to_le_bytes()];
        if self.told.insert(seeded::hash(0, &place)) { (self.sink)(reject) } else { Ok(()) }
    }
}

impl FilterPlan {
    /// Runs a whole query.
    pub(super) async fn query(
        mut self,
        sql: &str,
        receiver: &mut dyn RowSink,
        sink: RejectSink,
    ) -> Result<FilterReport> {
        let told = HashSet::new();
        let rejects = Arc::new(Mutex::new(Rejects { sink, told }));
        let own = rejects.clone();
        let on_reject: OnReject = Arc::new(move |reject| lock(&own).tell(reject));
        let table = || ScanTable::new(self.last_scan(), on_reject.clone());
        // Nothing is read before the first row is asked for: this plan says the columns.
        let planned = self.engine.query(sql, table()).await?;
        let schema = planned.schema();
        drop(planned);
        refuse_repeated(&schema, "--sql")?;
        receiver.begin(&schema)?;
        let table = table();
        self.engine = self.engine.within(&self.bounds())?;
        let mut stream = self.engine.query(sql, table).await?;
        let mut writing = OutputRows::new(&schema, None);
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(|error| self.failed(error, sql))?;
            writing.write(&batch, receiver)?;
        }
        let rejected = lock(&rejects).told.len() as u64;
        Ok(FilterReport {
            read: self.dataset.rows(),
            rejected,
            dropped: Vec::new(),
            written: writing.rows,
            near: None,
            groups: None,
            histograms: writing.histograms(),
        })
    }

    /// An error of a running query; one of reading comes out as it went in.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are explained alike")]
    fn failed(&self, error: DataFusionError, sql: &str) -> DatasetError {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<DatasetError>() {
                Ok(own) => *own,
                Err(other) => SqlOption::Sql.error(other),
            },
            error => self.engine.explain(&error, SqlOption::Sql, sql),
        }
    }
}
