use std::collections::BTreeSet;

use super::kind_table::{MODEL_KINDS, kind_names};
use super::*;
use crate::kinds::answer::options::KINDS;
use crate::{Input, Passage, Responses, ScoreOptions, evaluate_now};

/// The names that a configuration adds, and its problems.
fn read_config(text: &str) -> (Vec<String>, Vec<String>) {
    let document = Document::new("t.toml", text);
    let registry = {
        let table = document.parse();
        let root = document.root(&table);
        let registry = Registry::read(&root, &[]);
        root.finish();
        registry
    };
    let built_in = Registry::with_default_model();
    let added = registry.iter().map(|scorer| scorer.name());
    let added = added.filter(|name| built_in.get(name).is_none());
    let added = added.map(str::to_owned).collect();
    let problems = document.into_problems();
    (added, problems.iter().map(ToString::to_string).collect())
}

fn check_valid(text: &str, expected: &[&str]) {
    let (added, problems) = read_config(text);
    assert_eq!(problems, [""; 0], "{text}");
    assert_eq!(added, expected, "{text}");
}

fn check_problems(text: &str, expected: &[&str]) {
    let (_, problems) = read_config(text);
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem} does not hold {expected}");
    }
}

/// A page of `docs`; `None` if there is none of this name.
fn page(name: &str) -> Option<String> {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).ok()
}

/// `docs/scorers.md` lists every kind and every built-in scorer and no other, and each kind has the
/// page or section that describes it.
#[test]
fn every_kind_is_documented() {
    let scorers = page("scorers.md").expect("the page exists");
    let (before, kinds) = scorers.split_once("## Kinds\n").expect("the section exists");
    let rows = kinds.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.trim_start_matches(['`', '[']).split(['`', ']']).next());
    let listed: BTreeSet<&str> = cells.filter(|cell| !cell.starts_with("kind |")).collect();
    assert_eq!(listed, kind_names().collect());

    let sentence = before.split("no configuration:").nth(1).expect("the sentence exists");
    let sentence = sentence.split(';').next().expect("a part");
    let listed: BTreeSet<&str> = sentence.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, Registry::built_in().iter().map(|scorer| scorer.name()).collect());

    for (kind, _) in MODEL_KINDS {
        assert!(kinds.contains(&format!("[{kind}](scorers/{kind}.md)")), "{kind} has no link");
        assert!(page(&format!("scorers/{kind}.md")).is_some(), "{kind} has no page");
    }
    let verifiers = page("verifiers.md").expect("the page exists");
    for kind in KINDS.iter().map(|kind| kind.name) {
        let has_section = verifiers.contains(&format!("\n## `{kind}`\n"));
        assert!(has_section || page(&format!("{kind}.md")).is_some(), "{kind} has no section");
    }
}

/// The embedded model has a scorer of every kind that calls models, as `docs/scorers.md` states.
#[test]
fn default_model_has_every_kind_that_calls_models() {
    let registry = Registry::with_default_model();
    let scorers = registry.iter().filter(|scorer| scorer.uses_models());
    let kinds: BTreeSet<&str> = scorers.map(|scorer| scorer.kind()).collect();
    assert_eq!(kinds, MODEL_KINDS.iter().map(|(name, _)| *name).collect());
}

#[test]
fn default_model_scorers_exist_without_configuration() {
    let read = |text: &str, models: &[&str]| {
        let document = Document::new("t.toml", text);
        let registry = {
            let table = document.parse();
            Registry::read(&document.root(&table), models)
        };
        assert_eq!(document.into_problems().len(), 0, "{text}");
        registry
    };
    let judge = |registry: &Registry| registry.get("judge").map(|scorer| *scorer.digest());
    let default = judge(&read("", &[])).expect("there is one");
    assert_eq!(judge(&read("", &["m"])), None);
    let model = "[[model]]\nname = \"m\"\npath = \".\"\n";
    assert_eq!(judge(&read(model, &[])), None);
    let own = "[[scorer]]\nname = \"judge\"\nkind = \"judge\"\nmodel = \"tribunal-tiny\"\n";
    let own = judge(&read(own, &[])).expect("it is defined");
    assert_ne!(own, default, "a scorer of the same name takes its place");
}

