//! Decisions over groups, compared with plain counts over the same rows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::groups::{Band, Filtration};

/// Rows of two scorers, in groups that are not together.
fn scored(rows: &[(Option<&str>, &str, Option<f64>)]) -> String {
    let line = |(id, (question, response, score)): (usize, &(Option<&str>, &str, Option<f64>))| {
        let scores = json!({"math": {"score": score}});
        let row = json!({"id": id, "q": question, "prompt": question, "response": response,
            "scores": scores});
        row.to_string() + "\n"
    };
    rows.iter().enumerate().map(line).collect()
}

const ROWS: [(Option<&str>, &str, Option<f64>); 13] = [
    (Some("a"), "a0", Some(1.0)),
    (Some("b"), "b0", Some(0.0)),
    (Some("a"), "a1", Some(0.0)),
    (Some("c"), "c0", Some(1.0)),
    (None, "none", Some(1.0)),
    (Some("b"), "b1", Some(0.0)),
    (Some("d"), "d0", None),
    (Some("a"), "a2", Some(0.25)),
    (Some("c"), "c1", Some(1.0)),
    (Some("e"), "e0", Some(0.5)),
    (Some("e"), "e1", None),
    (Some("d"), "d1", None),
    (Some("c"), "c0", Some(1.0)),
];

fn group(operation: GroupOperation) -> FilterOptions {
    FilterOptions {
        group: Some(GroupOptions {
            by: "q".to_owned(),
            score: None,
            prompt: None,
            response: None,
            operation,
        }),
        ..FilterOptions::default()
    }
}

fn pass_rate(low: f64, high: f64, least: usize) -> GroupOperation {
    GroupOperation::PassRate { band: Band::new(low, high).expect("a band"), mark: 0.5, least }
}

fn pairs(margin: f64) -> GroupOperation {
    GroupOperation::BestWorstPairs { margin, orders: None }
}

fn majority() -> GroupOperation {
    GroupOperation::Majority { answer: "substr(response, 1, 2)".to_owned() }
}

/// Reason of dropped rows, with the numbers of groups and rows.
type DropReason = (String, Option<u64>, u64);

/// The rows that an operation gives of some lines, and what it dropped: the reason, groups, rows.
fn found(lines: &str, options: &FilterOptions) -> (Vec<Value>, Vec<DropReason>) {
    let files = files(lines);
    let mut answers = files.datasets.iter().map(|dataset| {
        let (lines, report) =
            query_rows(dataset, &files.spill, options.clone()).expect("a good question");
        let listed = |dropped: &DroppedRows| {
            let rows = dropped.rows.expect("known");
            let why = dropped.why.unwrap_or_default();
            (why.to_owned(), dropped.groups, rows)
        };
        let dropped: Vec<_> = report.dropped.iter().map(listed).collect();
        let gone: u64 = dropped.iter().map(|(_, _, rows)| rows).sum();
        assert_eq!(report.read, report.written + gone, "{report:?}");
        let rows: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (rows, dropped)
    });
    let first = answers.next().expect("a format");
    for other in answers {
        assert_eq!(other, first, "the format has no say");
    }
    first
}

fn ids(rows: &[Value]) -> Vec<u64> {
    rows.iter().map(|row| row["id"].as_u64().expect("an id")).collect()
}

