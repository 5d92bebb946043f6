//! `tribunal rubric`.

use crate::program::{Folder, tribunal};

const GOOD: &str = "[[items]]\ncriterion = \"names the cause\"\npoints = 5\n\
                    [[items]]\ncriterion = \"blames the reader\"\npoints = -2\n";

#[test]
fn rubrics_are_checked_whole() {
    let folder = Folder::new();
    let good = folder.write("good.toml", GOOD);
    let json = folder.write("good.json", r#"[{"criterion": "c", "points": 1, "tags": []}]"#);
    let ran = tribunal(["rubric", "check", &good, &json]).ends(0);
    assert!(ran.stdout.contains("good.toml: 2 items"), "{}", ran.stdout);
    let bad = "[[items]]\ncriterion = \"\"\npoints = nan\n[[items]]\ncriterion = \"c\"\n";
    let bad = folder.write("bad.toml", bad);
    tribunal(["rubric", "check", &good, &bad]).ends(1).says(&[
        "bad.toml:2: items[0].criterion: ",
        "bad.toml:3: items[0].points: ",
        "bad.toml:4: items[1].points: missing",
    ]);
    tribunal(["rubric", "check", "none.toml"]).ends(2);
    tribunal(["rubric", "check"]).ends(2);
}

#[test]
fn a_group_is_shown_less_and_less() {
    let folder = Folder::new();
    let good = folder.write("good.toml", GOOD);
    let args = ["rubric", "scaffold", &good, "--group-size", "3", "--step", "1"];
    let ran = tribunal(args).ends(0);
    for part in [
        "# sample 0: 2 of 2 items\n",
        "# sample 1: 1 of 2 items\n",
        "# sample 2: 0 of 2 items\n",
        "- names the cause (5 points)",
        "- blames the reader (2 points)",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is missing: {}", ran.stdout);
    }
    tribunal(["rubric", "scaffold", &good, "--step", "0"]).ends(2).says(&["steps count from 1"]);
}
