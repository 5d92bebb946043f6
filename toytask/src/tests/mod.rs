//! Generators held against verifiers, and what is trained on against what is served.

mod agreement;
mod balance;
mod embedded;
mod served;
mod text;
mod world;
