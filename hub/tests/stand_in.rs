//! Fetching from a stand-in server on a loopback port.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hub::{Hub, HubError, HubSettings, Repo, RepoKind, Snapshot, WantedFiles};
use testkit::hub::{Edit, StandInHub, StandInReply, StandInRepo, StandInRequest};

const NAME: &str = "models/org/name";
const SHARD: &str = "model-00001-of-00002.safetensors";
const OTHER_SHARD: &str = "model-00002-of-00002.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Bytes that differ from place to place.
fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from((i * 31 + i / 251 + seed) % 256).expect("below 256")).collect()
}

/// A sharded model with files that nobody wants.
fn sharded() -> StandInRepo {
    let index = format!(r#"{{"weight_map": {{"a": "{SHARD}", "b": "{OTHER_SHARD}"}}}}"#);
    let (one, two) = (bytes(300_000, 1), bytes(5_000, 2));
    StandInRepo::new(
        NAME,
        &[
            (".gitattributes", b"x"),
            ("README.md", b"x"),
            ("additional_chat_templates/rag.jinja", b"rag"),
            ("chat_template.jinja", b"template"),
            ("config.json", b"{}"),
            ("model.gguf", b"x"),
            (SHARD, &one),
            (OTHER_SHARD, &two),
            (INDEX, index.as_bytes()),
            ("onnx/model.onnx", b"x"),
            ("pytorch_model.bin", b"x"),
            ("tokenizer.json", b"{\"a\": 1}"),
        ],
    )
}

fn settings(endpoint: &str, cache: &Path) -> HubSettings {
    HubSettings {
        endpoint: endpoint.to_owned(),
        token: None,
        cache: Some(cache.to_owned()),
        offline: false,
        attempts: 1,
        pause: Duration::ZERO,
        silence: Duration::from_secs(20),
    }
}

fn repo(text: &str) -> Repo {
    Repo::parse(RepoKind::Model, text).expect("a name")
}

fn fetch(server: &StandInHub, cache: &Path) -> Result<Snapshot, HubError> {
    Hub::new(settings(&server.endpoint(), cache)).fetch(&repo("org/name"), WantedFiles::Model)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The files below a folder, links included, as paths within it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                left.push(entry.path());
            } else {
                let path = entry.path();
                let inside = path.strip_prefix(folder).expect("below it");
                found.insert(inside.to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[test]
fn a_model_comes_once_and_is_then_in_the_cache() {
    let (cache, model) = (folder(), sharded());
    let server = StandInHub::start(vec![model.clone()]);
    let first = fetch(&server, cache.path()).expect("fetched");
    let wanted = [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "config.json",
        INDEX,
        SHARD,
        OTHER_SHARD,
        "tokenizer.json",
    ];
    assert_eq!(files(&first.folder), wanted.iter().map(|name| (*name).to_owned()).collect());
    for name in wanted {
        let (_, content) = model.files.iter().find(|(path, _)| path == name).expect("it is there");
        assert_eq!(&fs::read(first.folder.join(name)).expect("a file"), content, "{name}");
    }
    assert_eq!(first.repo.to_string(), format!("hf:org/name@{}", model.commit));
    // The layout of huggingface_hub.
    let place = cache.path().join("models--org--name");
    assert_eq!(first.folder, place.join("snapshots").join(&model.commit));
    assert_eq!(fs::read_to_string(place.join("refs/main")).expect("a ref"), model.commit);
    let nested = first.folder.join("additional_chat_templates/rag.jinja");
    let target = fs::read_link(nested).expect("a link");
    assert!(target.starts_with("../../../blobs"), "{}", target.display());
    assert_eq!(files(&place.join("blobs")).len(), wanted.len());
    server.take_requests();

    assert_eq!(fetch(&server, cache.path()).expect("cached"), first);
    let paths: Vec<String> =
        server.take_requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api/models/org/name/revision/main?blobs=true"]);

    let endpoint = server.endpoint();
    drop(server);
    let gone = Hub::new(settings(&endpoint, cache.path()));
    assert_eq!(gone.fetch(&repo("org/name"), WantedFiles::Model).expect("of the cache"), first);
    let pinned = repo(&format!("org/name@{}", model.commit));
    assert_eq!(gone.fetch(&pinned, WantedFiles::Model).expect("of the cache"), first);
    let other = gone.fetch(&repo("org/name@v2"), WantedFiles::Model).expect_err("never seen");
    assert!(other.to_string().contains("cannot be reached"), "{other}");
}

#[test]
fn a_server_that_is_ill_or_silent_leaves_the_cache() {
    let cache = folder();
    let server = StandInHub::start(vec![sharded()]);
    let first = fetch(&server, cache.path()).expect("fetched");
    let ill = Box::new(|_: &StandInRequest, _| StandInReply::new(503, Vec::new()));
    let ill = StandInHub::start_with(vec![sharded()], ill);
    assert_eq!(fetch(&ill, cache.path()).expect("of the cache"), first);
    // Connections are made, and nobody accepts them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
    let silence = Duration::from_millis(100);
    let silent = |cache: &Path| {
        let settings = HubSettings { silence, ..settings(&endpoint, cache) };
        Hub::new(settings).fetch(&repo("org/name"), WantedFiles::Model)
    };
    assert_eq!(silent(cache.path()).expect("of the cache"), first);
    let error = silent(folder().path()).expect_err("there is no cache");
    assert!(error.to_string().contains("cannot be reached: timeout"), "{error}");
}

/// Fetches from a server that edits its replies. `expected` is how often the first shard was asked
/// for, with the first byte of each request.
#[track_caller]
fn check_resumed(attempts: u32, starts: &[&[Option<usize>]], edit: Edit) {
    let cache = folder();
    let model = sharded();
    let server = StandInHub::start_with(vec![model.clone()], edit);
    let hub = Hub::new(HubSettings { attempts, ..settings(&server.endpoint(), cache.path()) });
    for (round, expected) in starts.iter().enumerate() {
        let fetched = hub.fetch(&repo("org/name"), WantedFiles::Model);
        let is_last = round + 1 == starts.len();
        assert_eq!(fetched.is_ok(), is_last, "{fetched:?}");
        let requests = server.take_requests();
        let of_shard = requests.iter().filter(|request| request.path.ends_with(SHARD));
        assert_eq!(of_shard.map(StandInRequest::from).collect::<Vec<_>>(), **expected);
        if let Ok(snapshot) = fetched {
            let content = fs::read(snapshot.folder.join(SHARD)).expect("a file");
            assert_eq!(content, bytes(300_000, 1));
            let blobs = cache.path().join("models--org--name/blobs");
            assert!(files(&blobs).iter().all(|name| !name.contains("incomplete")));
        }
    }
}

/// Cuts the first `cuts` replies with the first shard after some bytes.
fn cut(cuts: usize, after: usize) -> Edit {
    let seen = AtomicUsize::new(0);
    Box::new(move |request, mut reply| {
        let is_shard = request.path.ends_with(SHARD);
        if is_shard && seen.fetch_add(1, Ordering::SeqCst) < cuts {
            reply.sent = after;
        }
        reply
    })
}

#[test]
fn a_cut_download_is_resumed() {
    // By the same process, in as many attempts as there is progress.
    check_resumed(2, &[&[None, Some(100_000)]], cut(1, 100_000));
    let steps = [None, Some(70_000), Some(140_000), Some(210_000)];
    check_resumed(2, &[&steps], cut(3, 70_000));
    // By the next process.
    check_resumed(1, &[&[None], &[Some(100_000)]], cut(1, 100_000));
    check_resumed(1, &[&[None], &[Some(1)], &[Some(300_000 - 1)]], {
        let seen = AtomicUsize::new(0);
        Box::new(move |request, mut reply| {
            if request.path.ends_with(SHARD) {
                reply.sent = [1, 299_998, 1][seen.fetch_add(1, Ordering::SeqCst).min(2)];
            }
            reply
        })
    });
    // A server that knows no ranges.
    let first = cut(1, 100_000);
    check_resumed(
        1,
        &[&[None], &[Some(100_000)]],
        Box::new(move |request, reply| {
            let whole = StandInReply::new(200, bytes(300_000, 1));
            let is_rest = request.path.ends_with(SHARD) && request.from().is_some();
            if is_rest { whole } else { first(request, reply) }
        }),
    );
    // Faults that pass.
    let seen = AtomicUsize::new(0);
    check_resumed(
        3,
        &[&[None, None, None]],
        Box::new(move |request, reply| {
            let is_shard = request.path.ends_with(SHARD);
            match (is_shard, is_shard.then(|| seen.fetch_add(1, Ordering::SeqCst))) {
                (true, Some(0)) => StandInReply::new(503, Vec::new()),
                (true, Some(1)) => StandInReply::new(429, Vec::new()),
                _ => reply,
            }
        }),
    );
}

#[test]
fn a_beginning_with_other_bytes_is_thrown_away() {
    for stale in [bytes(1000, 9), bytes(400_000, 9), bytes(300_000, 9)] {
        let (cache, model) = (folder(), sharded());
        let listing = model.listing();
        let server = StandInHub::start(vec![model]);
        let siblings = listing["siblings"].as_array().expect("a list");
        let shard = siblings.iter().find(|file| file["rfilename"] == SHARD).expect("listed");
        let name = shard["lfs"]["sha256"].as_str().expect("a hash");
        let blobs = cache.path().join("models--org--name/blobs");
        fs::create_dir_all(&blobs).expect("a folder");
        fs::write(blobs.join(format!("{name}.incomplete")), stale).expect("written");
        let found = fetch(&server, cache.path()).expect("fetched again");
        assert_eq!(fs::read(found.folder.join(SHARD)).expect("a file"), bytes(300_000, 1));
    }
}

/// Fetches offline from a cache that lacks these files; `expected` is a part of the error.
#[track_caller]
fn check_offline(lacks: &[&str], revision: &str, expected: Option<&str>) {
    let cache = folder();
    let server = StandInHub::start(vec![sharded()]);
    let snapshot = fetch(&server, cache.path()).expect("fetched");
    server.take_requests();
    for name in lacks {
        fs::remove_file(snapshot.folder.join(name)).expect("it was there");
    }
    let offline = HubSettings { offline: true, ..settings(&server.endpoint(), cache.path()) };
    let repo = repo(&format!("org/name@{revision}"));
    let found = Hub::new(offline).fetch(&repo, WantedFiles::Model);
    assert_eq!(server.take_requests().len(), 0);
    match (found, expected) {
        (Ok(found), None) => assert_eq!(found, snapshot),
        (Err(error), Some(part)) => {
            let text = error.to_string();
            let shows = [part, "HF_HUB_OFFLINE", "hf:org/name", "models--org--name"];
            assert!(shows.iter().all(|part| text.contains(part)), "{text}");
        }
        (found, _) => assert_eq!(format!("{found:?}"), "", "{lacks:?}"),
    }
}

#[test]
fn offline_takes_what_is_there_and_names_what_is_missing() {
    let commit = sharded().commit;
    check_offline(&[], "main", None);
    check_offline(&["chat_template.jinja"], "main", None);
    check_offline(&[], &commit, None);
    check_offline(&[], "v2", Some("lacks revision v2"));
    check_offline(&[], &commit.replace('0', "f"), Some("lacks revision f"));
    check_offline(&[SHARD], "main", Some(SHARD));
    check_offline(&["tokenizer.json", "config.json"], "main", Some("config.json, tokenizer.json"));
    check_offline(&[INDEX], "main", Some("model.safetensors"));
}

/// Four files of a data set: two with written-out names, and two that a pattern names.
const DATA: WantedFiles = WantedFiles::Matching(&["gsm8k.json", "math.json", "data/*.jsonl"]);
const DATA_FILES: [&str; 4] = ["data/a.jsonl", "data/b.jsonl", "gsm8k.json", "math.json"];

fn data_set() -> StandInRepo {
    let files = DATA_FILES.map(|path| (path, path.as_bytes()));
    StandInRepo::new(NAME, &[&files[..], &[("README.md", b"x")]].concat())
}

/// Fetches a commit's data, of which the file `cut` does not come, and then again without a server
/// and offline; `expected` is a part of the errors, or the number of files.
#[track_caller]
fn check_partial(cut: &'static str, forget: bool, expected: Result<usize, &str>) {
    let cache = folder();
    let edit: Edit = Box::new(move |request, reply| {
        let is_cut = !cut.is_empty() && request.path.ends_with(cut);
        if is_cut { StandInReply::new(404, Vec::new()) } else { reply }
    });
    let server = StandInHub::start_with(vec![data_set()], edit);
    let online = settings(&server.endpoint(), cache.path());
    let pinned = repo(&format!("org/name@{}", data_set().commit));
    let fetched = Hub::new(online.clone()).fetch(&pinned, DATA);
    assert_eq!(fetched.is_ok(), cut.is_empty(), "{cut}: {fetched:?}");
    drop(server);
    if forget {
        let listings = cache.path().join("models--org--name/listings");
        fs::remove_dir_all(listings).expect("it was written");
    }
    let offline = HubSettings { offline: true, ..online.clone() };
    match (Hub::new(offline).fetch(&pinned, DATA), Hub::new(online).fetch(&pinned, DATA), expected)
    {
        (Ok(found), Ok(same), Ok(n)) => {
            assert_eq!(found, same);
            assert_eq!(found.files.len(), n, "{found:?}");
        }
        (Err(offline), Err(online), Err(part)) => {
            assert!(offline.to_string().contains(part), "{offline}");
            assert!(online.to_string().contains("cannot be reached"), "{online}");
        }
        (offline, online, _) => assert_eq!(format!("{offline:?}, {online:?}"), "", "{cut}"),
    }
}

#[test]
fn a_data_set_that_came_in_part_is_not_used() {
    check_partial("", false, Ok(4));
    check_partial(DATA_FILES[0], false, Err("lacks revision"));
    for cut in &DATA_FILES[1..] {
        check_partial(cut, false, Err(cut));
    }
    // A cache of another program: what is written out is needed, and of a pattern one file.
    check_partial("", true, Ok(4));
    check_partial("gsm8k.json", true, Err("gsm8k.json"));
    check_partial("math.json", true, Err("math.json"));
}

/// Fetches with a token or without; the list of files, or the shard, has this status and error code.
#[track_caller]
fn check_status(
    (place, status, code): (&'static str, u16, &'static str),
    token: Option<&str>,
    expected: &[&str],
) {
    let cache = folder();
    let server = StandInHub::start_with(
        vec![sharded()],
        Box::new(move |request, reply| {
            let is_there = request.path.contains(place);
            if is_there {
                StandInReply::new(status, Vec::new()).with("x-error-code", code)
            } else {
                reply
            }
        }),
    );
    let token = token.map(str::to_owned);
    let hub = Hub::new(HubSettings { token, ..settings(&server.endpoint(), cache.path()) });
    let error = hub.fetch(&repo("org/name"), WantedFiles::Model).expect_err("refused").to_string();
    let (status, endpoint) = (status.to_string(), server.endpoint());
    let shows = [&["hf:org/name@main", status.as_str(), endpoint.as_str()], expected].concat();
    assert!(shows.iter().all(|part| error.contains(part)), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn statuses_say_what_to_do() {
    let list = "/api/";
    check_status((list, 401, "RepoNotFound"), None, &["check the name", "set HF_TOKEN"]);
    check_status((list, 401, ""), Some("secret"), &["the account of HF_TOKEN"]);
    check_status((list, 403, "GatedRepo"), None, &["gated: accept its terms", "set HF_TOKEN"]);
    check_status((SHARD, 403, "GatedRepo"), Some("secret"), &[SHARD, "account of HF_TOKEN"]);
    check_status((SHARD, 401, "GatedRepo"), None, &[SHARD, "set HF_TOKEN"]);
    check_status((list, 404, ""), None, &["the name or the revision is wrong"]);
    check_status((list, 404, "RevisionNotFound"), None, &["no such branch, tag or commit"]);
    check_status((SHARD, 404, "EntryNotFound"), None, &[SHARD, "no such file"]);
    check_status((list, 500, ""), None, &["try again later"]);
    check_status((SHARD, 429, ""), None, &[SHARD, "too many requests"]);
    check_status((list, 418, ""), None, &["HF_ENDPOINT"]);
}

/// Fetches from a server whose list of files or contents are wrong; nothing of the shard may be in
/// the folder or among the contents, and nothing outside of the cache.
#[track_caller]
fn check_refused(expected: &str, edit: Edit) {
    let parent = folder();
    let cache = parent.path().join("a/b/cache");
    let server = StandInHub::start_with(vec![sharded()], edit);
    let found = fetch(&server, &cache);
    let error = found.expect_err("refused").to_string();
    assert!(error.contains(expected) && error.contains("hf:org/name@main"), "{error}");
    let outside = files(parent.path());
    assert!(outside.iter().all(|path| path.starts_with("a/b/cache/")), "{outside:?}");
    let inside = files(&cache);
    assert!(inside.iter().all(|path| !path.ends_with(SHARD)), "{inside:?}");
    let is_used = |path: &String| !path.ends_with(".incomplete");
    let used = inside.iter().filter(|path| is_used(path));
    let whole = |path: &String| fs::metadata(cache.join(path)).is_ok_and(|it| it.len() >= 300_000);
    assert!(!used.clone().any(whole), "{inside:?}");
}

/// Changes what is sent as the shard.
fn shard(change: impl Fn(StandInReply) -> StandInReply + Send + Sync + 'static) -> Edit {
    Box::new(
        move |request, reply| {
            if request.path.ends_with(SHARD) { change(reply) } else { reply }
        },
    )
}

/// Changes the text of the list of files.
fn listing(from: &str, to: &str) -> Edit {
    let (from, to) = (from.to_owned(), to.to_owned());
    Box::new(move |request, reply| {
        if !request.path.contains("/api/") {
            return reply;
        }
        let text = String::from_utf8(reply.body).expect("text");
        assert!(text.contains(&from), "{text}");
        StandInReply::new(200, text.replace(&from, &to).into_bytes())
    })
}

#[test]
fn contents_that_are_not_the_listed_ones_are_not_used() {
    check_refused(
        "does not have the listed hash",
        shard(|mut reply| {
            reply.body[150_000] ^= 1;
            reply
        }),
    );
    check_refused(
        "more arrives than the 300000 listed bytes",
        shard(|reply| StandInReply { length: None, sent: 300_001, ..reply }),
    );
    check_refused(
        "more arrives",
        shard(|reply| StandInReply { length: None, sent: usize::MAX, ..reply }),
    );
    check_refused(
        "400000 bytes come",
        shard(|reply| StandInReply { length: Some(400_000), sent: usize::MAX, ..reply }),
    );
    check_refused("cannot be reached", shard(|reply| StandInReply { sent: 10, ..reply }));
    check_refused(
        "the reply ended after 10",
        shard(|reply| StandInReply { length: None, sent: 10, ..reply }),
    );
    check_refused("got no range", shard(|reply| StandInReply { status: 206, ..reply }));
    check_refused(
        "got bytes 5-9/10",
        shard(|reply| StandInReply { status: 206, ..reply }.with("content-range", "bytes 5-9/10")),
    );
    let config = |reply: StandInReply| StandInReply::new(200, vec![b'x'; reply.body.len()]);
    check_refused(
        "config.json: the content",
        Box::new(
            move |request, reply| {
                if request.path.ends_with("config.json") { config(reply) } else { reply }
            },
        ),
    );
}

#[test]
fn hostile_lists_are_refused() {
    check_refused("outside of its folder", listing("\"README.md\"", "\"../../x\""));
    check_refused("outside of its folder", listing("\"README.md\"", "\"/tmp/x\""));
    check_refused("is no commit", listing("0123456789abcdef0123456789abcdef01234567", "../../x"));
    check_refused("are needed and", listing("\"size\":300000", "\"size\":4611686018427387904"));
    check_refused("more arrives", {
        let lie = listing("\"size\":300000", "\"size\":299999");
        Box::new(move |request, reply| {
            let reply = lie(request, reply);
            let is_shard = request.path.ends_with(SHARD);
            if is_shard { StandInReply { length: None, ..reply } } else { reply }
        })
    });
    check_refused("300000 bytes come", listing("\"size\":300000", "\"size\":300001"));
    check_refused("no list of files", Box::new(|_, _| StandInReply::new(200, b"<html>".to_vec())));
    check_refused(
        "more than 67108864 bytes",
        Box::new(|_, _| StandInReply {
            length: None,
            sent: usize::MAX,
            ..StandInReply::new(200, vec![b' '; 1 << 20])
        }),
    );
}

/// Path and content.
type File = (&'static str, &'static [u8]);

/// Fetches a repository of these files; `expected` is a part of the error.
#[track_caller]
fn check_kind(wanted: WantedFiles, paths: &[File], expected: Option<&str>) {
    let parent = folder();
    let cache = parent.path().join("a/b/c/d/cache");
    let server = StandInHub::start(vec![StandInRepo::new(NAME, paths)]);
    let found = Hub::new(settings(&server.endpoint(), &cache)).fetch(&repo("org/name"), wanted);
    match (found, expected) {
        (Ok(_), None) => {}
        (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
        (found, _) => assert_eq!(format!("{found:?}"), "", "{expected:?}"),
    }
    assert!(files(parent.path()).iter().all(|path| path.starts_with("a/b/c/d/cache/")));
}

#[test]
fn only_what_can_be_used_is_fetched() {
    let config: File = ("config.json", b"{}");
    let single: File = ("model.safetensors", b"w");
    let adapter: [File; 2] = [("adapter_config.json", b"{}"), ("adapter_model.safetensors", b"w")];
    check_kind(WantedFiles::Model, &[config, single], None);
    check_kind(WantedFiles::Folder, &[config, single], None);
    check_kind(WantedFiles::Folder, &adapter, None);
    check_kind(WantedFiles::Adapter, &adapter, None);
    check_kind(WantedFiles::Model, &adapter, Some("it is an adapter"));
    check_kind(WantedFiles::Adapter, &[config, single], Some("an adapter has adapter_config.json"));
    check_kind(WantedFiles::Model, &[single], Some("no config.json"));
    check_kind(WantedFiles::Model, &[config, ("a.gguf", b"x")], Some("GGUF"));
    check_kind(WantedFiles::Model, &[config, ("pytorch_model.bin", b"x")], Some("pickled"));
    let index =
        |json: &'static str| -> [File; 2] { [("config.json", b"{}"), (INDEX, json.as_bytes())] };
    for hostile in ["../../x.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "x.py"] {
        let json = format!(r#"{{"weight_map": {{"a": "{hostile}"}}}}"#);
        let json: &'static str = json.leak();
        check_kind(WantedFiles::Model, &index(json), Some("no safetensors file of its folder"));
    }
    let absent = r#"{"weight_map": {"a": "b.safetensors"}}"#;
    check_kind(WantedFiles::Model, &index(absent), Some("which is absent"));
    check_kind(WantedFiles::Model, &index("[]"), Some("no `weight_map`"));
    check_kind(WantedFiles::Model, &index("{"), Some("no index"));
    let data: WantedFiles = WantedFiles::Matching(&["data/test-*.parquet", "*.jsonl"]);
    check_kind(data, &[("data/test-0.parquet", b"x"), ("data/train-0.parquet", b"x")], None);
    check_kind(data, &[("x/a.jsonl", b"x")], Some("no file is data/test-*.parquet or *.jsonl"));
}

#[test]
fn a_token_stays_with_its_server() {
    let cache = folder();
    let elsewhere = StandInHub::start(vec![sharded()]);
    let address = elsewhere.endpoint().replace("127.0.0.1", "localhost");
    let server = StandInHub::start_with(
        vec![sharded()],
        Box::new(move |request, reply| {
            if request.path.ends_with(SHARD) {
                let location = format!("{address}{}", request.path);
                return StandInReply::new(302, Vec::new()).with("location", &location);
            }
            reply
        }),
    );
    let token = Some("secret".to_owned());
    let hub = Hub::new(HubSettings { token, ..settings(&server.endpoint(), cache.path()) });
    hub.fetch(&repo("org/name"), WantedFiles::Model).expect("fetched");
    let sent = |server: &StandInHub| -> Vec<Option<String>> {
        let requests = server.take_requests();
        let sent =
            requests.iter().map(|request| request.header("authorization").map(str::to_owned));
        sent.collect()
    };
    let here = sent(&server);
    assert!(here.len() > 3 && here.iter().all(|sent| sent.as_deref() == Some("Bearer secret")));
    assert_eq!(sent(&elsewhere), [None]);
}

#[test]
fn a_revision_is_followed_and_unchanged_files_are_not_fetched_again() {
    let cache = folder();
    let (old, mut new) = (sharded(), sharded());
    new.commit = "f".repeat(40);
    new.files.retain(|(path, _)| path != "chat_template.jinja");
    new.files.push(("chat_template.jinja".to_owned(), b"new".to_vec()));
    let server = StandInHub::start(vec![old.clone()]);
    let first = fetch(&server, cache.path()).expect("fetched");
    drop(server);
    let server = StandInHub::start(vec![new.clone()]);
    let second = fetch(&server, cache.path()).expect("fetched");
    assert_eq!(second.repo.revision(), new.commit);
    assert_eq!(files(&second.folder), files(&first.folder));
    let paths: Vec<PathBuf> =
        server.take_requests().iter().map(|request| PathBuf::from(&request.path)).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert_eq!(fs::read(second.folder.join("chat_template.jinja")).expect("a file"), b"new");
    assert_eq!(fs::read(first.folder.join("chat_template.jinja")).expect("a file"), b"template");
}

#[test]
fn two_processes_fetch_a_content_once() {
    let cache = Arc::new(folder());
    let server = Arc::new(StandInHub::start(vec![sharded()]));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (cache, server) = (cache.clone(), server.clone());
            std::thread::spawn(move || fetch(&server, cache.path()).expect("fetched"))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let requests = server.take_requests();
    assert_eq!(requests.iter().filter(|request| request.path.ends_with(SHARD)).count(), 1);
}
