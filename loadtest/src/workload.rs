//! What is sent: request bodies, serialised before the clock starts.
//!
//! A body of generated inputs is a template. Each of its inputs holds a serial number of fixed
//! width, which is stamped when the request is sent: one copy and a few digits, so that no two
//! inputs of a run are equal and memory does not grow with the number of requests.

mod generate;
mod rows;

use std::path::Path;

use hyper::body::Bytes;
use openapi::{Options, ScoreInput, ScoreRequest};

use crate::error::LoadError;

/// Inputs that a pool of generated bodies holds, where the batch allows it.
const POOL_INPUTS: usize = 4096;

/// Bodies that take turns.
pub(crate) struct Workload {
    bodies: Vec<Body>,
    batch: usize,
}

/// What every body of a run has in common.
pub(crate) struct Common<'a> {
    pub(crate) scorer: &'a str,
    pub(crate) batch: usize,
    pub(crate) options: Options,
}

/// One serialised request.
struct Body {
    bytes: Bytes,
    /// Where serial numbers go. Each input has the same number of places; none when the body is
    /// sent as it is.
    places: Vec<usize>,
}

impl Workload {
    /// The rows of a file, as they are. The last body is filled up from the first rows, so that
    /// every request holds `batch` inputs.
    pub(crate) fn from_file(path: &Path, common: &Common<'_>) -> Result<Self, LoadError> {
        let inputs = rows::read(path)?;
        let bodies = inputs.len().div_ceil(common.batch);
        let mut rows = inputs.iter().cycle();
        let mut body = || Body {
            bytes: serialise(rows.by_ref().take(common.batch).cloned().collect(), common).into(),
            places: Vec::new(),
        };
        Ok(Self {
            bodies: (0..bodies).map(|_| body()).collect(),
            batch: common.batch,
        })
    }

    /// Generated inputs. With `unique` no two inputs of a run, nor of runs with different seeds,
    /// are equal; without it a pool of about 4096 inputs takes turns.
    pub(crate) fn generated(seed: u64, unique: bool, common: &Common<'_>) -> Self {
        let bodies = (POOL_INPUTS / common.batch).max(1);
        let mut stories = generate::Stories::new(seed);
        let mut body = |number: usize| {
            let inputs = (0..common.batch).map(|_| stories.next_input()).collect();
            let template = serialise(inputs, common);
            let places = generate::places(&template);
            let first = (number * common.batch) as u64;
            let bytes = stamped(&template, &places, first, common.batch).into();
            Body {
                bytes,
                places: if unique { places } else { Vec::new() },
            }
        };
        Self {
            bodies: (0..bodies).map(&mut body).collect(),
            batch: common.batch,
        }
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
        stamped(bytes, places, number * self.batch as u64, self.batch).into()
    }
}

/// A copy of `template` in which input i carries the serial number `first` + i.
fn stamped(template: &[u8], places: &[usize], first: u64, batch: usize) -> Vec<u8> {
    let mut bytes = template.to_vec();
    for (serial, places) in (first..).zip(places.chunks(places.len() / batch)) {
        let digits = generate::digits(serial);
        for place in places {
            bytes[*place..place + digits.len()].copy_from_slice(&digits);
        }
    }
    bytes
}

fn serialise(inputs: Vec<ScoreInput>, common: &Common<'_>) -> Vec<u8> {
    let request = ScoreRequest {
        model: common.scorer.to_owned(),
        inputs,
        options: common.options.clone(),
    };
    serde_json::to_vec(&request).expect("a request has string keys and no failing serialiser")
}

#[cfg(test)]
mod tests;
