use super::check;

#[test]
fn subjects_and_equations_are_read() {
    check(&[
        ("x = 5", "x := 5"),
        ("a=b=101", "a := b := 101"),
        ("f(x)=x^2", "f(x) := x^2"),
        ("W(n) = 1", "W(n) := 1"),
        ("(p,q)=(3,2)", "p; q := (3; 2)"),
        (r"V_1:V_2 = 11:21", "V_1; V_2 := ratio 11; 21"),
        (r"\frac{NO}{BO}=\frac{1}{\sqrt{6}}", "(N*O)/(B*O) := 1/sqrt(6)"),
        ("AB = 4", "A*B := 4"),
        ("Area = 5", "Area := 5"),
        (r"\text{Area} = 5", "Area := 5"),
        ("= 5", "5"),
        ("5 = x", "x := 5"),
        ("x = 5+5+1 = 7 = 11", "x := 11"),
        ("x = 1/3 ≈ 0.33", "x := 1/3"),
        (r"x \approx 5", "x := 5"),
        ("7 = 11a+c", "7 = 11*a + c"),
        ("3*x-1*y+13=0", "3*x - y + 13 = 0"),
        ("2x = 6", "2*x = 6"),
        ("x^2+y^2=1", "x^2 + y^2 = 1"),
        ("x1 = 3", "x_1 := 3"),
        ("E = mc^2", "E := m*c^2"),
        ("n=3k", "n := 3*k"),
    ]);
}

#[test]
fn inequalities_and_regions_are_read() {
    check(&[
        ("x > 3", "x > 3"),
        ("x >= 5", "x ≥ 5"),
        (r"x \neq 3", "x ≠ 3"),
        ("x != 3", "x ≠ 3"),
        ("0 < x ≤ 1", "0 < x ≤ 1"),
        ("f(2) < f(1) < f(4)", "f(2) < f(1) < f(4)"),
        ("[0,1)", "[0, 1)"),
        ("(0,1]", "(0, 1]"),
        ("]0,1[", "(0, 1)"),
        ("[0,1[", "[0, 1)"),
        (r"(-\infty, 3]", "(-oo, 3]"),
        (r"(1, \infty)", "(1, oo)"),
        (r"x \in [-2,7]", "x := [-2, 7]"),
        (r"x \in \mathbb{R}", "x := Reals"),
        (r"[-1, -\frac{1}{2}) \cup (0, 1)", "([-1, -1/2) u (0, 1))"),
        ("(-∞, 1) U (2, 3)", "((-oo, 1) u (2, 3))"),
        (r"\mathbb{R}\setminus\{1\}", "(Reals \\ {1})"),
        (r"\emptyset", "Empty"),
        ("all real numbers", "Reals"),
        (r"\{x \mid x>3\}", "{x | x > 3}"),
        (r"\{x \in \mathbb{R} : 0<x<1\}", "(Reals n {x | 0 < x < 1})"),
        ("Interval.open(0, 1)", "(0, 1)"),
        ("Union(Interval(0, 1), {2, 3})", "([0, 1] u {2; 3})"),
        (r"{1,2} \setminus {2}", "({1; 2} \\ {2})"),
        ("{1,2} ∖ {2}", "({1; 2} \\ {2})"),
        ("Complement({1, 2}, {2})", "({1; 2} \\ {2})"),
    ]);
}

