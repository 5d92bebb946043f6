use super::{
    bound, check, check_all_equal, check_different, check_equal, check_no_four, check_within,
    label_of,
};
use crate::math::Tolerance;

#[test]
fn integers_and_decimals_are_compared_exactly() {
    check_all_equal(r"18 ; +18 ; 18.0 ; 18. ;  18  ; 018 ; １８ ; 18.000 ; $18$ ; (18) ; \(18\)");
    check_all_equal("-5 ; −5 ; －5 ; –5 ; - 5 ; -5.0 ; $-5$ ; -(5) ; (-5) ; {-5} ; -05");
    check_all_equal("0 ; -0 ; 0.0 ; +0 ; 0/7 ; .0 ; 0%");
    check_all_equal("0.5 ; .5 ; 1/2 ; 50% ; 0.50 ; 5e-1 ; 0．5");
    check_different("18", "81");
    check_different("18", "-18");
    check_different("9007199254740993", "9007199254740992");
    check_different("100000", "100005");
    check_different("11/2", "5.51");
    check_different("50", "0.5");
    check_different("0.0000001", "0.0000004");
    check_different("1/28800", "1/5120");
    check("1/3", "0.3333333333333333", "equal", "rounded");
    let long = "123456789".repeat(50);
    check_equal(&long, &format!("{long}.000"));
    check_different(&long, &format!("{long}1"));
}

#[test]
fn thousands_separators_are_read() {
    check_all_equal(
        r"1234567 ; 1,234,567 ; 1{,}234{,}567 ; 1\,234\,567 ; 1 234 567 ; 1\ 234\ 567 ; 1，234，567",
    );
    check_all_equal(r"1,\!234,\!567 ; 1,\! 234,\! 567 ; $1{,}234{,}567.00$ ; 1,234,567");
    check_equal("1234567", "1\u{202F}234\u{202F}567");
    check_equal("1234567", "1\u{A0}234\u{2009}567");
    check_equal("1234.5", "1,234.50");
    check_no_four("1,23 ; 12,34,567 ; 1,2345 ; 0,123 ; 1, 234 ; 1,234 567 ; 1 234,567 ; 1_234");
    check_no_four("1.234,56 ; 1.234.567 ; 1234,567 ; 1 23 ; 1'234 ; 1,234,56");
}

#[test]
fn fractions_are_compared_exactly() {
    check_all_equal(
        r"1/2 ; \frac{1}{2} ; \dfrac{1}{2} ; \tfrac12 ; \frac12 ; \frac1{2} ; \frac{1}2",
    );
    check_all_equal(r"1/2 ; \frac 1 2 ; ½ ; 1⁄2 ; 1 / 2 ; 2/4 ; \frac{-1}{-2} ; \frac{ 1 }{ 2 }");
    check_all_equal(r"1/2 ; \left(\frac{1}{2}\right) ; $\frac{1}{2}$. ; \boxed{\frac{1}{2}} ; 0.5");
    check_all_equal(r"1/2 ; \frac{0.5}{1} ; \text{1/2} ; \mathbf{\frac{1}{2}} ; $$\frac12$$");
    check_all_equal(r"-1/2 ; -\frac{1}{2} ; \frac{-1}{2} ; \frac{1}{-2} ; -½ ; −\frac12");
    check_all_equal(r"5/2 ; 2 1/2 ; 2\frac{1}{2} ; 2½ ; 2 ½ ; 2.5 ; 2\frac12 ; 2 1⁄2");
    check_all_equal(r"-5/2 ; -2 1/2 ; -2\frac{1}{2}");
    check_all_equal("1001/2 ; 1,001/2 ; 500 1/2");
    check_all_equal("5/2 ; 2 125/250");
    check_different("1/2", "-1/2");
    check_no_four(r"1/0 ; \frac{1}{0} ; 1/2/3 ; \frac{1}{2}/3 ; 2 3/2 ; 2.5\frac{1}{2} ; 1/ ; /2");
    check_no_four(r"\frac{1}{2}3 ; \frac123 ; \frac{x}{2} ; \frac{1} ; \frac ; \frac{1}{2 ; --5");
    check_no_four(r"2\frac{-1}{2} ; +-5 ; 1/2 1/2 ; \frac{\frac12}{3} ; 1/-2");
}

