//! Expressions as text, in both dialects.
//!
//! Differences are written as differences and quotients as quotients. Reading the text again gives
//! an expression of the same value, unless the text was cut.

use std::fmt::Write as _;

use dashu::base::{Abs, Sign};
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::{Binder, Bound, Constant, Direction, Expr, Function, Node, Workspace};

/// Bytes after which a text is cut.
const MAX_BYTES: usize = 2000;

/// Digits of a number that are shown.
const MAX_DIGITS: usize = 400;

/// Precedence of a written expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Sum,
    Product,
    Power,
    Atom,
}

impl Workspace<'_> {
    /// Returns `expr` as the plain grammar writes it.
    pub(crate) fn plain(&self, expr: Expr) -> String {
        self.shown(expr, false)
    }

    /// Returns `expr` in LaTeX.
    pub(crate) fn latex(&self, expr: Expr) -> String {
        self.shown(expr, true)
    }

    fn shown(&self, expr: Expr, is_latex: bool) -> String {
        let mut writer = Writer { ws: self, out: String::new(), is_latex, is_cut: false };
        writer.write(expr, Rank::Sum);
        if writer.is_cut {
            writer.out.push('…');
        }
        writer.out
    }
}

struct Writer<'s, 'f> {
    ws: &'s Workspace<'f>,
    out: String,
    is_latex: bool,
    /// Whether something was left out.
    is_cut: bool,
}

impl Writer<'_, '_> {
    /// Writes `expr`, in brackets where it holds together less tight than `rank`.
    fn write(&mut self, expr: Expr, rank: Rank) {
        if self.out.len() > MAX_BYTES {
            self.is_cut = true;
            return;
        }
        let is_bracketed = self.rank(expr) < rank;
        if is_bracketed {
            self.open();
        }
        self.node(expr);
        if is_bracketed {
            self.close();
        }
    }

    fn open(&mut self) {
        self.out.push_str(if self.is_latex { "\\left(" } else { "(" });
    }

    fn close(&mut self) {
        self.out.push_str(if self.is_latex { "\\right)" } else { ")" });
    }

    fn rank(&self, expr: Expr) -> Rank {
        match self.ws.node(expr) {
            Node::Number(value) => match value {
                value if value.sign() == Sign::Negative => Rank::Sum,
                value if value.is_int() => Rank::Atom,
                _ => Rank::Product,
            },
            Node::Sum(_) => Rank::Sum,
            // A quotient and a sign are products, too.
            Node::Product(factors) => {
                let is_negative = self.negative(factors[0]).is_some();
                if is_negative { Rank::Sum } else { Rank::Product }
            }
            Node::Power(base, exponent) => {
                let is_called =
                    is_half(self.ws.node(*exponent)) || (!self.is_latex && self.is_e(*base));
                if is_called { Rank::Atom } else { Rank::Power }
            }
            Node::Bound(_) if self.is_latex => Rank::Sum,
            Node::Symbol(_)
            | Node::Constant(_)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => Rank::Atom,
        }
    }

    /// Returns the value of `expr`, if it is a number below 0.
    fn negative(&self, expr: Expr) -> Option<&RBig> {
        let Node::Number(value) = self.ws.node(expr) else {
            return None;
        };
        (value.sign() == Sign::Negative).then_some(value)
    }

    fn is_e(&self, expr: Expr) -> bool {
        *self.ws.node(expr) == Node::Constant(Constant::E)
    }

    fn node(&mut self, expr: Expr) {
        let ws = self.ws;
        match ws.node(expr) {
            Node::Number(value) => self.number(value),
            Node::Symbol(name) => self.name(ws.spelling(*name)),
            Node::Constant(constant) => self.constant(*constant),
            Node::Sum(terms) => self.sum(terms),
            Node::Product(factors) => self.product(factors),
            Node::Power(base, exponent) => self.power(*base, *exponent),
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::Apply(name, arguments) => {
                self.name(ws.spelling(*name));
                self.arguments(arguments);
            }
            Node::Bound(bound) => self.bound(bound),
        }
    }

    fn number(&mut self, value: &RBig) {
        if value.sign() == Sign::Negative {
            self.out.push('-');
        }
        if value.is_int() {
            self.integer(value.numerator());
            return;
        }
        let below = IBig::from(value.denominator().clone());
        if self.is_latex {
            self.out.push_str("\\frac{");
            self.integer(value.numerator());
            self.out.push_str("}{");
            self.integer(&below);
            self.out.push('}');
        } else {
            self.integer(value.numerator());
            self.out.push('/');
            self.integer(&below);
        }
    }