#[test]
fn groups_are_decided_and_counted() {
    #[track_caller]
    fn check(operation: &GroupOperation, kept: &[u64], dropped: &[(&str, Option<u64>, u64)]) {
        let (rows, found) = found(&scored(&ROWS), &group(operation.clone()));
        assert_eq!(ids(&rows), kept, "{operation:?}");
        let found: Vec<_> =
            found.iter().map(|(why, groups, rows)| (why.as_str(), *groups, *rows)).collect();
        assert_eq!(found, dropped, "{operation:?}");
    }
    let no_key = ("every key is null", None, 1);
    let unmeasured = ("too few with a score", Some(1), 2);
    let wrong = ("none passes", Some(1), 2);
    check(
        &pass_rate(0.25, 0.75, 1),
        &[0, 2, 7],
        &[no_key, unmeasured, wrong, ("all pass", Some(2), 5)],
    );
    // Ends of the band are in it.
    let right = ("all pass", Some(2), 5);
    check(&pass_rate(1.0 / 3.0, 0.5, 1), &[0, 2, 7], &[no_key, unmeasured, wrong, right]);
    check(
        &pass_rate(0.4, 0.5, 1),
        &[],
        &[no_key, unmeasured, wrong, ("below the band", Some(1), 3), right],
    );
    check(
        &pass_rate(0.0, 0.1, 1),
        &[1, 5],
        &[no_key, unmeasured, right, ("above the band", Some(1), 3)],
    );
    // A response without a score is no wrong one, but one that is not known.
    check(
        &pass_rate(0.0, 1.0, 2),
        &[0, 1, 2, 3, 5, 7, 8, 12],
        &[no_key, ("too few with a score", Some(2), 4)],
    );
    let other = |rows| ("another was chosen", None, rows);
    check(
        &GroupOperation::BestOfN { n: Some(3) },
        &[0, 8],
        &[no_key, ("too few with a score", Some(3), 6), other(4)],
    );
    check(
        &GroupOperation::Filtration { filter: Filtration::Reweight, keep: Some(9) },
        &[0, 3, 7, 8, 9, 12],
        &[no_key, unmeasured, other(2), ("every score is 0", Some(1), 2)],
    );
    // A tie of two answers has no majority; two rows of three have one.
    check(&majority(), &[3, 12], &[no_key, ("tie", Some(4), 9), ("another answer", None, 1)]);
    // Without its negative votes `x` would lose to `y`.
    let rows = [("x0", -0.1), ("x1", -0.2), ("y0", 0.05)].map(|(r, s)| (Some("a"), r, Some(s)));
    let mut options = group(GroupOperation::Majority { answer: "left(response, 1)".to_owned() });
    options.group.as_mut().expect("given").score = Some("scores.math.score".to_owned());
    let dropped = vec![("a score is negative, which is no weight".to_owned(), Some(1), 3)];
    assert_eq!(found(&scored(&rows), &options), (Vec::new(), dropped));
}

#[test]
fn pairs_are_rows_of_preferences() {
    let (rows, dropped) = found(&scored(&ROWS), &group(pairs(0.0)));
    let expected = json!({"prompt": "a", "chosen": "a0", "rejected": "a1", "chosen_score": 1.0,
        "rejected_score": 0.0, "margin": 1.0});
    assert_eq!(rows, [expected]);
    let listed: Vec<(&str, u64)> =
        dropped.iter().map(|(why, _, rows)| (why.as_str(), *rows)).collect();
    assert_eq!(
        listed,
        [
            ("every key is null", 1),
            ("too few with a score", 4),
            ("tie", 5),
            ("another was chosen", 1),
            ("the rejected response, in the row of the chosen one", 1),
        ]
    );
    let (rows, dropped) = found(&scored(&ROWS), &group(pairs(1.5)));
    assert!(rows.is_empty());
    assert_eq!(dropped[3].0, "within the margin");
}

#[test]
fn pairs_without_preference_are_left_out() {
    #[track_caller]
    fn check(rows: &[(&str, &str, Value, f64)], why: &str) {
        let line = |(key, prompt, response, score): &(&str, &str, Value, f64)| {
            json!({"q": key, "prompt": prompt, "response": response,
                "scores": {"math": {"score": score}}})
            .to_string()
                + "\n"
        };
        let lines: String = rows.iter().map(line).collect();
        let options = group(pairs(0.0));
        let (rows, dropped) = found(&lines, &options);
        assert!(rows.is_empty(), "{rows:?}");
        assert_eq!(dropped[0].0, why);
    }
    let text = |text: &str| Value::from(text);
    check(
        &[("a", "p", text("x"), 1.0), ("a", "p", text("x"), 0.0)],
        "best and worst are the same text",
    );
    check(
        &[("a", "p", text("x"), 1.0), ("a", "other", text("y"), 0.0)],
        "best and worst answer different prompts",
    );
    // A null response does not count, whatever its score.
    check(&[("a", "p", text("x"), 1.0), ("a", "p", Value::Null, 0.0)], "too few with a score");
}