#[test]
fn percentages_are_hundredths() {
    check_all_equal(
        r"10% ; 10\% ; 10 percent ; 10 pct ; 0.1 ; 10 \% ; $10\%$ ; $10$ % ; 10\text{%}",
    );
    check_all_equal(r"10% ; 10 per cent ; 10 percentage ; 1/10 ; １０％ ; 10\ \% ; 10.0%");
    check_different("10%", "10");
    check_different("50", "0.5%");
    check_different("28%", "0.28%");
    check_different("0.28", "28");
    check_no_four("10%% ; %");
}

#[test]
fn powers_of_ten_are_read() {
    check_all_equal(
        r"1500 ; 1.5e3 ; 1.5E+3 ; 1.5 \times 10^{3} ; 1.5*10^3 ; 1.5 × 10³ ; 1.5 x 10^3",
    );
    check_all_equal(r"1500 ; 1.5\cdot10^3 ; 15 \times 10^{2} ; 1.5 * 10^(3) ; $1.5\times 10^{3}$");
    check_all_equal(
        r"10^{-20} ; 10^-20 ; 1e-20 ; 10⁻²⁰ ; 1 \times 10^{-20} ; 10^{ - 20 } ; 1e-020",
    );
    check_all_equal("10^8 ; 10^{2^3} ; 10^{(8)} ; 100000000");
    check_different("10^{-20}", "2·10^{-20}");
    check_different("10^{-20}", r"2 \times 10^{-20}");
    check_no_four(
        r"2^{10} ; 2**100 ; 10**3 ; 1.5e ; 1.5 e3 ; 10^{x} ; 10^{2^{-1}} ; 2 \times 3 ; 10^",
    );
    check_no_four("3 * 10 ; 10^{3 ; (-10)^2 ; 1.5e3.5 ; 10^{0.5} ; 10^3 10^3");
}

#[test]
fn power_towers_end_within_fuel() {
    for tower in [
        "10^10^10^10",
        "10^{10^{10^{10}}}",
        "1e999999999",
        "1e-999999999",
        "1e99999999999999999999999999",
        "10^{99999999}",
        r"2.5 \times 10^{123456789}",
        "10^{-123456789}",
        &format!("10^{}5{}", "{10^".repeat(200), "}".repeat(200)),
    ] {
        assert_ne!(label_of("4", tower), "equal", "{tower}");
        assert_ne!(label_of(tower, "4"), "equal", "{tower}");
    }
    check_no_four(r"\dfrac{5^{(5^{(5^{(5^5)})}-4)}-5}{16} ; 10^{x^{5^{5^5}}} ; 3**1500000000");
    check_no_four(r"factorial(10**7) ; 2^{2^{2^{2^{2^{2}}}}} ; \frac{x^{800}-1}{x-1} ; 1/2004!");
}

#[test]
fn amounts_of_money_are_compared() {
    check_all_equal(r"$5 ; \$5 ; 5 dollars ; $5.00 ; US$5 ; 5 USD ; USD 5 ; $ 5 ; 5$ ; $\$5$");
    check_all_equal(r"-$5 ; $-5 ; -5 dollars ; -\$5 ; −$5.00");
    check_all_equal(r"€5 ; 5 € ; 5 euros ; 5 EUR ; EUR 5 ; 5\text{ euro} ; 5€");
    check_all_equal("£5 ; GBP 5 ; 5 GBP");
    check_all_equal("¥500 ; 500 yen ; JPY 500");
    check_all_equal(r"$1,500,000 ; $1.5 million ; 1,500,000 dollars ; $1.5 \text{ million}");
    check_all_equal("$18/hour ; 18 dollars per hour ; $18 per hour ; $18 / hour");
    check_equal("£5", "5 pounds");
    check_equal("5 lb", "5 pounds");
    check("£5", "5 lb", "different", "units_different");
    check("5", "$5", "equal", "unit_added");
    check("$5", "5", "equal", "unit_dropped");
    check("$5", "€5", "different", "units_different");
    check("$18 per hour", "18", "equal", "unit_dropped");
    check_different("$5", "$6");
    check_different("5", "$6");
    check_no_four("$5 and 50 cents ; $5$5 ; $$5 ; -$-5");
}

