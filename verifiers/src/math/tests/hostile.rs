//! Texts that were made to hurt: each ends within its fuel, with a reason, and is no ordinary
//! answer.

use std::time::Duration;

use crate::math::Math;
use crate::{Candidate, Claim, Fuel, Gold, Verdict, Verifier, VerifyError};

/// Ordinary gold answers of five types.
const GOLDS: [&str; 5] = ["5", "x", "(1,2)", r"\sqrt{2}", "x>1"];

fn nested(open: &str, inner: &str, shut: &str, count: usize) -> String {
    format!("{}{inner}{}", open.repeat(count), shut.repeat(count))
}

fn joined(count: u32, separator: &str, part: impl Fn(u32) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Lists numbers too long to write down.
fn towers() -> Vec<String> {
    let mut texts = owned(&[
        r"\dfrac{5^{(5^{(5^{(5^5)})}-4)}-5}{16}",
        r"10^{(5^{5^{5^{5^5}}})}",
        "2^{2^{2^{2^{2^{2^{2}}}}}}",
        "9**9**9**9**9",
        "e^{e^{e^{e^{e^{10}}}}}",
        "3**1500000000",
        "factorial(10**7)",
        "(10^9)!",
        "((((3!)!)!)!)!",
        r"\binom{10^9}{5\cdot 10^8}",
        r"\binom{10^{9}}{10^{9}/3}",
        r"{}_{10^9}P_{10^8}",
        r"x^{10^{100}}",
        r"(x+y+z+w)^{1000}",
        r"(\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11})^{30}",
        r"\gcd(10^{50000},6^{40000})",
        r"7^{7^{7^7}} \bmod 1000",
        r"\sin(10^{1000})",
        r"\tan(\tan(\tan(\tan 1)))",
        r"\cos\frac{\pi}{1001}",
        "100000000000000000000000000007 * 100000000000000000000000000009",
        r"1000000007\cdot 1000000009+\sqrt{1000000016000000063}",
        "1e999999999",
        "1e-999999999",
    ]);
    texts.push(nested("2^{", "2", "}", 100));
    texts.push(nested(r"\sqrt{2+", "2", "}", 100));
    texts.push(joined(40, "+", |n| format!(r"\sqrt{{{}}}", 2 * n + 3)));
    texts
}

/// Lists long texts of few parts, and texts of many.
fn long_ones() -> Vec<String> {
    vec![
        "1".repeat(100_000),
        "1".repeat(60_000),
        format!("{}/{}", "9".repeat(30_000), "7".repeat(30_000)),
        format!("0.{}", "142857".repeat(9_000)),
        "x".repeat(60_000),
        joined(10_000, "+", |n| format!("x^{{{n}}}")),
        joined(4_000, "+", |n| format!("x^{{{n}}}")),
        joined(5_000, "*", |n| format!("(x+{n})")),
        format!("({})^{{20}}", joined(300, "+", |n| format!("x_{{{n}}}"))),
        joined(30_000, ",", |_| "1".to_owned()),
        format!(r"\{{{}\}}", joined(5_000, ",", |n| n.to_string())),
        format!(r"\{{{}\}}", joined(5_000, ",", |n| format!("a_{{{n}}}"))),
        joined(3_000, r"\cup", |n| format!("[{},{}]", 2 * n, 2 * n + 1)),
        format!(r"\begin{{pmatrix}}{}\end{{pmatrix}}", joined(20_000, "&", |_| "1".to_owned())),
        joined(500, "+", |n| format!(r"\begin{{pmatrix}}{n}&x\\y&2\end{{pmatrix}}")),
        joined(500, "", |n| format!(r"\begin{{pmatrix}}{n}&x\\y&2\end{{pmatrix}}")),
        joined(5_000, " ", |n| format!("{n} h {n} min")),
        r"\frac{1}{2}+".repeat(90_000) + "1",
        "x^2+".repeat(250_000) + "1",
        "a=".repeat(30_000) + "7",
        "1<".repeat(30_000) + "2",
        "1:".repeat(30_000) + "2",
    ]
}

/// Lists texts whose brackets are closed never or too late.
fn unbalanced() -> Vec<String> {
    let mut texts = Vec::new();
    for open in [
        "(",
        "[",
        "{",
        r"\{",
        "|",
        "$",
        r"\left(",
        r"\frac{",
        r"\sqrt{",
        r"\boxed{",
        r"\text{",
        r"\begin{pmatrix}",
        r"\begin{cases}",
        "2^{",
        "x_",
        "f(",
        r"\sin(",
        r"\lfloor",
        "\\",
        "<",
        r"\sum_{k=1}^{",
        r"\int_0^",
        r"\frac{d}{dx}(",
        "-",
        "!",
        "%",
        ",",
        "=",
    ] {
        texts.push(open.repeat(60_000 / open.len()));
        // Empty formulas and commas after a number say nothing.
        if !matches!(open, "$" | ",") {
            texts.push(format!("5{}", open.repeat(40)));
        }
    }
    for (open, shut) in [
        ("{", "}"),
        ("(", ")"),
        ("[", "]"),
        ("|", "|"),
        (r"\{", r"\}"),
        (r"\left(", r"\right)"),
        (r"\sqrt{", "}"),
        (r"\frac{1}{", "}"),
        (r"\sin(", ")"),
        (r"\text{", "}"),
        ("2^{", "}"),
        (r"\frac{d}{dx}(", ")"),
        (r"\begin{pmatrix}", r"\end{pmatrix}"),
    ] {
        texts.push(nested(open, "x+7", shut, 4_000));
        texts.push(nested(open, "x+7", shut, 110));
        texts.push(nested(shut, "7", open, 500));
    }
    texts.push(nested("{", "7", "}", 10_000));
    texts
}

/// Lists texts that only a closed form answers cheaply.
fn costly() -> Vec<String> {
    owned(&[
        r"\frac{x^{800}-1}{x-1}-(1+x)",
        r"\sum_{k=1}^{10^{12}} \frac{1}{k}",
        r"\sum_{k=1}^{500} \sum_{j=1}^{500} \frac{1}{k+j}",
        r"\sum_{k=1}^{400} \frac{1}{k^{40}+\sqrt{k}}",
        r"\prod_{k=1}^{100000} (x+k)",
        r"\prod_{k=1}^{400} (x+k)",
        r"\int_0^1 x^{100000} dx",
        r"\int_0^1 (x+1)^{100} (x+2)^{100} dx",
        r"\lim_{x\to 0}\frac{\sin(\sin(\sin x))}{x^3}",
        r"\frac{d^8}{dx^8} (\sin(x^2 e^{x^2 \ln x}))",
        r"\frac{d}{dx} x^{x^{x^{x^{x^x}}}}",
        r"\begin{pmatrix}a&b&c&d\\e&f&g&h\\i&j&k&l\\m&n&o&p\end{pmatrix}^8",
        r"\begin{pmatrix}1/3&2/7\\3/11&4/13\end{pmatrix}^{-8}",
        r"\sqrt{2+\sqrt{2+\sqrt{2+\sqrt{2+\sqrt{2+\sqrt{2}}}}}}",
        r"\sqrt[3]{2}+\sqrt[5]{3}+\sqrt[7]{5}+\sqrt[11]{7}",
        r"\sin x \sin 2x \sin 3x \sin 4x \sin 5x \sin 6x \sin 7x \sin 8x",
        r"(\sin x + \cos x)^{60}",
        r"x^5-x+\sin(x^5-x)^{7}>0",
        r"x^{17}-3x^{11}+2=0",
        "∛1111111111111111311111111111111122221^2111111111111111111:0",
    ])
}

/// Lists texts without a value, such as divisions by zero.
fn valueless() -> Vec<String> {
    owned(&[
        "1/0",
        "0/0",
        r"\frac{0}{0}",
        r"\frac{1}{0}",
        "0÷0",
        "0*(1/0)",
        "0^{-1}",
        "0^0",
        "0^{0}",
        r"\frac{x-x}{x-x}",
        r"\frac{5}{1-1}",
        r"\frac{0}{\sin \pi}",
        r"\frac{1}{\sqrt{2}-\sqrt{2}}",
        r"\frac{5(x-x)}{x-x}",
        r"5\cdot\frac{0}{0}",
        "5/(2-2)",
        r"\log 0",
        r"\ln(0)",
        r"\tan\frac{\pi}{2}",
        "5+1/0-1/0",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "5+NaN",
        r"\text{NaN}",
        "undefined",
        "null",
        "None",
        r"\infty-\infty",
        r"\frac{\infty}{\infty}",
        r"0\cdot\infty",
        r"\infty^0",
    ])
}

/// Signs that look like others, and marks that turn text around.
fn look_alikes() -> Vec<String> {
    owned(&[
        "\u{202e}5\u{202c}",
        "5\u{202e}",
        "\u{2066}5\u{2069}4",
        "\u{200b}5\u{200b}4",
        "х",
        "\u{03c7}",
        "\u{1d61}",
        "𝟝4",
        "5\u{0338}",
        "5\u{20e3}",
        "\u{0665}4",
        "Ⅴ",
        "⁵",
        "₅",
        "①⑤",
        "٥٥",
        "５４",
        "5\u{0000}",
        "\u{feff}5\u{feff}4",
        "х>1",
        "(1‚2)",
        "√З",
        "\u{221a}\u{0032}\u{0336}",
    ])
}

/// Lists texts that would do something if they were run.
fn code() -> Vec<String> {
    let mut texts = owned(&[
        r"\input{/etc/passwd}",
        r"\include{/etc/passwd}",
        r"\def\a{\a\a}\a",
        r"\def\x{5}\x",
        r"\newcommand{\five}{5}\five",
        r"\let\x=5 \x",
        r"\expandafter\def\csname x\endcsname{5}5",
        r"\write18{rm -rf /}",
        r"\immediate\write18{ls}5",
        r"\catcode`\@=11 5",
        r"\loop\iftrue\repeat",
        r"\href{javascript:5}{5}",
        "__import__('os').system('id')",
        "eval(\"5\")",
        "exec('5')",
        "S(\"5\")",
        "N('5')",
        "Function('f')('5')",
        "chr(53)",
        "chr(95)+chr(95)",
        "lambda x: x",
        "print(5)",
        "5; DROP TABLE answers",
        "${jndi:ldap://5}",
        "{{5}}{% 5 %}",
        "<script>5</script>",
        "$(echo 5)",
        "`echo 5`",
        "5 if True else 4",
        "[5 for _ in range(1)]",
        "import os; os.abort()",
        "\\\\x35",
        "%35",
        "&#53;",
    ]);
    texts.push(r"\def\a{5}".repeat(5_000));
    texts
}

fn texts() -> Vec<String> {
    [towers, long_ones, unbalanced, costly, valueless, look_alikes, code]
        .into_iter()
        .flat_map(|list| list())
        .collect()
}

/// Returns the verdict, and the fuel that it took.
fn judge_with_fuel(gold: &str, candidate: &str) -> (Result<Verdict, VerifyError>, u64) {
    let claim = Claim {
        gold: Gold::Text(gold),
        candidate: Candidate::Text(candidate),
        response: None,
        question: None,
        explain: true,
    };
    let mut fuel = Fuel::default();
    let verdict = Math::default().verify(&claim, &mut fuel);
    (verdict, fuel.used())
}

/// Returns the processor time of this thread as Linux counts it; `None` elsewhere. A busy
/// machine lengthens it less than the time that passes.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn display_spans(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Returns the code that a verdict or a refusal gives.
fn code_of(judged: &Result<Verdict, VerifyError>) -> &'static str {
    match judged {
        Ok(verdict) => verdict.reason.code,
        Err(VerifyError::BadReference(reason) | VerifyError::Undecided(reason)) => reason.code,
    }
}

