mod laws;

use super::{AnswerPolicy, Extracted, answer, whole};

fn found(response: &str) -> Option<Extracted<'_>> {
    answer(response, &AnswerPolicy::default())
}

/// Text, source and flags of the answer.
fn check(response: &str, text: &str, source: &str, flags: &[&str]) {
    let found = found(response).unwrap_or_else(|| panic!("nothing in {response:?}"));
    assert_eq!(
        (found.text, found.source, found.flags.as_slice()),
        (text, source, flags),
        "{response:?}"
    );
    assert_eq!(&response[found.span], found.text, "{response:?}");
}

fn check_count(response: &str, count: usize) {
    assert_eq!(
        found(response).map_or(0, |f| f.count),
        count,
        "{response:?}"
    );
}

fn check_none(response: &str) {
    assert_eq!(found(response), None, "{response:?}");
}

#[test]
fn boxes() {
    check("so $\\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}", "boxed", &[]);
    check("\\boxed{1} then \\boxed{ 2 }", "2", "boxed", &[]);
    check("\\boxed{\\boxed{5}}", "5", "boxed", &[]);
    check("\\boxed{x = \\boxed{5} }", "5", "boxed", &[]);
    check("\\boxed {5}", "5", "boxed", &[]);
    check("\\fbox{5}", "5", "boxed", &[]);
    check("\\fbox {5}", "5", "boxed", &[]);
    check("boxed(f(x))", "f(x)", "boxed", &[]);
    check("boxed{5}", "5", "boxed", &[]);
    check("$\\boxed 5$ eggs", "5", "boxed", &[]);
    check("\\boxed 42.", "42", "boxed", &[]);
    check("\\boxed5", "5", "boxed", &[]);
    check("$\\boxed\\frac{1}{2}$", "\\frac{1}{2}", "boxed", &[]);
    check("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}", "boxed", &[]);
    check("\\boxed{\na\n}", "a", "boxed", &[]);
    check("\\boxed{}", "", "boxed", &[]);
    check(
        "\\boxed{7} #### 8\nA: 9\nThe answer is 10.",
        "7",
        "boxed",
        &[],
    );
    check(
        "\\boxed{C}\n\nHence the boxed answer stands.",
        "C",
        "boxed",
        &[],
    );
    check(
        &format!("\\boxed{{5}}{}", " blah".repeat(100_000)),
        "5",
        "boxed",
        &[],
    );
}

#[test]
fn what_is_no_box() {
    check(
        "The \\boxed command: answer is 5",
        "5",
        "answer_phrase",
        &[],
    );
    check("a box of 5", "5", "last_number", &["fallback"]);
    check("unboxed(4) 5", "5", "last_number", &["fallback"]);
    check("\\mbox{4} 5", "5", "last_number", &["fallback"]);
    check("write it in \\boxed. 5", "5", "last_number", &["fallback"]);
}

#[test]
fn unclosed_boxes() {
    check("\\boxed{5", "5", "boxed", &["unclosed_box"]);
    check("$\\boxed{5$\nand so on", "5", "boxed", &["unclosed_box"]);
    check(
        "\\boxed{\\frac{1}{2}\nmore }",
        "\\frac{1}{2}\nmore",
        "boxed",
        &[],
    );
    check(
        "\\boxed{\\frac{1}{2\nmore",
        "\\frac{1}{2",
        "boxed",
        &["unclosed_box"],
    );
    check("\\boxed{", "", "boxed", &["unclosed_box"]);
    check("\\boxed{4\n\\boxed{5}", "5", "boxed", &[]);
}

#[test]
fn approximations_walk_back() {
    let skipped = &["approximation_skipped"];
    check(
        "\\boxed{1/3} \\approx \\boxed{0.33}",
        "1/3",
        "boxed",
        skipped,
    );
    check("$\\boxed{1/3}$ ≈ $\\boxed{0.33}$", "1/3", "boxed", skipped);
    check(
        "$\\boxed{1/3}$ or $\\boxed{\\approx 0.33}$",
        "1/3",
        "boxed",
        skipped,
    );
    check(
        "\\boxed{1/3}≈\\boxed{0.33}≈\\boxed{0.3}",
        "1/3",
        "boxed",
        skipped,
    );
    check(
        "\\boxed{2} so x = 7/3 \\approx \\boxed{2.33}",
        "2.33",
        "boxed",
        &[],
    );
    check("\\boxed{2} and \\boxed{2.33}", "2.33", "boxed", &[]);
    check("≈ \\boxed{0.33}", "0.33", "boxed", &[]);
}