    /// The digits of `value` without its sign.
    fn integer(&mut self, value: &IBig) {
        use dashu::base::BitTest;
        // Three bits make less than one decimal digit.
        if value.bit_len() / 3 > MAX_DIGITS * 2 {
            self.is_cut = true;
            self.out.push('…');
            return;
        }
        let digits = value.clone().abs().to_string();
        self.out.push_str(&digits);
    }

    fn constant(&mut self, constant: Constant) {
        self.out.push_str(match (constant, self.is_latex) {
            (Constant::Pi, true) => "\\pi ",
            (Constant::Pi, false) => "pi",
            (Constant::E, true) => "e",
            (Constant::E, false) => "E",
            (Constant::I, true) => "i",
            (Constant::I, false) => "I",
            (Constant::Infinity, true) => "\\infty ",
            (Constant::Infinity, false) => "oo",
            (Constant::Undefined, _) => "nan",
        });
    }

    /// A name as the plain grammar spells it, or its LaTeX: `x_12` is `x_{12}`.
    fn name(&mut self, spelling: &str) {
        if !self.is_latex {
            self.out.push_str(spelling);
            return;
        }
        let stem_len = spelling.find(['_', '\'']).unwrap_or(spelling.len());
        let (stem, marks) = spelling.split_at(stem_len);
        if stem.len() > 1 && stem.bytes().next().is_some_and(|b| b.is_ascii_alphabetic()) {
            self.out.push('\\');
        }
        self.out.push_str(stem);
        match marks.strip_prefix('_') {
            Some(subscript) if !subscript.starts_with('{') && !subscript.contains('\'') => {
                self.out.push_str("_{");
                self.out.push_str(subscript);
                self.out.push('}');
            }
            _ => self.out.push_str(marks),
        }
        if marks.is_empty() && stem.len() > 1 && !stem.ends_with('}') {
            self.out.push(' ');
        }
    }

    fn sum(&mut self, terms: &[Expr]) {
        for (index, term) in terms.iter().enumerate() {
            if index == 0 {
                // A sum in a sum keeps its brackets; a sign needs none here.
                let is_sum = matches!(self.ws.node(*term), Node::Sum(_));
                self.write(*term, if is_sum { Rank::Product } else { Rank::Sum });
            } else {
                self.term(*term);
            }
        }
    }

    /// A term after others, with its sign.
    fn term(&mut self, term: Expr) {
        let ws = self.ws;
        if let Some(value) = self.negative(term) {
            let size = value.clone().abs();
            self.out.push_str(" - ");
            self.number(&size);
            return;
        }
        if let Node::Product(factors) = ws.node(term)
            && let Some(value) = self.negative(factors[0])
        {
            let size = value.clone().abs();
            self.out.push_str(" - ");
            self.factors(&size, &factors[1..]);
            return;
        }
        self.out.push_str(" + ");
        if matches!(ws.node(term), Node::Number(_)) {
            self.node(term);
        } else {
            self.write(term, Rank::Product);
        }
    }

    fn product(&mut self, factors: &[Expr]) {
        let ws = self.ws;
        let Node::Number(value) = ws.node(factors[0]) else {
            self.chain(None, factors);
            return;
        };
        if value.sign() == Sign::Negative {
            self.out.push('-');
            self.factors(&value.clone().abs(), &factors[1..]);
        } else {
            self.chain(Some(value), &factors[1..]);
        }
    }

    /// Writes `number` times `rest`, without a factor of one where nothing needs it.
    fn factors(&mut self, number: &RBig, rest: &[Expr]) {
        let starts_bare = rest.first().is_some_and(|first| {
            self.inverse(*first).is_none() && !matches!(self.ws.node(*first), Node::Number(_))
        });
        let is_visible = *number != RBig::ONE || !starts_bare;
        self.chain(is_visible.then_some(number), rest);
    }

    /// Writes factors in order, those that are inverses below a line.
    fn chain(&mut self, number: Option<&RBig>, factors: &[Expr]) {
        let is_inverse = |factor: &&Expr| self.inverse(**factor).is_some();
        let has_fraction = number.is_some_and(|number| !number.is_int());
        if !self.is_latex || !(has_fraction || factors.iter().any(|f| is_inverse(&f))) {
            self.linear(number, factors);
            return;
        }
        let above: Vec<Expr> = factors.iter().filter(|f| !is_inverse(f)).copied().collect();
        let below: Vec<Expr> = factors.iter().filter_map(|f| self.inverse(*f)).collect();
        let number = number.cloned().unwrap_or(RBig::ONE);
        let numerator = RBig::from(number.numerator().clone());
        let denominator = RBig::from(number.denominator().clone());
        let is_seen = |value: &RBig, rest: &[Expr]| *value != RBig::ONE || rest.is_empty();
        self.out.push_str("\\frac{");
        self.linear(Some(&numerator).filter(|v| is_seen(v, &above)), &above);
        self.out.push_str("}{");
        self.linear(Some(&denominator).filter(|v| is_seen(v, &below)), &below);
        self.out.push('}');
    }