#[test]
fn hostile_texts_equal_no_ordinary_answer() {
    for text in texts() {
        for gold in GOLDS {
            for (gold, candidate) in [(gold, text.as_str()), (text.as_str(), gold)] {
                let (verdict, _) = judge_with_fuel(gold, candidate);
                let is_equal = verdict.as_ref().is_ok_and(|v| v.score.get() > 0.0);
                assert!(!is_equal, "{:?}, {:?}", display_spans(gold), display_spans(candidate));
                assert!(!code_of(&verdict).is_empty(), "{:?}", display_spans(&text));
            }
        }
    }
}

/// A text whose gold answer uses up most of the fuel leaves too little for the candidate.
#[test]
fn hostile_texts_equal_themselves_or_are_refused() {
    for text in texts() {
        let (verdict, _) = judge_with_fuel(&text, &text);
        let is_different = verdict.as_ref().is_ok_and(|v| v.score.get() <= 0.0);
        let code = code_of(&verdict);
        let is_spent = code == "fuel_spent";
        assert!(is_spent || !is_different, "{:?}: {code}", display_spans(&text));
    }
}

/// Prints what the worst pairs take of a processor. No test: times are the machine's.
#[test]
#[ignore = "prints times"]
fn print_times() {
    let mut rows = Vec::new();
    let mut total = Duration::ZERO;
    for text in texts() {
        for gold in GOLDS.into_iter().chain([text.as_str()]) {
            // The mean of several: processor time is counted by ticks.
            let start = processor_time();
            let runs = [(); 5].map(|()| judge_with_fuel(gold, &text));
            let mean = processor_time().saturating_sub(start) / 5;
            total += mean;
            let (verdict, fuel) = &runs[0];
            rows.push((mean, *fuel, code_of(verdict), display_spans(gold), display_spans(&text)));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    println!("{} pairs in {total:?}", rows.len());
    for (time, fuel, code, gold, text) in rows.iter().take(25) {
        println!("{time:?} {fuel} units {code}: {gold:?}, {text:?}");
    }
}
