//! Rows of a table through the scorers.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, RecordBatchOptions, StructArray, UInt64Array,
};
use arrow::compute::{interleave, take};
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use datasets::RecordBatch;
use datasets::sink::json_lines;
use datasets::source::{Reject, RowNumbers};
use openapi::{ScoreInput, Status};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::cells::{Bound, Cells};
use super::layout::Layout;
use super::verdicts;
use crate::error::CliError;
use crate::score::journal::Counts;
use crate::score::judging::{Judged, Judging};
use crate::score::rejects::{RejectForm, Rejected};
use crate::score::store::{self, Found, Key};
use crate::stream::Held;

/// Strength of Zstandard for verdicts that wait on the disk.
const LEVEL: i32 = 1;

/// Rows under way.
pub(super) struct Chunk {
    /// The file as it was named.
    pub(super) file: Arc<str>,
    /// Where the rows stand in it.
    pub(super) rows: RowNumbers,
    /// The rows.
    pub(super) data: RecordBatch,
    /// Rows among them that could not be read.
    pub(super) rejects: Vec<Reject>,
}

impl Held for Chunk {
    fn held_bytes(&self) -> usize {
        self.data.get_array_memory_size()
    }
}

/// What became of a chunk.
pub(super) struct Scored {
    /// Rows with their verdicts.
    pub(super) data: RecordBatch,
    /// Lines for the reject file or the terminal.
    pub(super) rejects: Vec<u8>,
    /// What was counted.
    pub(super) counts: Counts,
    /// Verdicts to keep, if they are new.
    pub(super) record: Option<(Key, Vec<u8>)>,
    /// Rows whose verdicts were there already.
    pub(super) known_rows: u64,
}

/// What chunks are processed with.
pub(super) struct Process<'p> {
    pub(super) bound: &'p Bound,
    pub(super) layout: &'p Layout,
    pub(super) judging: &'p dyn Judging,
    pub(super) scorers: &'p [String],
    /// Only verdicts of these statuses are reached again.
    pub(super) retried: Option<&'p [Status]>,
    pub(super) form: RejectForm,
    /// Verdicts of an earlier run; `None` where nothing is kept.
    pub(super) found: Option<&'p Found>,
}

/// The rows of a chunk that can be judged, and why the others cannot.
struct Sorted {
    /// Positions in the chunk.
    rows: Vec<u64>,
    /// One for each of them, until it is handed on.
    inputs: Vec<Option<ScoreInput>>,
    rejected: Vec<(usize, String)>,
}

/// The verdicts that the rows of a chunk have already: one entry a scorer, or none at all where old
/// verdicts do not matter.
type OldVerdicts = Vec<Option<StructArray>>;

/// The place of a row that could not be judged, and why.
type Failed = (usize, String);

/// Verdicts of some rows of a chunk: one array a scorer.
struct Reached {
    verdicts: Vec<StructArray>,
    record: Option<(Key, Vec<u8>)>,
    /// Rows that could not be judged, by their place among those that were asked for.
    failed: Vec<Failed>,
    is_known: bool,
}

