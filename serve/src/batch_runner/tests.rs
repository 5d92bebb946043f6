//! Batches from input to output file, through processes that end at any step.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix_web::rt::System;
use actix_web::web::Data;
use futures_util::FutureExt as _;
use proptest::prelude::*;
use rubrics::{Priority, Registry};
use serde_json::{Value, json};

use crate::batch_runner;
use crate::batches::disk::{Faults, NoFaults};
use crate::batches::ids::{BatchId, FileId};
use crate::batches::journal::{Journal, JournalEvent, JournalRecord, LineOutcome};
use crate::batches::record::{BatchCounts, BatchRecord, FileRecord, WINDOW_SECONDS};
use crate::batches::status::BatchStatus;
use crate::batches::status::is_over;
use crate::batches::tests::{FaultPlan, batch_of, file_of};
use crate::batches::{Batches, DeleteOutcome};
use crate::config::Config;
use crate::keys::Keys;
use crate::routes::meta::Document;
use crate::scorer_queues::{QueuePolicy, QueueShare, QueueSpec};
use crate::state::State;

const LINES: usize = 9;
const OWNER: &str = "somebody";

fn config() -> Config {
    Config {
        threads: 1,
        workers: 1,
        batches_concurrency: 3,
        // Processes end in most tests here, and no line is the cause.
        batches_max_attempts: 100,
        drain: Duration::from_secs(1),
        ..Config::default()
    }
}

/// Returns lines, every fourth of which names an unknown scorer.
fn requests() -> String {
    let line = |n: usize| {
        let model = if n % 4 == 3 { "nobody" } else { "math" };
        let input = json!({ "response": n.to_string(), "reference": "2" });
        let body = json!({ "model": model, "inputs": [input] });
        let line = json!({ "custom_id": format!("q{n}"), "method": "POST", "url": "/v1/score", "body": body });
        line.to_string() + "\n"
    };
    (0..LINES).map(line).collect()
}

fn open(folder: &Path) -> Option<Batches> {
    let faults: Arc<dyn Faults> = Arc::new(NoFaults);
    open_with(folder, &faults)
}

/// Opens a folder with changed limits.
fn changed(folder: &Path, change: impl FnOnce(&mut Batches)) -> Batches {
    let mut batches = open(folder).expect("it is usable");
    change(&mut batches);
    batches
}

fn open_with(folder: &Path, faults: &Arc<dyn Faults>) -> Option<Batches> {
    // The process before may still hold the database.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match Batches::open_with(folder, &config(), faults.clone()) {
            Ok(batches) => return Some(batches),
            Err(error) if error.to_string().contains("already open") => {
                assert!(Instant::now() < end, "{error}");
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => return None,
        }
    }
}

fn given(batches: &Batches, text: &str) -> BatchId {
    let mut writing = batches.begin_file().expect("room");
    writing.write(text.as_bytes()).expect("room");
    let keep = |id, place, bytes| FileRecord { id, bytes, ..file_of(OWNER, place) };
    let input = batches.keep_file(writing, keep).expect("room").id;
    let begun = batches.begin(|id, place| BatchRecord { id, ..batch_of(OWNER, place, input) });
    begun.expect("room").0.id
}

/// A process: works until the batch is over or `ends` says so, and then dies.
fn process<F: Faults + 'static>(
    folder: &Path,
    faults: &Arc<F>,
    id: &BatchId,
    ends: impl Fn() -> bool,
) {
    let faults: Arc<dyn Faults> = faults.clone();
    let Some(batches) = open_with(folder, &faults) else {
        return;
    };
    work(batches, config(), |batches| ends() || is_finished(batches, id));
}

/// Whether a batch is finished; not known of a database that fails.
fn is_finished(batches: &Batches, id: &BatchId) -> bool {
    let batch = batches.batch(id, OWNER);
    batch.is_ok_and(|batch| batch.is_some_and(|batch| is_over(batch.status)))
}

