mod laws;

use super::{
    AnswerPolicy, Extracted, MANY_CANDIDATES, Occurrence, answer, marked, visible_response,
};

fn found(response: &str) -> Option<Extracted<'_>> {
    answer(response, &AnswerPolicy::default())
}

/// Checks text, source and flags of the answer.
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
    assert_eq!(found(response).map_or(0, |f| f.count), count, "{response:?}");
}

fn check_none(response: &str) {
    assert_eq!(found(response), None, "{response:?}");
}

/// The first and the last text between the braces of `marker`, and how many there are.
fn check_marked(marker: &str, response: &str, expected: Option<(&str, &str, usize)>) {
    let first = marked(response, marker, Occurrence::First);
    let last = marked(response, marker, Occurrence::Last);
    let both = first.zip(last).map(|(first, last)| (first.text, last.text, last.count));
    assert_eq!(both, expected, "{response:?}");
}

#[test]
fn marker_takes_balanced_braces() {
    let boxed = "\\boxed";
    check_marked(boxed, "so \\boxed{Yes}", Some(("Yes", "Yes", 1)));
    check_marked(boxed, "\\boxed{A} or \\boxed{ B }", Some(("A", "B", 2)));
    check_marked(boxed, "\\boxed{1 \\boxed{2} 3}", Some(("1 \\boxed{2} 3", "2", 2)));
    check_marked(boxed, "\\boxed{A} \\boxed{B", Some(("A", "A", 1)));
    check_marked(boxed, "\\boxed{ \\boxed{B}", Some(("B", "B", 1)));
    check_marked(boxed, "\\boxed{\\frac{1}{2}}", Some(("\\frac{1}{2}", "\\frac{1}{2}", 1)));
    check_marked(boxed, "} \\boxed{\\{1\\}} {", Some(("\\{1\\}", "\\{1\\}", 1)));
    check_marked(boxed, "\\boxed{}", Some(("", "", 1)));
    check_marked("/conclusion", "/conclusion{T} /conclusion{F}", Some(("T", "F", 2)));
    for nothing in [
        "\\box{Yes}",
        "\\boxed {Yes}",
        "\\boxed Yes",
        "\\boxed{Yes",
        "\\boxed{{Yes}",
        "\\fbox{Yes}",
        "<think>\\boxed{Yes}</think>",
        "the answer is Yes",
        "",
    ] {
        check_marked(boxed, nothing, None);
    }
}

#[test]
fn boxes_are_read() {
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
    check("\\boxed{7} #### 8\nA: 9\nThe answer is 10.", "7", "boxed", &[]);
    check("\\boxed{C}\n\nHence the boxed answer stands.", "C", "boxed", &[]);
    check(&format!("\\boxed{{5}}{}", " blah".repeat(100_000)), "5", "boxed", &[]);
}

#[test]
fn mentioned_commands_are_no_box() {
    check("The \\boxed command: answer is 5", "5", "answer_phrase", &[]);
    check("a box of 5", "5", "last_number", &["fallback"]);
    check("unboxed(4) 5", "5", "last_number", &["fallback"]);
    check("so \\mbox{4} 5", "5", "last_number", &["fallback"]);
    check("write it in \\boxed. 5", "5", "last_number", &["fallback"]);
}

#[test]
fn unclosed_box_takes_its_line() {
    check("\\boxed{5", "5", "boxed", &["unclosed_box"]);
    check("$\\boxed{5$\nand so on", "5", "boxed", &["unclosed_box"]);
    check("\\boxed{\\frac{1}{2}\nmore }", "\\frac{1}{2}\nmore", "boxed", &[]);
    check("\\boxed{\\frac{1}{2\nmore", "\\frac{1}{2", "boxed", &["unclosed_box"]);
    check("\\boxed{", "", "boxed", &["unclosed_box"]);
    check("\\boxed{4\n\\boxed{5}", "5", "boxed", &[]);
}

#[test]
fn exact_value_wins_over_its_approximation() {
    let skipped = &["approximation_skipped"];
    check("\\boxed{1/3} \\approx \\boxed{0.33}", "1/3", "boxed", skipped);
    check("$\\boxed{1/3}$ ≈ $\\boxed{0.33}$", "1/3", "boxed", skipped);
    check("$\\boxed{1/3}$ or $\\boxed{\\approx 0.33}$", "1/3", "boxed", skipped);
    check("\\boxed{1/3}≈\\boxed{0.33}≈\\boxed{0.3}", "1/3", "boxed", skipped);
    check("\\boxed{2} so x = 7/3 \\approx \\boxed{2.33}", "2.33", "boxed", &[]);
    check("\\boxed{2} and \\boxed{2.33}", "2.33", "boxed", &[]);
    check("≈ \\boxed{0.33}", "0.33", "boxed", &[]);
}

