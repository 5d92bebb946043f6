//! Small tasks with exact answers: chain arithmetic modulo 100, and countdown.
pub mod measure;
