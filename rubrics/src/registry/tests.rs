use super::*;

/// The names that a configuration adds, and its problems.
fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let document = Document::new("t.toml", text);
    let registry = {
        let table = document.parse();
        let root = document.root(&table);
        let registry = Registry::read(&root, &[]);
        root.finish();
        registry
    };
    let built_in = Registry::built_in();
    let added = registry.iter().map(|scorer| scorer.name());
    let added = added.filter(|name| built_in.get(name).is_none());
    let added = added.map(str::to_owned).collect();
    let problems = document.into_problems();
    (added, problems.iter().map(ToString::to_string).collect())
}

fn check_valid(text: &str, expected: &[&str]) {
    let (added, problems) = read(text);
    assert_eq!(problems, [""; 0], "{text}");
    assert_eq!(added, expected, "{text}");
}

fn check_problems(text: &str, expected: &[&str]) {
    let (_, problems) = read(text);
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(
            problem.contains(expected),
            "{problem} does not hold {expected}"
        );
    }
}

#[test]
fn built_in_scorers_need_no_configuration() {
    let registry = Registry::built_in();
    for name in [
        "math",
        "choice",
        "text",
        "exact",
        "regex",
        "json",
        "format",
        "arithmetic",
    ] {
        assert!(registry.get(name).is_some(), "{name}");
    }
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
fn what_a_pipeline_must_say() {
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
            "'sum' is not one of weighted_sum, min, gate, cascade",
            "scorer[1].part[1].weight: missing",
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
        &[
            "none may be negative",
            "unknown key; did you mean 'weight'?",
        ],
    );
}

#[test]
fn a_pipeline_cannot_lead_back_to_itself() {
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
    check_problems(
        &(scorer("m", "math") + &scorer("m", "text")),
        &["another scorer"],
    );
    check_problems(
        &scorer("m", "maths"),
        &["no kind 'maths'; did you mean 'math'?"],
    );
    check_problems(
        "[[scorer]]\nkind = \"math\"\n",
        &["scorer[0].name: missing"],
    );
    check_problems("scorer = 3\n", &["expected [[scorer]]"]);
}

#[test]
fn near_names_are_offered() {
    let registry = Registry::built_in();
    assert_eq!(registry.near("maths").first(), Some(&"math"));
    assert!(registry.near("zzzzzz").is_empty());
}

#[test]
fn digests_follow_every_option_and_not_the_name() {
    let digest = |text: &str, name: &str| {
        let document = Document::new("t.toml", text);
        let table = document.parse();
        let registry = Registry::read(&document.root(&table), &[]);
        *registry.get(name).expect("configured").digest()
    };
    let scorer = |name: &str, rest: &str| format!("[[scorer]]\nname = \"{name}\"\n{rest}");
    let base = digest(&scorer("a", "kind = \"math\"\n"), "a");
    assert_eq!(base, digest(&scorer("b", "kind = \"math\"\n"), "b"));
    assert_eq!(
        base,
        *Registry::built_in().get("math").expect("built in").digest()
    );
    for other in [
        "kind = \"math\"\nfuel = 1000\n",
        "kind = \"math\"\ntolerance = \"gold_digits\"\n",
        "kind = \"math\"\nextract = \"whole\"\n",
        "kind = \"math\"\nlast_number = false\n",
        "kind = \"text\"\n",
    ] {
        assert_ne!(base, digest(&scorer("a", other), "a"), "{other}");
    }
}
