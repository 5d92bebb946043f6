//! Names that formulas know: functions, Greek letters, constants, commands.

use crate::answer::Relation;
use crate::expr::{Constant, Function};

use super::token::{Big, Bracket, Numbers, Token};

/// Greek letters, as the plain grammar and LaTeX spell them. `pi` is a constant and not here.
pub(super) const GREEK: [&str; 38] = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "vartheta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "rho",
    "varrho",
    "sigma",
    "varsigma",
    "tau",
    "upsilon",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Sigma",
    "Upsilon",
    "Phi",
    "Psi",
    "Omega",
    "Pi",
];

/// Greek letters with two shapes.
pub(super) const TWO_SHAPES: [&str; 6] = ["epsilon", "theta", "phi", "rho", "sigma", "kappa"];

/// Returns the letter of which `name` is the other shape: `phi` for `varphi`.
pub(super) fn other_shape(name: &str) -> Option<&str> {
    name.strip_prefix("var").filter(|letter| TWO_SHAPES.contains(letter))
}

/// Returns the Greek letter called `word`.
pub(super) fn greek(word: &str) -> Option<&'static str> {
    GREEK.into_iter().find(|name| *name == word)
}

/// Returns the function called `word`, by any of its usual names.
pub(super) fn function(word: &str) -> Option<Token<'static>> {
    use Function as F;
    let function = match word {
        "sin" | "sen" => F::Sin,
        "cos" => F::Cos,
        "tan" | "tg" => F::Tan,
        "cot" | "ctg" | "cotan" | "cotg" => F::Cot,
        "sec" => F::Sec,
        "csc" | "cosec" | "cossec" => F::Csc,
        "asin" | "arcsin" | "arcsen" => F::Asin,
        "acos" | "arccos" => F::Acos,
        "atan" | "arctan" | "arctg" => F::Atan,
        "acot" | "arccot" | "arcctg" => F::Acot,
        "asec" | "arcsec" => F::Asec,
        "acsc" | "arccsc" => F::Acsc,
        "sinh" | "sh" | "senh" => F::Sinh,
        "cosh" | "ch" => F::Cosh,
        "tanh" | "th" => F::Tanh,
        "coth" => F::Coth,
        "sech" => F::Sech,
        "csch" => F::Csch,
        "asinh" | "arcsinh" | "arsinh" => F::Asinh,
        "acosh" | "arccosh" | "arcosh" => F::Acosh,
        "atanh" | "arctanh" | "artanh" => F::Atanh,
        "ln" => F::Ln,
        "log" => F::LogBare,
        "root" => F::Root,
        "Abs" | "abs" => F::Abs,
        "sign" | "sgn" => F::Sign,
        "floor" => F::Floor,
        "ceiling" | "ceil" => F::Ceiling,
        "factorial" => F::Factorial,
        "factorial2" | "doublefactorial" => F::DoubleFactorial,
        "binomial" | "binom" | "comb" => F::Binomial,
        "permutations" | "perm" => F::Permutations,
        "gcd" => F::Gcd,
        "lcm" => F::Lcm,
        "Max" | "max" => F::Max,
        "Min" | "min" => F::Min,
        "Mod" => F::Mod,
        "re" | "Re" => F::Re,
        "im" | "Im" => F::Im,
        "conjugate" => F::Conjugate,
        "arg" => F::Arg,
        "exp" => return Some(Token::Exponential),
        "cis" => return Some(Token::Cis),
        "lg" => return Some(Token::CommonLogarithm),
        "sqrt" => return Some(Token::SquareRoot),
        "cbrt" => return Some(Token::RootSign(3)),
        _ => return None,
    };
    Some(Token::Function(function))
}

/// Returns the big operators of the plain grammar.
pub(super) fn big(word: &str) -> Option<Big> {
    Some(match word {
        "Sum" => Big::Sum,
        "Product" => Big::Product,
        "Integral" => Big::Integral,
        "Limit" => Big::Limit,
        "Derivative" | "diff" => Big::Derivative,
        _ => return None,
    })
}

/// Returns the set of numbers called `word` in the plain grammar.
pub(super) fn number_domain(word: &str) -> Option<Numbers> {
    Some(match word {
        "EmptySet" => Numbers::Empty,
        "Integers" => Numbers::Integers,
        "Naturals" => Numbers::Naturals,
        "Rationals" => Numbers::Rationals,
        "Reals" => Numbers::Reals,
        "Complexes" => Numbers::Complexes,
        _ => return None,
    })
}

/// Returns the token of a named command that is no font, space, size or bracket.
pub(super) fn command(name: &str) -> Option<Token<'static>> {
    let is_function = !matches!(
        name,
        "root"
            | "Abs"
            | "factorial"
            | "binom"
            | "Re"
            | "sh"
            | "ch"
            | "th"
            | "Im"
            | "perm"
            | "re"
            | "im"
            | "sqrt"
    );
    if is_function && let Some(function) = function(name) {
        return Some(function);
    }
    if let Some(name) = greek(name) {
        return Some(Token::Name(name));
    }
    operator(name)
        .or_else(|| relation(name))
        .or_else(|| object(name))
        .or_else(|| number_domain(name).map(Token::Numbers))
}