#[test]
fn pipelines_find_their_parts_in_any_order() {
    check_valid(
        r#"
        [[scorer]]
        name = "outer"
        kind = "pipeline"
        combine = "min"
        part = [{ scorer = "inner", on_error = "fail" }, { scorer = "format", on_error = "floor" }]
        [[scorer]]
        name = "inner"
        kind = "pipeline"
        combine = "weighted_sum"
        part = [{ scorer = "math", weight = 1, on_error = "fail" }]
        "#,
        &["inner", "outer"],
    );
}

#[test]
fn incomplete_pipelines_are_refused() {
    check_problems(
        r#"
        [[scorer]]
        name = "p"
        kind = "pipeline"
        combine = "sum"
        part = [{ scorer = "maths", weight = 1 }]
        [[scorer]]
        name = "q"
        kind = "pipeline"
        combine = "weighted_sum"
        part = [{ scorer = "maths", weight = 1, on_error = "fail" }, { scorer = "text", on_error = "fail" }]
        [[scorer]]
        name = "r"
        kind = "pipeline"
        combine = "gate"
        part = [{ scorer = "math", on_error = "fail" }, { scorer = "text", on_error = "fail" }]
        "#,
        &[
            "'sum' is not one of weighted_sum, mean, min, wco, uwo, product, r1, gate, g_ra, cascade",
            "scorer[0].part[0].on_error: missing; it is one of fail, skip, floor",
            "no scorer 'maths'; did you mean 'math'?",
            "scorer[1].part[1].weight: missing",
            "no scorer 'maths'; did you mean 'math'?",
            "scorer[2].part[0].threshold: missing",
        ],
    );
    check_problems(
        r#"
        [[scorer]]
        name = "p"
        kind = "pipeline"
        combine = "min"
        part = [{ scorer = "maths", on_error = "fail" }]
        "#,
        &["no scorer 'maths'; did you mean 'math'?"],
    );
    check_problems(
        r#"
        [[scorer]]
        name = "p"
        kind = "pipeline"
        combine = "weighted_sum"
        part = [
          { scorer = "math", weight = 1, on_error = "skip" },
          { scorer = "text", weight = -1, on_error = "fail", wieght = 2 },
        ]
        "#,
        &["none may be negative", "unknown key; did you mean 'weight'?"],
    );
}

/// A pipeline of two parts: the rest of its table, and of the first and the second part.
fn two_parts(head: &str, first: &str, second: &str) -> String {
    let part = |name: &str, rest: &str| {
        format!("[[scorer.part]]\nscorer = \"{name}\"\non_error = \"fail\"\n{rest}\n")
    };
    let head = format!("[[scorer]]\nname = \"p\"\nkind = \"pipeline\"\n{head}\n");
    head + &part("math", first) + &part("text", second)
}

#[test]
fn all_combinations_can_be_configured() {
    let valid = |head: &str, first: &str, second: &str| {
        check_valid(&two_parts(head, first, second), &["p"]);
    };
    for word in ["mean", "min", "wco", "uwo", "product", "cascade"] {
        valid(&format!("combine = \"{word}\""), "", "");
    }
    valid("combine = \"weighted_sum\"", "weight = 1", "weight = -0.5");
    for word in ["gate", "g_ra"] {
        let head = format!("combine = \"{word}\"");
        valid(&head, "threshold = 0.5", "");
        valid(&head, "threshold = 0.5\nweight = 2", "weight = 3");
    }
    valid(
        "combine = \"uwo\"\nlambda = 0.1\nvariance = \"unbiased\"",
        "value = \"raw\"\nstandardise = { mean = -1.5, std = 2 }",
        "value = \"raw\"\nstandardise = { reference = [1, 2.5], variance = \"unbiased\" }",
    );
    valid("combine = \"mean\"", "clip = [-1, 1]", "pass = 0.5");
    let r1 = two_parts("combine = \"r1\"", "role = \"accuracy\"", "role = \"format\"");
    let third = "[[scorer.part]]\nscorer = \"exact\"\nrole = \"consistency\"\n\
                 on_error = \"floor\"\nstandardise = { mean = 0.5, std = 0.5 }\n";
    check_valid(&(r1 + third), &["p"]);
    for normalise in [
        "normalise = \"grpo\"",
        "normalise = \"grpo\"\nnormalise_variance = \"population\"\nnormalise_epsilon = 0",
        "normalise = \"mean\"",
        "normalise = \"leave_one_out\"",
    ] {
        valid(&format!("combine = \"mean\"\n{normalise}"), "", "");
    }
}

