//! The card beside the processor.

use crate::emulator;
use crate::subject::CardSubject;

#[test]
fn outputs_are_near_those_of_a_processor() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    for subject in CardSubject::all() {
        gpu_kit::agreement::check(&gpu, &subject).expect("near");
    }
}
