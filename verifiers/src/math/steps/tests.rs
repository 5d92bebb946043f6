use super::{ClaimCheck, check};
use crate::Fuel;
use crate::arithmetic::StepLabel;

/// Returns the checks of the claims of one step, in letters: right, rounded `~`, partial, wrong,
/// unchecked.
fn letters(text: &str) -> String {
    let mut fuel = Fuel::new(5_000_000);
    let whole = 0..text.len();
    let report = check(text, std::slice::from_ref(&whole), &mut fuel);
    let claims = report.steps[0].claims.iter();
    claims
        .map(|claim| match claim.check {
            ClaimCheck::Right => 'r',
            ClaimCheck::Rounded => '~',
            ClaimCheck::Partial { .. } => 'p',
            ClaimCheck::Wrong { .. } => 'w',
            ClaimCheck::Unchecked(_) => 'u',
        })
        .collect()
}

#[test]
fn claims_are_right_or_wrong_only_where_that_is_certain() {
    let check = |text: &str, expected: &str| assert_eq!(letters(text), expected, "{text}");
    check(r"We have $2(x+1) = 2x+2$.", "r");
    check(r"$2(x+1) = 2x+2 = 2x+3$", "rw");
    check(r"Expanding, $(x+1)^2 = x^2+2x+2$.", "w");
    check(r"Solve $x^2 = 2x + 3$.", "u");
    check(r"$2 \cdot (3+4) = 15$", "w");
    check(r"\(\frac{1}{2} + \frac{1}{3} = \frac{5}{6}\)", "r");
    check(r"Let $y = x^2 - 1 = (x-1)(x+1)$.", "ur");
    check(r"$f(x) = x^2$", "u");
    check(r"$\sqrt{2} = 1.414$", "~");
    check(r"$\sqrt{2} = 1.42$", "u");
    check(r"$\sqrt{2} = 2$", "w");
    check(r"$\sin 30 = \frac12$", "u");
    check(r"This is a contradiction: $0 = 1$.", "u");
    check(r"It costs $5 and then $7 more.", "");
    check(r"\[ 3^2 + 4^2 = 5^2 \]", "r");
    check(r"\begin{align*} 2+2 &= 4 \\ 3 \cdot 3 &= 6 \end{align*}", "rw");
    check("(x-1)*(x+1) = x^2 - 1", "r");
    check(r"$x < 3$ and $17 \equiv 2 \pmod 5$", "");
}

#[test]
fn solutions_are_kept_lost_or_gained() {
    let check = |text: &str, expected: &str| assert_eq!(letters(text), expected, "{text}");
    check(r"$x^2 = 9 \Rightarrow x = \pm 3$", "ur");
    check(r"$x^2 = 9 \Rightarrow x = 3$", "up");
    check(r"$x^2 = 9 \implies x = 4$", "uw");
    check(r"$2x + 1 = 7$, so $x = 3$.", "ur");
    check(r"$2x + 1 = 7$, so $x = 4$.", "uw");
    check(r"$x^2-5x+6=0$, hence $x = 2 \text{ or } x = 3$", "ur");
    check(r"$x + y = 5$, so $x = 3$", "uu");
}

#[test]
fn hostile_texts_end_unchecked() {
    let texts = [
        "$".repeat(5000),
        "\\(".repeat(5000),
        format!("${}=1$", "(".repeat(900)),
        "$10^{10^{10}} = 10^{10^{10}}$".to_owned(),
        "$=$ $==$ $a==b$ $=1$".to_owned(),
        "\u{130}\u{130}$\u{130}=\u{130}$".to_owned(),
    ];
    for text in texts {
        let mut fuel = Fuel::default();
        let whole = 0..text.len();
        let report = check(&text, std::slice::from_ref(&whole), &mut fuel);
        assert_ne!(report.steps[0].label(), StepLabel::Wrong, "{text}");
    }
}
