//! The feature table of a maths verifier: what `tribunal verify` says of each of its rows.
//!
//! Expected is the score, 1 or 0; `!` where anything but a 1 will do, as long as it comes; `-` where
//! there must be no score.

use std::fmt::Write as _;

use serde_json::json;

use crate::program::{Folder, rows, tribunal};

/// Scorers with one flag each.
const CONFIG: &str = r#"
[[scorer]]
name = "marked"
kind = "math"
phrases = false
last_number = false

[[scorer]]
name = "strict"
kind = "math"
reduced = true

[[scorer]]
name = "reward"
kind = "math"
repair = false

[[scorer]]
name = "comma"
kind = "math"
decimal_comma = true

[[scorer]]
name = "percent"
kind = "math"
percent_as_number = true

[[scorer]]
name = "digits"
kind = "math"
tolerance = "gold_digits"

[[scorer]]
name = "absolute"
kind = "math"
absolute = "0.01"

[[scorer]]
name = "relative"
kind = "math"
relative = "1e-4"

[[scorer]]
name = "positive"
kind = "math"
positive_variables = true

[[scorer]]
name = "ln"
kind = "math"
log = "e"

[[scorer]]
name = "either"
kind = "math"
log = "either"

[[scorer]]
name = "intervals"
kind = "math"
inequality_as_interval = false

[[scorer]]
name = "collapse"
kind = "math"
collapse_repeats = true

[[scorer]]
name = "columns"
kind = "math"
column_as_tuple = true

[[scorer]]
name = "radians"
kind = "math"
degrees_as_radians = true

[[scorer]]
name = "ratio"
kind = "math"
ratio_as_fraction = true

[[scorer]]
name = "renamed"
kind = "math"
renamed_constants = true

[[scorer]]
name = "units"
kind = "math"
unit_required = true

[[scorer]]
name = "letters"
kind = "choice"
multiple = true
"#;