#[test]
fn units_are_converted() {
    for candidate in [
        "18 eggs",
        "18 dollars",
        r"18\text{ cm}",
        r"18 \mathrm{cm}",
        "18 eggs per day.",
        "$18$ miles",
        r"$18 \text{meters}$",
        "18 m",
        "18 per day",
        "18 years old",
    ] {
        check("18", candidate, "equal", "unit_added");
        check(candidate, "18", "equal", "unit_dropped");
        check(candidate, "19", "different", "rational_different");
    }
    check(r"15\mbox{ cm}^2", "15", "equal", "unit_dropped");
    check(r"90^\circ", "90", "equal", "unit_dropped");
    check("18", "19 eggs", "different", "rational_different");
    check_all_equal(r"5 km ; 5 \text{ km} ; 5 kilometers ; 5 kilometre ; 5\,\mathrm{km}");
    check_all_equal(r"3 m/s ; 3 meters per second ; 3 \text{ m/s} ; 3\ \mathrm{m}/\mathrm{s}");
    check_all_equal(r"4 m^2 ; 4 m² ; 4 square meters ; 4 \text{ m}^{2} ; 4 sq m");
    check_all_equal(r"90^\circ ; 90° ; 90 degrees ; 90^{\circ} ; 90 deg");
    check_all_equal(r"20 °C ; 20^\circ C ; 20 degrees Celsius ; 20^{\circ}\text{C}");
    check_all_equal("6 boxes ; 6 box");
    check_all_equal("6 inches ; 6 in ; 6 inch");
    check_all_equal("6 cities ; 6 city ; 6 City");
    for (gold, candidate) in [("5 m^2", "5 m"), ("20 °C", "20°"), ("5 eggs per day", "5 eggs")] {
        check(gold, candidate, "different", "units_different");
        check(candidate, gold, "different", "units_different");
    }
    check("5 eggs", "5 hens", "not_compared", "units_different");
    check_different("5 m", "5 km");
    check_different("5 km", "6 m");
    check_different("20 °C", "20 °F");
    check_all_equal("5 km ; 5000 m ; 500000 cm");
    check_all_equal("36 km/h ; 10 m/s");
    check_all_equal("100 °C ; 212 °F ; 373.15 kelvin");
    check_all_equal("$5 ; 500 cents");
    check_all_equal("2 h ; 120 min ; 7200 sec");
}

#[test]
fn attached_words_need_the_same_gold_unit() {
    check_equal("3 m", "3m");
    check_equal("3m", "3 m");
    check_different("3", "3m");
    check_different("5", "5x");
    check_different("3 km", "3m");
    check_different("3", r"3\mathbf{m}");
    check("3", r"3\mathrm{m}", "equal", "unit_added");
}

#[test]
fn expressions_are_not_numbers() {
    check_no_four(
        r"4\sqrt(2) ; 4\sqrt{2} ; 4 \sqrt{2} ; 4\pi ; 4 \pi ; 4 pi ; 4x ; 4 x ; 4 xy ; 4 ab",
    );
    check_no_four(
        r"4i ; 4e ; 4\mathrm{e} ; 4 \text{ or } 5 ; 4 or 5 ; 4 apples and 5 pears ; 4, 5",
    );
    check_no_four(r"4; 5 ; (4, 5) ; [4, 5] ; 4:5 ; 1:2 ; 4! ; 4)");
    check_no_four(
        "101_2 ; 101_3 ; 101 base 2 ; July 4, 1776 ; May 9, 1776 ; 12/25/2020 ; 4 July 1776",
    );
    check_no_four("6/12.5/2020 ; 4 July ; 10:30 ; 4 PM ; 2020-01-05 ; 4... ; 4… ; about 4");
    check_no_four(
        "x ; 4 halves ; 4 hundredths ; 4 squared ; 4 factorial ; 4 times x ; 4 more than x",
    );
    check_no_four(r"4 \cdot ; 4 eggs * ; 4 square ; 4 / ; 4 is wrong ; \pm 4 ; \infty ; 4 \mod 3");
    check_no_four(r"4 \pmod 7 ; 1-\frac{1}{\mathrm{e}} ; 3*x-1*y+13=0 ; 2x = 4 ; x^2 = 4");
    check_no_four(r"x = 3 = 4 = y ; \left.4\right| ; 4\ ; \ ; $ ; -");
    check_no_four(r"0x4 ; 4 😀 ; 4\sin ; 4 \text{sin} ; 4 infinity ; $4$ and $5$ ; 4 no");
    check_no_four(
        r"4 \operatorname{sin} ; x≡4 (mod 7) ; n=4k ; 4\text{e}3 ; 4\frac ; = = 4 ; 4 m/",
    );
    check_no_four(
        "__import__('os').system('true') ; eval(\"4\") ; 4 eggs 5 ; 1,2,\\ldots,n ; \u{0}4",
    );
}

