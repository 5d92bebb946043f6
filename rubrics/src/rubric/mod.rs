//! Rubrics: lists of criteria with points or tiers, and what they come to together.
//!
//! Everything here is data and arithmetic. A [`Rubric`] is read from TOML or JSON by one reader
//! ([`parse`]) and checked whole, so that one that exists can be judged by; [`Rubric::aggregate`]
//! makes one number of what was found for its items; [`scaffold`] shows a policy a part of them
//! while it rolls out. The scorer kind `rubric` finds out which criteria are met.
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
pub use item::{Answer, Item, Tier, Verification, Veto};
pub use points::{Points, points};
pub use rubicon::{Interaction, Rubicon, Saturation, Shaping};