    /// Writes factors side by side.
    fn linear(&mut self, number: Option<&RBig>, factors: &[Expr]) {
        let mut is_first = true;
        if let Some(number) = number {
            self.number(number);
            is_first = false;
        }
        // Alone above or below a line.
        let is_alone = number.is_none() && factors.len() == 1 && self.out.ends_with('{');
        for factor in factors {
            if self.is_latex {
                if !is_first {
                    self.out.push_str(" \\cdot ");
                }
                self.write(*factor, if is_alone { Rank::Sum } else { Rank::Power });
            } else {
                let below = self.inverse(*factor).filter(|_| !is_first);
                if !is_first {
                    self.out.push(if below.is_some() { '/' } else { '*' });
                }
                self.write(below.unwrap_or(*factor), Rank::Power);
            }
            is_first = false;
        }
    }

    /// Returns what `factor` is one over.
    fn inverse(&self, factor: Expr) -> Option<Expr> {
        let Node::Power(base, exponent) = self.ws.node(factor) else {
            return None;
        };
        let Node::Number(value) = self.ws.node(*exponent) else {
            return None;
        };
        (value.is_int() && *value.numerator() == IBig::NEG_ONE).then_some(*base)
    }

    fn power(&mut self, base: Expr, exponent: Expr) {
        if is_half(self.ws.node(exponent)) {
            self.wrapped(if self.is_latex { "\\sqrt{" } else { "sqrt(" }, base);
            return;
        }
        if self.is_latex {
            self.write(base, Rank::Atom);
            self.wrapped("^{", exponent);
        } else if self.is_e(base) {
            self.wrapped("exp(", exponent);
        } else {
            self.write(base, Rank::Atom);
            self.out.push('^');
            self.write(exponent, Rank::Atom);
        }
    }

    /// Writes `expr` after `open` and before the partner of its bracket.
    fn wrapped(&mut self, open: &str, expr: Expr) {
        self.out.push_str(open);
        self.write(expr, Rank::Sum);
        self.out.push(if self.is_latex { '}' } else { ')' });
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) {
        if !self.is_latex {
            self.out.push_str(function.plain());
            self.arguments(arguments);
            return;
        }
        match (function, arguments) {
            (Function::Abs, [argument]) => self.between("\\left|", *argument, "\\right|"),
            (Function::Floor, [argument]) => self.between("\\lfloor ", *argument, "\\rfloor "),
            (Function::Ceiling, [argument]) => self.between("\\lceil ", *argument, "\\rceil "),
            (Function::Factorial, [argument]) => {
                self.out.push('{');
                self.write(*argument, Rank::Atom);
                self.out.push_str("!}");
            }
            (Function::Root, [radicand, index]) => {
                self.out.push_str("\\sqrt[");
                self.write(*index, Rank::Sum);
                self.wrapped("]{", *radicand);
            }
            (Function::Binomial, [total, chosen]) => {
                self.wrapped("\\binom{", *total);
                self.wrapped("{", *chosen);
            }
            (Function::Log, [argument, base]) => {
                self.wrapped("\\log_{", *base);
                self.arguments(&[*argument]);
            }
            _ => {
                self.out.push_str("\\operatorname{");
                self.out.push_str(if function == Function::DoubleFactorial {
                    "doublefactorial"
                } else {
                    function.plain()
                });
                self.out.push('}');
                self.arguments(arguments);
            }
        }
    }

    fn between(&mut self, open: &str, expr: Expr, close: &str) {
        self.out.push_str(open);
        self.write(expr, Rank::Sum);
        self.out.push_str(close);
    }

