//! Requirements on configurations and models.

use engine::Host;
use tiny_models::TinyHead;

use super::{AtSteps, scorer};
use crate::testing::{Bench, assert_one_problem};

#[test]
fn invalid_options_are_reported() {
    #[track_caller]
    fn check(options: &str, problem: &str) {
        assert_one_problem(&scorer(options), problem);
    }
    check("method = 'guess'", "not one of head, labels");
    check("separator = ''", "something in it");
    check("separator = 3", "a text");
    check("splitter = 'words'", "not one of blank_lines");
    check("aggregate = 'max'", "not one of min");
    check("threshold = 1.5", "from 0 to 1");
    check("score_index = -1", "a whole number");
    check("shaping = 'cut'", "not one of clip");
    check("labels = ['+', '-']", "unknown key");
    check("shaping = 'delta'\neta = 0.5", "unknown key");
    check("method = 'labels'\nlabels = ['+']", "two different labels");
    check("method = 'labels'\nlabels = ['+', '+']", "two different labels");
    check("method = 'labels'\nscore_index = 1", "unknown key");
    check("method = 'labels'\nmin_label_mass = 2", "from 0 to 1");
}

#[test]
fn unsuitable_models_are_refused_at_load() {
    #[track_caller]
    fn check(head: TinyHead, options: &str, problem: Option<&str>) {
        let bench =
            Bench::scripted(&scorer(options), head, |host: &Host| AtSteps::new(host, Vec::new()));
        let message = bench.check().err().unwrap_or_default().join("\n");
        assert_eq!(problem.is_none(), message.is_empty(), "{message}");
        assert!(message.contains(problem.unwrap_or_default()), "{message}");
    }
    check(TinyHead::Process, "", None);
    check(TinyHead::Token, "score_index = 0", None);
    check(TinyHead::Sequence, "", None);
    check(TinyHead::Vocab, "", Some("no score head"));
    check(TinyHead::Process, "score_index = 2", Some("has 2 outputs"));
    check(TinyHead::Process, "separator = 'zz'", Some("no added token"));
    check(TinyHead::Process, "separator = '<extra_1>'", Some("no added token"));
    check(TinyHead::Process, "separator = '<|im_end|>'", Some("cannot be told"));
}
