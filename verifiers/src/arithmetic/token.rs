//! Tokens of the text of a step.

use dashu::rational::RBig;

use maths::DecimalLiteral;

use super::report::Why;

/// A piece of the step with its half-open byte range in the text that was lexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// White space or an annotation stands right before it.
    pub(super) spaced: bool,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An index into [`Lexed::numerals`].
    Number(usize),
    /// An operator sign.
    Op(Op),
    /// A bracket that groups.
    Open,
    /// Its closing twin.
    Close,
    /// `%` or the word `percent`.
    Percent,
    /// `$`, `€` and the like.
    Currency,
    /// An equality sign or a word for one.
    Relation(Relation),
    /// A word.
    Word(WordClass),
    /// A letter or name that stands for a number.
    Variable {
        /// A number is written right before it, as in `2x`.
        coefficient: bool,
    },
    /// A piece that an expression cannot hold.
    Broken(Why),
    /// Something that no expression crosses.
    Boundary(Bound),
}

/// Kinds by the part they play around an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Could belong to an expression.
    Arithmetic,
    /// Stands for a number.
    Variable,
    /// Cannot belong to an expression that is read.
    Broken(Why),
    /// A word.
    Word(WordClass),
    /// No expression crosses it.
    Edge,
}

impl TokenKind {
    /// Returns the part that it plays around an expression.
    pub(super) fn class(self) -> Class {
        match self {
            Self::Number(_)
            | Self::Op(_)
            | Self::Open
            | Self::Close
            | Self::Percent
            | Self::Currency => Class::Arithmetic,
            Self::Variable { .. } => Class::Variable,
            Self::Broken(why) => Class::Broken(why),
            Self::Word(word) => Class::Word(word),
            Self::Relation(_) | Self::Boundary(_) => Class::Edge,
        }
    }
}

/// The five operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
}

/// A sign or word that states an equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// `=`, `equals`, `is equal to`.
    Equals,
    /// `≈`.
    Approx,
    /// The word `is`, which states an equality only after something that was computed.
    Is,
}

/// Words by the part they play beside numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordClass {
    /// May name a unit.
    Plain,
    /// `a`, `the`, `each`: may stand in a unit phrase and name nothing.
    Article,
    /// A unit that converts into another: `hours`, `cents`, `dozen`.
    Measure,
    /// Changes the number before it: `million`, `squared`.
    Scale,
    /// `more`, `times`, `fewer`: compares what stands before with what follows.
    Comparison,
    /// `short`, `below`, `debt`: says in which direction an amount counts.
    Direction,
    /// `log`, `max`: what follows is an argument.
    Function,
    /// `wrong`, `suppose`, `mod`: the equalities of the text may be denied, assumed, or stated in
    /// another number system.
    Caution,
    /// `total`, `cost`, `answer`: names a result.
    Label,
    /// `plus`, `minus`, `times`, `divided by`.
    Operation(Op),
    /// `of`.
    Of,
    /// `per`.
    Per,
    /// `in`, `for`: may stand in a unit phrase, and may tie an expression to what stands before.
    Preposition,
    /// `about`, `roughly`.
    Approximate,
    /// Before an expression it may change the meaning: `half`, `than`, `seven`.
    Modifier,
    /// Ends a unit phrase: verbs, pronouns, conjunctions.
    Stop,
}

/// Tokens that end a run which may be one expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// Punctuation.
    Mark,
    /// A comma.
    Comma,
    /// A bracket around words or around an equality.
    Open,
    /// A list marker; `minus` when it is a dash that could also be a sign.
    ListMarker { minus: bool },
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numeral<'a> {
    /// Digits.
    Decimal(DecimalLiteral<'a>),
    /// One character that is a fraction or an exponent: `½`, `²`.
    Small { numerator: u8, denominator: u8 },
}

impl Numeral<'_> {
    /// Returns whether this is the small whole number `expected`.
    pub(super) fn is(&self, expected: u8) -> bool {
        match self {
            Self::Decimal(literal) => {
                literal.byte_len() <= 6 && literal.value() == RBig::from(expected)
            }
            Self::Small { .. } => false,
        }
    }
}

/// The tokens of one text, with buffers that are used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Lexed<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) numerals: Vec<Numeral<'a>>,
    /// The insides of the `<<…>>` that were left out.
    pub(super) annotations: Vec<std::ops::Range<usize>>,
    /// A word such as `about` or `rounded` stands in the text.
    pub(super) approximate: bool,
    /// A word stands in the text that casts doubt on its equalities: [`WordClass::Caution`].
    pub(super) cautious: bool,
}

impl<'a> Lexed<'a> {
    /// Empties the buffers for `text`.
    pub(super) fn restart(&mut self, text: &'a str) {
        self.text = text;
        self.tokens.clear();
        self.numerals.clear();
        self.annotations.clear();
        self.approximate = false;
        self.cautious = false;
    }

    /// Returns the token at `index`, if there is one.
    pub(super) fn kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// Returns the class of the token at `index`; both ends of the text are edges.
    pub(super) fn class(&self, index: usize) -> Class {
        self.kind(index).map_or(Class::Edge, TokenKind::class)
    }

    /// Returns the kind of the token before `index`.
    pub(super) fn kind_before(&self, index: usize) -> Option<TokenKind> {
        index.checked_sub(1).and_then(|before| self.kind(before))
    }

    /// Returns whether the token at `index` follows its neighbour with nothing between.
    pub(super) fn is_attached(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|token| !token.spaced)
    }

    /// Returns the text of a token.
    pub(super) fn text_of(&self, index: usize) -> &'a str {
        let token = self.tokens[index];
        &self.text[token.start..token.end]
    }
}
