//! Faults between the items of a rubric.

use std::collections::HashMap;

use super::item::{RubricItem, Veto};
use super::table::Table;
use crate::config::PathSegment;

/// Reports need distinct names of items.
pub(super) fn ids(root: &Table<'_>, items: &[(usize, RubricItem)]) {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (index, item) in items {
        if let Some(before) = first.get(item.id.as_str()) {
            let message = format!("items[{before}] is called '{}' too", item.id);
            root.fault_within("items", *index, "id", message);
        } else {
            first.insert(&item.id, *index);
        }
    }
}

/// Two vetoes on the same words of which one always strikes.
pub(super) fn vetoes(root: &Table<'_>, items: &[(usize, RubricItem)]) {
    let mut least: HashMap<&str, (usize, f64)> = HashMap::new();
    for (index, item) in items {
        if let Some(Veto::Below(below)) = item.veto {
            least.insert(item.criterion.trim(), (*index, below));
        }
    }
    for (index, item) in items {
        let Some(Veto::Above(above)) = item.veto else {
            continue;
        };
        let Some((other, below)) = least.get(item.criterion.trim()) else {
            continue;
        };
        if above < *below {
            let message = format!(
                "contradictory veto: items[{other}] forbids values below {below} of the same \
                 criterion, so no response can pass both"
            );
            root.fault_within("items", *index, "critical", message);
        }
    }
}

/// A checklist on which nothing can be earned scores 0 whatever the response is.
pub(super) fn some_positive(root: &Table<'_>, items: &[(usize, RubricItem)]) {
    if items.iter().any(|(_, item)| item.points > 0.0) {
        return;
    }
    let message = "the positive points sum to 0, so that every score is 0; set \
                   aggregate.allow_no_positive = true if that is meant";
    root.fault("items", message);
}

impl Table<'_> {
    fn fault_within(&self, list: &'static str, index: usize, key: &str, message: String) {
        let at = vec![
            PathSegment::Key(list.to_owned()),
            PathSegment::Index(index),
            PathSegment::Key(key.to_owned()),
        ];
        self.fault_at(at, message);
    }
}
