//! Generators compared with checkers, and training rows with served prompts.

mod agreement;
mod balance;
mod embedded;
mod served;
mod text;
mod world;