#[test]
fn both_orders_must_prefer_the_chosen_response() {
    #[track_caller]
    fn check([first, second, index]: [&Value; 3], why: Option<&str>) {
        let rows = [
            json!({"q": "a", "prompt": "p", "response": "good", "s_score": 1.0, "at": 0,
                "against": [null, first]}),
            json!({"q": "a", "prompt": "p", "response": "bad", "s_score": 0.0, "at": index,
                "against": [second, null]}),
            // Fixes the types to lists of numbers.
            json!({"q": "b", "prompt": "p", "response": "x", "s_score": 0.0, "at": 0,
                "against": [0.5]}),
        ];
        let lines: String = rows.map(|row| row.to_string() + "\n").concat();
        let mut options = group(GroupOperation::BestWorstPairs {
            margin: 0.0,
            orders: Some(ComparisonColumns {
                against: "against".to_owned(),
                index: "at".to_owned(),
            }),
        });
        options.group.as_mut().expect("set").score = Some("s_score".to_owned());
        let (rows, dropped) = found(&lines, &options);
        assert_eq!(rows.len(), usize::from(why.is_none()));
        let listed = why.is_none_or(|why| dropped.iter().any(|(found, ..)| found == why));
        assert!(listed, "{dropped:?}");
    }
    let p = |p: f64| json!(p);
    let (one, null) = (&json!(1), &Value::Null);
    check([&p(0.9), &p(0.2), one], None);
    let differ = "the orders differ";
    check([&p(0.9), &p(0.8), one], Some(differ));
    check([&p(0.5), &p(0.2), one], Some(differ));
    let contradict = "both orders prefer the worst";
    check([&p(0.1), &p(0.8), one], Some(contradict));
    let missing = "an order has no verdict";
    check([&p(0.9), null, one], Some(missing));
    check([&p(0.9), &p(0.2), null], Some(missing));
    check([&p(0.9), &p(0.2), &json!(7)], Some(missing));
}

#[test]
fn messages_stay_messages_and_texts_join_them() {
    #[track_caller]
    fn check(prompt: &Value, responses: [&Value; 2], expected: &[Value; 3]) {
        let lines: String = [1.0, 0.0]
            .iter()
            .zip(responses)
            .map(|(score, response)| {
                let row = json!({"q": 1, "prompt": prompt, "response": response, "s_score": score});
                row.to_string() + "\n"
            })
            .collect();
        let mut options = group(pairs(0.0));
        if let Some(group) = &mut options.group {
            group.score = Some("s_score".to_owned());
        }
        let (rows, _) = found(&lines, &options);
        let columns = ["prompt", "chosen", "rejected"].map(|name| rows[0][name].clone());
        assert_eq!(&columns, expected);
    }
    let said = |role: &str, text: &str| json!([{"role": role, "content": text}]);
    let (prompt, good, bad) =
        (said("user", "1+1?"), said("assistant", "2"), said("assistant", "3"));
    let texts = [json!("1+1?"), json!("2"), json!("3")];
    let all = [prompt.clone(), good.clone(), bad.clone()];
    check(&prompt, [&good, &bad], &all);
    check(&prompt, [&texts[1], &texts[2]], &all);
    check(&texts[0], [&good, &bad], &all);
    check(&texts[0], [&texts[1], &texts[2]], &texts);
}

#[test]
fn steps_after_groups_see_kept_rows() {
    let options = FilterOptions {
        wheres: vec!["id < 12".to_owned()],
        order_by: Some("id DESC".to_owned()),
        top_k: Some(2),
        select: Some("id, q".to_owned()),
        ..group(pass_rate(0.25, 0.75, 1))
    };
    let (rows, dropped) = found(&scored(&ROWS), &options);
    assert_eq!(rows, [json!({"id": 7, "q": "a"}), json!({"id": 2, "q": "a"})]);
    assert_eq!(dropped.last().map(|(_, _, rows)| *rows), Some(1));
    let options = FilterOptions {
        select: Some("margin * 2 AS twice".to_owned()),
        order_by: Some("chosen_score".to_owned()),
        ..group(pairs(0.0))
    };
    assert_eq!(found(&scored(&ROWS), &options).0, [json!({"twice": 2.0})]);
    let options = FilterOptions {
        dedupe: Some(Dedupe::Exact { by: vec!["q".to_owned()] }),
        limit: Some(1),
        ..group(GroupOperation::BestOfN { n: None })
    };
    let files = files(&scored(&ROWS));
    let (lines, report) =
        query_rows(&files.datasets[0], &files.spill, options).expect("a good question");
    assert!(lines.contains("\"id\":0"), "{lines}");
    // Counts of an earlier pass are known, though the last pass ended early.
    assert_eq!(report.dropped[0].rows, Some(7));
    assert!(report.dropped.last().expect("a limit").rows.is_none());
}

