//! The database: pages of an owner's records, and limits of an owner.

use std::sync::Arc;

use tempfile::TempDir;

use super::{batch_of, file_of};
use crate::batches::disk::{Disk, NoFaults};
use crate::batches::record::{BatchRecord, FileRecord};
use crate::batches::status::BatchStatus;
use crate::batches::store::{BeginOutcome, DeleteOutcome, PageRange, Store};

fn open(folder: &TempDir) -> Store {
    let disk = Disk::open(folder.path(), 0, Arc::new(NoFaults)).expect("it is usable");
    Store::open(Arc::new(disk)).expect("it is usable")
}

/// A store with six files each of two owners, two of them created in each second.
fn with_files(folder: &TempDir) -> (Store, Vec<FileRecord>) {
    let store = open(folder);
    let add = |n: u64| {
        let owner = if n.is_multiple_of(2) { "a" } else { "b" };
        let file = FileRecord { created_at: n / 4, ..file_of(owner, store.place()) };
        store.add_file(&file).expect("room");
        file
    };
    let files = (0..12).map(add).filter(|file| file.owner == "a").collect();
    (store, files)
}

fn range(after: Option<&FileRecord>, limit: usize, is_ascending: bool) -> PageRange {
    let after = after.map(|file| file.id.as_str().to_owned());
    PageRange { after, limit, is_ascending }
}

#[test]
fn pages_hold_the_records_of_their_owner_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut store, files) = with_files(&folder);
    for is_opened_again in [false, true] {
        if is_opened_again {
            drop(store);
            store = open(&folder);
        }
        for is_ascending in [false, true] {
            let mut expected: Vec<u64> = files.iter().map(|file| file.place).collect();
            if !is_ascending {
                expected.reverse();
            }
            for limit in 1..8 {
                let (mut found, mut after, mut pages) = (Vec::new(), None::<FileRecord>, 0);
                loop {
                    let range = range(after.as_ref(), limit, is_ascending);
                    let page = store.page("a", &range, |_: &FileRecord| true);
                    let page = page.expect("readable").expect("it begins behind a file");
                    pages += 1;
                    found.extend(page.records.iter().map(|file| file.place));
                    after = page.records.into_iter().last();
                    if !page.has_more {
                        break;
                    }
                }
                assert_eq!(found, expected, "{limit} a page");
                assert_eq!(pages, expected.len().div_ceil(limit), "{limit} a page");
            }
        }
    }
}

#[test]
fn pages_begin_behind_no_record_of_another_owner_or_that_does_not_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, files) = with_files(&folder);
    let page = |owner: &str, at: usize| {
        let range = range(Some(&files[at]), 10, true);
        let passes = |file: &FileRecord| file.place != files[2].place;
        store.page(owner, &range, passes).expect("readable")
    };
    assert!(page("b", 0).is_none());
    assert!(page("a", 2).is_none());
    let places: Vec<u64> =
        page("a", 1).expect("its own").records.iter().map(|file| file.place).collect();
    assert_eq!(places, [files[3].place, files[4].place, files[5].place]);
    let unknown = PageRange { after: Some("file-0".to_owned()), limit: 1, is_ascending: true };
    assert!(store.page("a", &unknown, |_: &FileRecord| true).expect("readable").is_none());
}

#[test]
fn limit_of_unfinished_batches_is_that_of_an_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, files) = with_files(&folder);
    let begin = |owner: &str| {
        let batch = batch_of(owner, store.place(), files[0].id.clone());
        (store.begin(&batch, 2).expect("room"), batch)
    };
    let (_, first) = begin("a");
    assert_eq!(begin("a").0, BeginOutcome::Begun);
    assert_eq!(begin("a").0, BeginOutcome::TooMany);
    assert_eq!(begin("b").0, BeginOutcome::Begun, "another owner has room");
    let needed = store.delete_file(&files[0].id, |_| true).expect("it works");
    assert_eq!(needed, DeleteOutcome::Needed(first.id.clone()));
    let end = |batch: &mut BatchRecord| {
        batch.enter(BatchStatus::Completed, 1);
        true
    };
    store.change(&first.id, &[], end).expect("writable");
    assert_eq!(begin("a").0, BeginOutcome::Begun);
    let unfinished = store.unfinished().expect("readable");
    let owners: Vec<&str> = unfinished.iter().map(|batch| batch.owner.as_str()).collect();
    assert_eq!(owners, ["a", "a", "b"]);
    drop(store);
    assert_eq!(open(&folder).unfinished().expect("readable"), unfinished);
}