impl Process<'_> {
    /// The inputs of a chunk that are to be judged.
    pub(super) fn inputs(&self, chunk: &Chunk) -> Result<Vec<ScoreInput>, CliError> {
        let cells = self.bound.cells(&chunk.data).map_err(broken(chunk))?;
        let (mut sorted, asked, _) = self.asked_of(chunk, &cells)?;
        let input = |at: &usize| sorted.inputs[*at].take();
        Ok(asked.iter().filter_map(input).collect())
    }

    /// The rows of a chunk, those of them that are to be judged, and the verdicts that they have.
    fn asked_of(
        &self,
        chunk: &Chunk,
        cells: &Cells<'_>,
    ) -> Result<(Sorted, Vec<usize>, OldVerdicts), CliError> {
        let sorted = sorted(cells, chunk.data.num_rows());
        let old = self.old(&chunk.data).map_err(broken(chunk))?;
        let asked = self.asked(&sorted.rows, &old)?;
        Ok((sorted, asked, old))
    }

    /// Judges the rows of a chunk.
    pub(super) fn chunk(&self, chunk: &Chunk) -> Result<Scored, CliError> {
        let cells = self.bound.cells(&chunk.data).map_err(broken(chunk))?;
        let (mut sorted, asked, old) = self.asked_of(chunk, &cells)?;
        let wanted = asked.iter().filter_map(|at| sorted.inputs[*at].take());
        let reached = self.reach(&cells, &asked, wanted.collect())?;
        let (mut rows, mut rejected) = (sorted.rows, sorted.rejected);
        let mut verdicts = self.joined(&rows, &asked, &reached, &old).map_err(broken(chunk))?;
        if !reached.failed.is_empty() {
            let failed = reached.failed.into_iter();
            let failed: Vec<_> = failed.map(|(at, reason)| (asked[at], reason)).collect();
            verdicts = without(&verdicts, &failed, rows.len()).map_err(broken(chunk))?;
            for (place, reason) in failed.into_iter().rev() {
                rejected.push((as_row(rows.remove(place)), reason));
            }
        }
        let mut counts = Counts::new(self.scorers.len());
        counts.scored = rows.len() as u64;
        for (tally, verdicts) in counts.tallies.iter_mut().zip(&verdicts) {
            tally.merge(&verdicts::tally(verdicts)?);
        }
        let data = self.attached(chunk, &rows, verdicts).map_err(broken(chunk))?;
        let rejects = self.rejects(chunk, &cells, rejected)?;
        counts.rejected = rejects.1;
        Ok(Scored {
            data,
            rejects: rejects.0,
            counts,
            record: reached.record,
            known_rows: if reached.is_known { rows.len() as u64 } else { 0 },
        })
    }

    /// The verdicts that the rows have, where some of them are to stay.
    fn old(&self, data: &RecordBatch) -> Result<OldVerdicts, ArrowError> {
        if self.retried.is_none() {
            return Ok(Vec::new());
        }
        let old = |scorer: &String| self.layout.old(data, scorer);
        self.scorers.iter().map(old).collect()
    }

    /// Which of `rows` are to be judged, by their place.
    fn asked(&self, rows: &[u64], old: &[Option<StructArray>]) -> Result<Vec<usize>, CliError> {
        let Some(retried) = self.retried else {
            return Ok((0..rows.len()).collect());
        };
        let mut asked = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let mut is_asked = false;
            for verdicts in old {
                is_asked |= is_retried(verdicts.as_ref(), as_row(*row), retried)?;
            }
            if is_asked {
                asked.push(place);
            }
        }
        Ok(asked)
    }

    /// The verdicts of the rows that are asked for: found, or reached now.
    fn reach(
        &self,
        cells: &Cells<'_>,
        asked: &[usize],
        inputs: Vec<ScoreInput>,
    ) -> Result<Reached, CliError> {
        let key = self.found.map(|found| (found, key_of(cells, asked)));
        if let Some((found, key)) = &key
            && let Some(payload) = found.get(key)?
            && let Some(verdicts) = self.decoded(&payload, asked.len())
        {
            return Ok(Reached { verdicts, record: None, failed: Vec::new(), is_known: true });
        }
        let judged = if inputs.is_empty() { Vec::new() } else { self.judging.judge(inputs)? };
        let (verdicts, failed) = self.columns(judged)?;
        let is_kept = failed.is_empty() && !asked.is_empty();
        let record = key.filter(|_| is_kept).map(|(_, key)| {
            let payload = encoded(&verdicts);
            payload.map(|payload| (key, payload))
        });
        Ok(Reached { verdicts, record: record.transpose()?, failed, is_known: false })
    }

    /// Results as columns. A row that could not be judged has nulls and a reason.
    fn columns(&self, judged: Vec<Judged>) -> Result<(Vec<StructArray>, Vec<Failed>), CliError> {
        let mut failed = Vec::new();
        let mut results = Vec::with_capacity(judged.len());
        for (at, judged) in judged.into_iter().enumerate() {
            match judged {
                Ok(row) => results.push((at, row)),
                Err(reason) => failed.push((at, reason)),
            }
        }
        let column = |scorer: usize| {
            let own: Vec<_> = results.iter().map(|(_, row)| &row[scorer]).collect();
            let array = verdicts::array(&own)?;
            if failed.is_empty() {
                return Ok(array);
            }
            // Null where there is no result, so that places stay what they were.
            let mut places: Vec<Option<u64>> = vec![None; results.len() + failed.len()];
            for (from, (at, _)) in results.iter().enumerate() {
                places[*at] = Some(from as u64);
            }
            taken(&array, &UInt64Array::from(places))
        };
        let columns: Result<Vec<StructArray>, ArrowError> =
            (0..self.scorers.len()).map(column).collect();
        let columns = columns.map_err(|error| CliError::Failed(error.to_string()))?;
        Ok((columns, failed))
    }

    /// Verdicts for all of `rows`: those that were reached, and old ones for the others and for what
    /// was not to be reached again.
    fn joined(
        &self,
        rows: &[u64],
        asked: &[usize],
        reached: &Reached,
        old: &[Option<StructArray>],
    ) -> Result<Vec<StructArray>, ArrowError> {
        let Some(retried) = self.retried else {
            return Ok(reached.verdicts.clone());
        };
        let mut by_place = vec![None; rows.len()];
        for (at, place) in asked.iter().enumerate() {
            by_place[*place] = Some(at);
        }
        let mut joined = Vec::new();
        for (new, old) in reached.verdicts.iter().zip(old) {
            let Some(old) = old else {
                joined.push(new.clone());
                continue;
            };
            let source = |(place, row): (usize, &u64)| {
                let row = as_row(*row);
                let is_retried = is_retried(Some(old), row, retried).unwrap_or(true);
                match by_place[place] {
                    Some(at) if is_retried => (0, at),
                    Some(_) | None => (1, row),
                }
            };
            let sources: Vec<(usize, usize)> = rows.iter().enumerate().map(source).collect();
            joined.push(interleave(&[new, old], &sources)?.as_struct().clone());
        }
        Ok(joined)
    }

    fn attached(
        &self,
        chunk: &Chunk,
        rows: &[u64],
        verdicts: Vec<StructArray>,
    ) -> Result<RecordBatch, ArrowError> {
        if rows.len() == chunk.data.num_rows() {
            return self.layout.attach(&chunk.data, verdicts);
        }
        let indices = UInt64Array::from(rows.to_vec());
        let column = |column: &ArrayRef| take(column, &indices, None);
        let columns: Result<Vec<ArrayRef>, ArrowError> =
            chunk.data.columns().iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let data = RecordBatch::try_new_with_options(chunk.data.schema(), columns?, &options)?;
        self.layout.attach(&data, verdicts)
    }

    /// The rejected rows as lines, in their order, and how many they are.
    fn rejects(
        &self,
        chunk: &Chunk,
        cells: &Cells<'_>,
        rejected: Vec<(usize, String)>,
    ) -> Result<(Vec<u8>, u64), CliError> {
        let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
        for reject in &chunk.rejects {
            let mut line = Vec::new();
            Rejected {
                file: &reject.file,
                row: reject.row,
                id: None,
                reason: &reject.reason,
                line: reject.line.as_bytes(),
                line_bytes: reject.line_bytes,
            }
            .write(&mut line, self.form);
            all.push((reject.row, line));
        }
        for (row, reason) in rejected {
            let text = json_lines(&chunk.data.slice(row, 1))
                .map_err(|error| CliError::Failed(format!("{}: {error}", chunk.file)))?;
            let id = cells.id(row).and_then(|id| RawValue::from_string(id).ok());
            let number = chunk.rows.number(row);
            let mut line = Vec::new();
            Rejected {
                file: &chunk.file,
                row: number,
                id: id.as_deref(),
                reason: &reason,
                line: text.trim_end().as_bytes(),
                line_bytes: text.trim_end().len() as u64,
            }
            .write(&mut line, self.form);
            all.push((number, line));
        }
        all.sort_by_key(|(number, _)| *number);
        let count = all.len() as u64;
        Ok((all.into_iter().flat_map(|(_, line)| line).collect(), count))
    }

    /// Verdicts that were kept; `None` where they are not of this many rows.
    fn decoded(&self, payload: &[u8], rows: usize) -> Option<Vec<StructArray>> {
        let bytes = zstd::decode_all(payload).ok()?;
        let batch = StreamReader::try_new(Cursor::new(bytes), None).ok()?.next()?;
        let batch = batch.ok()?;
        let is_whole = batch.num_rows() == rows && batch.num_columns() == self.scorers.len();
        let columns = batch.columns().iter();
        let columns = columns.map(|column| column.as_struct_opt().cloned());
        columns.collect::<Option<_>>().filter(|_| is_whole)
    }
}