#[test]
fn keys_of_every_kind_make_groups() {
    #[track_caller]
    fn check(by: &str, expected: u64) {
        let lines = [
            json!({"a": 1, "o": {"x": 1, "y": "u"}, "l": [1, 2], "mixed": 1, "odd name": 1}),
            json!({"a": 1, "o": {"x": 1, "y": "v"}, "l": [1, 2], "mixed": "1", "odd name": 2}),
            json!({"a": 2, "o": {"x": 2, "y": "u"}, "l": [2], "mixed": [1], "odd name": 3}),
            json!({"a": null, "o": null, "l": null, "mixed": null, "odd name": 4}),
        ];
        let lines: String = lines
            .map(|row| {
                let mut row = row;
                row["s"] = json!(1);
                row.to_string() + "\n"
            })
            .concat();
        let files = files(&lines);
        for dataset in &files.datasets {
            let options = FilterOptions {
                group: Some(GroupOptions {
                    by: by.to_owned(),
                    score: Some("s".to_owned()),
                    prompt: None,
                    response: None,
                    operation: pass_rate(0.0, 1.0, 1),
                }),
                ..FilterOptions::default()
            };
            let (_, report) = query_rows(dataset, &files.spill, options).expect("a good question");
            let groups = report.groups.expect("groups requested");
            assert_eq!(groups.groups, expected, "{by}");
        }
    }
    check("a", 2);
    check("o", 3);
    check("o.x", 2);
    check("o['y']", 2);
    check("l", 2);
    check("mixed", 3);
    check("odd name", 4);
    check("a, o.y", 3);
    check("a % 2", 2);
    check("*", 4);
}

/// Checks the error of an invalid question about groups.
#[track_caller]
fn check_refused(change: impl Fn(&mut GroupOptions), parts: &[&str]) {
    let mut options = group(pairs(0.0));
    let own = options.group.as_mut().expect("set above");
    own.score = Some("scores.math.score".to_owned());
    change(own);
    let lines = scored(&ROWS)
        .replace("\"scores\":{", "\"text\":\"t\",\"scores\":{\"arithmetic\":{\"score\":1.0},");
    let files = files(&lines);
    for dataset in &files.datasets {
        let error = query_rows(dataset, &files.spill, options.clone()).map(|(lines, _)| lines);
        let error = error.expect_err("a bad question").to_string();
        for part in parts {
            assert!(error.contains(part), "{error:?} does not say {part:?}");
        }
    }
}

#[test]
fn columns_of_groups_are_checked() {
    let check = |change: &dyn Fn(&mut GroupOptions), parts: &[&str]| check_refused(change, parts);
    let score =
        |text: &'static str| move |group: &mut GroupOptions| group.score = Some(text.to_owned());
    check(
        &|group| group.score = None,
        &["--score: there are 2 scores", "'scores.arithmetic.score', 'scores.math.score'"],
    );
    check(&score("scores.mth.score"), &["--score", "near: 'scores.math"]);
    check(&score("text"), &["--score: 'text' is text, and no score"]);
    check(&score("avg(id)"), &["--score", "over one row"]);
    check(&score("id, id"), &["--score"]);
    check(&score("1 / (id - id)"), &["ivi"]);
    check(&|group| group.by = "qq".to_owned(), &["--group-by: no column 'qq'", "near: 'q'"]);
    check(&|group| group.by = String::new(), &["--group-by: a column is wanted"]);
    check(&|group| group.by = "q FROM data WHERE id > 1 --".to_owned(), &["--group-by"]);
    check(&|group| group.by = "count(*)".to_owned(), &["--group-by", "over one row"]);
    check(
        &|group| group.prompt = Some("promt".to_owned()),
        &["--prompt: no column 'promt'", "near: 'prompt'"],
    );
    check(
        &|group| group.response = Some("scores.math.text".to_owned()),
        &["--response: no column"],
    );
}