    fn arguments(&mut self, arguments: &[Expr]) {
        self.open();
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.write(*argument, Rank::Sum);
        }
        self.close();
    }

    fn bound(&mut self, bound: &Bound) {
        if self.is_latex {
            self.latex_bound(bound);
            return;
        }
        let variable = self.ws.spelling(bound.variable);
        self.out.push_str(match bound.binder {
            Binder::Sum => "Sum(",
            Binder::Product => "Product(",
            Binder::Integral => "Integral(",
            Binder::Limit(_) => "Limit(",
            Binder::Derivative(order) => return self.plain_derivative(bound, order),
        });
        self.write(bound.body, Rank::Sum);
        self.out.push_str(", ");
        let is_tuple = bound.to.is_some();
        if is_tuple {
            self.out.push('(');
        }
        self.out.push_str(variable);
        for end in [bound.from, bound.to].into_iter().flatten() {
            self.out.push_str(", ");
            self.write(end, Rank::Sum);
        }
        self.out.push_str(match bound.binder {
            Binder::Limit(Direction::Above) => ", dir='+'",
            Binder::Limit(Direction::Below) => ", dir='-'",
            Binder::Limit(Direction::Both)
            | Binder::Sum
            | Binder::Product
            | Binder::Integral
            | Binder::Derivative(_) => "",
        });
        self.out.push_str(if is_tuple { "))" } else { ")" });
    }

    fn latex_bound(&mut self, bound: &Bound) {
        let variable = self.ws.spelling(bound.variable);
        let (command, sign) = match bound.binder {
            Binder::Sum => ("\\sum_{", "="),
            Binder::Product => ("\\prod_{", "="),
            Binder::Limit(_) => ("\\lim_{", " \\to "),
            Binder::Integral => ("\\int", ""),
            Binder::Derivative(order) => return self.latex_derivative(bound, order),
        };
        self.out.push_str(command);
        let is_integral = bound.binder == Binder::Integral;
        if let Some(from) = bound.from {
            if is_integral {
                self.out.push_str("_{");
            } else {
                self.name(variable);
                self.out.push_str(sign);
            }
            self.write(from, Rank::Sum);
            self.out.push_str(match bound.binder {
                Binder::Limit(Direction::Above) => "^{+}",
                Binder::Limit(Direction::Below) => "^{-}",
                Binder::Limit(Direction::Both)
                | Binder::Sum
                | Binder::Product
                | Binder::Integral
                | Binder::Derivative(_) => "",
            });
            self.out.push('}');
        }
        if let Some(to) = bound.to {
            self.wrapped("^{", to);
        }
        self.out.push(' ');
        self.write(bound.body, Rank::Product);
        if is_integral {
            self.out.push_str(" \\, d");
            self.name(variable);
        }
    }

    /// Writes `Derivative(f, x)`, `Derivative(f, (x, 2))`, at another point than `x` in
    /// `Subs(…, x, a)`.
    fn plain_derivative(&mut self, bound: &Bound, order: u8) {
        let elsewhere = self.elsewhere(bound);
        let variable = self.ws.spelling(bound.variable);
        if elsewhere.is_some() {
            self.out.push_str("Subs(");
        }
        self.out.push_str("Derivative(");
        self.write(bound.body, Rank::Sum);
        if order == 1 {
            let _ = write!(self.out, ", {variable})");
        } else {
            let _ = write!(self.out, ", ({variable}, {order}))");
        }
        if let Some(at) = elsewhere {
            let _ = write!(self.out, ", {variable}, ");
            self.write(at, Rank::Sum);
            self.out.push(')');
        }
    }

    fn latex_derivative(&mut self, bound: &Bound, order: u8) {
        let elsewhere = self.elsewhere(bound);
        let variable = self.ws.spelling(bound.variable);
        if elsewhere.is_some() {
            self.out.push_str("\\left. ");
        }
        let raised = match order {
            1 => String::new(),
            order => format!("^{{{order}}}"),
        };
        let _ = write!(self.out, "\\frac{{d{raised}}}{{d ");
        self.name(variable);
        let _ = write!(self.out, "{raised}}} (");
        self.write(bound.body, Rank::Sum);
        self.out.push(')');
        if let Some(at) = elsewhere {
            self.out.push_str(" \\right|_{");
            self.name(variable);
            self.out.push_str(" = ");
            self.write(at, Rank::Sum);
            self.out.push('}');
        }
    }

    /// Finds where a derivative is taken, unless at its variable.
    fn elsewhere(&self, bound: &Bound) -> Option<Expr> {
        let is_variable = |at: &Expr| *self.ws.node(*at) == Node::Symbol(bound.variable);
        bound.from.filter(|at| !is_variable(at))
    }
}

fn is_half(node: &Node) -> bool {
    matches!(node, Node::Number(value)
        if *value.numerator() == IBig::ONE && *value.denominator() == 2u8.into())
}