#[test]
fn variables_are_distinguished() {
    check_all_equal(r"x = 5 ; 5 ; x=5 ; $x = 5$ ; x \approx 5 ; = 5 ; ≈ 5 ; y = x = 5");
    for (gold, candidate) in [("x = 5", "y = 5"), ("R = 5", "r = 5"), ("a = b = 5", "c = 5")] {
        check(gold, candidate, "different", "variable_different");
        check(candidate, gold, "different", "variable_different");
    }
    check_equal("1/3", "x = 1/3 ≈ 0.33");
    check("0.33", "x = 1/3 ≈ 0.33", "different", "rational_different");
    check("5", "x = 5 eggs", "equal", "unit_added");
}

#[test]
fn scale_words_multiply() {
    check_all_equal(r"1000000 ; 1 million ; 1 \text{ million} ; 1,000 thousand ; 10^6 ; 1 Million");
    check_all_equal("-1800000000 ; -1.8 billion");
    check_all_equal("24 ; 2 dozen");
    check_different("1.8", "1.8 billion");
    check("24", "2 dozen eggs", "equal", "unit_added");
}

#[test]
fn tolerances_accept_near_values() {
    let within = ("equal", "within_tolerance");
    let exact = ("equal", "identical");
    let different = ("different", "rational_different");
    let absolute = Tolerance::Absolute(bound("0.01"));
    check_within(&absolute, "1", "1.01", within);
    check_within(&absolute, "1", "1.0100001", different);
    check_within(&absolute, "1", "1.0", exact);
    let relative = Tolerance::Relative(bound("1e-4"));
    check_within(&relative, "100000", "100005", within);
    check_within(&relative, "-100000", "-100010", within);
    check_within(&relative, "100000", "100010.1", different);
    check_within(&relative, "0", "1e-30", different);
    let digits = Tolerance::GoldDigits;
    check_within(&digits, "0.33", "1/3", within);
    check_within(&digits, "2.50", "2.505", within);
    check_within(&digits, "2.50", "2.5051", different);
    check_within(&digits, "2.5", "2.55", within);
    check_within(&digits, "33.3%", "1/3", within);
    check_within(&digits, "33.3%", "33.2%", different);
    check_within(&digits, "1.5e3", "1549", within);
    check_within(&digits, "1.5 million", "1550000", within);
    check_within(&digits, "1.5 million", "1550001", different);
    check_within(&digits, "2.5 dozen", "30.1", different);
    check_within(&digits, "3", "3.1", different);
    check_within(&digits, "1/3", "0.333", different);
    check_within(&digits, "2.5 m", "2.51", within);
}

#[test]
fn derivatives_are_taken() {
    check_all_equal(
        r"2x ; \frac{d}{dx}(x^2) ; \frac{d}{dx} x^2 ; \frac{d(x^2)}{dx} ; diff(x^2, x)",
    );
    check_equal("6x", r"\frac{d^2}{dx^2} \left( x^3 \right)");
    check_equal("6x", r"\frac{d^{2}(x^3)}{dx^{2}}");
    check_equal("6*x", "Derivative(x**3, (x, 2))");
    check_equal(r"\sec^2 x", r"\frac{d}{dx} [ \tan x ]");
    check_equal(r"2x+3", r"\frac{d}{dx} x^2 + 3");
    check_equal(r"x^x(\ln x + 1)", r"\frac{d}{dx} x^x");
    check_equal(r"\frac{dy}{dx} = 2x", r"\frac{dy}{dx} = 2x");
    check_equal("2x", r"\frac{dy}{dx} = 2x");
    check_equal(r"\frac{d}{dt} x", "Derivative(x, t)");
    check_different("2x", r"\frac{d}{dx} x^3");
    check_different("x", r"\frac{d(x^2)}{dx}");
    // Whether y depends on x is not stated; what an operator before brackets reaches is disputed.
    assert_eq!(label_of("0", r"\frac{dy}{dx}"), "not_compared");
    check_no_four(
        r"\frac{d}{dx} ; \frac{d}{dx}(4x) \cdot 1 ; \frac{d^2(4x)}{dx} ; \frac{d}{d 2} 4",
    );
}

