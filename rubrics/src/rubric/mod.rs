//! Rubrics: lists of criteria with points or tiers, and their aggregation.
//!
//! Only data and arithmetic. [`parse`] reads a [`Rubric`] from TOML or JSON and checks it
//! completely, so that an existing rubric is valid; [`Rubric::aggregate`] combines the values of
//! its items; [`scaffold`] shows a part of the items to a policy during rollouts. The scorer kind
//! `rubric` decides which criteria are met.
//!
//! | part | from |
//! |---|---|
//! | items with points, the score of those that are met, rule items | `RuscaRL`, 2508.16949 ([`points`]) |
//! | scaffolds with their decay | `RuscaRL` ([`scaffold`]) |
//! | tiers, weights, veto, saturation, interactions, shaping | Rubicon, 2508.12790: it describes them in prose; every formula is ours ([`Rubicon`]) |

mod built_in;
mod check;
mod definition;
mod error;
mod file;
mod item;
mod points;
mod read_item;
mod rubicon;
pub mod scaffold;
mod table;
#[cfg(test)]
mod tests;

pub use built_in::{built_in, built_in_names};
pub use definition::{Method, Rubric, Whole};
pub use error::RubricError;
pub use file::{MAX_ITEMS, parse};
pub(crate) use file::{from_json, from_section, path_text};
pub use item::{ItemAnswer, RubricItem, Tier, Verification, Veto};
pub use points::{Points, points};
pub use rubicon::{Interaction, Rubicon, Saturation, Shaping};
