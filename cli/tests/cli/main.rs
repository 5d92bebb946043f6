//! The real binary, from outside.

mod batches;
mod bench;
mod calibrate;
mod denoise;
mod doctor;
mod documents;
mod eval;
mod filter;
mod filter_groups;
mod filter_gsm8k;
mod math_table;
mod principles;
mod program;
mod real_data;
mod remote;
mod resume;
mod rubric;
mod sandbox;
mod score;
mod serve;
mod signing;
mod soak;
mod tables;
mod train;
mod training;
mod verify;