#[test]
fn numbers_of_groups_are_checked() {
    let check = |operation: GroupOperation, parts: &[&str]| {
        check_refused(|group| group.operation = operation.clone(), parts);
    };
    for margin in [-0.5, f64::NAN, f64::INFINITY] {
        check(pairs(margin), &["--margin", "0 or more"]);
    }
    check(GroupOperation::BestOfN { n: Some(0) }, &["--best-of-n 0"]);
    let filtration = |filter, keep| GroupOperation::Filtration { filter, keep };
    check(filtration(Filtration::BestRandom, Some(2)), &["keeps two rows", "--keep"]);
    check(filtration(Filtration::Reweight, None), &["--keep"]);
    check(filtration(Filtration::Reweight, Some(0)), &["1 or more"]);
    let orders = |against: &str, index: &str| GroupOperation::BestWorstPairs {
        margin: 0.0,
        orders: Some(ComparisonColumns { against: against.to_owned(), index: index.to_owned() }),
    };
    check(orders("text", "id"), &["--against: 'text' is text, and no list of numbers"]);
    check(orders("[1.0]", "text"), &["--index: 'text' is text, and no place in a list"]);
    let answer = "scores".to_owned();
    check(GroupOperation::Majority { answer }, &["--answer: 'scores' is an object", "no answer"]);
}

#[test]
fn score_column_must_exist_or_be_named() {
    let empty = files("");
    let options = group(pass_rate(0.0, 1.0, 1));
    let error = query_rows(&empty.datasets[0], &empty.spill, options);
    let error = error.map(|(lines, _)| lines).expect_err("no score");
    assert!(error.to_string().contains("has no columns"), "{error}");
    let files = files("{\"q\":1,\"my_score\":0.5}\n");
    let error = query_rows(&files.datasets[0], &files.spill, group(pass_rate(0.0, 1.0, 1)));
    let error = error.map(|(lines, _)| lines).expect_err("no score").to_string();
    assert!(
        error.contains("no column scores.NAME.score") && error.contains("'my_score'"),
        "{error}"
    );
}

#[test]
fn non_finite_scores_are_missing() {
    for (score, n_kept) in [
        ("CAST('NaN' AS DOUBLE)", 0),
        ("CAST('inf' AS DOUBLE)", 0),
        ("NULL", 0),
        // A truth value is 0 or 1.
        ("id % 2 = 0", 10),
        ("CAST(id AS DECIMAL(10, 2))", 12),
        ("CASE WHEN id < 8 THEN 1 END", 10),
    ] {
        let mut options = group(pass_rate(0.5, 1.0, 1));
        options.group.as_mut().expect("set").score = Some(score.to_owned());
        let (rows, dropped) = found(&scored(&ROWS), &options);
        assert_eq!(rows.len(), n_kept, "{score}: {dropped:?}");
        if n_kept == 0 {
            assert_eq!(dropped[1].0, "too few with a score");
        }
    }
}

#[test]
fn many_groups_go_through_little_memory() {
    let mut lines = String::new();
    for row in 0..60_000_u32 {
        let group = row % 30_000;
        writeln!(
            lines,
            "{{\"id\":{row},\"q\":{group},\"response\":\"r{row}\",\"prompt\":\"p\",\"s_score\":{}}}",
            row / 30_000
        )
        .expect("to memory");
    }
    let files = files(&lines);
    let run = |memory_bytes, operation| {
        let mut options = group(operation);
        if let Some(group) = &mut options.group {
            group.score = Some("s_score".to_owned());
        }
        let resources = resources(memory_bytes, &files.spill);
        let mut kept = CollectedLines::default();
        let plan =
            FilterPlan::new(&files.datasets[1], options, resources).expect("a good question");
        plan.run(&mut kept, Box::new(|_| Ok(()))).expect("there is room on the disk");
        kept.lines
    };
    for operation in [pairs(0.0), GroupOperation::BestOfN { n: None }] {
        let lines = run(MEMORY_BYTES, operation.clone());
        assert_eq!(lines.lines().count(), 30_000);
        assert!(run(2 << 20, operation) == lines);
    }
}

/// Rows of random groups, scores and texts, each text at most once a group.
fn any_rows() -> impl Strategy<Value = Vec<(Option<u8>, Option<u8>)>> {
    prop::collection::vec(
        (prop::option::weighted(0.9, 0u8..5), prop::option::weighted(0.8, 0u8..4)),
        1..40,
    )
}

