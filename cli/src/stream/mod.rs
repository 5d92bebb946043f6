//! Large line-oriented inputs in bounded memory: lines to chunks, chunks through workers, results
//! back in order. What a line means is not known here.

mod lines;
mod ordered;

pub(crate) use lines::{Chunk, Limits, Line, Mark, Reader};
pub(crate) use ordered::{Held, Window, run};
