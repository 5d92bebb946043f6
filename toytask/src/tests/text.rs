//! The chat template: short roles, wordings, and everything else.

use chat::Conversation;
use serde_json::{Value, json};

use super::world::tokenizer;
use crate::Format;
use crate::example::{Aim, Encoder};
use crate::mixture::{Mixture, TaskRow, TrainingTarget};
use crate::symbols::{END, STEP};

/// Checks the rendered messages up to the model's reply.
#[track_caller]
fn check(messages: &Value, expected: &str) {
    let conversation = Conversation {
        messages: messages.as_array().expect("a list").clone(),
        add_generation_prompt: true,
        ..Conversation::default()
    };
    let rendered = tokenizer().template().render(&conversation);
    assert_eq!(rendered.expect("it renders").as_str(), expected);
}

#[test]
fn ordinary_chat_is_rendered_as_a_chat() {
    check(
        &json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "1+2 mod 100" },
            { "role": "assistant", "content": "1+2=3\nAnswer: 3" },
            { "role": "tool", "content": "{}" },
            { "role": "stranger", "content": "?" },
            { "role": "user", "content": null },
            { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
        ]),
        "<|begin|><|system|>Be brief.<|user|>1+2 mod 100<|assistant|>1+2=3\nAnswer: 3<|end|>\
         <|tool|>{}<|user|>?<|user|><|user|>ab<|assistant|>",
    );
    // Quotations and titles in a person's text are not wordings of ours.
    for text in ["> 1\n> 2", "User:\n> 1", "Question:\nWhy?", "Response A:", "\n> x"] {
        check(
            &json!([{ "role": "user", "content": text }]),
            &format!("<|begin|><|user|>{text}<|assistant|>"),
        );
    }
}

#[test]
fn only_the_template_writes_special_tokens() {
    let tokenizer = tokenizer();
    let spelled = "<|end|><|step|>\n> <|principle|>\n<step 2>\nUser:";
    for role in ["user", "assistant", "principle", "steps", "document", "tool"] {
        let conversation = Conversation {
            messages: vec![json!({ "role": role, "content": spelled })],
            ..Conversation::default()
        };
        let ids = tokenizer.encode_chat(&conversation).expect("it renders").token_ids;
        let n_special = ids.iter().filter(|id| tokenizer.is_special(**id)).count();
        let own = match role {
            "assistant" => 3,
            "steps" => 3 + spelled.lines().count(),
            _ => 2,
        };
        assert_eq!(n_special, own, "{role}");
    }
}

#[test]
fn targets_are_the_next_tokens() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    let mixture = Mixture::default();
    for format in Format::ALL {
        for at in 0..40 {
            let row = mixture.row_of(format, at);
            let example = encoder.encode(&row).expect("it encodes");
            assert!(example.token_ids.len() <= 512, "{}", format.name());
            assert!(!example.token_ids.contains(&1), "no character is unknown");
            let said: Vec<u32> = example.aims.iter().map(|aim| aim.token).collect();
            match &row.target {
                TrainingTarget::Reply(reply) => {
                    let (end, text) = said.split_last().expect("at least the end");
                    assert_eq!(*end, END);
                    assert_eq!(&tokenizer.decode(text, false).expect("known"), reply);
                    // Each target is the next input token.
                    for aim in &example.aims[..said.len() - 1] {
                        assert_eq!(example.token_ids[aim.at + 1], aim.token);
                    }
                    let prompt = encoder.prompt(&row.turns).expect("it renders");
                    assert!(example.token_ids.starts_with(&prompt));
                    assert_eq!(example.aims[0].at + 1, prompt.len());
                }
                TrainingTarget::Ending(word) => {
                    assert_eq!(&tokenizer.decode(&said, false).expect("known"), word);
                    assert_eq!(example.aims[0].at + 1, example.token_ids.len());
                    assert_eq!(example.token_ids.last(), Some(&END));
                }
                TrainingTarget::Steps(labels) => {
                    let marks: Vec<bool> = said.iter().map(|id| *id == u32::from(b'+')).collect();
                    assert_eq!(&marks, labels);
                    assert!(example.aims.iter().all(|aim| example.token_ids[aim.at] == STEP));
                }
            }
        }
    }
}

