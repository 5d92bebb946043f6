//! A full SELECT in place of all other steps.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use super::lock;
use super::pass::OutputRows;
use super::plan::refuse_repeated;
use super::{FilterPlan, FilterReport, RejectSink, RowSink};
use base::seeded;
use datasets::Result;
use datasets::source::Reject;
use query::{OnReject, ScanTable};

/// Reports each unreadable row once, also for a query that reads the table several times.
struct Rejects {
    sink: RejectSink,
    /// Hashes of file and row of the reported ones.
    reported: HashSet<u64>,
}

impl Rejects {
    fn report(&mut self, reject: &Reject) -> Result<()> {
        let place = [reject.file.as_bytes(), &reject.row.to_le_bytes()];
        if self.reported.insert(seeded::hash(0, &place)) { (self.sink)(reject) } else { Ok(()) }
    }
}

impl FilterPlan {
    /// Runs a full query.
    pub(super) fn query(
        mut self,
        sql: &str,
        receiver: &mut dyn RowSink,
        sink: RejectSink,
    ) -> Result<FilterReport> {
        let reported = HashSet::new();
        let rejects = Arc::new(Mutex::new(Rejects { sink, reported }));
        let own = rejects.clone();
        let on_reject: OnReject = Arc::new(move |reject| lock(&own).report(reject));
        let table = || ScanTable::new(self.last_scan(), on_reject.clone());
        // Planning alone reads no rows; it gives the columns.
        let planned = self.engine.query(sql, table())?;
        let schema = planned.schema();
        drop(planned);
        refuse_repeated(&schema, "--sql")?;
        receiver.begin(&schema)?;
        let table = table();
        self.engine = self.engine.within(&self.bounds())?;
        let rows = self.engine.query(sql, table)?;
        let mut writing = OutputRows::new(&schema, None);
        for batch in rows {
            writing.write(&batch?, receiver)?;
        }
        let rejected = lock(&rejects).reported.len() as u64;
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
}