#[test]
fn geometric_series_are_summed() {
    check_all_equal(r"1 ; \sum_{n=1}^\infty \frac{1}{2^n} ; \sum_{n=1}^{\infty} 1/2^n");
    check_equal(r"\frac{1}{3}", r"\sum_{n=1}^\infty \frac{3}{10^n}");
    check_equal("6", r"\sum_{n=1}^\infty \frac{2^{n+1}}{3^n} + 2");
    check_equal("2", r"\sum_{n=1}^\infty \frac{n}{2^n}");
    check_different("2", r"\sum_{n=1}^\infty \frac{1}{2^n}");
    check_no_four(r"\sum_{n=1}^\infty 2^n ; \sum_{n=0}^\infty 1^n");
}

#[test]
fn series_are_summed() {
    check_all_equal(
        r"1 ; \sum_{n=1}^{\infty}\frac{1}{n(n+1)} ; \sum_{n=1}^\infty \left(\frac1n-\frac1{n+1}\right) ; \sum_{n\ge 1} \frac{1}{n^2+n}",
    );
    check_all_equal(
        r"\frac{\pi}{4} ; \sum_{n=0}^\infty \frac{(-1)^n}{2n+1} ; \sum_{n=1}^\infty \arctan\frac{1}{n^2+n+1}",
    );
    check_all_equal(
        r"\ln 2 ; \sum_{n=1}^\infty \frac{(-1)^{n+1}}{n} ; \sum_{k=1}^\infty \frac{1}{k2^k}",
    );
    check_all_equal(r"e^x ; \sum_{n=0}^\infty \frac{x^n}{n!} ; \sum_{k\geq 0} x^k/k!");
    check_all_equal(r"\sin x ; \sum_{n=0}^\infty \frac{(-1)^n x^{2n+1}}{(2n+1)!}");
    check_all_equal(r"2^n ; \sum_{k=0}^n \binom{n}{k}");
    check_all_equal(r"1024 ; \sum_{k=0}^{10} \binom{10}{k}");
    check_all_equal(r"\frac{\pi^4}{90} ; \sum_{n=1}^\infty n^{-4}");
    check_all_equal(r"\frac{2023}{2024} ; \sum_{k=1}^{2023} \frac{1}{k(k+1)}");
    check_all_equal(r"\frac{n}{n+1} ; \sum_{k=1}^{n} \frac{1}{k(k+1)} ; 1-\frac{1}{n+1}");
    check_different("1", r"\sum_{n=1}^{\infty}\frac{1}{n(n+2)}");
    check_different(r"\frac{\pi}{3}", r"\sum_{n=0}^\infty \frac{(-1)^n}{2n+1}");
    check_different("2^n", r"\sum_{k=1}^n \binom{n}{k}");
    check_different("e^x", r"\sum_{n=1}^\infty \frac{x^n}{n!}");
    // No closed form, and an enclosure of the sum without the other value.
    check("1.3", r"\sum_{n=1}^\infty \frac{1}{n^3}", "different", "enclosure_different");
    check(
        r"\frac{\pi}{2}",
        r"\sum_{n=1}^\infty \frac{1}{n^2+1}",
        "different",
        "enclosure_different",
    );
    // Nothing is proven.
    for (gold, candidate) in [
        ("1.2020569", r"\sum_{n=1}^\infty \frac{1}{n^3}"),
        (r"\frac{\pi\coth\pi-1}{2}", r"\sum_{n=1}^\infty \frac{1}{n^2+1}"),
        ("1", r"\sum_{n=1}^\infty \frac{1}{\sqrt{n}(n+1)}"),
        ("x", r"\sum_{n=1}^\infty \frac{x^n}{n^3}"),
    ] {
        assert_eq!(label_of(gold, candidate), "undecided", "{gold}, {candidate}");
    }
    check_no_four(
        r"\sum_{n=1}^\infty \frac{4}{n} ; \sum_{n=0}^\infty \frac{4}{n(n+1)} ; \sum_{n \ge 1} 4",
    );
}