fn lines_of(rows: &[(Option<u8>, Option<u8>)]) -> Vec<String> {
    let line = |(id, (key, score)): (usize, &(Option<u8>, Option<u8>))| {
        json!({"id": id, "q": key, "prompt": key, "response": format!("r{id}"),
            "scores": {"math": {"score": score.map(|score| f64::from(score) / 4.0)}}})
        .to_string()
            + "\n"
    };
    rows.iter().enumerate().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Positions of rows do not decide which are kept.
    #[test]
    fn group_decisions_do_not_depend_on_row_order(rows in any_rows(), seed in any::<u64>(), turn in 0usize..40) {
        let mut lines = lines_of(&rows);
        // Some row has a score, so that the column is one of numbers.
        lines.push("{\"id\":99,\"q\":9,\"prompt\":9,\"response\":\"x\",\"scores\":{\"math\":{\"score\":1.0}}}\n".to_owned());
        let mut turned = lines.clone();
        turned.rotate_left(turn % lines.len());
        turned.reverse();
        for operation in [
            pass_rate(0.25, 0.75, 1),
            GroupOperation::BestOfN { n: None },
            GroupOperation::BestOfN { n: Some(2) },
            GroupOperation::Filtration { filter: Filtration::BestRandom, keep: None },
            GroupOperation::Filtration { filter: Filtration::BestWorst, keep: None },
            GroupOperation::Filtration { filter: Filtration::Reweight, keep: Some(2) },
            pairs(0.25),
            majority(),
        ] {
            let options = FilterOptions { seed, ..group(operation.clone()) };
            let sorted = |lines: &[String]| {
                let (rows, dropped) = found(&lines.concat(), &options);
                let mut rows: Vec<String> = rows.iter().map(Value::to_string).collect();
                rows.sort();
                (rows, dropped)
            };
            prop_assert_eq!(sorted(&lines), sorted(&turned), "{:?}", operation);
        }
    }

    /// The pass rates, bests and pairs are those of plain counting.
    #[test]
    fn decisions_are_those_of_plain_counting(rows in any_rows()) {
        let mut lines = lines_of(&rows);
        lines.push("{\"id\":99,\"q\":9,\"prompt\":9,\"response\":\"x\",\"scores\":{\"math\":{\"score\":1.0}}}\n".to_owned());
        let mut groups: BTreeMap<u8, Vec<(u64, Option<u8>)>> = BTreeMap::from([(9, vec![(99, Some(4))])]);
        for (id, (key, score)) in (0..).zip(&rows) {
            if let Some(key) = key {
                groups.entry(*key).or_default().push((id, *score));
            }
        }
        let lines = lines.concat();
        let (kept, _) = found(&lines, &group(pass_rate(0.25, 0.75, 1)));
        let mut expected: Vec<u64> = Vec::new();
        for rows in groups.values() {
            let scores: Vec<u8> = rows.iter().filter_map(|(_, score)| *score).collect();
            let passed = scores.iter().filter(|score| **score >= 2).count();
            if !scores.is_empty() && (scores.len()..=3 * scores.len()).contains(&(4 * passed)) {
                expected.extend(rows.iter().map(|(id, _)| id));
            }
        }
        expected.sort_unstable();
        prop_assert_eq!(ids(&kept), expected);
        let (best, _) = found(&lines, &group(GroupOperation::BestOfN { n: None }));
        let (made, _) = found(&lines, &group(pairs(0.0)));
        let (mut n_best, mut n_pairs) = (0, 0);
        for (key, rows) in &groups {
            let scores: Vec<u8> = rows.iter().filter_map(|(_, score)| *score).collect();
            let (Some(most), Some(least)) = (scores.iter().max(), scores.iter().min()) else {
                continue;
            };
            n_best += 1;
            let chosen: Vec<&Value> = best.iter().filter(|row| row["q"] == *key).collect();
            prop_assert_eq!(chosen.len(), 1);
            prop_assert_eq!(&chosen[0]["scores"]["math"]["score"], &json!(f64::from(*most) / 4.0));
            if most == least {
                continue;
            }
            n_pairs += 1;
            let pair: Vec<&Value> = made.iter().filter(|row| row["prompt"] == *key).collect();
            prop_assert_eq!(pair.len(), 1);
            let of = |name: &str| {
                let text = pair[0][name].as_str().expect("a text");
                let id: u64 = text[1..].parse().expect("an id");
                rows.iter().find(|(row, _)| *row == id).and_then(|(_, score)| *score)
            };
            prop_assert_eq!((of("chosen"), of("rejected")), (Some(*most), Some(*least)));
        }
        prop_assert_eq!((best.len(), made.len()), (n_best, n_pairs));
        // Pairs are in the order in which their groups begin.
        let first = |row: &Value| {
            let key = u8::try_from(row["prompt"].as_u64().expect("a key")).expect("small");
            groups[&key].iter().map(|(id, _)| *id).min()
        };
        prop_assert!(made.iter().map(first).is_sorted());
    }
}