#[test]
fn labels_fit_their_steps() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    let row = TaskRow {
        format: Format::Process,
        turns: crate::format::process("1+2 mod 100", "1+2=3\nAnswer: 3"),
        target: TrainingTarget::Steps(vec![true]),
    };
    let error = encoder.encode(&row).expect_err("two steps, one label");
    assert!(error.to_string().contains("1 labels for 2 steps"));
    let row = TaskRow { target: TrainingTarget::Ending("maybe".to_owned()), ..row };
    assert!(encoder.encode(&row).is_err(), "no single token");
}

#[test]
fn judged_steps_have_results_as_targets() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    // For each line of the solution, the digits of the right result, and the ones and the tens stated too many.
    let check = |solution: &str, expected: &[(&str, &str)]| {
        let problem = "1+2 mod 100";
        let turns = crate::format::process(problem, solution);
        let labels = crate::check::check_solution(problem, solution).expect("a solution").local();
        let row = TaskRow { format: Format::Process, turns, target: TrainingTarget::Steps(labels) };
        let plain = encoder.encode(&row).expect("it encodes");
        let taught = encoder.encode_with_results(&row).expect("it encodes");
        assert_eq!(taught.token_ids, plain.token_ids);
        assert!(taught.aims.windows(2).all(|pair| pair[0].at < pair[1].at));
        let spell = |aims: &mut dyn Iterator<Item = &Aim>| {
            let tokens: Vec<u32> = aims.map(|aim| aim.token).collect();
            tokenizer.decode(&tokens, false).expect("known")
        };
        let mut told = Vec::new();
        let mut start = 0;
        for marker in &plain.aims {
            let line = |aim: &&Aim| (start..marker.at).contains(&aim.at);
            let after = |aim: &&Aim| (marker.at + 1..marker.at + 3).contains(&aim.at);
            let results = spell(&mut taught.aims.iter().filter(line));
            told.push((results, spell(&mut taught.aims.iter().filter(after))));
            start = marker.at + 3;
        }
        let told: Vec<(&str, &str)> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(told, expected, "{solution:?}");
        let new: usize = expected.iter().map(|(a, b)| a.len() + b.len()).sum();
        assert_eq!(taught.aims.len(), plain.aims.len() + new, "{solution:?}");
    };
    check("17+58=75\nAnswer: 75", &[("75", "00"), ("", "")]);
    check("17+58=85\n85-9=73", &[("75", "01"), ("76", "")]);
    check("17+58=73\n17*9=54\nAnswer: 54", &[("75", "80"), ("53", "10"), ("", "")]);
    check("75*4=9\n3+4=17\n1-2=0\nAnswer: 9", &[("0", "90"), ("7", "01"), ("99", "11"), ("", "")]);
    // No step of a chain.
    for other in ["17+58", "17+58=", "1+2+3=6", "=3", "x=3", "8/2=4"] {
        check(&format!("{other}\nAnswer: 3"), &[("", ""), ("", "")]);
    }
}

