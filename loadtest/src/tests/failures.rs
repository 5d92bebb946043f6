//! Every way in which a server can misbehave is a clear error or a counted class.

use std::collections::HashSet;
use std::net::TcpListener;
use std::time::Duration;

use openapi::{CacheMode, Status};

use super::stub::{Act, PROBES, Stub};
use super::{args, bench, phase};
use crate::{Class, Lines, LoadError, run};

const QUICK: &str = "--batch 3 --warmup 0s --concurrency 1 --requests 4";

/// Each act, from the second request on, puts every request into one class.
#[test]
fn each_server_fault_has_its_class() {
    let after = |ms| Act::AnswerAfter(Duration::from_millis(ms));
    let retry = "retry-after: 1\r\n";
    let table = [
        (Act::Answer, Class::Ok),
        (Act::AnswerAndClose, Class::Ok),
        (Act::Status(429, retry), Class::Limited),
        (Act::Status(503, retry), Class::Overloaded),
        (Act::Status(503, ""), Class::Unavailable),
        (Act::Status(504, ""), Class::DeadlinePassed),
        (Act::Status(422, ""), Class::ClientError),
        (Act::Status(500, ""), Class::ServerError),
        (Act::Status(302, "location: /\r\n"), Class::BadReply),
        (Act::Body("<html>"), Class::BadReply),
        (Act::Body(r#"{"results":[{"status":"ok"}]}"#), Class::BadReply),
        (
            Act::Body(r#"{"results":[{"status":"ok"},{"status":"ok"},{"score":1}]}"#),
            Class::BadReply,
        ),
        (Act::Raw("SSH-2.0-OpenSSH_9.9\r\n"), Class::BadReply),
        (Act::Raw("HTTP/1.1 200 OK\r\nconte"), Class::Lost),
        (Act::Cut, Class::Lost),
        (Act::Close, Class::Lost),
        (Act::Silent, Class::Timeout),
        (after(30), Class::Late),
    ];
    for (act, class) in table {
        let stub = Stub::after_probe(act.clone());
        let deadline = if class == Class::Late { "--deadline-ms 5" } else { "" };
        let timeout = if class == Class::Timeout { "--timeout 100ms" } else { "" };
        let phase = phase(&stub, &format!("{QUICK} {deadline} {timeout}"));
        assert_eq!(phase.tally.get(class), 4, "{act:?}: {}", phase.tally);
        assert_eq!(phase.tally.total(), 4, "{act:?}: {}", phase.tally);
    }
}

#[test]
fn server_exit_is_counted_as_connect_error() {
    // The check of the server takes two connections; the second one answers once.
    let stub = Stub::limited(2, |_| Act::AnswerAndClose);
    let phase = phase(&stub, QUICK);
    assert_eq!(phase.tally.get(Class::ConnectionError), 4, "{}", phase.tally);
}

/// What the first reply shows to be wrong is one message at once, and no load is sent.
#[test]
fn server_without_scores_is_refused() {
    let table = [
        (Act::Status(404, ""), "404"),
        (Act::Status(401, ""), "no key"),
        (Act::Status(422, ""), "422"),
        (Act::Status(302, ""), "302"),
        (Act::Raw("220 mail.example ESMTP\r\n"), "not HTTP"),
        (Act::Body("<html>"), "not a score reply"),
        (Act::Body(r#"{"results":[]}"#), "0 results for 3 inputs"),
        (Act::Close, "closed the connection"),
        (Act::Cut, "closed the connection"),
        (Act::Silent, "did not answer"),
    ];
    for (act, expected) in table {
        let stub = Stub::new({
            let act = act.clone();
            move |_| act.clone()
        });
        let error = bench(&stub, &format!("{QUICK} --timeout 200ms")).expect_err("no score");
        assert!(matches!(error, LoadError::NotScoring { .. }), "{act:?}: {error}");
        assert!(error.to_string().contains(expected), "{act:?}: {error}");
        assert_eq!(error.exit_code(), 1);
        assert!(stub.seen().is_empty(), "{act:?}");
    }
}

#[test]
fn unreachable_server_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("a bound address"));
    drop(listener);
    let error = run(&args(&url, QUICK), &mut Lines(Vec::new())).expect_err("there is no listener");
    assert!(matches!(error, LoadError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&url), "{error}");
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn invalid_arguments_are_refused_before_connecting() {
    let stub = Stub::new(|_| Act::Answer);
    for line in ["--rate 0", "--rate NaN", "--batch 0", "--requests 0", "--input no/such/file"] {
        let error = bench(&stub, line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}: {error}");
    }
    assert_eq!(stub.connections(), 0);
}

type Script = fn(usize) -> Act;

/// A busy server passes the check; the run fails when nothing succeeds or a reply is lost.
#[test]
fn exit_code_reports_lost_replies() {
    let busy = || Act::Status(503, "retry-after: 1\r\n");
    let table: [(Script, u8); 5] = [
        (|_| Act::Answer, 0),
        (
            |number| {
                if number == 2 { Act::Silent } else { Act::Answer }
            },
            0,
        ),
        (|number| if number == 2 { Act::Cut } else { Act::Answer }, 1),
        (
            |number| {
                if number == 2 { Act::Body("{}") } else { Act::Answer }
            },
            1,
        ),
        (|_| Act::Status(500, ""), 1),
    ];
    for (at, (script, code)) in table.into_iter().enumerate() {
        let report = bench(&Stub::new(script), &format!("{QUICK} --timeout 200ms"));
        assert_eq!(report.expect("a report").exit_code(), code, "case {at}");
    }
    let half = Stub::new(move |number| if number % 2 == 0 { busy() } else { Act::Answer });
    let report = bench(&half, QUICK).expect("a report");
    assert_eq!((report.exit_code(), report.phases[0].tally.get(Class::Overloaded)), (0, 2));
}

/// A lost reply fails a run also where it was lost before the measurement.
#[test]
fn lost_replies_in_warm_up_fail_the_run() {
    let stub = Stub::new(|number| if number == PROBES { Act::Cut } else { Act::Answer });
    let report = bench(&stub, "--batch 3 --warmup 100ms --concurrency 1 --requests 4");
    let report = report.expect("a report");
    let phase = &report.phases[0];
    assert_eq!((phase.tally.get(Class::Ok), phase.tally.total()), (4, 4));
    assert_eq!(phase.warmup.get(Class::Lost), 1);
    assert_eq!(stub.seen().len() as u64, phase.tally.total() + phase.warmup.total());
    assert_eq!(report.exit_code(), 1);
    assert!(report.table().contains("FAILED"), "{}", report.table());
}

#[test]
fn verdicts_are_counted_by_status() {
    let phase = phase(&Stub::new(|_| Act::Answer), QUICK);
    let verdicts = phase.verdicts;
    assert_eq!((verdicts.total(), verdicts.get(Status::Ok), verdicts.cached()), (12, 8, 4));
    assert_eq!(verdicts.get(Status::BadReference), 4);
}

#[test]
fn connections_are_reused_and_reopened() {
    let kept = Stub::new(|_| Act::Answer);
    phase(&kept, "--batch 1 --warmup 0s --concurrency 2 --requests 40");
    assert_eq!(kept.connections(), 2 + 2, "two to check the server, and one for each worker");
    let closed = Stub::new(|_| Act::AnswerAndClose);
    let phase = phase(&closed, "--batch 1 --warmup 0s --concurrency 2 --requests 40");
    assert_eq!((phase.tally.get(Class::Ok), closed.connections()), (40, 2 + 40));
}

#[test]
fn requests_carry_the_flags_values() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let key = folder.path().join("key");
    std::fs::write(&key, "k-123\n").expect("a temporary folder takes files");
    let stub = Stub::new(|_| Act::Answer);
    let line = format!(
        "{QUICK} --deadline-ms 700 --cache bypass --scorer strict --api-key-file {}",
        key.display()
    );
    let report = bench(&stub, &line).expect("a report");
    let mut inputs = HashSet::new();
    for seen in stub.seen() {
        assert!(seen.head.starts_with("POST /v1/score HTTP/1.1\r\n"), "{}", seen.head);
        assert!(seen.head.contains("authorization: Bearer k-123\r\n"), "{}", seen.head);
        let request = seen.request();
        assert_eq!((request.model.as_str(), request.inputs.len()), ("strict", 3));
        assert_eq!(request.options.deadline_ms, Some(700));
        assert_eq!(request.options.cache, CacheMode::Bypass);
        for input in request.inputs {
            assert!(inputs.insert(format!("{:?}", input.response)), "an input came twice");
        }
    }
    let outputs = [report.table(), report.json(), report.html().expect("a page")];
    assert!(outputs.iter().all(|text| !text.contains("k-123")), "the key is secret");
}