/// Works in a process until `ends`. The process dies then, unless `ends` has stopped it. The queues
/// of the configuration are full all the time.
fn work(batches: Batches, config: Config, ends: impl Fn(&Batches) -> bool) {
    let queues = config.queues.clone();
    let state = State::new(config, Registry::built_in(), Keys::default());
    let mut state = state.expect("threads start");
    let fill = |queue: &QueueSpec| {
        let entering = state.scorer_queues.enter(
            &queue.scorer,
            queue.size,
            Priority::Interactive,
            Duration::ZERO,
        );
        entering.now_or_never().expect("no wait").expect("an empty queue")
    };
    let _held: Vec<QueueShare> = queues.iter().map(fill).collect();
    let batches = Arc::new(batches);
    state.batches = Some(batches.clone());
    let state = Data::new(state);
    let document = Data::new(Document::new(String::new()));
    System::new().block_on(async {
        let working = batch_runner::start(&state, &document).expect("there is a folder");
        let end = Instant::now() + Duration::from_mins(1);
        while !ends(&batches) {
            assert!(Instant::now() < end, "the batch stands still");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if !*batches.stop.borrow() {
            working.abort();
        }
        let _ = working.await;
    });
}

fn finished(folder: &Path, id: &BatchId) -> (BatchRecord, Vec<Value>, Vec<Value>) {
    process(folder, &Arc::new(NoFaults), id, || false);
    let batches = open(folder).expect("it is usable");
    let batch = batches.batch(id, OWNER).expect("readable").expect("known");
    let lines = |id: &Option<FileId>| {
        let Some(id) = id else { return Vec::new() };
        let record = batches.file(id, OWNER).expect("readable").expect("known");
        let mut text = String::new();
        let mut file = batches.content(id).expect("it is there");
        file.read_to_string(&mut text).expect("UTF-8");
        assert_eq!(record.bytes, text.len() as u64);
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect()
    };
    let (output, error) = (lines(&batch.output), lines(&batch.error));
    assert!(batches.disk.journal_names().expect("readable").is_empty() || !is_over(batch.status));
    (batch, output, error)
}

fn check_all_once(folder: &Path, id: &BatchId) {
    let (batch, output, error) = finished(folder, id);
    assert_eq!(batch.status, BatchStatus::Completed);
    let expected = BatchCounts { total: 9, completed: 7, failed: 2 };
    assert_eq!(batch.counts, expected);
    let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
    for line in output.iter().chain(&error) {
        let id = line["custom_id"].as_str().expect("text");
        let status = line["response"]["status_code"].as_u64().expect("a number");
        assert_eq!(statuses.insert(id, status), None, "{id} is there twice");
        assert_eq!(line["error"], Value::Null);
        let own = line["response"]["request_id"] == line["id"];
        assert!(own, "{line}");
    }
    for n in 0..LINES {
        let expected = if n % 4 == 3 { 404 } else { 200 };
        assert_eq!(statuses.get(format!("q{n}").as_str()), Some(&expected));
    }
    let second = output.iter().find(|line| line["custom_id"] == "q2").expect("it was sent");
    assert_eq!(second["response"]["body"]["results"][0]["score"], 1.0);
    let order: Vec<&Value> = output.iter().map(|line| &line["custom_id"]).collect();
    assert_eq!(order, ["q0", "q1", "q2", "q4", "q5", "q6", "q8"], "as in the file");
}

fn begun(folder: &Path, text: &str) -> BatchId {
    let batches = open(folder).expect("it is usable");
    given(&batches, text)
}

#[test]
fn undisturbed_batch_completes() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    check_all_once(folder.path(), &id);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Processes end at any of their steps, one after the other.
    #[test]
    fn crash_at_any_step_keeps_each_line_once(ends in prop::collection::vec(0_usize..40, 1..4)) {
        let folder = tempfile::tempdir().expect("a folder");
        let id = begun(folder.path(), &requests());
        for passing in ends {
            let plan = Arc::new(FaultPlan::new(passing, usize::MAX, ErrorKind::BrokenPipe));
            process(folder.path(), &plan, &id, || plan.tripped());
        }
        check_all_once(folder.path(), &id);
    }

    /// The disk is full or cannot be written for a while.
    #[test]
    fn full_disk_at_any_step_keeps_each_line_once(passing in 1_usize..30, failing in 1_usize..4, full: bool) {
        let kind = if full { ErrorKind::StorageFull } else { ErrorKind::ReadOnlyFilesystem };
        let folder = tempfile::tempdir().expect("a folder");
        let id = begun(folder.path(), &requests());
        let plan = Arc::new(FaultPlan::new(passing, failing, kind));
        process(folder.path(), &plan, &id, || false);
        check_all_once(folder.path(), &id);
    }
}