#[test]
fn candidates_are_counted() {
    check("\\boxed{1}\\boxed{2}\\boxed{3}", "3", "boxed", &[]);
    check(
        "\\boxed{1}. \\boxed{2}? No: \\boxed{3}! Or \\boxed{4}",
        "4",
        "boxed",
        &["many_candidates"],
    );
    check("\\boxed{1}\\boxed{1}\\boxed{1}\\boxed{1}", "1", "boxed", &[]);
    check("A: 1\nA: 2\nA: 3\nA: 4", "4", "answer_line", &["many_candidates"]);
    check_count("\\boxed{\\boxed{5}}", 1);
    check_count("\\boxed{1}\\boxed{2}", 2);
    check_count("\\boxed{1\n\\boxed{2\n\\boxed{3", 3);
    check_count("#### 1\n#### 2", 2);
    check_count("1 2 3", 1);
}

#[test]
fn thinking_hides_answers() {
    check("<think>\\boxed{1}</think>The answer is 2.", "2", "answer_phrase", &[]);
    check("\\boxed{1}<think>\\boxed{2}</think>", "1", "boxed", &[]);
    check("\\boxed{2}</think>\\boxed{3}", "3", "boxed", &[]);
    check_none("<think>\\boxed{1}");
    check_none("<think>5</think>");
    check_none("");
}

#[test]
fn answer_tags_are_read() {
    check("<answer>5</answer>", "5", "answer_tag", &[]);
    check("<think>1</think> <answer> $x = 5$ </answer>", "x = 5", "answer_tag", &[]);
    check("<answer>1</answer> <answer>2", "2", "answer_tag", &["unclosed_tag"]);
    check("<answer></answer> 5", "", "answer_tag", &[]);
    check("<answer>The answer is 5.</answer>", "5", "answer_tag", &[]);
    check("<answer>\\boxed{5}</answer>", "5", "boxed", &[]);
}

#[test]
fn hash_marks_precede_answers() {
    check("9 * 2 = 18\n#### 18", "18", "hash_marks", &[]);
    check("#### $18.", "$18", "hash_marks", &[]);
    check("#### 17\n#### 18\nQ: next", "18", "hash_marks", &[]);
    check("#### 17 #### 18", "18", "hash_marks", &[]);
    check("#### The answer is **18**", "18", "hash_marks", &[]);
    check("#### Final Answer: 18", "18", "hash_marks", &[]);
    check("#### **Final Answer**\n\n18", "18", "hash_marks", &[]);
    check("#### Conclusion\nThe answer is 18.", "18", "answer_phrase", &[]);
    check("#### 18\n#### Notes\nnone", "18", "hash_marks", &[]);
    check("They met in\n#### Paris\n", "Paris", "hash_marks", &[]);
    check("####", "", "hash_marks", &[]);
    check("A: 3\n#### 18", "18", "hash_marks", &[]);
    check("### Step 2\n##### Step 3\nA: 18", "18", "answer_line", &[]);
}

#[test]
fn answer_lines_are_read() {
    check("2 * 9 = 18\nA: 18", "18", "answer_line", &[]);
    check("A: 18 eggs\n", "18 eggs", "answer_line", &[]);
    check("**Answer:** $18$", "18", "answer_line", &[]);
    check("**Answer**: 18", "18", "answer_line", &[]);
    check("**Answer: 18**", "18", "answer_line", &[]);
    check("### Final answer: **18**.", "18", "answer_line", &[]);
    check("**Final Answer:**\n\n\\[ 18 \\]", "18", "answer_line", &[]);
    check("Answer:\n$$\n18\n$$\nDone.", "18", "answer_line", &[]);
    check("Answer:", "", "answer_line", &[]);
    check("Final Answer: The volume of $V$ is 120. Yes.", "120", "answer_line", &[]);
    check("Answer: The x is 1 and the y is 2", "The x is 1 and the y is 2", "answer_line", &[]);
    check("Answer: x is 5", "x is 5", "answer_line", &[]);
    check("Answer: The final answer is 18. I hope so.", "18", "answer_line", &[]);
    check("A: 10+John's age", "10+John's age", "answer_line", &[]);
    check("A: 4\nB: 5\nThe answer is 5.", "5", "answer_phrase", &[]);
    check("Plan A: 18", "18", "last_number", &["fallback"]);
}