fn sorted(cells: &Cells<'_>, rows: usize) -> Sorted {
    let mut sorted = Sorted {
        rows: Vec::with_capacity(rows),
        inputs: Vec::with_capacity(rows),
        rejected: Vec::new(),
    };
    for row in 0..rows {
        match cells.input(row) {
            Ok(input) => {
                sorted.rows.push(row as u64);
                sorted.inputs.push(Some(input));
            }
            Err(reason) => sorted.rejected.push((row, reason)),
        }
    }
    sorted
}

fn broken(chunk: &Chunk) -> impl Fn(ArrowError) -> CliError {
    move |error| CliError::Failed(format!("{}: {error}", chunk.file))
}

/// Verdicts without those of the rows that could not be judged.
fn without(
    verdicts: &[StructArray],
    failed: &[Failed],
    rows: usize,
) -> Result<Vec<StructArray>, ArrowError> {
    let is_failed = |place: &usize| failed.iter().any(|(at, _)| at == place);
    let stays = (0..rows).filter(|place| !is_failed(place));
    let stays: UInt64Array = stays.map(|place| place as u64).collect();
    verdicts.iter().map(|array| taken(array, &stays)).collect()
}

/// Whether a verdict is to be reached again: it has one of these statuses, or is not there.
fn is_retried(
    verdicts: Option<&StructArray>,
    row: usize,
    retried: &[Status],
) -> Result<bool, CliError> {
    let Some(verdicts) = verdicts else {
        return Ok(true);
    };
    let status = verdicts::status(verdicts, row)?;
    Ok(status.is_none_or(|status| retried.contains(&status)))
}