#[test]
fn group_normalisation_keeps_its_mean() {
    let text = two_parts("combine = \"mean\"\nnormalise = \"mean\"", "", "");
    let document = Document::new("t.toml", &text);
    let table = document.parse();
    let registry = Registry::read(&document.root(&table), &[]);
    let scorer = registry.get("p").expect("configured");
    let check = |responses: &[&str], score: f64, normalised: &[f64]| {
        let passage = |text: &&str| Passage::Text((*text).to_owned());
        let mut input = Input::of("").against("2");
        input.responses = Responses::Group(responses.iter().map(passage).collect());
        let group = evaluate_now(scorer, &Arc::new(input), &ScoreOptions::default())
            .expect("all are measured");
        assert!((group.score - score).abs() < 1e-12, "{}", group.score);
        let members = group.evidence.members.expect("it is a group");
        let got: Vec<f64> = members.iter().filter_map(|member| member.normalised).collect();
        assert_eq!(got.len(), normalised.len());
        let same = got.iter().zip(normalised).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(same, "{got:?} is not {normalised:?}");
    };
    check(&["2", "3"], 0.5, &[0.5, -0.5]);
    check(&["2", "2"], 1.0, &[0.0, 0.0]);
    check(&["3"], 0.0, &[0.0]);
}

#[track_caller]
fn check_two(head: &str, first: &str, second: &str, expected: &[&str]) {
    check_problems(&two_parts(head, first, second), expected);
}

#[test]
fn combinations_refuse_invalid_parts() {
    check_two("combine = \"meen\"", "", "", &["did you mean 'mean'?"]);
    check_two(
        "combine = \"uwo\"\nlambda = -1\nvariance = \"biased\"",
        "weight = 1",
        "value = \"logit\"",
        &[
            "below 0 it would reward disagreement",
            "'biased' is not one of population, unbiased",
            "scorer[0].part[0].weight: unknown key",
            "'logit' is not one of score, raw",
        ],
    );
    check_two("combine = \"mean\"\nlambda = 1", "", "", &["scorer[0].lambda: unknown key"]);
    check_two("combine = \"g_ra\"", "", "", &["part[0].threshold: missing"]);
}

#[test]
fn adjustments_refuse_invalid_values() {
    check_two(
        "combine = \"mean\"",
        "standardise = { mean = 0, std = 0 }",
        "standardise = { mean = 0, stdd = 1 }",
        &[
            "standard deviation 0 is not above 0",
            "standardise.std: missing",
            "unknown key; did you mean 'std'?",
        ],
    );
    check_two(
        "combine = \"mean\"",
        "standardise = { reference = [1] }",
        "standardise = { reference = [0.1, 0.1, 0.1] }",
        &["at least 2 are needed", "is not above 0"],
    );
    check_two(
        "combine = \"mean\"",
        "clip = [1, 0]",
        "clip = [0, nan]",
        &["the first below the second", "a list of finite numbers"],
    );
    check_two("combine = \"mean\"", "standardise = 3", "", &["expected a table"]);
    check_two("combine = \"cascade\"", "clip = [0, 1]", "", &["clip: unknown key"]);
}

