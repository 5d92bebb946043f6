//! Any response: extraction ends, and what it finds lies in the response.

#![no_main]

use libfuzzer_sys::fuzz_target;
use verifiers::extract::{self, AnswerPolicy};

fuzz_target!(|response: &str| {
    if let Some(found) = extract::answer(response, &AnswerPolicy::default()) {
        assert_eq!(&response[found.span.clone()], found.text);
        for member in &found.members {
            assert!(response.get(member.clone()).is_some());
        }
    }
});