/// What the verdicts of these rows are of.
fn key_of(cells: &Cells<'_>, asked: &[usize]) -> Key {
    let mut hash = Sha256::new();
    cells.digest(&mut hash);
    for place in asked {
        hash.update((*place as u64).to_le_bytes());
    }
    store::key(hash)
}

fn encoded(verdicts: &[StructArray]) -> Result<Vec<u8>, CliError> {
    let fields = verdicts
        .iter()
        .enumerate()
        .map(|(scorer, array)| Field::new(scorer.to_string(), array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = verdicts.iter().map(|array| Arc::new(array.clone()) as ArrayRef);
    let written = RecordBatch::try_new(schema.clone(), columns.collect()).and_then(|batch| {
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&batch)?;
        writer.into_inner()
    });
    let bytes = written.map_err(|error| CliError::Failed(error.to_string()))?;
    let packed = zstd::bulk::compress(&bytes, LEVEL);
    packed.map_err(|error| CliError::Failed(format!("verdicts cannot be packed: {error}")))
}

fn taken(array: &StructArray, places: &UInt64Array) -> Result<StructArray, ArrowError> {
    Ok(take(array, places, None)?.as_struct().clone())
}

fn as_row(position: u64) -> usize {
    usize::try_from(position).expect("a row of a batch")
}
