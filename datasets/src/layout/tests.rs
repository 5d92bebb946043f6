//! Folders, globs and files.

use std::fs;

use super::*;

/// Makes `files` (`name` or `name=content`) and compares what `names` stand for with `expected`, or
/// the error with its part.
#[track_caller]
fn check(
    files: &[&str],
    names: &[&str],
    selection: (&str, &str),
    expected: std::result::Result<&[&str], &str>,
) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in files {
        let (name, content) = file.split_once('=').unwrap_or((file, ""));
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("ours");
        fs::write(path, content).expect("ours");
    }
    let names: Vec<String> =
        names.iter().map(|name| folder.path().join(name).display().to_string()).collect();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let selection = Selection { config: some(selection.0), split: some(selection.1) };
    let found = resolve(&names, &selection).map(|found| -> Vec<String> {
        let below = |path: &PathBuf| {
            let below = path.strip_prefix(folder.path()).expect("below the folder");
            below.display().to_string()
        };
        found.iter().map(below).collect()
    });
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{names:?}"),
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (found, expected) => panic!("{names:?}: {found:?}, but {expected:?}"),
    }
}

#[test]
fn names_stand_for_files() {
    let files = ["b.csv", "a.csv", "a[1].csv", "sub/c.csv", "n.txt"];
    check(&files, &["b.csv", "a.csv"], ("", ""), Ok(&["b.csv", "a.csv"]));
    check(&files, &["a.csv", "a.csv"], ("", ""), Ok(&["a.csv", "a.csv"]));
    check(&files, &["*.csv"], ("", ""), Ok(&["a.csv", "a[1].csv", "b.csv"]));
    check(&files, &["a[1].csv"], ("", ""), Ok(&["a[1].csv"]));
    check(&files, &["**/c.csv"], ("", ""), Ok(&["sub/c.csv"]));
    check(&files, &["*.tsv"], ("", ""), Err("no file matches"));
    // Opening it says that it is not there.
    check(&files, &["gone.csv"], ("", ""), Ok(&["gone.csv"]));
    check(&files, &["a.csv"], ("", "train"), Err("no input is a folder"));
}

#[test]
fn folders_have_splits() {
    // Splits come in the order train, validation, test, then the others by name.
    let files = [
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
        "data/test-00000-of-00001.parquet",
        ".git/train.csv",
        "dataset_info.json",
    ];
    check(&files, &[""], ("", "train"), Ok(&files[..2]));
    check(&files, &[""], ("", "test"), Ok(&files[2..3]));
    check(&files, &[""], ("", ""), Err("name one with --split: train, test"));
    check(&files, &[""], ("", "dev"), Err("no split 'dev'; there is train, test"));
    check(&files, &[""], ("main", "test"), Err("README.md lists none"));
    check(&["a.jsonl", "sub/b.jsonl"], &[""], ("", ""), Ok(&["a.jsonl", "sub/b.jsonl"]));
    check(&["a.txt"], &[""], ("", ""), Err("no .jsonl, .parquet"));
}

#[test]
fn a_readme_lists_files() {
    let readme = "README.md=---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/*.csv\n\
                  - config_name: extra\n  data_files: x.csv\n---\n";
    let files = [readme, "main/a.csv", "main/b.csv", "x.csv"];
    check(&files, &[""], ("main", ""), Ok(&["main/a.csv", "main/b.csv"]));
    check(&files, &[""], ("extra", "train"), Ok(&["x.csv"]));
    check(&files, &[""], ("", ""), Err("name one with --config-name: main, extra"));
    check(&files, &[""], ("other", ""), Err("no configuration 'other'"));
    check(&files[..1], &[""], ("main", ""), Err("no file matches"));
}

/// A case of `tests/fixtures/make_layouts.py`.
#[derive(serde::Deserialize)]
struct Case {
    files: Vec<String>,
    readme: Option<String>,
    config: Option<String>,
    /// Splits with their files; not there where `datasets` refuses the folder.
    splits: Option<Vec<(String, Vec<String>)>>,
}

#[test]
fn splits_are_those_of_hugging_face_datasets() {
    let goldens = include_str!("../../tests/fixtures/layouts.jsonl");
    for line in goldens.lines() {
        let case: Case = serde_json::from_str(line).expect(line);
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in &case.files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("ours");
            fs::write(path, "").expect("ours");
        }
        if let Some(readme) = &case.readme {
            fs::write(folder.path().join("README.md"), readme).expect("ours");
        }
        let found = splits(folder.path(), case.config.as_deref()).map(|splits| {
            let below = |path: &PathBuf| {
                let below = path.strip_prefix(folder.path()).expect("below the folder");
                below.display().to_string()
            };
            let split =
                |split: &Split| (split.name.clone(), split.files.iter().map(below).collect());
            splits.iter().map(split).collect::<Vec<(String, Vec<String>)>>()
        });
        match (found, case.splits) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{line}"),
            // A split whose patterns match nothing is refused when it is chosen.
            (Ok(found), None) => {
                assert!(found.iter().all(|(_, files)| files.is_empty()), "{line}: {found:?}");
            }
            (Err(error), expected) => assert!(expected.is_none(), "{line}: {error}"),
        }
    }
}

#[test]
fn data_dir_has_splits_of_its_own() {
    let readme = "README.md=---\nconfigs:\n- config_name: main\n  data_dir: data\n---\n";
    let files = [readme, "data/train.csv", "data/test.csv", "other.csv"];
    check(&files, &[""], ("", "train"), Ok(&["data/train.csv"]));
    check(&files, &[""], ("", "test"), Ok(&["data/test.csv"]));
    check(&files, &[""], ("", ""), Err("several splits"));
}
