//! One chunk of lines to scored rows and rejected ones.

use openapi::{ScoreInput, ScoreResult};
use serde_json::value::RawValue;

use super::journal::Counts;
use super::judging::Judging;
use super::mapping::Mapping;
use super::output::{Finished, chunk_digest};
use super::plan::Plan;
use super::rejects::{self, RejectForm, Rejection};
use super::row::Row;
use super::scores::Place;
use crate::error::CliError;
use crate::stream::{Chunk, Line};

/// What every chunk is processed with.
pub(crate) struct Process<'p> {
    judging: &'p dyn Judging,
    mapping: &'p Mapping,
    scorers: &'p [String],
    overwrite_scores: bool,
    form: RejectForm,
    file: &'p str,
}

/// A row that can be judged.
struct Scorable<'l> {
    place: Place<'l>,
    id: Option<&'l RawValue>,
}

/// A row's place and its results, or why it has none.
type Scored<'l> = Result<(Place<'l>, Vec<ScoreResult>), Rejection<'l>>;

/// What has been written of a chunk.
struct Written {
    output: Vec<u8>,
    rejects: Vec<u8>,
    counts: Counts,
}

impl Written {
    fn new(n_scorers: usize) -> Self {
        Self { output: Vec::new(), rejects: Vec::new(), counts: Counts::new(n_scorers) }
    }
}

impl<'p> Process<'p> {
    pub(crate) fn new(plan: &'p Plan, judging: &'p dyn Judging) -> Self {
        Self {
            judging,
            mapping: &plan.mapping,
            scorers: &plan.scorers,
            overwrite_scores: plan.overwrite_scores,
            form: plan.target.reject_form(),
            file: plan.input(),
        }
    }

    /// The inputs of a chunk.
    pub(crate) fn inputs(&self, chunk: &Chunk) -> Vec<ScoreInput> {
        let inputs = chunk.lines().filter_map(|line| self.read(line).ok());
        inputs.map(|(_, input)| input).collect()
    }

    /// Judges the rows of a chunk.
    pub(crate) fn chunk(&self, chunk: &Chunk) -> Result<Finished, CliError> {
        let (mut rows, mut inputs) = (Vec::new(), Vec::new());
        for line in chunk.lines() {
            let row = self.read(line).map(|(row, input)| {
                inputs.push(input);
                row
            });
            rows.push((line, row));
        }
        let judged = if inputs.is_empty() { Vec::new() } else { self.judging.judge(inputs)? };
        let mut judged = judged.into_iter();
        let mut written = Written::new(self.scorers.len());
        for (line, row) in rows {
            let row = row.and_then(|row| {
                let results = judged.next().expect("one entry for each input");
                let results = results.map_err(|reason| Rejection { reason, id: row.id })?;
                Ok((row.place, results))
            });
            self.write(line, row, &mut written);
        }
        let Written { output, rejects, counts } = written;
        let digest = chunk_digest(&output, &rejects);
        Ok(Finished { end: chunk.end, output, rejects, counts, digest })
    }

    fn write(&self, line: Line<'_>, row: Scored<'_>, written: &mut Written) {
        match row {
            Ok((place, results)) => {
                place.write(self.scorers, &results, &mut written.output);
                written.counts.scored += 1;
                for (tally, result) in written.counts.tallies.iter_mut().zip(&results) {
                    tally.add(result);
                }
            }
            Err(rejection) => {
                rejects::write(&mut written.rejects, self.form, self.file, line, &rejection);
                written.counts.rejected += 1;
            }
        }
    }

    fn read<'l>(&self, line: Line<'l>) -> Result<(Scorable<'l>, ScoreInput), Rejection<'l>> {
        let bad = |reason| Rejection { reason, id: None };
        if let Some(cut) = line.cut {
            return Err(bad(format!("the row has {} bytes, too many to read", cut.line_bytes)));
        }
        let text = std::str::from_utf8(line.bytes)
            .map_err(|error| bad(format!("not UTF-8 after byte {}", error.valid_up_to())))?;
        let row = Row::parse(text).map_err(bad)?;
        let id = self.mapping.id(&row);
        let bad = |reason| Rejection { reason, id };
        let input = self.mapping.input(&row).map_err(bad)?;
        let place = Place::find(text, &row, self.scorers, self.overwrite_scores).map_err(bad)?;
        Ok((Scorable { place, id }, input))
    }
}