#[test]
fn answer_phrases_are_read() {
    let source = "answer_phrase";
    check("The answer is 4.", "4", source, &[]);
    check("the Final ANSWER is: 4", "4", source, &[]);
    check("The answer is 3.5. I hope it is correct.", "3.5", source, &[]);
    check("The final answer is $\\frac{1}{2}$.", "\\frac{1}{2}", source, &[]);
    check("The answer is 3. Wait, the answer is 4!", "4", source, &[]);
    check("The answer is $4!$", "4!", source, &[]);
    check("Thus the answer is:\n\n$$ 4 $$", "4", source, &[]);
    check("So my answer: `4`", "4", source, &[]);
    check("**The answer is 4.**", "4", source, &[]);
    check("**The answer is 4**.", "4", source, &[]);
    check("The answer is **4**", "4", source, &[]);
    check("The answer is $x=3$ or $x=4$", "$x=3$ or $x=4$", source, &[]);
    check("The answer is", "", source, &[]);
    check("The answer isn't obvious: 5", "5", "last_number", &["fallback"]);
    check("The answerable part, 5", "5", "last_number", &["fallback"]);
}

#[test]
fn last_number_is_the_fallback() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("She has 18 eggs", "18");
    check("It costs $1,234.50.", "$1,234.50");
    check("It costs 5€ (or 6€)", "6€");
    check("a temperature of -5.", "-5");
    check("so 16-3=13", "13");
    check("<<9*2=18>>18 every day", "18");
    check("so **18**", "18");
    check("the number (18).", "18");
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
    check("因此，一共有**858颗**糖果。", "858");
    check("比例为13/28", "13/28");
    check("共1.8亿", "1.8亿");
    check("共4000千克。", "4000千克");
    check("需要300分钟", "300分钟");
    check("She earns $5 and spends $3 on it", "$3");
}

#[test]
fn last_numbers_take_whole_expressions() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("so 2^{10}", "2^{10}");
    check("so 4 \\pi", "4 \\pi");
    check("so 3 + 4", "3 + 4");
    check("on 12/25/2020", "12/25/2020");
    check("at 10:30", "10:30");
    check("so y = 3x", "y = 3x");
    check("the 3rd", "3rd");
    check("so 5!", "5");
    check("so 5! ways", "5!");
    check("so it is 5!/2", "5!/2");
    check("so 2**100", "2**100");
    check("so 4\\sqrt(2)", "4\\sqrt(2)");
}

#[test]
fn last_formula_is_the_fallback() {
    let check = |response, text| check(response, text, "last_formula", &["fallback"]);
    check("so $x = 5$.", "x = 5");
    check("so \\(x = 5\\) holds", "x = 5");
    check("so\n\\[\n x = 5 \n\\]", "x = 5");
    check("that is $28$ %", "$28$ %");
    check("so $4 \\pi$", "4 \\pi");
    check("so $$4 \\pi$$", "4 \\pi");
    check("so it is $$\n 4 \\pi\n$$ as said", "4 \\pi");
    check("We know $x = 1$, hence $y > x$ is right.", "y > x");
    check("It is $E$", "E");
    check("It is $ 1 \\$ = 2 $", "1 \\$ = 2");
    check("Hence $AB = 5xyz$ holds", "AB = 5xyz");
    check(
        "It is $\\begin{array}{cc} 1 & 2 \\end{array}$ here",
        "\\begin{array}{cc} 1 & 2 \\end{array}",
    );
    check(
        "The matrix is \\[ \\begin{pmatrix} 1 \\\\[2pt] 2 \\end{pmatrix} \\]",
        "\\begin{pmatrix} 1 \\\\[2pt] 2 \\end{pmatrix}",
    );
    check("for $5 or $6 each, so $x$ is it", "x");
    check("we get $a \\text{ for all real } b$ then", "a \\text{ for all real } b");
}

#[test]
fn formulas_cut_by_line_breaks_are_no_answers() {
    check_none("Result $ \n 9 \n $");
    check_none("Result \\( \n 9 \n \\)");
    check_none("We know $y = 1$ and $x = 3 +\n 4$ too");
    check_none("so $x +\n 9 + y\n= z$.");
    check_none("so it is \\(x =\n 9\\).");
    let last = |response, text| check(response, text, "last_number", &["fallback"]);
    last("so $x +\n 9\n= z$, hence\n 8 of them", "8");
    last("It costs $5.\nThat is 9\nand it is in $ of old", "9");
    last("so $x\n\n and 9 eggs\n\n left of y$", "9");
    last("so $x$ is\n9\nand $ is a sign", "9");
    check("so $x\n=9$ and $y = 8$", "y = 8", "last_formula", &["fallback"]);
}

