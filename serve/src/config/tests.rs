use super::overrides::environment_names;
use super::*;
use models::LoadOptions;
use models::weights::{Compute, Storage};

/// Reads a file in this crate's folder, with flags.
fn read(text: &str, models: &[&str], adapters: &[&str]) -> (Config, Catalogue, Vec<String>) {
    let owned = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
    let (mut config, mut problems) = (Config::default(), Vec::new());
    let flags = Flags::read(&owned(models), &owned(adapters), &mut problems);
    let place = FileContext {
        base: Some(Path::new(env!("CARGO_MANIFEST_DIR"))),
        files: None,
        flags: &flags,
        models: &[],
    };
    let (registry, mut catalogue, found) = read_document("t.toml", text, place, &mut config);
    problems.extend(found);
    catalogue.add(flags, &registry, &mut problems);
    let problems = problems.iter().map(ToString::to_string).collect();
    (config, catalogue, problems)
}

#[test]
fn engine_settings_are_read() {
    let text = "[engine]\ndevice = \"cpu\"\nmode = \"invariant\"\nbatch_tokens = 64\n\
                kv_memory = \"1MiB\"\nmax_sequences = 3\n[limits]\nqueue_tokens = 1000\n";
    let (config, _, problems) = read(text, &[], &[]);
    assert_eq!(problems, [""; 0]);
    let numbers = (config.batch_tokens, config.kv_memory, config.max_sequences);
    assert_eq!(numbers, (64, 1 << 20, 3));
    assert_eq!(config.queue_tokens, 1000);
    let text =
        "[engine]\ndevice = \"cuda:x\"\nmode = \"fast\"\nbatch_tokens = 0\nkv_memory = \"0\"\n";
    let (_, _, problems) = read(text, &[], &[]);
    let expected = [
        ("t.toml:2: engine.device", "cuda:0"),
        ("t.toml:3: engine.mode", "invariant"),
        ("t.toml:4: engine.batch_tokens", "above zero"),
        ("t.toml:5: engine.kv_memory", "above zero"),
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, (place, message)) in problems.iter().zip(expected) {
        assert!(problem.starts_with(place), "{problem}");
        assert!(problem.contains(message), "{problem}");
    }
}

#[test]
fn sizes_that_are_not_given_fit_the_memory_limit() {
    let check = |text: &str, limit: u64, models: usize, expected_mib: [usize; 5]| {
        let (mut config, _, problems) = read(text, &[], &[]);
        assert_eq!(problems, [""; 0]);
        config.fit(limit, models);
        let sizes = [
            config.queue_bytes,
            config.queue_output,
            config.encoding_bytes,
            config.kv_memory,
            config.cache_memory,
        ];
        assert_eq!(sizes.map(|size| size >> 20), expected_mib, "{limit} bytes, {models} models");
    };
    let gib = 1 << 30;
    check("", 64 * gib, 2, [256, 256, 256, 2048, 32]);
    check("", gib, 2, [128, 128, 128, 128, 32]);
    check("", gib, 0, [128, 128, 128, 256, 32]);
    check("", gib / 4, 1, [32, 32, 32, 64, 16]);
    check("", 1 << 20, 3, [16; 5]);
    let given = "[limits]\nqueue_bytes = \"256MiB\"\n[engine]\nkv_memory = \"1GiB\"\n\
                 [cache]\nmemory = \"0\"\n";
    check(given, gib, 2, [256, 128, 128, 1024, 0]);
}

#[test]
fn flags_take_precedence_over_tables() {
    let text = "[[model]]\nname = \"a\"\npath = \"src\"\nstorage = \"int8\"\n\
                [[model]]\nname = \"b\"\npath = \"tests\"\ncompute = \"auto\"\n\
                [[model]]\nname = \"d\"\npath = \"src\"\nstorage = \"f16\"\ncompute = \"bf16\"\n\
                [[adapter]]\nname = \"x\"\nmodel = \"c\"\npath = \"src\"\nreplaceable = true\n";
    let here = env!("CARGO_MANIFEST_DIR");
    let model_a = format!("a={here}/tests");
    let model_c = format!("c={here}");
    let adapter = format!("y=a:{here}");
    let (_, catalogue, problems) = read(text, &[&model_a, &model_c], &[&adapter]);
    assert_eq!(problems, [""; 0]);
    let here = Path::new(here);
    let model = |name: &str, path: PathBuf, storage, compute| ModelSpec {
        name: name.to_owned(),
        path: Some(path.into()),
        options: LoadOptions { storage, compute },
        calibration: None,
    };
    let adapter = |name: &str, model: &str, path: PathBuf| AdapterSpec {
        name: name.to_owned(),
        model: model.to_owned(),
        path: path.into(),
        replaceable: name == "x",
    };
    let expected = Catalogue {
        models: vec![
            model("a", here.join("tests"), Storage::AsStored, Some(Compute::Int8)),
            model("b", here.join("tests"), Storage::AsStored, Some(Compute::Auto)),
            model("d", here.join("src"), Storage::F16, Some(Compute::Bf16)),
            model("c", here.to_owned(), Storage::AsStored, None),
        ],
        adapters: vec![adapter("x", "c", here.join("src")), adapter("y", "a", here.to_owned())],
    };
    assert_eq!(catalogue, expected);
}