#[test]
fn judged_steps_have_whether_documents_contain_them_as_targets() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    let solution = "17+58=75\n75*4=0\nAnswer: 0";
    // For each line whether documents contain it; for each token of the first one before its result, whether a line of
    // theirs begins as it does up to there.
    let check = |documents: &[&str], expected: &str, begins: &str| {
        let documents: Vec<String> = documents.iter().map(|text| (*text).to_owned()).collect();
        let turns = crate::format::grounded(
            &documents,
            "(17+58)*4 mod 100",
            solution,
            "75*4=0",
            "faithful",
        );
        let target = TrainingTarget::Reply("yes".to_owned());
        let row = TaskRow { format: Format::Faithful, turns, target };
        let taught = encoder.encode_with_results(&row).expect("it encodes");
        let markers = taught.token_ids.iter().enumerate().filter(|(_, id)| **id == STEP);
        let markers: Vec<usize> = markers.map(|(at, _)| at).collect();
        let told = |is_asked: &dyn Fn(usize) -> bool| {
            let aims = taught.aims.iter().filter(|aim| is_asked(aim.at));
            let tokens: Vec<u32> = aims.map(|aim| aim.token).collect();
            tokenizer.decode(&tokens, false).expect("known")
        };
        let contained = told(&|at| markers.contains(&(at.wrapping_sub(3))));
        assert_eq!(contained, expected, "{documents:?}");
        let equals = markers[0] - "=75".len();
        let begun = told(&|at| (equals - "17+58".len()..equals).contains(&at));
        assert_eq!(begun, begins, "{documents:?}");
    };
    check(&["Nothing is known."], "---", "-----");
    check(&["75*4=0"], "-+-", "-----");
    check(&["1+2=3\n17+58=75", "Answer: 0"], "+-+", "+++++");
    check(&["17+58=7", "75*4=00", "answer: 0"], "---", "+++++");
    check(&["1+58=59", "17+8=25"], "---", "+++--");
    check(&[], "", "");
}

/// Results of countdown are not taken modulo 100.
#[test]
fn steps_of_countdown_have_labels_alone() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    let mixture = Mixture { countdown: 1.0, ..Mixture::default() };
    for at in 0..60 {
        let row = mixture.row_of(Format::Process, at);
        let plain = encoder.encode(&row).expect("it encodes");
        assert_eq!(encoder.encode_with_results(&row).expect("it encodes"), plain);
    }
}

/// Every solution that a row asks about has its labels, in every format, and every reply is taught as it was.
#[test]
fn judged_solutions_have_labels_in_every_format() {
    let tokenizer = tokenizer();
    let encoder = Encoder::new(&tokenizer).expect("it is ours");
    for format in Format::ALL {
        for at in 0..60 {
            let row = Mixture::default().row_of(format, at);
            let plain = encoder.encode(&row).expect("it encodes");
            let taught = encoder.encode_with_results(&row).expect("it encodes");
            assert_eq!(taught.token_ids, plain.token_ids);
            assert!(taught.aims.windows(2).all(|pair| pair[0].at < pair[1].at));
            assert!(plain.aims.iter().all(|aim| taught.aims.contains(aim)), "{}", format.name());
            let markers = taught.token_ids.iter().enumerate().filter(|(_, id)| **id == STEP);
            let markers: Vec<usize> = markers.map(|(at, _)| at).collect();
            let taught_at = |at: &usize| taught.aims.iter().any(|aim| aim.at == *at);
            assert!(markers.iter().all(taught_at), "{}", format.name());
            let writes = [Format::Player, Format::Reflection, Format::Reward].contains(&format);
            assert_eq!(markers.is_empty(), writes, "{}", format.name());
            assert_eq!(taught == plain, writes, "{}", format.name());
        }
    }
}

#[test]
fn answers_before_a_question_are_marked() {
    let said = |role: &str, content: &str| json!({ "role": role, "content": content });
    let (user, first) = (said("user", "1+2 mod 100"), said("assistant", "1+2=3\nAnswer: 3"));
    let marked = "<|begin|><|user|>1+2 mod 100<|assistant|>1+2=3<|step|>\nAnswer: 3<|step|><|end|>";
    let plain = "<|begin|><|user|>1+2 mod 100<|assistant|>1+2=3\nAnswer: 3<|end|>";
    let and =
        |messages: &[Value]| Value::Array([&[user.clone(), first.clone()], messages].concat());
    check(&and(&[said("pointwise", "")]), &format!("{marked}<|pointwise|><|assistant|>"));
    check(&and(&[said("again", "")]), &format!("{plain}<|again|><|assistant|>"));
    check(&and(&[]), &format!("{plain}<|assistant|>"));
    check(
        &and(&[said("reference", "3"), said("tools", ""), first.clone(), said("tool", "{}")]),
        &format!(
            "{marked}<|reference|>3<|tools|><|assistant|>1+2=3\nAnswer: 3<|end|><|tool|>{{}}<|assistant|>"
        ),
    );
}
