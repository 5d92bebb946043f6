//! One expression in many renderings, and expressions that differ from it by one token.

use dashu::rational::RBig;
use proptest::prelude::*;

use super::label_of;

/// An expression with something to shuffle.
#[derive(Debug, Clone)]
enum Tree {
    Number(i64),
    Variable(char),
    Sum(Vec<Tree>),
    Product(Vec<Tree>),
    Quotient(Box<Tree>, i64),
    Power(Box<Tree>, u32),
}

/// Style of writing. Bits are taken from the end, one for each choice.
struct Style {
    is_latex: bool,
    choices: u64,
}

impl Style {
    fn choose(&mut self) -> bool {
        let bit = self.choices & 1 == 1;
        self.choices = self.choices.rotate_right(1);
        bit
    }

    fn parenthesised(&mut self, inner: &str) -> String {
        match (self.is_latex, self.choose()) {
            (true, true) => format!("\\left({inner}\\right)"),
            (true | false, _) => format!("({inner})"),
        }
    }

    fn render(&mut self, tree: &Tree) -> String {
        match tree {
            Tree::Number(number) if *number < 0 => self.parenthesised(&number.to_string()),
            Tree::Number(number) => number.to_string(),
            Tree::Variable(name) => name.to_string(),
            Tree::Sum(terms) => {
                let sign = if self.choose() { " + " } else { "+" };
                let terms = self.shuffled(terms);
                self.parenthesised(&terms.join(sign))
            }
            Tree::Product(factors) => {
                let sign = match (self.is_latex, self.choose()) {
                    (true, true) => " \\cdot ",
                    (true, false) => " \\times ",
                    (false, true) => " * ",
                    (false, false) => "*",
                };
                self.shuffled(factors).join(sign)
            }
            Tree::Quotient(above, below) => {
                let above = self.render(above);
                match (self.is_latex, self.choose()) {
                    (true, true) => format!("\\frac{{{above}}}{{{below}}}"),
                    (true, false) => format!("\\dfrac{{{above}}}{{{below}}}"),
                    (false, _) => format!("(({above})/{below})"),
                }
            }
            Tree::Power(base, exponent) => {
                let base = self.render(base);
                match (self.is_latex, self.choose()) {
                    (true, _) => format!("({base})^{{{exponent}}}"),
                    (false, true) => format!("({base})**{exponent}"),
                    (false, false) => format!("({base})^{exponent}"),
                }
            }
        }
    }

    fn shuffled(&mut self, trees: &[Tree]) -> Vec<String> {
        let mut texts: Vec<String> = trees.iter().map(|tree| self.render(tree)).collect();
        if self.choose() {
            texts.reverse();
        }
        texts
    }
}

impl Tree {
    fn value(&self) -> RBig {
        match self {
            Self::Number(number) => RBig::from(*number),
            Self::Variable(name) => {
                RBig::from_parts((31 + i64::from(u32::from(*name))).into(), 97u8.into())
            }
            Self::Sum(terms) => terms.iter().map(Self::value).fold(RBig::ZERO, |a, b| a + b),
            Self::Product(factors) => factors.iter().map(Self::value).fold(RBig::ONE, |a, b| a * b),
            Self::Quotient(above, below) => above.value() / RBig::from(*below),
            Self::Power(base, exponent) => {
                base.value().pow((*exponent).try_into().expect("exponents are small"))
            }
        }
    }

    /// Adds 1 to the number at `place`, counted in order; `place` counts down.
    fn bump(&mut self, place: &mut usize) {
        match self {
            Self::Number(number) => {
                if *place == 0 {
                    *number += 1;
                }
                *place = place.wrapping_sub(1);
            }
            Self::Variable(_) => {}
            Self::Sum(trees) | Self::Product(trees) => {
                for tree in trees {
                    tree.bump(place);
                }
            }
            Self::Quotient(tree, _) | Self::Power(tree, _) => tree.bump(place),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (-20i64..60).prop_map(Tree::Number),
        prop_oneof![Just('x'), Just('y'), Just('a')].prop_map(Tree::Variable),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Tree::Sum),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Tree::Product),
            (inner.clone(), 1i64..12).prop_map(|(tree, n)| Tree::Quotient(Box::new(tree), n)),
            (inner, 2u32..4).prop_map(|(tree, n)| Tree::Power(Box::new(tree), n)),
        ]
    })
}

fn render(tree: &Tree, is_latex: bool, choices: u64) -> String {
    let text = Style { is_latex, choices }.render(tree);
    if is_latex { format!("${text}$") } else { text }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn renderings_of_one_expression_are_equal(
        tree in tree(),
        left in any::<(bool, u64)>(),
        right in any::<(bool, u64)>(),
    ) {
        let gold = render(&tree, left.0, left.1);
        let candidate = render(&tree, right.0, right.1);
        prop_assert_eq!(label_of(&gold, &candidate), "equal", "{} and {}", gold, candidate);
        // Another order and another thread give the same verdict.
        let elsewhere = std::thread::spawn(move || label_of(&candidate, &gold));
        prop_assert_eq!(elsewhere.join().expect("verifying does not panic"), "equal");
    }

    #[test]
    fn one_token_makes_expressions_different(
        tree in tree(),
        place in 0usize..6,
        left in any::<(bool, u64)>(),
        right in any::<(bool, u64)>(),
    ) {
        let mut other = tree.clone();
        other.bump(&mut place.clone());
        prop_assume!(tree.value() != other.value());
        let gold = render(&tree, left.0, left.1);
        let candidate = render(&other, right.0, right.1);
        prop_assert_eq!(label_of(&gold, &candidate), "different", "{} and {}", gold, candidate);
        prop_assert_eq!(label_of(&candidate, &gold), "different", "{} and {}", gold, candidate);
    }
}