#[test]
fn sets_tuples_and_lists_are_read() {
    check(&[
        (r"\{1,2,3\}", "{1; 2; 3}"),
        ("{1,2,3}", "{1; 2; 3}"),
        (r"\{1\pm\sqrt{5},-2\}", "{1 + sqrt(5); 1 - sqrt(5); -2}"),
        ("(1,2)", "(1; 2)"),
        ("[1,2]", "[1; 2]"),
        ("(1,1;2,2)", "(1; 1; 2; 2)"),
        (r"\langle 1,2 \rangle", "<1; 2>"),
        ("1,2,3", "list 1; 2; 3"),
        ("0,1", "list 0; 1"),
        ("12,34,567", "list 12; 34; 567"),
        ("1, 2 and 3", "list 1; 2; 3"),
        ("1, 2, and 3", "list 1; 2; 3"),
        ("$1$ and $2$ and $3$", "list 1; 2; 3"),
        ("$21,16$ or $11$", "list 21; 16; 11"),
        ("x=1, y=2", "list x := 1; y := 2"),
        ("x = 1 or 2", "x := list 1; 2"),
        ("k = 1,2,3", "k := list 1; 2; 3"),
        (
            r"p = 5, q = 2 \quad \text{and} \quad p = 7, q = 2",
            "list (p := 5; q := 2); (p := 7; q := 2)",
        ),
        ("p=5,q=2;p=7,q=2", "list (p := 5; q := 2); (p := 7; q := 2)"),
        ("1,2;3,4;5,6", "list (1; 2); (3; 4); (5; 6)"),
        ("(1,2),(3,4)", "list (1; 2); (3; 4)"),
        (r"1 \pm \sqrt{19}", "list 1 + sqrt(19); 1 - sqrt(19)"),
        (r"x = \pm 3", "x := list 3; -3"),
        (r"\boxed{a=4,\,-8,\,-10}", "a := list 4; -8; -10"),
        ("$(11,7)or(7,11)$", "list (11; 7); (7; 11)"),
    ]);
}

#[test]
fn matrices_and_cases_are_read() {
    check(&[
        (r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}", "matrix 1; 2 / 3; 4"),
        (r"\left[\begin{array}{cc}1 & 2 \\3 & 4\end{array}\right]", "matrix 1; 2 / 3; 4"),
        (r"\begin{bmatrix}1\\2\\\end{bmatrix}", "matrix 1 / 2"),
        ("Matrix([[1,2],[3,4]])", "matrix 1; 2 / 3; 4"),
        (r"\begin{vmatrix}1 & 2 \\ 3 & 4\end{vmatrix}", "-2"),
        (r"\begin{pmatrix}1 & 2 \\ 3\end{pmatrix}", "NotMaths"),
        (
            r"f(x) = \begin{cases} x & \text{if } x > 0 \\ -x & \text{otherwise} \end{cases}",
            "f(x) := cases x if x > 0, -x if ,",
        ),
        ("Piecewise((x, x > 0), (-x, True))", "cases x if x > 0, -x if ,"),
    ]);
}

#[test]
fn congruences_numerals_and_ratios_are_read() {
    check(&[
        (r"x \equiv 3 \pmod 7", "x := 3 mod 7"),
        (r"x \equiv 3, 5 \pmod{7}", "x := 3; 5 mod 7"),
        ("x≡3 (mod 7)", "x := 3 mod 7"),
        ("x≡3 mod 7", "x := 3 mod 7"),
        ("3 (mod 7)", "3 mod 7"),
        ("101_2", "101 base 2"),
        ("204_{5}", "204 base 5"),
        ("1A3_{16}", "1A3 base 16"),
        ("(101)_2", "101 base 2"),
        ("101 base 2", "101 base 2"),
        ("102_2", "NotMaths"),
        ("1:2", "ratio 1; 2"),
        ("7:30", "ratio 7; 30"),
    ]);
}

#[test]
fn words_are_read() {
    check(&[
        ("July 4, 1776", "date Some(1776) 7 Some(4)"),
        ("12/25/2020", "date Some(2020) 12 Some(25)"),
        ("7:30 pm", "clock 19 30"),
        ("true", "true"),
        (r"\text{True}", "true"),
        ("No", "false"),
        (r"\text{Evelyn}", "text Evelyn"),
        (r"\text{odd}", "text odd"),
        ("$odd$", "text odd"),
        ("does not exist", "text does not exist"),
        ("no solution", "text no solution"),
        ("DNE", "text DNE"),
        (r"1,2,\ldots,n", "sequence 1,2,...,n"),
        ("1, 3, 5, ..., 2n-1", "sequence 1,3,5,...,2n-1"),
        ("So the answer is 4", "NotMaths"),
    ]);
}