#[test]
fn cancelled_before_validation_ends_as_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    let batches = open(folder.path()).expect("it is usable");
    assert!(batches.cancel(&id, "another").expect("writable").is_none());
    for _ in 0..2 {
        let (batch, done) = batches.cancel(&id, OWNER).expect("writable").expect("known");
        assert_eq!((batch.status, done), (BatchStatus::Cancelling, true));
    }
    drop(batches);
    let (batch, output, error) = finished(folder.path(), &id);
    assert_eq!(batch.status, BatchStatus::Cancelled);
    assert_eq!((output, error), (vec![], vec![]), "nothing was known of its lines");
    let batches = open(folder.path()).expect("it is usable");
    let (_, done) = batches.cancel(&id, OWNER).expect("writable").expect("known");
    assert!(!done, "it is over");
}

/// Puts a batch into a state, as a process leaves it behind.
fn left_behind(folder: &Path, id: &BatchId, change: impl Fn(&mut BatchRecord)) {
    let batches = open(folder).expect("it is usable");
    let change = |batch: &mut BatchRecord| {
        change(batch);
        true
    };
    batches.store.change(id, &[], change).expect("writable");
}

#[test]
fn finalizing_batch_cannot_be_cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    left_behind(folder.path(), &id, |batch| {
        batch.enter(BatchStatus::Finalizing, 1);
    });
    let batches = open(folder.path()).expect("it is usable");
    let (batch, done) = batches.cancel(&id, OWNER).expect("writable").expect("known");
    assert_eq!((batch.status, done), (BatchStatus::Finalizing, false));
}

#[test]
fn unanswered_lines_of_expired_batch_are_error_lines() {
    for cancelled in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let id = begun(folder.path(), &requests());
        left_behind(folder.path(), &id, |batch| {
            batch.enter(BatchStatus::InProgress, 1);
            batch.counts.total = 9;
            if cancelled {
                batch.enter(BatchStatus::Cancelling, 2);
            } else {
                batch.created_at -= WINDOW_SECONDS + 1;
            }
        });
        let (batch, output, error) = finished(folder.path(), &id);
        let (status, code) = if cancelled {
            (BatchStatus::Cancelled, "batch_cancelled")
        } else {
            (BatchStatus::Expired, "batch_expired")
        };
        assert_eq!(batch.status, status);
        assert_eq!((output.len(), error.len()), (0, LINES));
        for (n, line) in error.iter().enumerate() {
            assert_eq!(line["custom_id"], format!("q{n}"));
            assert_eq!(line["response"], Value::Null);
            assert_eq!(line["error"]["code"], code);
        }
    }
}