/// Row, scorer, gold answer, response, expected.
type Case = (u8, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: &[Case] = &[
    (1, "math", "5", r"\boxed{\boxed{5}}", "1"),
    (2, "math", "2", r"\boxed{1}, no: \boxed{2}", "1"),
    (2, "math", "1", r"\boxed{1}, no: \boxed{2}", "0"),
    (2, "math", "1, 2, 3", r"It is \boxed{1}, \boxed{2} and \boxed{3}.", "1"),
    (2, "math", r"\{1,2,3\}", r"\boxed{1}, \boxed{2}, \boxed{3}", "1"),
    (2, "math", "2", r"\boxed{1}, \boxed{2}, \boxed{3}", "0"),
    (3, "math", r"\sqrt{2}", r"\boxed{\sqrt{2}} \approx \boxed{1.414}", "1"),
    (4, "math", "5", r"so \boxed{5", "1"),
    (5, "math", "5", r"\boxed {5}", "1"),
    (5, "math", "5", r"\fbox{5}", "1"),
    (5, "math", "5", "boxed(5)", "1"),
    (6, "math", "5", r"<think>\boxed{5}</think> Done.", "0"),
    (7, "math", "4", "The answer is 4", "1"),
    (7, "marked", "4", "The answer is 4", "0"),
    (8, "math", "73", "**73**", "1"),
    (8, "math", "73", "<answer>73</answer>", "1"),
    (9, "math", r"\frac{1}{2}", r"\frac{1}{2}", "1"),
    (9, "math", r"\frac{1}{2}", r"\frac{1}{3}", "0"),
    (10, "choice", "B", "(B) Paris", "1"),
    (10, "choice", "B", "(C) Rome", "0"),
    (11, "letters", "A, C", "C and A", "1"),
    (11, "letters", "A, C", "A, B, C", "0"),
    (12, "choice", "A", r"\boxed{A, B}", "0"),
    (13, "math", "1234", r"\boxed{1,234}", "1"),
    (13, "math", "1234", r"\boxed{1{,}234}", "1"),
    (13, "math", "1234", r"\boxed{1 234}", "1"),
    (13, "math", "1234", r"\boxed{12,34}", "0"),
    (14, "math", "1.22", r"\boxed{1,22}", "1"),
    (14, "math", "1.22", r"\boxed{1,23}", "0"),
    (14, "math", "22, 1", r"\boxed{1,22}", "1"),
    (14, "comma", "1.22", r"\boxed{1,22}", "1"),
    (15, "math", "0.5", r"\boxed{.50}", "1"),
    (16, "math", "0.1", r"\boxed{10\%}", "1"),
    (16, "math", r"10\%", r"\boxed{0.1}", "1"),
    (17, "math", r"10\%", r"\boxed{10}", "0"),
    (17, "percent", r"10\%", r"\boxed{10}", "1"),
    (18, "math", "50", r"\boxed{0.5}", "0"),
    (18, "math", "0.5", r"\boxed{50}", "0"),
    (19, "math", "3/2", r"\boxed{1\frac{1}{2}}", "1"),
    (19, "math", "3/2", r"\boxed{1 1/2}", "1"),
    (20, "math", "1/3", r"\boxed{0.\overline{3}}", "1"),
    (20, "math", "1/3", r"\boxed{0.3}", "0"),
    (21, "math", r"\frac{1}{4}", r"\boxed{0.25}", "1"),
    (22, "math", "1/2", r"\boxed{2/4}", "1"),
    (22, "strict", "1/2", r"\boxed{2/4}", "0"),
    (23, "digits", "3.14", r"\boxed{3.1416}", "1"),
    (23, "digits", "3.14", r"\boxed{\pi}", "1"),
    (23, "math", "3.14", r"\boxed{3.1416}", "0"),
    (23, "absolute", "1", r"\boxed{1.005}", "1"),
    (23, "relative", "1000", r"\boxed{1000.05}", "1"),
    (24, "math", "100000", r"\boxed{100005}", "0"),
    (25, "math", "0.0000001", r"\boxed{0.0000004}", "0"),
    (25, "digits", "0.0000001", r"\boxed{0.0000004}", "0"),
    (26, "math", "10^{-20}", r"\boxed{2 \cdot 10^{-20}}", "0"),
    (26, "math", "1/2004!", r"\boxed{1/2006!}", "0"),
    (26, "math", "1/2004!", r"\boxed{\frac{1}{2004!}}", "1"),
    (27, "math", "9007199254740993", r"\boxed{9007199254740992}", "0"),
    (28, "math", "1500", r"\boxed{1.5 \times 10^3}", "1"),
    (29, "math", "1500", r"\boxed{1.5e3}", "1"),
    (30, "math", r"\frac{\sqrt{2}}{2}", r"\boxed{\frac{1}{\sqrt{2}}}", "1"),
    (30, "math", r"\sqrt{8}", r"\boxed{2\sqrt{2}}", "1"),
    (30, "math", r"\sqrt{8}", r"\boxed{3\sqrt{2}}", "0"),
    (30, "math", r"1+\sqrt{2}", r"\boxed{\sqrt{3+2\sqrt{2}}}", "1"),
    (31, "positive", r"\sqrt{1/n}", r"\boxed{1/\sqrt{n}}", "1"),
    (32, "math", "(x+1)^2", r"\boxed{x^2+2x+1}", "1"),
    (32, "math", "(x+1)^2", r"\boxed{x^2+2x+2}", "0"),
    (32, "math", r"\frac{x^2-1}{x-1}", r"\boxed{x+1}", "1"),
    (33, "math", r"2\sin x\cos x", r"\boxed{\sin 2x}", "1"),
    (33, "math", r"1-\sin^2 x", r"\boxed{\cos^2 x}", "1"),
    (33, "math", r"\sin 2x", r"\boxed{2\sin x}", "0"),
    (33, "math", r"\tan\frac{\pi}{8}", r"\boxed{\sqrt{2}-1}", "1"),
    (34, "math", r"\log 100", r"\boxed{2}", "1"),
    (34, "ln", r"\log e", r"\boxed{1}", "1"),
    (34, "either", r"\log e", r"\boxed{1}", "1"),
    (34, "math", r"\log e", r"\boxed{1}", "0"),
    (34, "math", r"\log_2 8", r"\boxed{3}", "1"),
    (35, "math", "10", r"\boxed{\binom{5}{2}}", "1"),
    (35, "math", "120", r"\boxed{5!}", "1"),
    (35, "math", "20", r"\boxed{P(5,2)}", "1"),
    (35, "math", r"\binom{1000000000}{2}", r"\boxed{\binom{1000000000}{3}}", "0"),
    (36, "math", "55", r"\boxed{\sum_{k=1}^{10} k}", "1"),
    (36, "math", r"\frac{1}{3}", r"\boxed{\int_0^1 x^2 dx}", "1"),
    (36, "math", "1", r"\boxed{\lim_{x \to 0} \frac{\sin x}{x}}", "1"),
    (36, "math", "24", r"\boxed{\prod_{k=1}^{4} k}", "1"),
    (37, "math", "3+4i", r"\boxed{4i+3}", "1"),
    (37, "math", "3+4i", r"\boxed{3-4i}", "0"),
    (38, "math", "-1", r"\boxed{i^2}", "1"),
    (38, "math", "-1", r"\boxed{e^{i\pi}}", "1"),
    (38, "math", "i", r"\boxed{\frac{1+i}{1-i}}", "1"),
    (39, "math", "x=5", r"\boxed{5}", "1"),
    (39, "math", "5", r"\boxed{x=5}", "1"),
    (40, "math", "x=5", r"\boxed{y=5}", "0"),
    (41, "math", "f(x)=x^2", r"\boxed{x^2}", "1"),
    (42, "math", "101", r"\boxed{a=b=101}", "1"),
    (43, "math", "2x+4y-3=0", r"\boxed{y=-\frac{1}{2}x+\frac{3}{4}}", "1"),
    (43, "math", "2x+4y-3=0", r"\boxed{2x+4y+3=0}", "0"),
    (44, "math", "x>3", r"\boxed{2x>6}", "1"),
    (44, "math", "x<1", r"\boxed{-x>-1}", "1"),
    (44, "math", "x<1", r"\boxed{x>-1}", "0"),
    (45, "math", "1<x<2", r"\boxed{(1,2)}", "1"),
    (45, "math", "x \\ge 5", r"\boxed{[5,\infty)}", "1"),
    (46, "math", "(0,12.5)", r"\boxed{0<x<12.5}", "1"),
    (46, "intervals", "(0,12.5)", r"\boxed{0<x<12.5}", "0"),
    (47, "math", "1<x<2", r"\boxed{2>x>1}", "1"),
    (48, "math", "[0,1)", r"\boxed{(0,1]}", "0"),
    (48, "math", "[0,1)", r"\boxed{[0,1)}", "1"),
    (49, "math", r"(-\infty,1)\cup(1,\infty)", r"\boxed{\mathbb{R}\setminus\{1\}}", "1"),
    (49, "math", r"[0,1]\cup[1,2]", r"\boxed{[0,2]}", "1"),
    (50, "math", r"\{1,2,3\}", r"\boxed{\{3,1,2\}}", "1"),
    (50, "math", "1,2,3", r"\boxed{3,1,2}", "1"),
    (51, "math", "(1,2)", r"\boxed{(2,1)}", "0"),
    (51, "math", "(1,2)", r"\boxed{(1,2)}", "1"),
    (52, "math", r"\{1,2\}", r"\boxed{\{1,1,2\}}", "0"),
    (52, "collapse", r"\{1,2\}", r"\boxed{\{1,1,2\}}", "1"),
    (53, "math", "(1,2)", r"\boxed{1,2}", "0"),
    (54, "math", "1331 and 1728", r"\boxed{1728}", "0"),
    (55, "math", "6, 8", r"\boxed{6 \text{ and } 8}", "1"),
    (55, "math", "21, 16, 11", r"\boxed{21; 16 \text{ or } 11}", "1"),
    (56, "math", r"1\pm\sqrt{19}", r"\boxed{1+\sqrt{19}, 1-\sqrt{19}}", "1"),
    (57, "math", "n=3k", r"\boxed{3}", "0"),
    (57, "math", "n=3k", r"\boxed{3k}", "1"),
    (57, "math", r"x=\frac{\pi}{2}+k\pi, k\in\mathbb{Z}", r"\boxed{x=-\frac{\pi}{2}+n\pi, n\in\mathbb{Z}}", "1"),
    (58, "math", r"1,2,\ldots,n", r"\boxed{1,3,5,\ldots,2n-1}", "0"),
    (58, "math", r"1,2,\ldots,n", r"\boxed{1, 2, \ldots, n}", "1"),
    (59, "math", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\boxed{\begin{bmatrix}1&2\\3&4\end{bmatrix}}", "1"),
    (59, "math", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\boxed{\begin{bmatrix}1&2\\3&5\end{bmatrix}}", "0"),
    (60, "math", "(1,2)", r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", "0"),
    (60, "columns", "(1,2)", r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", "1"),
    (61, "math", r"\begin{cases}x & \text{if } x>0\\-x & \text{if } x\le 0\end{cases}", r"\boxed{\begin{cases}-x, & x<0\\x, & x\ge 0\end{cases}}", "1"),
    (61, "math", r"\begin{cases}x & \text{if } x>0\\-x & \text{if } x\le 0\end{cases}", r"\boxed{\begin{cases}-x, & x<1\\x, & x\ge 1\end{cases}}", "0"),
    (62, "math", r"x\equiv 3\pmod 7", r"\boxed{x\equiv 5\pmod 7}", "0"),
    (62, "math", r"x\equiv 3\pmod 7", r"\boxed{x\equiv 10\pmod{7}}", "1"),
    (63, "math", "101_2", r"\boxed{101_3}", "0"),
    (63, "math", "101_2", r"\boxed{(101)_2}", "1"),
    (64, "math", r"5\text{ cm}", r"\boxed{5}", "1"),
    (64, "units", r"5\text{ cm}", r"\boxed{5}", "0"),
    (65, "math", "5 m", r"\boxed{5\text{ km}}", "0"),
    (65, "math", "5 m^2", r"\boxed{5\text{ m}}", "0"),
    (66, "math", "1 km", r"\boxed{1000\text{ m}}", "1"),
    (66, "math", "36 km/h", r"\boxed{10\text{ m/s}}", "1"),
    (67, "math", r"\gamma", r"\boxed{0.5772156649}", "0"),
    (67, "math", r"\gamma", r"\boxed{\gamma}", "1"),
    (68, "math", r"90^\circ", r"\boxed{90}", "1"),
    (69, "math", r"90^\circ", r"\boxed{\frac{\pi}{2}}", "0"),
    (69, "radians", r"90^\circ", r"\boxed{\frac{\pi}{2}}", "1"),
    (70, "math", r"\$1,000,000", r"\boxed{1 \text{ million}}", "1"),
    (70, "math", "5", r"\boxed{\$5}", "1"),
    (71, "math", "1:2", r"\boxed{2:4}", "1"),
    (71, "math", "1:2", r"\boxed{2:1}", "0"),
    (71, "ratio", "1:2", r"\boxed{\frac{1}{2}}", "1"),
    (71, "math", "1:2", r"\boxed{\frac{1}{2}}", "0"),
    (72, "math", "July 4, 1776", r"\boxed{\text{May 9, 1776}}", "0"),
    (72, "math", "July 4, 1776", r"\boxed{\text{4 July 1776}}", "1"),
    (72, "math", "12/25/2020", r"\boxed{6/12.5/2020}", "0"),
    (73, "math", "7:30 PM", r"\boxed{19:30}", "1"),
    (73, "math", "7:30 PM", r"\boxed{7:31 \text{ PM}}", "0"),
    (74, "math", "12", r"\boxed{\text{twelve}}", "1"),
    (74, "math", "21", r"\boxed{\text{twenty-one}}", "1"),
    (75, "math", r"\text{Evelyn}", r"\boxed{\text{evelyn}}", "1"),
    (75, "math", r"\text{Evelyn}", r"\boxed{\text{Briana}}", "0"),
    (76, "math", "the blue one", r"\boxed{\text{The blue one}}", "1"),
    (76, "math", "the blue one", r"\boxed{\text{the red one}}", "0"),
    (77, "math", "x \\le -2", "\\boxed{x ≤ −2}", "1"),
    (78, "math", r"\sqrt{2}", "\\boxed{√2}", "1"),
    (78, "math", "x^2", "\\boxed{x²}", "1"),
    (78, "math", "1/2", "\\boxed{½}", "1"),
    (78, "math", "1/2", "\\boxed{1⁄2}", "1"),
    (79, "math", "1/2", r"\boxed{\frac12}", "1"),
    (79, "math", r"\sqrt{3}", r"\boxed{\sqrt3}", "1"),
    (79, "reward", "1/2", r"\boxed{\frac12}", "0"),
    (80, "math", r"\pi R^2", r"\boxed{\pi r^2}", "0"),
    (81, "math", "-x+C+D/x", r"\boxed{A+B/x-x}", "0"),
    (81, "renamed", "-x+C+D/x", r"\boxed{A+B/x-x}", "1"),
    (82, "math", "7*sin(pi*x/5)+1", r"\boxed{7\sin\left(\frac{\pi x}{5}\right)+1}", "1"),
    (83, "math", "2*[x+1]", r"\boxed{2x+2}", "1"),
    (84, "math", "5", r"\boxed{\dfrac{5^{(5^{(5^{(5^5)})}-4)}-5}{16}}", "!"),
    (85, "math", "4", r"\boxed{10^{(5^{5^{5^{5^5}}})}}", "!"),
    (85, "math", "4", r"\boxed{3**1500000000}", "!"),
    (86, "math", "4", "__import__('os').system('true')", "0"),
    (86, "math", "4", "\\boxed{eval(\"2+2\")}", "0"),
    (87, "math", "0<x<1", r"\boxed{(0,1)}", "1"),
    (87, "intervals", "(0,1)", r"\boxed{0<x<1}", "0"),
    (88, "math", "5", r"\boxed{}", "0"),
    (88, "math", "", r"\boxed{}", "-"),
];

#[test]
fn every_row_is_as_the_table_says() {
    let folder = Folder::new();
    let mut lines = String::new();
    for (_, scorer, gold, pred, _) in TABLE {
        let line = json!({"gold": gold, "pred": pred, "kind": scorer});
        writeln!(lines, "{line}").expect("writing to memory does not fail");
    }
    let long =
        json!({"gold": "1", "pred": format!("\\boxed{{{}}}", "1".repeat(70_000)), "kind": "math"});
    writeln!(lines, "{long}").expect("writing to memory does not fail");
    let (pairs, config) =
        (folder.write("pairs.jsonl", lines), folder.write("tribunal.toml", CONFIG));
    let ran = tribunal(["verify", "--json", "--explain", "--input", &pairs, "--config", &config]);
    let verdicts = rows(&ran.stdout);
    assert_eq!(verdicts.len(), TABLE.len() + 1, "{}", ran.stderr);
    let mut wrong = String::new();
    for ((row, scorer, gold, pred, expected), verdict) in TABLE.iter().zip(&verdicts) {
        let score = verdict.get("score").and_then(serde_json::Value::as_f64);
        let is_expected = match *expected {
            "1" => score == Some(1.0),
            "0" => score == Some(0.0),
            "!" => score != Some(1.0),
            "-" => score.is_none(),
            other => panic!("{other:?} is no expectation"),
        };
        if !is_expected {
            writeln!(wrong, "row {row}, {scorer}: {gold:?} and {pred:?}: {verdict}")
                .expect("writing to memory does not fail");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Row 89: the cap on input is reported.
    let capped = verdicts.last().expect("one for each line");
    assert_eq!(capped["reason"]["code"], "candidate_too_long", "{capped}");
}