#[test]
fn money_is_no_formula() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("She earns $5 and spends $3 on it", "$3");
    check("It costs 5 $ and then 6 $ more", "6");
    check("It costs $5, then $6.", "$6");
    check("We know $x = 1$. So there are 28 apples.", "28");
}

#[test]
fn short_texts_are_answers() {
    let check = |response, text| check(response, text, "whole_text", &[]);
    check("\\frac{1}{2}", "\\frac{1}{2}");
    check("x \\in (-6,10)", "x \\in (-6,10)");
    check("(3, \\frac{\\pi}{2})", "(3, \\frac{\\pi}{2})");
    check("x > 5", "x > 5");
    check("$\\{1,2\\}$ and $3$", "$\\{1,2\\}$ and $3$");
    check("$\\{1,2\\}$.", "\\{1,2\\}");
    check("**18**", "18");
    check("16-3=13", "16-3=13");
    check("5 km", "5 km");
    check("18 eggs per day", "18 eggs per day");
    check("28 percent", "28 percent");
    check("July 4, 1776", "July 4, 1776");
    check("4 or 5", "4 or 5");
    check("<think>1</think>\n\n$7$", "7");
    check("12 \\text{ apples in all}", "12 \\text{ apples in all}");
    check("2*sin(pi*x/5) + 1", "2*sin(pi*x/5) + 1");
    check("AB = 5", "AB = 5");
    check("$E$", "E");
    check("f(y) = y", "f(y) = y");
    check("x**2 + y**2", "x**2 + y**2");
}

#[test]
fn sentences_are_no_short_texts() {
    let check = |response, text| check(response, text, "last_number", &["fallback"]);
    check("8·7/2 = **28**", "28");
    check("8·7/2 = **28 edges**", "28");
    check("5 is it", "5");
    check("- 5 apples", "5");
    check("5. Then 6", "6");
    check("Is it 5?", "5?");
    check("x = 5\ny = 6", "6");
    check("5 red marbles in a small bag", "5");
    check("(A) 5", "5");
    check("B) 6", "6");
}

#[test]
fn answer_phrases_of_other_languages_are_read() {
    let phrase = |response, text| check(response, text, "answer_phrase", &[]);
    phrase("Donc la réponse est 42.", "42");
    phrase("La réponse finale est : $42$.", "42");
    phrase("Also ist die Antwort 5 falsch, die Antwort lautet 42.", "42");
    phrase("Por tanto, la respuesta es 42. Fin.", "42");
    phrase("Assim, a resposta final é **42**.", "42");
    phrase("Значит, ответ — 42.", "42");
    phrase("所以答案是42。", "42");
    phrase("因此，最终答案为：$\\frac{1}{2}$。谢谢", "\\frac{1}{2}");
    phrase("したがって、答えは42", "42");
    phrase("لذا، الإجابة هي 42.", "42");
    phrase("إذن الجواب النهائي هو: 42", "42");
    phrase("So the answer should be 42.", "42");
    phrase("So the answer is therefore 42", "42");
    phrase("The final answer is 42. I hope it is correct.", "42");
    phrase("The final answer is $42$ I hope it is correct.", "42");
    phrase("So the answer：42", "42");
    let line = |response, text| check(response, text, "answer_line", &[]);
    line("Voici.\nRéponse : 42", "42");
    line("**Réponse finale :** 42", "42");
    line("Antwort: 42", "42");
    line("La respuesta correcta: 42", "42");
    line("Resposta: 42", "42");
    line("Ответ: 42", "42");
    line("计算。\n答案：42", "42");
    line("答：一共是42个。", "42个");
    line("最终答案：42", "42");
    line("答え：42", "42");
    line("الإجابة: 42", "42");
    line("Answer：42", "42");
    phrase("अतः उत्तर है 42।", "42");
    phrase("इसलिए अंतिम उत्तर है: $\\frac{1}{2}$। धन्यवाद", "\\frac{1}{2}");
    line("हल।\nउत्तर: 42", "42");
    line("**अंतिम उत्तर:** 42", "42");
}

#[test]
fn verb_at_the_end_of_a_sentence_is_dropped() {
    let phrase = |response, text| check(response, text, "answer_phrase", &[]);
    phrase("इसलिए अंतिम उत्तर 42 है।", "42");
    phrase("したがって、答えは42です。", "42");
    phrase("よって答えは $x=5$ である。", "x=5");
    check("गाँव उत्तर दिशा में 42 किमी दूर है।", "42 किमी", "last_number", &["fallback"]);
}