#[test]
fn candidates_are_counted() {
    check("\\boxed{1}\\boxed{2}\\boxed{3}", "3", "boxed", &[]);
    check(
        "\\boxed{1}\\boxed{2}\\boxed{3}\\boxed{4}",
        "4",
        "boxed",
        &["many_candidates"],
    );
    check(
        "\\boxed{1}\\boxed{1}\\boxed{1}\\boxed{1}",
        "1",
        "boxed",
        &[],
    );
    check(
        "A: 1\nA: 2\nA: 3\nA: 4",
        "4",
        "answer_line",
        &["many_candidates"],
    );
    check_count("\\boxed{\\boxed{5}}", 1);
    check_count("\\boxed{1}\\boxed{2}", 2);
    check_count("\\boxed{1\n\\boxed{2\n\\boxed{3", 3);
    check_count("#### 1\n#### 2", 2);
    check_count("1 2 3", 1);
}

#[test]
fn thinking_hides_answers() {
    check(
        "<think>\\boxed{1}</think>The answer is 2.",
        "2",
        "answer_phrase",
        &[],
    );
    check("\\boxed{1}<think>\\boxed{2}</think>", "1", "boxed", &[]);
    check("\\boxed{2}</think>\\boxed{3}", "3", "boxed", &[]);
    check_none("<think>\\boxed{1}");
    check_none("<think>5</think>");
    check_none("");
}

#[test]
fn tags() {
    check("<answer>5</answer>", "5", "answer_tag", &[]);
    check(
        "<think>1</think> <answer> $x = 5$ </answer>",
        "x = 5",
        "answer_tag",
        &[],
    );
    check(
        "<answer>1</answer> <answer>2",
        "2",
        "answer_tag",
        &["unclosed_tag"],
    );
    check("<answer></answer> 5", "", "answer_tag", &[]);
    check("<answer>The answer is 5.</answer>", "5", "answer_tag", &[]);
    check("<answer>\\boxed{5}</answer>", "5", "boxed", &[]);
}

#[test]
fn hash_marks() {
    check("9 * 2 = 18\n#### 18", "18", "hash_marks", &[]);
    check("#### $18.", "$18", "hash_marks", &[]);
    check("#### 17\n#### 18\nQ: next", "18", "hash_marks", &[]);
    check("#### 17 #### 18", "18", "hash_marks", &[]);
    check("#### The answer is **18**", "18", "hash_marks", &[]);
    check("#### Final Answer: 18", "18", "hash_marks", &[]);
    check("#### **Final Answer**\n\n18", "18", "hash_marks", &[]);
    check(
        "#### Conclusion\nThe answer is 18.",
        "18",
        "answer_phrase",
        &[],
    );
    check("#### 18\n#### Notes\nnone", "18", "hash_marks", &[]);
    check("They met in\n#### Paris\n", "Paris", "hash_marks", &[]);
    check("####", "", "hash_marks", &[]);
    check("A: 3\n#### 18", "18", "hash_marks", &[]);
    check("### Step 2\n##### Step 3\nA: 18", "18", "answer_line", &[]);
}

#[test]
fn answer_lines() {
    check("2 * 9 = 18\nA: 18", "18", "answer_line", &[]);
    check("A: 18 eggs\n", "18 eggs", "answer_line", &[]);
    check("**Answer:** $18$", "18", "answer_line", &[]);
    check("**Answer**: 18", "18", "answer_line", &[]);
    check("**Answer: 18**", "18", "answer_line", &[]);
    check("### Final answer: **18**.", "18", "answer_line", &[]);
    check("**Final Answer:**\n\n\\[ 18 \\]", "18", "answer_line", &[]);
    check("Answer:\n$$\n18\n$$\nDone.", "18", "answer_line", &[]);
    check("Answer:", "", "answer_line", &[]);
    check(
        "Final Answer: The volume of $V$ is 120. Yes.",
        "120",
        "answer_line",
        &[],
    );
    check(
        "Answer: The x is 1 and the y is 2",
        "The x is 1 and the y is 2",
        "answer_line",
        &[],
    );
    check("Answer: x is 5", "x is 5", "answer_line", &[]);
    check(
        "Answer: The final answer is 18. I hope so.",
        "18",
        "answer_line",
        &[],
    );
    check("A: 10+John's age", "10+John's age", "answer_line", &[]);
    check("A: 4\nB: 5\nThe answer is 5.", "5", "answer_phrase", &[]);
    check("Plan A: 18", "18", "last_number", &["fallback"]);
}

