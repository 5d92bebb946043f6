//! The functions, constants and binders that expressions know.

/// A number with a name. Physical constants are not among them: they come from a table that the
/// configuration names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Constant {
    /// The ratio of a circle's circumference to its diameter.
    Pi,
    /// The base of the natural logarithm.
    E,
    /// The imaginary unit.
    I,
    /// Positive infinity; the negative one is its product with -1.
    Infinity,
    /// An undefined value: 0/0 written as such.
    Undefined,
}

/// A function of ours. Angles are in radians; a reader multiplies degrees by pi/180.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Function {
    Sin,
    Cos,
    Tan,
    Cot,
    Sec,
    Csc,
    Asin,
    Acos,
    Atan,
    Acot,
    Asec,
    Acsc,
    Sinh,
    Cosh,
    Tanh,
    Coth,
    Sech,
    Csch,
    Asinh,
    Acosh,
    Atanh,
    /// The natural logarithm, principal branch.
    Ln,
    /// `log` without a base: what it means is a policy.
    LogBare,
    /// `log(argument, base)`.
    Log,
    /// `root(radicand, index)`, index a positive integer where it is a number: the real root where
    /// there is one (`root(-8, 3) = -2`), else the principal one.
    Root,
    Abs,
    Sign,
    Floor,
    Ceiling,
    Factorial,
    /// `n!!`.
    DoubleFactorial,
    /// `binomial(n, k)`.
    Binomial,
    /// `permutations(n, k) = n!/(n-k)!`.
    Permutations,
    /// One argument or more.
    Gcd,
    /// One argument or more.
    Lcm,
    /// One argument or more.
    Max,
    /// One argument or more.
    Min,
    /// `mod(a, m)`, in [0, m) for positive m.
    Mod,
    Re,
    Im,
    Conjugate,
    /// The argument of a complex number, in (-pi, pi].
    Arg,
}

impl Function {
    /// Returns the fewest and most arguments.
    pub(crate) fn arity(self) -> (usize, usize) {
        match self {
            Self::Log | Self::Root | Self::Binomial | Self::Permutations | Self::Mod => (2, 2),
            Self::Gcd | Self::Lcm | Self::Max | Self::Min => (1, usize::MAX),
            Self::Sin
            | Self::Cos
            | Self::Tan
            | Self::Cot
            | Self::Sec
            | Self::Csc
            | Self::Asin
            | Self::Acos
            | Self::Atan
            | Self::Acot
            | Self::Asec
            | Self::Acsc
            | Self::Sinh
            | Self::Cosh
            | Self::Tanh
            | Self::Coth
            | Self::Sech
            | Self::Csch
            | Self::Asinh
            | Self::Acosh
            | Self::Atanh
            | Self::Ln
            | Self::LogBare
            | Self::Abs
            | Self::Sign
            | Self::Floor
            | Self::Ceiling
            | Self::Factorial
            | Self::DoubleFactorial
            | Self::Re
            | Self::Im
            | Self::Conjugate
            | Self::Arg => (1, 1),
        }
    }

    /// Returns how the plain grammar spells it; reading this spelling gives the function back.
    pub(crate) fn plain(self) -> &'static str {
        match self {
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tan => "tan",
            Self::Cot => "cot",
            Self::Sec => "sec",
            Self::Csc => "csc",
            Self::Asin => "asin",
            Self::Acos => "acos",
            Self::Atan => "atan",
            Self::Acot => "acot",
            Self::Asec => "asec",
            Self::Acsc => "acsc",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Tanh => "tanh",
            Self::Coth => "coth",
            Self::Sech => "sech",
            Self::Csch => "csch",
            Self::Asinh => "asinh",
            Self::Acosh => "acosh",
            Self::Atanh => "atanh",
            Self::Ln => "ln",
            Self::LogBare | Self::Log => "log",
            Self::Root => "root",
            Self::Abs => "Abs",
            Self::Sign => "sign",
            Self::Floor => "floor",
            Self::Ceiling => "ceiling",
            Self::Factorial => "factorial",
            Self::DoubleFactorial => "factorial2",
            Self::Binomial => "binomial",
            Self::Permutations => "permutations",
            Self::Gcd => "gcd",
            Self::Lcm => "lcm",
            Self::Max => "Max",
            Self::Min => "Min",
            Self::Mod => "Mod",
            Self::Re => "re",
            Self::Im => "im",
            Self::Conjugate => "conjugate",
            Self::Arg => "arg",
        }
    }
}

/// An operator that binds a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Binder {
    /// A sum over the integers from `from` to `to`; none where `to` is smaller.
    Sum,
    /// A product over the integers.
    Product,
    /// An integral from `from` to `to`, or an indefinite one where both are `None`.
    Integral,
    /// A limit at `from`.
    Limit(Direction),
    /// The derivative of this order, at `from`.
    Derivative(u8),
}

/// From where a limit is approached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Direction {
    Both,
    Above,
    Below,
}
