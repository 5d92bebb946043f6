//! Request bodies, serialised before the clock starts.
//!
//! A body of generated inputs is a template. Each of its inputs holds a serial number of fixed width,
//! which is stamped when the request is sent, at the cost of one copy and a few digits. So no two
//! inputs of a run are equal, and memory does not grow with the number of requests.

mod generate;
mod rows;

use std::path::Path;

use generate::SerialSlot;
use hyper::body::Bytes;
use openapi::{Options, ScoreInput};

use crate::error::LoadError;
use crate::wire::Wire;

/// Inputs in a pool of generated bodies, if the batch size allows it.
const POOL_INPUTS: usize = 4096;

/// Bodies that are sent in turn.
pub(crate) struct Workload {
    bodies: Vec<Body>,
    wire: Wire,
    batch: usize,
}

/// Common parts of all bodies of a run.
pub(crate) struct Common<'a> {
    pub(crate) wire: Wire,
    pub(crate) scorer: &'a str,
    pub(crate) batch: usize,
    pub(crate) options: Options,
}

/// One serialised request.
struct Body {
    bytes: Bytes,
    /// Places of serial numbers; empty if the body is sent unchanged.
    places: Vec<SerialSlot>,
}

impl Workload {
    /// The rows of a file, unchanged. The last body is filled with the first rows, so that every
    /// request holds `batch` inputs.
    pub(crate) fn from_file(path: &Path, common: &Common<'_>) -> Result<Self, LoadError> {
        let inputs = rows::read_rows(path)?;
        let bodies = inputs.len().div_ceil(common.batch);
        let mut rows = inputs.iter().cycle();
        let mut body = || -> Result<Body, LoadError> {
            let inputs = rows.by_ref().take(common.batch).cloned().collect();
            Ok(Body { bytes: common.serialise(inputs)?.into(), places: Vec::new() })
        };
        let bodies = (0..bodies).map(|_| body()).collect::<Result<_, _>>()?;
        Ok(Self::of(bodies, common))
    }

    /// Generated inputs. With `unique` no two inputs of a run, nor of runs with different seeds,
    /// are equal; without it a pool of about 4096 inputs takes turns.
    pub(crate) fn generated(
        seed: u64,
        unique: bool,
        common: &Common<'_>,
    ) -> Result<Self, LoadError> {
        let bodies = (POOL_INPUTS / common.batch).max(1);
        let mut stories = generate::Stories::new(seed);
        let mut body = |number: usize| -> Result<Body, LoadError> {
            let inputs = (0..common.batch).map(|at| stories.next_input(at)).collect();
            let template = common.serialise(inputs)?;
            let places = generate::places(&template);
            let first = (number * common.batch) as u64;
            let bytes = stamped(&template, &places, first).into();
            Ok(Body { bytes, places: if unique { places } else { Vec::new() } })
        };
        let bodies = (0..bodies).map(&mut body).collect::<Result<_, _>>()?;
        Ok(Self::of(bodies, common))
    }

    fn of(bodies: Vec<Body>, common: &Common<'_>) -> Self {
        Self { bodies, wire: common.wire, batch: common.batch }
    }

    /// The interface of the bodies.
    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// Inputs in each body.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// The body of request `number`, the same bytes for the same number.
    pub(crate) fn body(&self, number: u64) -> Bytes {
        let turn = number % self.bodies.len() as u64;
        let turn = usize::try_from(turn).expect("less than the number of bodies");
        let Body { bytes, places } = &self.bodies[turn];
        if places.is_empty() {
            return bytes.clone();
        }
        stamped(bytes, places, number * self.batch as u64).into()
    }
}

/// A copy of `template` in which input i carries the serial number `first` + i.
fn stamped(template: &[u8], places: &[SerialSlot], first: u64) -> Vec<u8> {
    let mut bytes = template.to_vec();
    for place in places {
        let digits = generate::digits(first + place.input);
        bytes[place.at..place.at + digits.len()].copy_from_slice(&digits);
    }
    bytes
}

impl Common<'_> {
    fn serialise(&self, inputs: Vec<ScoreInput>) -> Result<Vec<u8>, LoadError> {
        self.wire.body(self.scorer, inputs, &self.options)
    }
}

#[cfg(test)]
mod tests;