#[test]
fn all_problems_of_models_are_reported() {
    let check = |text: &str, models: &[&str], adapters: &[&str], expected: &[&str]| {
        let (_, _, problems) = read(text, models, adapters);
        let starts = |(problem, start): (&String, &&str)| problem.starts_with(start);
        let all = problems.len() == expected.len() && problems.iter().zip(expected).all(starts);
        assert!(all, "{text}: {problems:#?}");
    };
    let text = "[[model]]\nname = \"a b\"\npath = \"none\"\n\
                [[model]]\nname = \"math\"\npath = \"src\"\nstorage = \"f64\"\n\
                [[model]]\npath = \"\"\ncalibration = \"src\"\n\
                [[model]]\nname = \"m\"\npath = \"src\"\ntemplate = \"x\"\n\
                [[model]]\nname = \"m\"\npath = \"Cargo.toml\"\n";
    check(
        text,
        &[],
        &[],
        &[
            "t.toml:2: model[0].name: a name has",
            "t.toml:3: model[0].path: ",
            "t.toml:5: model[1].name: a scorer is called 'math'",
            "t.toml:7: model[1].storage: 'f64' is not one of",
            "t.toml:8: model[2].name: missing",
            "t.toml:9: model[2].path: expected a path",
            "t.toml:10: model[2].calibration: ",
            "t.toml:14: model[3].template: unknown key",
            "t.toml:16: model[4].name: another model",
            "t.toml:17: model[4].path: ",
        ],
    );
    let text = "[[model]]\nname = \"a\"\npath = \"src\"\nstorage = \"int8\"\ncompute = \"f32\"\n\
                [[model]]\nname = \"b\"\npath = \"src\"\ncompute = \"f16\"\n";
    check(
        text,
        &[],
        &[],
        &[
            "t.toml:5: model[0].compute: storage = \"int8\" means",
            "t.toml:9: model[1].compute: 'f16' is not one of auto, f32, bf16, int8",
        ],
    );
    let text = "[[model]]\nname = \"judge\"\npath = \"src\"\n\
                [[adapter]]\nname = \"judge\"\nmodel = \"juge\"\npath = \"src\"\n\
                [[adapter]]\nname = \"x\"\nmodel = \"judge\"\n";
    check(
        text,
        &[],
        &[],
        &[
            "t.toml:5: adapter[0].name: a model is called 'judge'",
            "t.toml:6: adapter[0].model: no model is called 'juge'; did you mean 'judge'?",
            "t.toml:8: adapter[1].path: missing",
        ],
    );
    check(
        "",
        &["m", "=src", "m=", "a b=src", "m=src", "m=src", "math=src"],
        &["x", "x=src", "x=n:src", "m=m:none"],
        &[
            "--model: 'm'",
            "--model: '=src'",
            "--model: 'm='",
            "--model: a b: a name has",
            "--model: m: two flags",
            "--adapter: 'x'",
            "--adapter: 'x=src'",
            "--adapter: m: none cannot be read",
            "--model: math: a scorer",
            "--adapter: x: no model is called 'n'",
            "--adapter: m: a model is called 'm'",
        ],
    );
    check("model = 3\n[adapter]\n", &[], &[], &["t.toml:1: model", "t.toml:2: adapter"]);
}