#[test]
fn headings_of_final_answers_are_read() {
    let line = |response, text| check(response, text, "answer_line", &[]);
    line("So.\n\n**Final Answer**\n\n42", "42");
    line("So.\n\n## Final answer\n$42$\n", "42");
    line("**Final Answer**\n\nThe number of apples is **42**.", "42");
    check("Hence 5.\n**Final Answer**\n", "5", "last_number", &["fallback"]);
    check("My final answer\n5", "5", "last_number", &["fallback"]);
}

fn check_members(response: &str, expected: &[&str]) {
    let found = found(response).unwrap_or_else(|| panic!("nothing in {response:?}"));
    let members: Vec<_> = found.members.iter().map(|m| &response[m.clone()]).collect();
    assert_eq!(members, expected, "{response:?}");
}

#[test]
fn adjacent_boxes_make_a_list() {
    check_members("\\boxed{1}, \\boxed{2} \\text{ and } \\boxed{3}", &["1", "2", "3"]);
    check_members("$\\boxed{1}$ or $\\boxed{2}$.", &["1", "2"]);
    check_members("\\[\\boxed{1} \\quad \\text{and} \\quad \\boxed{2}\\]", &["1", "2"]);
    check_members("$\\boxed{1}\\boxed{2}$", &["1", "2"]);
    check_members("\\boxed{1}, und \\(\\boxed{2}\\)", &["1", "2"]);
    check_members("$k = \\boxed{45}$ and $n_1 = \\boxed{2}$", &["45", "2"]);
    check_members("\\($y_1 = \\boxed{1} \\) and \\( y_2 = \\boxed{2} \\)", &["1", "2"]);
    check_members("\\boxed{1} y \\boxed{2}", &["1", "2"]);
    check_members("\\boxed{1}、\\boxed{2}和\\boxed{3}", &["1", "2", "3"]);
    check_members("\\boxed{9} is wrong. \\boxed{1}, \\boxed{2}", &["1", "2"]);
    check_members("\\boxed{1}, \\boxed{2} so \\boxed{3}", &[]);
    check_members("\\boxed{1}. \\boxed{2}", &[]);
    check_members("\\boxed{1}\n\\boxed{2}", &[]);
    check_members("\\boxed{1},\n\\boxed{2}", &["1", "2"]);
    check_members("\\boxed{1},\n\n\\boxed{2}", &[]);
    check_members("\\boxed{1} \\approx \\boxed{2}", &[]);
    check_members("\\boxed{1}, \\boxed{1/3} \\approx \\boxed{0.33}", &["1", "1/3"]);
    check_members("\\boxed{1} but \\boxed{2}", &[]);
    check_members("\\boxed{1}", &[]);
}

#[test]
fn policies_switch_sources_off() {
    let policy = AnswerPolicy { phrases: false, ..AnswerPolicy::default() };
    let source = |response, policy: &AnswerPolicy| answer(response, policy).map(|f| f.source);
    assert_eq!(source("So the answer is 4.", &policy), Some("last_number"));
    let policy = AnswerPolicy { last_number: false, ..policy };
    assert_eq!(source("The answer is 4.", &policy), None);
    assert_eq!(source("#### 4", &policy), Some("hash_marks"));
    assert_eq!(source("$4$", &policy), None);
}

#[test]
fn many_different_candidates_are_flagged() {
    let is_flagged = |response| {
        let found = answer(response, &AnswerPolicy::default()).expect("an answer is marked");
        found.flags.contains(&MANY_CANDIDATES)
    };
    assert!(!is_flagged("#### 4\n#### 5\n#### 6"));
    assert!(is_flagged("#### 4\n#### 5\n#### 6\n#### 7"));
    assert!(!is_flagged("#### 4\n#### 5\n#### 6\n#### 4"));
    // One list in one sentence is one answer.
    let list = "It is \\boxed{1}, \\boxed{2}, \\boxed{3}, \\boxed{4} and \\boxed{5}.";
    assert!(!is_flagged(list));
}

#[test]
fn visible_text_follows_the_thinking() {
    let text = |response| visible_response(response).map(|w| w.text);
    assert_eq!(text(" a b "), Some("a b"));
    assert_eq!(text("a<think>b</think> c "), Some("c"));
    assert_eq!(text("<think>b"), None);
    assert_eq!(text(" "), None);
}
