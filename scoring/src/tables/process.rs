//! Scores one chunk of a table and adds the verdicts to it.

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
use datasets::json_text::json_lines;
use openapi::{ScoreInput, Status};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::cells::{BoundColumns, Cells};
use super::chunks::TableChunk;
use super::layout::ScoredLayout;
use super::verdict_columns;
use crate::backend::{Backend, RowResults};
use crate::counts::Counts;
use crate::error::RunError;
use crate::rejects::{RejectForm, Rejected};
use crate::verdict_store::{self, StoreSnapshot, VerdictKey};

/// Zstandard level of stored verdicts.
const LEVEL: i32 = 1;

/// A scored chunk.
pub(super) struct ScoredTable {
    /// Rows with their verdicts.
    pub(super) data: RecordBatch,
    /// Lines for the reject file or the terminal.
    pub(super) rejects: Vec<u8>,
    /// Counts of this chunk.
    pub(super) counts: Counts,
    /// Key and payload for the store; `None` if the store had the verdicts.
    pub(super) record: Option<(VerdictKey, Vec<u8>)>,
    /// Rows whose verdicts the store had.
    pub(super) known_rows: u64,
}

/// Scores chunks with one backend and one layout.
pub(super) struct TableScorer<'p> {
    pub(super) bound: &'p BoundColumns,
    pub(super) layout: &'p ScoredLayout,
    pub(super) backend: &'p dyn Backend,
    pub(super) scorers: &'p [String],
    /// Statuses to retry, with all other verdicts kept; `None` scores all rows.
    pub(super) retried: Option<&'p [Status]>,
    pub(super) form: RejectForm,
    /// Verdicts of an earlier run; `None` where the backend looks them up itself.
    pub(super) stored: Option<&'p StoreSnapshot>,
}

/// The rows of a chunk whose inputs can be read, and why the others cannot.
struct ReadableRows {
    /// Positions in the chunk.
    rows: Vec<u64>,
    /// One for each of them; `None` once it is taken.
    inputs: Vec<Option<ScoreInput>>,
    rejected: Vec<(usize, String)>,
}

/// The verdicts that the rows of a chunk have already: one entry for each scorer, or an empty list
/// where all rows are scored.
type OldVerdicts = Vec<Option<StructArray>>;

/// The index of a row that could not be scored, and why.
type FailedRow = (usize, String);

/// Verdicts of some rows of a chunk: one array for each scorer.
struct NewVerdicts {
    by_scorer: Vec<StructArray>,
    record: Option<(VerdictKey, Vec<u8>)>,
    /// Rows that could not be scored, by their index among the rows to score.
    failed: Vec<FailedRow>,
    is_known: bool,
}