#[test]
fn queues_of_scorers_are_read() {
    let text = "[[queue]]\nscorer = \"math\"\nsize = 9\n\
                [[queue]]\nscorer = \"exact\"\nsize = 1\ntimeout = \"2s\"\npolicy = \"shed\"\n";
    let (config, _, problems) = read(text, &[], &[]);
    assert_eq!(problems, [""; 0]);
    let queue = |scorer: &str, size, timeout, policy| QueueSpec {
        scorer: scorer.to_owned(),
        size,
        timeout: Duration::from_secs(timeout),
        policy,
    };
    let first = queue("math", 9, 1, QueuePolicy::Reject);
    assert_eq!(config.queues, [first, queue("exact", 1, 2, QueuePolicy::Shed)]);
    let text = "[[queue]]\nscorer = \"math\"\nsize = 0\npolicy = \"drop\"\n[[queue]]\nsize = 1\n";
    let (_, _, problems) = read(text, &[], &[]);
    let starts =
        ["t.toml:3: queue[0].size", "t.toml:4: queue[0].policy", "t.toml:5: queue[1].scorer"];
    assert_eq!(problems.len(), starts.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn lists_have_commas_between() {
    let text = "[server]\nhosts = \"box.lan, gpu1\"\ncors_origins = \"https://a.example\"\n";
    let (config, _, problems) = read(text, &[], &[]);
    assert_eq!(problems, [""; 0]);
    assert_eq!(config.hosts, ["box.lan", "gpu1"]);
    assert_eq!(config.cors_origins, ["https://a.example"]);
    let text = "[server]\nhosts = \"box.lan:80\"\ncors_origins = \"*\"\n";
    let (_, _, problems) = read(text, &[], &[]);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn former_names_of_tables_are_read() {
    for table in ["compat", "wires"] {
        let (config, _, problems) = read(&format!("[{table}]\nscorer = \"math\"\n"), &[], &[]);
        assert_eq!(problems, [""; 0], "{table}");
        assert_eq!(config.compat_scorer.as_deref(), Some("math"), "{table}");
        let (mut config, mut problems) = (Config::default(), Vec::new());
        let name = format!("{table}.scorer");
        let given = Override { origin: "--set".to_owned(), name, value: "exact".to_owned() };
        apply(&mut config, &given, &mut problems);
        assert_eq!((problems, config.compat_scorer.as_deref()), (Vec::new(), Some("exact")));
    }
    let both = "[wires]\nscorer = \"math\"\n[compat]\nscorer = \"exact\"\n";
    let (_, _, problems) = read(both, &[], &[]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("t.toml:1: wires"), "{problems:?}");
    let setting = SETTINGS.iter().find(|s| s.table == "compat").expect("it is there");
    let variables: Vec<String> = environment_names(setting).map(|(name, _)| name).collect();
    assert_eq!(variables, ["TRIBUNAL_WIRES_SCORER", "TRIBUNAL_COMPAT_SCORER"]);
}

/// What is shown is a file that gives the same configuration.
#[test]
fn shown_configurations_are_read_as_what_they_show() {
    let check = |text: &str, expected: &[&str]| {
        let mut config = Config::default();
        let place = FileContext { base: None, files: None, flags: &Flags::default(), models: &[] };
        let (registry, catalogue, problems) = read_document("t.toml", text, place, &mut config);
        assert_eq!(problems, []);
        let (keys, signing) = (Keys::default(), Signing::default());
        let loaded = Loaded { config, registry, catalogue, keys, signing };
        let shown = loaded.to_string();
        let one_space = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in expected {
            let found = shown.lines().any(|shown| one_space(shown).starts_with(line));
            assert!(found, "no {line} in:\n{shown}");
        }
        let mut again = Config::default();
        let (_, catalogue, problems) = read_document("again", &shown, place, &mut again);
        assert_eq!(problems, [], "{shown}");
        again.given.clone_from(&loaded.config.given);
        assert_eq!((again, catalogue), (loaded.config, loaded.catalogue), "{shown}");
    };
    check("", &["# api_keys_file is not set", "bind = \"127.0.0.1:8080\"", "# math (math)"]);
    check(
        "[limits]\nqueue_bytes = 1000\nmemory = \"3GiB\"\ndeadline = \"1500ms\"\n\
         [cache]\nmemory = \"0\"\n[compat]\nscorer = \"math\"\n\
         [[model]]\nname = \"a\"\npath = \"b\"\ncompute = \"bf16\"\n\
         [[queue]]\nscorer = \"math\"\nsize = 3\ntimeout = \"250ms\"\npolicy = \"shed\"\n",
        &[
            "queue_bytes = \"1000\" # t.toml",
            "memory = \"3GiB\"",
            "deadline = \"1500ms\"",
            "timeout = \"250ms\"",
            "policy = \"shed\"",
            "compute = \"bf16\"",
            "memory = \"0\"",
            "drain = \"30s\" # default",
            "# Those of tribunal-tiny are served only where no model is configured.",
        ],
    );
}