#[test]
fn expired_files_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    let batches = open(folder.path()).expect("it is usable");
    let batch = batches.batch(&id, OWNER).expect("readable").expect("known");
    let file = batches.file(&batch.input, OWNER).expect("readable").expect("known");
    assert_eq!(batches.file(&batch.input, "another").expect("readable"), None);
    let old = FileRecord { expires_at: Some(1), ..file };
    batches.store.add_file(&old).expect("writable");
    assert_eq!(batches.file(&batch.input, OWNER).expect("readable"), None);
    batches.sweep().expect("it works");
    assert!(batches.content(&batch.input).is_ok(), "its batch needs it");
    let needed = batches.delete_file(&batch.input, OWNER).expect("it works");
    assert_eq!(needed, DeleteOutcome::Needed(id.clone()));
    drop(batches);
    left_behind(folder.path(), &id, |batch| {
        batch.enter(BatchStatus::Failed, 1);
    });
    let batches = open(folder.path()).expect("it is usable");
    batches.sweep().expect("it works");
    assert!(batches.content(&batch.input).is_err());
    assert_eq!(batches.bytes(), 0);
}

/// A process that ends between a file and its record leaves a file without a record.
#[test]
fn files_without_records_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    let batches = open(folder.path()).expect("it is usable");
    let known = batches.bytes();
    std::fs::write(folder.path().join("begun/half"), "half").expect("writable");
    let mut writing = batches.begin_file().expect("room");
    writing.write(b"without a record").expect("room");
    writing.keep(&FileId::new().expect("randomness")).expect("room").leave();
    let other = BatchId::new().expect("randomness");
    std::fs::write(batches.disk.journal(&other), b"of nothing").expect("writable");
    drop(batches);
    let batches = open(folder.path()).expect("it is usable");
    assert_eq!(batches.bytes(), known);
    assert_eq!(batches.disk.file_names().expect("readable").len(), 1);
    drop(batches);
    check_all_once(folder.path(), &id);
}

#[test]
fn second_server_on_a_folder_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Batches::open(folder.path(), &config()).expect("it is usable");
    let mut writing = first.begin_file().expect("room");
    writing.write(b"half of an upload").expect("room");
    let second = Batches::open(folder.path(), &config()).expect_err("it is in use");
    assert!(second.to_string().contains("already open"), "{second}");
    writing.keep(&FileId::new().expect("randomness")).expect("the upload is there still");
}

#[test]
fn link_in_place_of_a_folder_is_refused_and_its_target_stays() {
    for name in ["begun", "files", "journals", "lock", "batches.redb"] {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, other) = (place.path().join("batches"), place.path().join("other"));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::create_dir(&other).expect("a folder");
        let kept = other.join("kept");
        std::fs::write(&kept, "of somebody else").expect("writable");
        let target = if name.contains(['.', 'k']) { &kept } else { &other };
        std::os::unix::fs::symlink(target, folder.join(name)).expect("a link");
        let refused = Batches::open(&folder, &config()).expect_err("a link");
        assert!(refused.to_string().contains("link"), "{name}: {refused}");
        assert_eq!(std::fs::read_to_string(&kept).expect("it is there"), "of somebody else");
        assert_eq!(std::fs::read_dir(&other).expect("readable").count(), 1, "{name}");
    }
}

#[test]
fn files_of_batches_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mode = |name: &str| {
        let found = std::fs::metadata(folder.path().join(name)).expect("it is there");
        found.permissions().mode() & 0o777
    };
    drop(open(folder.path()).expect("it is usable"));
    assert_eq!((mode("batches.redb"), mode("lock"), mode("files")), (0o600, 0o600, 0o700));
    // As an earlier version made it.
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path().join("batches.redb"), readable).expect("ours");
    drop(open(folder.path()).expect("it is usable"));
    assert_eq!(mode("batches.redb"), 0o600);
}

/// Runs a process in which no line is answered, because the server has no room for requests, and
/// ends it when the journal has `attempts` attempts: well or by death.
fn process_that_answers_nothing(folder: &Path, id: &BatchId, attempts: u64, dies: bool) {
    let config = Config { queue_bytes: 1, ..config() };
    let batches = changed(folder, |batches| batches.max_attempts = 2);
    work(batches, config, |batches| {
        let journal = std::fs::metadata(batches.disk.journal(id));
        let is_begun = journal.is_ok_and(|journal| journal.len() >= 25 * attempts);
        if is_begun && !dies {
            batches.stop();
        }
        is_begun
    });
}

