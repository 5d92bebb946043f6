//! What the card is.

use gpu::{Gpu, Survey, survey};
use serde_json::json;

use crate::effort::Effort;
use crate::lines::print;

pub(crate) fn run(gpu: &Gpu, _: Effort) {
    let card = gpu.card();
    let driver = match survey() {
        Survey::Found { driver, .. } => Some(format!("{}.{}", driver.0, driver.1)),
        Survey::None(_) => None,
    };
    print(&json!({
        "name": "card",
        "status": "ok",
        "card": card.name,
        "capability": format!("{}.{}", card.capability.0, card.capability.1),
        "memory_bytes": card.memory_bytes,
        "driver": driver,
        "kernels": gpu.origin().to_string(),
    }));
}