#[test]
fn phrases() {
    let source = "answer_phrase";
    check("The answer is 4.", "4", source, &[]);
    check("the Final ANSWER is: 4", "4", source, &[]);
    check(
        "The answer is 3.5. I hope it is correct.",
        "3.5",
        source,
        &[],
    );
    check(
        "The final answer is $\\frac{1}{2}$.",
        "\\frac{1}{2}",
        source,
        &[],
    );
    check("The answer is 3. Wait, the answer is 4!", "4!", source, &[]);
    check("Thus the answer is:\n\n$$ 4 $$", "4", source, &[]);
    check("So my answer: `4`", "4", source, &[]);
    check("**The answer is 4.**", "4", source, &[]);
    check("**The answer is 4**.", "4", source, &[]);
    check("The answer is **4**", "4", source, &[]);
    check(
        "The answer is $x=3$ or $x=4$",
        "$x=3$ or $x=4$",
        source,
        &[],
    );
    check("The answer is", "", source, &[]);
    check(
        "The answer isn't obvious: 5",
        "5",
        "last_number",
        &["fallback"],
    );
    check("The answerable part, 5", "5", "last_number", &["fallback"]);
}

#[test]
fn last_numbers() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("She has 18 eggs", "18");
    check("It costs $1,234.50.", "$1,234.50");
    check("It costs 5€ (or 6€)", "6€");
    check("a temperature of -5.", "-5");
    check("16-3=13", "13");
    check("<<9*2=18>>18 every day", "18");
    check("**18**", "18");
    check("(18).", "18");
    check("There is a 28% chance", "28%");
    check("There is a 28 percent chance", "28 percent");
    check("- 5 apples", "5");
    check("it takes 1 1/2 hours", "1 1/2");
    check("it takes 2½ hours", "2½");
    check("it takes 3/4 of them", "3/4");
    check("about 12 500 people", "12 500");
    check("a loss of -1.8 billion", "-1.8 billion");
    check("so \\frac{1}{2}", "\\frac{1}{2}");
    check("there are 12 molecules of H2O.", "12");
    check("so $x = 5$.", "x = 5");
    check("so \\(x = 5\\) holds", "x = 5");
    check("so\n\\[\n x = 5 \n\\]", "x = 5");
    check("that is $28$ %", "$28$ %");
    check("因此，一共有**858颗**糖果。", "858");
    check("比例为13/28", "13/28");
    check("共1.8亿", "1.8亿");
    check("She earns $5 and spends $3 on it", "$3");
}

#[test]
fn last_numbers_take_whole_expressions() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("so 2^{10}", "2^{10}");
    check("so $4 \\pi$", "4 \\pi");
    check("so $$4 \\pi$$", "4 \\pi");
    check("so 4 \\pi", "so 4 \\pi");
    check("so 3 + 4", "so 3 + 4");
    check("on 12/25/2020", "12/25/2020");
    check("at 10:30", "10:30");
    check("y = 3x", "3x");
    check("the 3rd", "3rd");
    check("5!", "5!");
    check("2**100", "2**100");
    check("4\\sqrt(2)", "4\\sqrt(2)");
}

#[test]
fn policies_switch_sources_off() {
    let policy = AnswerPolicy {
        phrases: false,
        ..AnswerPolicy::default()
    };
    let source = |response, policy: &AnswerPolicy| answer(response, policy).map(|f| f.source);
    assert_eq!(source("The answer is 4.", &policy), Some("last_number"));
    let policy = AnswerPolicy {
        last_number: false,
        ..policy
    };
    assert_eq!(source("The answer is 4.", &policy), None);
    assert_eq!(source("#### 4", &policy), Some("hash_marks"));
}

#[test]
fn the_whole_is_what_follows_the_thinking() {
    let text = |response| whole(response).map(|w| w.text);
    assert_eq!(text(" a b "), Some("a b"));
    assert_eq!(text("a<think>b</think> c "), Some("c"));
    assert_eq!(text("<think>b"), None);
    assert_eq!(text(" "), None);
}