fn operator(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "frac" | "dfrac" | "tfrac" | "cfrac" => Token::Fraction,
        "sqrt" => Token::SquareRoot,
        "surd" => Token::RootSign(2),
        "cuberoot" => Token::RootSign(3),
        "fourthroot" => Token::RootSign(4),
        "binom" | "dbinom" | "tbinom" => Token::Binomial,
        "choose" => Token::Choose,
        "times" | "cdot" | "ast" | "bullet" => Token::Times,
        "div" => Token::Slash,
        "pm" => Token::PlusMinus,
        "mp" => Token::MinusPlus,
        "bmod" | "mod" => Token::Mod,
        "pmod" => Token::PostfixMod,
        "cup" | "bigcup" => Token::Union,
        "cap" | "bigcap" => Token::Intersection,
        "setminus" | "backslash" | "smallsetminus" => Token::Without,
        "sum" => Token::Big(Big::Sum),
        "prod" => Token::Big(Big::Product),
        "int" => Token::Big(Big::Integral),
        "lim" => Token::Big(Big::Limit),
        "det" => Token::Determinant,
        "top" | "intercal" => Token::Transposed,
        "bar" | "overline" => Token::Accent("bar"),
        "vec" | "overrightarrow" => Token::Accent("vec"),
        "hat" | "widehat" => Token::Accent("hat"),
        "tilde" | "widetilde" => Token::Accent("tilde"),
        "prime" => Token::Prime,
        "circ" | "degree" => Token::Degree,
        "to" | "rightarrow" | "longrightarrow" | "Rightarrow" | "Longrightarrow" | "implies"
        | "iff" | "Leftrightarrow" | "Longleftrightarrow" => Token::Arrow,
        "lt" => Token::Relation(Relation::Less),
        "gt" => Token::Relation(Relation::Greater),
        _ => return None,
    })
}

fn relation(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "leq" | "le" | "leqslant" | "leqq" => Token::Relation(Relation::LessOrEqual),
        "geq" | "ge" | "geqslant" | "geqq" => Token::Relation(Relation::GreaterOrEqual),
        "neq" | "ne" => Token::Relation(Relation::NotEqual),
        "approx" | "simeq" | "thickapprox" => Token::Approx,
        "in" => Token::In,
        "equiv" => Token::Congruent,
        "mid" => Token::Mid,
        "colon" => Token::Colon,
        _ => return None,
    })
}

fn object(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "pi" => Token::Constant(Constant::Pi),
        "infty" => Token::Constant(Constant::Infinity),
        "exponentialE" => Token::Constant(Constant::E),
        "imath" => Token::Constant(Constant::I),
        "ell" => Token::Name("ell"),
        "hbar" => Token::Name("hbar"),
        "aleph" => Token::Name("aleph"),
        "angle" | "measuredangle" => Token::Name("angle"),
        "triangle" => Token::Name("triangle"),
        "emptyset" | "varnothing" => Token::Numbers(Numbers::Empty),
        "ldots" | "dots" | "cdots" | "dotsc" | "dotsb" => Token::Ellipsis,
        "euro" => Token::Currency("euro"),
        "pounds" => Token::Currency("gbp"),
        "yen" => Token::Currency("yen"),
        "rupee" => Token::Currency("rupee"),
        "won" => Token::Currency("won"),
        "lfloor" | "llcorner" => Token::Open(Bracket::Floor),
        "rfloor" | "lrcorner" => Token::Close(Bracket::Floor),
        "lceil" | "ulcorner" => Token::Open(Bracket::Ceiling),
        "rceil" | "urcorner" => Token::Close(Bracket::Ceiling),
        "langle" => Token::Open(Bracket::Angle),
        "rangle" => Token::Close(Bracket::Angle),
        "lvert" => Token::Open(Bracket::Bar),
        "rvert" => Token::Close(Bracket::Bar),
        "vert" => Token::Bar,
        "lbrace" => Token::Open(Bracket::Brace),
        "rbrace" => Token::Close(Bracket::Brace),
        "lbrack" => Token::Open(Bracket::Square),
        "rbrack" => Token::Close(Bracket::Square),
        "lgroup" | "lparen" => Token::Open(Bracket::Round),
        "rgroup" | "rparen" => Token::Close(Bracket::Round),
        _ => return None,
    })
}

/// Returns the numbers of `\mathbb{…}`.
pub(super) fn blackboard(letter: &str) -> Option<Numbers> {
    Some(match letter {
        "N" => Numbers::Naturals,
        "Z" => Numbers::Integers,
        "Q" => Numbers::Rationals,
        "R" => Numbers::Reals,
        "C" => Numbers::Complexes,
        _ => return None,
    })
}
