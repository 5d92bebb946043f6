//! The kinds of scorers that a configuration can name, each with its options.

use crate::Scorer;
use crate::config::Section;
use crate::steps::Aggregate;
use verifiers::Fuel;

pub(super) fn build(section: &Section<'_, '_>, name: String, kind: &str) -> Option<Scorer> {
    let fuel = section
        .integer("fuel", 1..u64::MAX)
        .unwrap_or(Fuel::DEFAULT);
    section.texts("tags");
    Some(Scorer::arithmetic(
        name,
        Default::default(),
        Aggregate::Min,
        fuel,
    ))
}