/// On a server that does not count attempts the line is sent at every start.
#[test]
fn line_in_flight_at_two_process_deaths_becomes_dead_letter() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    process_that_answers_nothing(folder.path(), &id, 3, true);
    // The three are suspected, and are sent one by one: the first alone is in flight.
    process_that_answers_nothing(folder.path(), &id, 4, true);
    let batches = changed(folder.path(), |batches| batches.max_attempts = 2);
    work(batches, config(), |batches| is_finished(batches, &id));
    let (batch, output, error) = finished(folder.path(), &id);
    assert_eq!(batch.status, BatchStatus::Completed);
    let expected = BatchCounts { total: 9, completed: 6, failed: 3 };
    assert_eq!(batch.counts, expected);
    let ids: Vec<&Value> = output.iter().map(|line| &line["custom_id"]).collect();
    assert_eq!(ids, ["q1", "q2", "q4", "q5", "q6", "q8"]);
    assert_eq!((&error[0]["custom_id"], &error[0]["response"]), (&json!("q0"), &Value::Null));
    assert_eq!(error[0]["error"]["code"], "dead_letter");
    assert_eq!(error[1]["response"]["status_code"], 404);
}

#[test]
fn processes_that_end_in_good_order_make_no_dead_letter() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    for attempts in [3, 6, 9] {
        process_that_answers_nothing(folder.path(), &id, attempts, false);
    }
    let batches = changed(folder.path(), |batches| batches.max_attempts = 2);
    work(batches, config(), |batches| is_finished(batches, &id));
    check_all_once(folder.path(), &id);
}

/// The number of files of a folder that this process has open.
fn open_files(folder: &Path) -> usize {
    let handles = std::fs::read_dir("/proc/self/fd").expect("a process has handles");
    let paths = handles.flatten().filter_map(|handle| std::fs::read_link(handle.path()).ok());
    paths
        .filter(|path| ["journals", "files"].iter().any(|name| path.starts_with(folder.join(name))))
        .count()
}

/// On a server that works on all batches at once, each waiting batch has two files open.
#[test]
fn waiting_batches_hold_no_files_and_all_have_their_turn() {
    const BATCHES: usize = 20;
    let folder = tempfile::tempdir().expect("a folder");
    let ids: Vec<BatchId> = (0..BATCHES).map(|_| begun(folder.path(), &requests())).collect();
    let opened = || changed(folder.path(), |batches| batches.max_active = 2);
    let full = Config { queue_bytes: 1, ..config() };
    let most = AtomicUsize::new(0);
    work(opened(), full, |batches| {
        most.fetch_max(open_files(folder.path()), Ordering::Relaxed);
        let journals = batches.disk.journal_names().expect("readable");
        // Two are at work, and none of their lines is answered.
        if journals.len() == 2 && most.load(Ordering::Relaxed) >= 4 {
            batches.stop();
        }
        *batches.stop.borrow()
    });
    assert_eq!(most.load(Ordering::Relaxed), 4, "a journal and an input for each that is at work");
    let mut short = opened();
    short.turn = Duration::ZERO;
    work(short, config(), |batches| {
        batches.disk.journal_names().is_ok_and(|names| names.is_empty())
            && ids.iter().all(|id| is_finished(batches, id))
    });
    for id in &ids {
        check_all_once(folder.path(), id);
    }
}

