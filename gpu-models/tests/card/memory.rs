//! Memory that is kept for steps.

use crate::emulator;
use crate::subject::CardSubject;

#[test]
fn step_bytes_of_a_configuration_are_those_of_its_runner() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    for subject in CardSubject::all() {
        let runner = subject.without_adapters(&gpu).expect("it fits");
        for tokens in [1, 64, 300] {
            let found = gpu_models::step_bytes(&subject.config, tokens);
            assert_eq!(found, runner.step_bytes(tokens), "{}, {tokens} tokens", subject.name);
        }
    }
}