#[test]
fn matrices_are_computed_with() {
    let sum = r"\begin{pmatrix}1&2\\3&4\end{pmatrix} + \begin{pmatrix}5&6\\7&8\end{pmatrix}";
    check_equal(r"\begin{pmatrix}6&8\\10&12\end{pmatrix}", sum);
    let product = r"\begin{pmatrix}1&2\\3&4\end{pmatrix} \begin{pmatrix}5\\6\end{pmatrix}";
    check_equal(r"\begin{pmatrix}17\\39\end{pmatrix}", product);
    let multiple = r"\frac{1}{2} \begin{bmatrix}x&2\\3&4\end{bmatrix} - 2 \cdot \begin{bmatrix}1&1\\1&1\end{bmatrix}";
    check_equal(r"\begin{pmatrix}\frac{x}{2}-2&-1\\-1/2&0\end{pmatrix}", multiple);
    check_equal(r"\begin{pmatrix}1&3\\2&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^T");
    check_equal(
        r"\begin{pmatrix}-2&1\\3/2&-1/2\end{pmatrix}",
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^{-1}",
    );
    check_equal(
        r"\begin{pmatrix}1&3\\0&1\end{pmatrix}",
        r"\left(\begin{pmatrix}1&1\\0&1\end{pmatrix}\right)^{3}",
    );
    check_equal(r"\theta\begin{matrix}1&2\end{matrix}", "theta*Matrix([[1, 2]])");
    check_all_equal(
        r"-2 ; \begin{vmatrix}1&2\\3&4\end{vmatrix} ; \det\begin{pmatrix}1&2\\3&4\end{pmatrix} ; 2\begin{vmatrix}1&2\\3&4\end{vmatrix} + 2 ; \det\left(\begin{pmatrix}1&2\\3&4\end{pmatrix}\right)",
    );
    check_equal("ad-bc", r"\begin{vmatrix}a&b\\c&d\end{vmatrix}");
    check_different(r"\begin{pmatrix}6&8\\10&13\end{pmatrix}", sum);
    check_different("2", r"\begin{vmatrix}1&2\\3&4\end{vmatrix}");
    check_no_four(
        r"\begin{pmatrix}4\end{pmatrix} + 0 ; \begin{pmatrix}4&4\end{pmatrix} + \begin{pmatrix}4\end{pmatrix} ; \det\begin{pmatrix}4&4\end{pmatrix} ; \begin{pmatrix}1&1\\1&1\end{pmatrix}^{-1} ; \begin{pmatrix}4&4\end{pmatrix}^2",
    );
}

#[test]
fn amounts_in_several_units_are_one() {
    check_all_equal(
        r"90 min ; 1 hour 30 minutes ; 1 hour and 30 minutes ; 1.5 hours ; 1\text{ hour }30\text{ minutes} ; 1 h 30 min",
    );
    check_equal("5 ft 3 in", "63 inches");
    check_equal("2 m 50 cm", "2.5 m");
    check_equal("5 feet and 3 inches", "5 ft 3 in");
    check_equal(r"30^\circ 15'", r"30.25^\circ");
    check_different("1 hour 30 minutes", "1.3 hours");
    check_different("5 ft 3 in", "5 ft 4 in");
    // The unit of the number is not stated.
    assert_eq!(label_of("1 hour 30 minutes", "90"), "not_compared");
    assert_eq!(label_of("90", "1 hour 30 minutes"), "not_compared");
    // Two lengths, two times.
    check_equal("2 m and 50 cm", "50 cm and 2 m");
    check_equal("3 h, 20 min", "20 min, 3 h");
    check_no_four("4 h 4 min ; 3 min 60 s ; 4 km 0 h ; 2 min 2 h");
}

#[test]
fn numerals_of_letters() {
    check_all_equal("FF_{16} ; ff_{16} ; 0xff ; 0x00FF");
    check_equal("101_2", "0b101");
    check_different("0", "0xff");
    check_different("ff_{16}", "fe_{16}");
    check_no_four("0x4g ; 0b4 ; f_{16}");
}

#[test]
fn sets_of_numbers_are_computed_with() {
    check_all_equal(
        r"\{1,2,3\} ; \{1,2\}\cup\{3\} ; \{1,2\}\cup\{2,3\} ; \{1,2,3,4\}\setminus\{4\}",
    );
    check_equal(r"\{2\}", r"\{1,2\}\cap\{2,3\}");
    check_equal("[1,2]", r"[0,2]\cap[1,3]");
    check_equal(r"[0,1)\cup(1,2]", r"[0,2]\setminus\{1\}");
    check_different(r"\{1,2,3\}", r"\{1,2\}\cup\{4\}");
}