/// A configuration in which the scorer `exact` is overloaded, and the lines of a batch for it.
fn overloaded_scorer() -> (Config, String) {
    let queue = QueueSpec {
        scorer: "exact".to_owned(),
        size: 1,
        timeout: Duration::from_millis(20),
        policy: QueuePolicy::Reject,
    };
    let lines = requests().replace(r#""model":"math""#, r#""model":"exact""#);
    assert!(lines.contains(r#""model":"exact""#), "{lines}");
    (Config { queues: vec![queue], ..config() }, lines)
}

#[test]
fn overloaded_scorer_stops_no_other_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, lines) = overloaded_scorer();
    let waiting = begun(folder.path(), &lines);
    let other = begun(folder.path(), &requests());
    let batches = open(folder.path()).expect("it is usable");
    work(batches, config, |batches| is_finished(batches, &other));
    let batches = open(folder.path()).expect("it is usable");
    let batch = batches.batch(&waiting, OWNER).expect("readable").expect("known");
    assert_eq!(batch.status, BatchStatus::InProgress);
    drop(batches);
    // Without the overload, it is finished too.
    finished(folder.path(), &waiting);
    check_all_once(folder.path(), &other);
}

#[test]
fn batch_of_an_overloaded_scorer_ends_its_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, lines) = overloaded_scorer();
    let waiting = begun(folder.path(), &lines);
    let other = begun(folder.path(), &requests());
    let batches = changed(folder.path(), |batches| {
        batches.max_active = 1;
        batches.turn = Duration::ZERO;
    });
    work(batches, config, |batches| is_finished(batches, &other));
    let (batch, output, error) = finished(folder.path(), &waiting);
    assert_eq!(batch.status, BatchStatus::Completed);
    assert_eq!(output.len() + error.len(), LINES, "each line has one outcome");
    check_all_once(folder.path(), &other);
}

#[test]
fn failed_publishing_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = begun(folder.path(), &requests());
    left_behind(folder.path(), &id, |batch| batch.enter(BatchStatus::InProgress, 1));
    let batches = open(folder.path()).expect("it is usable");
    let journal = Journal::open(&batches.disk, &batches.disk.journal(&id));
    let outcome = |line| {
        let outcome = if line % 2 == 0 { LineOutcome::Succeeded } else { LineOutcome::Failed };
        JournalEvent::Ended(JournalRecord { line, outcome, text: b"{}".to_vec() })
    };
    let outcomes: Vec<JournalEvent> = (0..9).map(outcome).collect();
    journal.expect("room").append(&outcomes).expect("room");
    drop(batches);
    left_behind(folder.path(), &id, |batch| batch.enter(BatchStatus::Finalizing, 2));
    let mut n_failed = 0;
    for passing in 0.. {
        let plan = Arc::new(FaultPlan::new(usize::MAX, 1, ErrorKind::StorageFull));
        let faults: Arc<dyn Faults> = plan.clone();
        let batches = open_with(folder.path(), &faults).expect("it is usable");
        let known = (batches.bytes(), batches.disk.file_names().expect("readable").len());
        plan.fail_after(passing);
        let batch = batches.batch(&id, OWNER).expect("readable").expect("known");
        if batch_runner::publish(&batches, &batch).is_ok() {
            break;
        }
        n_failed += 1;
        let left = (batches.bytes(), batches.disk.file_names().expect("readable").len());
        assert_eq!(left, known, "after {passing} steps");
    }
    assert_eq!(n_failed, 7, "two writes, two syncs, two renames and a commit fail");
}

#[test]
fn file_whose_record_fails_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = Arc::new(FaultPlan::new(usize::MAX, 1, ErrorKind::StorageFull));
    let faults: Arc<dyn Faults> = plan.clone();
    let batches = open_with(folder.path(), &faults).expect("it is usable");
    let mut writing = batches.begin_file().expect("room");
    writing.write(b"of an upload").expect("room");
    // Its sync and its rename pass, and the commit of the record fails.
    plan.fail_after(2);
    let keep = |id, place, bytes| FileRecord { id, bytes, ..file_of(OWNER, place) };
    batches.keep_file(writing, keep).expect_err("the disk is full");
    assert_eq!((batches.bytes(), batches.disk.file_names().expect("readable")), (0, vec![]));
}