impl TableScorer<'_> {
    /// Returns the inputs of a chunk that are to be scored.
    pub(super) fn inputs(&self, chunk: &TableChunk) -> Result<Vec<ScoreInput>, RunError> {
        let cells = self.bound.cells(&chunk.data).map_err(file_error(chunk))?;
        let (mut readable, to_score, _) = self.rows_to_score(chunk, &cells)?;
        let input = |at: &usize| readable.inputs[*at].take();
        Ok(to_score.iter().filter_map(input).collect())
    }

    /// Returns the readable rows of a chunk, the indices of those to score, and their old verdicts.
    fn rows_to_score(
        &self,
        chunk: &TableChunk,
        cells: &Cells<'_>,
    ) -> Result<(ReadableRows, Vec<usize>, OldVerdicts), RunError> {
        let readable = readable(cells, chunk.data.num_rows());
        let old = self.old(&chunk.data).map_err(file_error(chunk))?;
        let to_score = self.to_score(&readable.rows, &old)?;
        Ok((readable, to_score, old))
    }

    /// Scores the rows of a chunk.
    pub(super) fn score(&self, chunk: &TableChunk) -> Result<ScoredTable, RunError> {
        let cells = self.bound.cells(&chunk.data).map_err(file_error(chunk))?;
        let (mut readable, to_score, old) = self.rows_to_score(chunk, &cells)?;
        let wanted = to_score.iter().filter_map(|at| readable.inputs[*at].take());
        let new = self.verdicts_of(&cells, &to_score, wanted.collect())?;
        let (mut rows, mut rejected) = (readable.rows, readable.rejected);
        let mut verdicts = self.joined(&rows, &to_score, &new, &old).map_err(file_error(chunk))?;
        if !new.failed.is_empty() {
            let failed = new.failed.into_iter();
            let failed: Vec<_> = failed.map(|(at, reason)| (to_score[at], reason)).collect();
            verdicts = without(&verdicts, &failed, rows.len()).map_err(file_error(chunk))?;
            for (index, reason) in failed.into_iter().rev() {
                rejected.push((as_row(rows.remove(index)), reason));
            }
        }
        let mut counts = Counts::new(self.scorers.len());
        counts.scored = rows.len() as u64;
        for (tally, verdicts) in counts.tallies.iter_mut().zip(&verdicts) {
            tally.merge(&verdict_columns::tally(verdicts)?);
        }
        let data = self.attached(chunk, &rows, verdicts).map_err(file_error(chunk))?;
        let rejects = self.rejects(chunk, &cells, rejected)?;
        counts.rejected = rejects.1;
        Ok(ScoredTable {
            data,
            rejects: rejects.0,
            counts,
            record: new.record,
            known_rows: if new.is_known { rows.len() as u64 } else { 0 },
        })
    }

    /// Returns the verdicts that the rows have, where some of them stay.
    fn old(&self, data: &RecordBatch) -> Result<OldVerdicts, ArrowError> {
        if self.retried.is_none() {
            return Ok(Vec::new());
        }
        let old = |scorer: &String| self.layout.old(data, scorer);
        self.scorers.iter().map(old).collect()
    }

    /// Returns the indices of the `rows` to score.
    fn to_score(&self, rows: &[u64], old: &[Option<StructArray>]) -> Result<Vec<usize>, RunError> {
        let Some(retried) = self.retried else {
            return Ok((0..rows.len()).collect());
        };
        let mut to_score = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let mut is_wanted = false;
            for verdicts in old {
                is_wanted |= is_retried(verdicts.as_ref(), as_row(*row), retried)?;
            }
            if is_wanted {
                to_score.push(index);
            }
        }
        Ok(to_score)
    }

    /// Returns the verdicts of the rows to score, from the store or from the backend.
    fn verdicts_of(
        &self,
        cells: &Cells<'_>,
        to_score: &[usize],
        inputs: Vec<ScoreInput>,
    ) -> Result<NewVerdicts, RunError> {
        let key = self.stored.map(|stored| (stored, key_of(cells, to_score)));
        if let Some((stored, key)) = &key
            && let Some(payload) = stored.get(key)?
            && let Some(verdicts) = self.decoded(&payload, to_score.len())
        {
            return Ok(NewVerdicts {
                by_scorer: verdicts,
                record: None,
                failed: Vec::new(),
                is_known: true,
            });
        }
        let results = if inputs.is_empty() { Vec::new() } else { self.backend.score(inputs)? };
        let (verdicts, failed) = self.columns(results)?;
        let is_kept = failed.is_empty() && !to_score.is_empty();
        let record = key.filter(|_| is_kept).map(|(_, key)| {
            let payload = encoded(&verdicts);
            payload.map(|payload| (key, payload))
        });
        Ok(NewVerdicts {
            by_scorer: verdicts,
            record: record.transpose()?,
            failed,
            is_known: false,
        })
    }

    /// Converts results to columns. A row that could not be scored has nulls, and a reason beside them.
    fn columns(
        &self,
        results: Vec<RowResults>,
    ) -> Result<(Vec<StructArray>, Vec<FailedRow>), RunError> {
        let mut failed = Vec::new();
        let mut scored = Vec::with_capacity(results.len());
        for (at, row) in results.into_iter().enumerate() {
            match row {
                Ok(row) => scored.push((at, row)),
                Err(reason) => failed.push((at, reason)),
            }
        }
        let column = |scorer: usize| {
            let own: Vec<_> = scored.iter().map(|(_, row)| &row[scorer]).collect();
            let array = verdict_columns::array(&own, self.layout.is_signed())?;
            if failed.is_empty() {
                return Ok(array);
            }
            // Null where there is no result, so that indices stay the same.
            let mut indices: Vec<Option<u64>> = vec![None; scored.len() + failed.len()];
            for (from, (at, _)) in scored.iter().enumerate() {
                indices[*at] = Some(from as u64);
            }
            take_rows(&array, &UInt64Array::from(indices))
        };
        let columns: Result<Vec<StructArray>, ArrowError> =
            (0..self.scorers.len()).map(column).collect();
        let columns = columns.map_err(|error| RunError::Failed(error.to_string()))?;
        Ok((columns, failed))
    }

    /// Joins new and old verdicts to those of all `rows`.
    fn joined(
        &self,
        rows: &[u64],
        to_score: &[usize],
        new: &NewVerdicts,
        old: &[Option<StructArray>],
    ) -> Result<Vec<StructArray>, ArrowError> {
        let Some(retried) = self.retried else {
            return Ok(new.by_scorer.clone());
        };
        let mut by_index = vec![None; rows.len()];
        for (at, index) in to_score.iter().enumerate() {
            by_index[*index] = Some(at);
        }
        let mut joined = Vec::new();
        for (new, old) in new.by_scorer.iter().zip(old) {
            let Some(old) = old else {
                joined.push(new.clone());
                continue;
            };
            let source = |(index, row): (usize, &u64)| {
                let row = as_row(*row);
                let is_retried = is_retried(Some(old), row, retried).unwrap_or(true);
                match by_index[index] {
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
        chunk: &TableChunk,
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

    /// Writes the rejected rows as lines in order. Returns the lines and their number.
    fn rejects(
        &self,
        chunk: &TableChunk,
        cells: &Cells<'_>,
        rejected: Vec<(usize, String)>,
    ) -> Result<(Vec<u8>, u64), RunError> {
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
                .map_err(|error| RunError::Failed(format!("{}: {error}", chunk.file)))?;
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

    /// Decodes stored verdicts; `None` where they are not of this many rows.
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

fn readable(cells: &Cells<'_>, rows: usize) -> ReadableRows {
    let mut readable = ReadableRows {
        rows: Vec::with_capacity(rows),
        inputs: Vec::with_capacity(rows),
        rejected: Vec::new(),
    };
    for row in 0..rows {
        match cells.input(row) {
            Ok(input) => {
                readable.rows.push(row as u64);
                readable.inputs.push(Some(input));
            }
            Err(reason) => readable.rejected.push((row, reason)),
        }
    }
    readable
}

fn file_error(chunk: &TableChunk) -> impl Fn(ArrowError) -> RunError {
    move |error| RunError::Failed(format!("{}: {error}", chunk.file))
}

/// Drops the verdicts of the rows that could not be scored.
fn without(
    verdicts: &[StructArray],
    failed: &[FailedRow],
    rows: usize,
) -> Result<Vec<StructArray>, ArrowError> {
    let is_failed = |index: &usize| failed.iter().any(|(at, _)| at == index);
    let stays = (0..rows).filter(|index| !is_failed(index));
    let stays: UInt64Array = stays.map(|index| index as u64).collect();
    verdicts.iter().map(|array| take_rows(array, &stays)).collect()
}

/// Whether a row is to be scored again: its verdict is missing or has one of these statuses.
fn is_retried(
    verdicts: Option<&StructArray>,
    row: usize,
    retried: &[Status],
) -> Result<bool, RunError> {
    let Some(verdicts) = verdicts else {
        return Ok(true);
    };
    let status = verdict_columns::status(verdicts, row)?;
    Ok(status.is_none_or(|status| retried.contains(&status)))
}

/// The store's key of the verdicts of these rows.
fn key_of(cells: &Cells<'_>, to_score: &[usize]) -> VerdictKey {
    let mut hash = Sha256::new();
    cells.digest(&mut hash);
    for index in to_score {
        hash.update((*index as u64).to_le_bytes());
    }
    verdict_store::key(hash)
}

fn encoded(verdicts: &[StructArray]) -> Result<Vec<u8>, RunError> {
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
    let bytes = written.map_err(|error| RunError::Failed(error.to_string()))?;
    let packed = zstd::bulk::compress(&bytes, LEVEL);
    packed.map_err(|error| RunError::Failed(format!("verdicts cannot be packed: {error}")))
}

fn take_rows(array: &StructArray, indices: &UInt64Array) -> Result<StructArray, ArrowError> {
    Ok(take(array, indices, None)?.as_struct().clone())
}

fn as_row(position: u64) -> usize {
    usize::try_from(position).expect("a row of a batch")
}