#[test]
fn parts_must_be_compatible() {
    check_two(
        "combine = \"r1\"",
        "role = \"accuracy\"",
        "role = \"accuracy\"",
        &[
            "0 parts have the role 'format'",
            "2 parts have the role 'accuracy'",
            "0 parts have the role 'consistency'",
        ],
    );
    check_two(
        "combine = \"r1\"",
        "role = \"form\"",
        "",
        &["'form' is not one of", "role: missing"],
    );
    check_two("combine = \"mean\"\nnormalise = \"grop\"", "", "", &["did you mean 'grpo'?"]);
    check_two(
        "combine = \"mean\"\nnormalise = \"grpo\"\nnormalise_epsilon = -1",
        "",
        "",
        &["it is 0 or more"],
    );
    let floor = two_parts("combine = \"mean\"", "standardise = { mean = 0, std = 1 }", "")
        .replacen("\"fail\"", "\"floor\"", 1);
    check_problems(&floor, &["the average of the reference set"]);
    let one = "[[scorer]]\nname = \"p\"\nkind = \"pipeline\"\ncombine = \"uwo\"\n\
               variance = \"unbiased\"\npart = [{ scorer = \"math\", on_error = \"fail\" }]\n";
    check_problems(one, &["an unbiased variance needs 2 parts"]);
}

#[test]
fn pipeline_cycles_are_refused() {
    let part = |name: &str| format!("part = [{{ scorer = \"{name}\", on_error = \"fail\" }}]\n");
    let head = |name: &str| {
        format!("[[scorer]]\nname = \"{name}\"\nkind = \"pipeline\"\ncombine = \"min\"\n")
    };
    check_problems(&(head("a") + &part("a")), &["lead back"]);
    let text = head("a") + &part("b") + &head("b") + &part("a") + &head("c") + &part("math");
    check_problems(&text, &["lead back", "lead back"]);
}

#[test]
fn names_and_kinds() {
    let scorer =
        |name: &str, kind: &str| format!("[[scorer]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    check_valid(&scorer("my/math-1", "math"), &["my/math-1"]);
    check_problems(&scorer("a b", "math"), &["a name has"]);
    check_problems(&scorer("", "math"), &["a name has"]);
    check_problems(&(scorer("m", "math") + &scorer("m", "text")), &["another scorer"]);
    check_problems(&scorer("m", "maths"), &["no kind 'maths'; did you mean 'math'?"]);
    check_problems("[[scorer]]\nkind = \"math\"\n", &["scorer[0].name: missing"]);
    check_problems("scorer = 3\n", &["expected [[scorer]]"]);
}

#[test]
fn near_names_are_offered() {
    let registry = Registry::built_in();
    assert_eq!(registry.near("maths").first(), Some(&"math"));
    assert!(registry.near("zzzzzz").is_empty());
}

#[test]
fn digest_covers_options_and_not_the_name() {
    let digest = |text: &str, name: &str| {
        let document = Document::new("t.toml", text);
        let table = document.parse();
        let registry = Registry::read(&document.root(&table), &[]);
        *registry.get(name).expect("configured").digest()
    };
    let scorer = |name: &str, rest: &str| format!("[[scorer]]\nname = \"{name}\"\n{rest}");
    let base = digest(&scorer("a", "kind = \"math\"\n"), "a");
    assert_eq!(base, digest(&scorer("b", "kind = \"math\"\n"), "b"));
    assert_eq!(base, *Registry::built_in().get("math").expect("built in").digest());
    for other in [
        "kind = \"math\"\nfuel = 1000\n",
        "kind = \"math\"\ntolerance = \"gold_digits\"\n",
        "kind = \"math\"\nextract = \"whole\"\n",
        "kind = \"math\"\nlast_number = false\n",
        "kind = \"math\"\nextract = \"marked\"\n",
        "kind = \"text\"\n",
    ] {
        assert_ne!(base, digest(&scorer("a", other), "a"), "{other}");
    }
}

#[test]
fn marker_options_are_checked() {
    let scorer = |rest: &str| {
        format!("[[scorer]]\nname = \"m\"\nkind = \"exact\"\nextract = \"marked\"\n{rest}")
    };
    check_valid(&scorer(""), &["m"]);
    check_valid(&scorer("marker = \"/conclusion\"\noccurrence = \"first\"\n"), &["m"]);
    check_problems(&scorer("marker = \"\"\n"), &["an empty marker"]);
    check_problems(&scorer("occurrence = \"any\"\n"), &["not one of first, last"]);
    let unread = "[[scorer]]\nname = \"m\"\nkind = \"exact\"\nmarker = \"x\"\n";
    check_problems(unread, &["marker"]);
}
