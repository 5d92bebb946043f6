use super::{check, display_of};
use crate::answer::Note;
use crate::read::ReadOptions;

#[test]
fn numbers_are_read() {
    check(&[
        ("18", "18"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("１８", "18"),
        ("$18$", "18"),
        (r"\(18\)", "18"),
        (r"\boxed{18}", "18"),
        (r"\text{13}", "13"),
        ("0.50", "1/2 @-2"),
        (".5", "1/2 @-1"),
        ("1,234,567", "1234567"),
        ("1{,}234", "1234"),
        (r"1\,234\,567", "1234567"),
        ("1 234 567", "1234567"),
        (r"11,\! 111,\! 111", "11111111"),
        ("1.5e3", "1500 @2"),
        ("2.50e-3", "1/400 @-5"),
        ("5e-1", "1/2"),
        (r"1.5 \times 10^{3}", "3/2*10^3 @2"),
        ("1 1/2", "3/2"),
        (r"1\frac12", "3/2"),
        ("2½", "5/2"),
        ("-2 1/2", "-5/2"),
        ("1⁄2", "1/2"),
        (r"0.\overline{3}", "1/3"),
        (r"0.1\overline{6}", "1/6"),
        (r"0.\dot3", "1/3"),
        ("0.(3)", "1/3"),
        ("0.333...", "NotMaths"),
        ("10%", "1/10%"),
        (r"12.5\%", "1/8% @-3"),
        ("28 percent", "7/25%"),
        ("1 million", "1000000"),
        ("1.5 million", "1500000 @5"),
        ("2 dozen", "24"),
        ("twelve", "12"),
        ("twenty-one", "21"),
        ("1/2/3", "1/2/3"),
        ("1 23", "NotMaths"),
        ("5 3", "NotMaths"),
        ("1,234 567", "NotMaths"),
        ("1 234,567", "NotMaths"),
        (r"\frac{1}{2}3", "NotMaths"),
        (r"\frac123", "NotMaths"),
        (r"2\frac{3}{2}", "NotMaths"),
        ("2 3/2", "NotMaths"),
        ("10%%", "NotMaths"),
        (r"a\%", "NotMaths"),
    ]);
}

#[test]
fn units_are_read() {
    for (text, value) in [
        ("18 eggs", "18 <"),
        (r"15\mbox{ cm}^2", "15 <"),
        ("5 km", "5 <"),
        (r"5\,\mathrm{km}", "5 <"),
        ("3 m/s", "3 <"),
        ("$5 per hour", "5 <"),
        ("$18/hour", "18 <"),
        (r"\$5", "5 <"),
        ("-$5", "-5 <"),
        ("5 dollars", "5 <"),
        ("€5", "5 <"),
        (r"90^\circ", "90 <"),
        (r"90^{\circ}", "90 <"),
        ("20 °C", "20 <"),
        ("$125$ miles", "125 <"),
        ("4 m²", "4 <"),
        (r"\frac{1}{2} \text{ mile}", "1/2 <"),
        ("1/2 mile", "1/2 <"),
        ("$1.5 million", "1500000 <"),
    ] {
        let (described, _) =
            display_of(text, ReadOptions::default()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert!(described.starts_with(value), "{text}: {described}");
    }
    check(&[
        ("3m", "3*m"),
        ("3 x", "3*x"),
        ("x m", "x*m"),
        (r"\pi R^2", "pi*R^2"),
        (r"\pi r^2", "pi*r^2"),
    ]);
}

#[test]
fn expressions_are_read() {
    check(&[
        (r"1-\frac{1}{\mathrm{e}}", "1 - 1/E"),
        (r"4\sqrt(2)", "4*sqrt(2)"),
        ("1/2x", "1/2*x"),
        ("2*[x+1]", "2*(x + 1)"),
        ("√2", "sqrt(2)"),
        ("x²+1", "x^2 + 1"),
        ("7*sin(pi*x/5)+1", "7*sin(pi*x/5) + 1"),
        ("2**100", "2^100"),
        ("xy", "x*y"),
        (r"\sin x \cos y", "sin(x)*cos(y)"),
        (r"\sin(x) y", "sin(x)*y"),
        (r"\cos^2 x", "cos(x)^2"),
        (r"\cos(x)^2", "cos(x)^2"),
        (r"\ln xy", "ln(x*y)"),
        (r"\sin 30^\circ", "sin(30*(pi/180))"),
        (r"-x^2", "-x^2"),
        (r"2^{-1}", "2^(-1)"),
        (r"\gamma", "gamma"),
        ("e^x", "exp(x)"),
        (r"3+4i", "3 + 4*I"),
        (r"\sum_{i=0}^{n} i \cdot x", "Sum(i*x, (i, 0, n))"),
        (r"\int \frac{3 dz}{z}", "Integral(3/z, z)"),
        (r"\bar{x}_n", "bar{x}_n"),
        (r"n!", "factorial(n)"),
        (r"{16 \choose 2}", "binomial(16, 2)"),
        (r"\lfloor x\rfloor", "floor(x)"),
        (r"||x||", "Abs(Abs(x))"),
        (r"10^{(5^{5^{5}})}", "10^(5^(5^5))"),
        (r"\frac{d}{dx} x", "Derivative(x, x)"),
        (r"\sqrt12", "NotMaths"),
    ]);
}

#[test]
fn repairs_are_noted() {
    let strict = ReadOptions { repair: false, decimal_comma: false };
    for (text, note) in [
        (r"\frac12", Note::FractionBraces),
        (r"\frac1{72}", Note::FractionBraces),
        (r"\frac{1}2", Note::FractionBraces),
        (r"\sqrt3", Note::RootBraces),
        (r"\frac{1}{2}}", Note::StrayDelimiter),
        (r"\frac{1}{2", Note::StrayDelimiter),
        (r"\left(x+1", Note::StrayDelimiter),
        (r"\frac{1}{2}$", Note::StrayDelimiter),
    ] {
        let (_, notes) =
            display_of(text, ReadOptions::default()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(notes, [note], "{text}");
        assert!(display_of(text, strict).is_err(), "{text}");
    }
    let comma = ReadOptions { repair: true, decimal_comma: true };
    for (text, described) in
        [("1,22", "61/50 @-2"), ("1.234,56", "30864/25 @-2"), ("0,111", "111/1000 @-3")]
    {
        assert_eq!(display_of(text, comma).unwrap().0, described, "{text}");
    }
}
