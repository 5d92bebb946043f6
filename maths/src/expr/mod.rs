//! Expressions: what the readers build and the algebra works on.
//!
//! An expression is an index into a [`Workspace`], where equal nodes are one node: two expressions
//! that were written alike, on either side of a comparison, have the same index. Nothing here
//! evaluates: `2^{10^9}` is a node with two children, and building it costs as much as reading it.

mod function;
mod show;
mod walk;

use dashu::integer::IBig;
use dashu::rational::RBig;
use indexmap::IndexSet;

pub(crate) use self::function::{Binder, Constant, Direction, Function};
use crate::fuel::{Exhausted, Fuel};

/// Levels that an expression may nest. Every recursion over expressions is bounded by it.
pub(crate) const MAX_DEPTH: u16 = 200;

/// An expression of a [`Workspace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(u32);

impl Expr {
    fn index(self) -> usize {
        usize::try_from(self.0).expect("an index fits")
    }
}

/// The name of a variable or of an unknown function, of a [`Workspace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// One step of an expression, as written: differences are sums with a factor -1, quotients are
/// products with a power of -1.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// An exact number.
    Number(RBig),
    /// A variable. Case, subscripts and primes belong to its name.
    Symbol(Name),
    /// A number with a name.
    Constant(Constant),
    /// Two terms or more, in the order written.
    Sum(Box<[Expr]>),
    /// Two factors or more, in the order written.
    Product(Box<[Expr]>),
    /// Base and exponent.
    Power(Expr, Expr),
    /// A function of ours, with as many arguments as it takes.
    Call(Function, Box<[Expr]>),
    /// A function that the text names without a definition, such as `f(x)`.
    Apply(Name, Box<[Expr]>),
    /// A sum, product, integral, limit or derivative over a bound variable.
    Bound(Box<Bound>),
}

/// A sum, product, integral, limit or derivative.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    pub(crate) binder: Binder,
    /// The bound variable. It may also occur free outside.
    pub(crate) variable: Name,
    /// Lower end, target of a limit, or point of a derivative; `None` in an indefinite integral.
    pub(crate) from: Option<Expr>,
    /// Upper end; `None` in limits, derivatives and indefinite integrals.
    pub(crate) to: Option<Expr>,
    pub(crate) body: Expr,
}

/// Seeded by chance, against texts made to collide. Indices follow the order of insertion, so no
/// verdict depends on the seed.
type Hasher = foldhash::fast::RandomState;

/// All expressions of one verdict, and the fuel that building them costs.
///
/// Both sides of a comparison live in one workspace.
#[derive(Debug)]
pub struct Workspace<'f> {
    nodes: IndexSet<Node, Hasher>,
    /// The depth of each node: one more than the deepest of its children.
    depths: Vec<u16>,
    names: IndexSet<Box<str>, Hasher>,
    /// The budget of the verdict. Loops over nodes charge it.
    pub fuel: &'f mut Fuel,
}

impl<'f> Workspace<'f> {
    /// Creates an empty workspace.
    pub fn new(fuel: &'f mut Fuel) -> Self {
        /// Nodes of most pairs.
        const FEW: usize = 14;
        let nodes = IndexSet::with_capacity_and_hasher(FEW, Hasher::default());
        Self { nodes, depths: Vec::with_capacity(FEW), names: IndexSet::default(), fuel }
    }

    /// Returns the node of `expr`.
    pub(crate) fn node(&self, expr: Expr) -> &Node {
        self.nodes.get_index(expr.index()).expect("expressions are indices of their workspace")
    }

    /// Returns whether `expr` is a lone variable or the value of an unknown function.
    pub fn is_name(&self, expr: Expr) -> bool {
        matches!(self.node(expr), Node::Symbol(_) | Node::Apply(..))
    }

    /// Returns the name of `expr` if it is a lone variable.
    pub fn symbol_name(&self, expr: Expr) -> Option<Name> {
        match self.node(expr) {
            Node::Symbol(name) => Some(*name),
            Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => None,
        }
    }

    /// Levels of `expr`: 1 for a leaf, at most [`MAX_DEPTH`].
    pub(crate) fn depth(&self, expr: Expr) -> u16 {
        self.depths[expr.index()]
    }

    /// Returns the expression of `node`: the same index for equal nodes.
    ///
    /// # Errors
    /// [`Exhausted`] when fuel for the node and its children is gone, or when it would be deeper
    /// than [`MAX_DEPTH`].
    pub(crate) fn intern(&mut self, node: Node) -> Result<Expr, Exhausted> {
        let depth = 1 + self.deepest_child(&node);
        self.fuel.spend(1 + children(&node).len() as u64 / 8)?;
        if depth > MAX_DEPTH {
            let left = self.fuel.left();
            self.fuel.spend(left)?;
            return Err(Exhausted);
        }
        let (index, is_new) = self.nodes.insert_full(node);
        if is_new {
            self.depths.push(depth);
        }
        Ok(Expr(u32::try_from(index).expect("fuel bounds the nodes")))
    }

    fn deepest_child(&self, node: &Node) -> u16 {
        let depths = children(node).into_iter().map(|child| self.depth(child));
        depths.max().unwrap_or(0)
    }

    /// Returns the name spelled `spelling`, as the plain grammar writes it: `x`, `x_1`, `alpha`,
    /// `f'`.
    pub(crate) fn name(&mut self, spelling: &str) -> Name {
        let index = match self.names.get_index_of(spelling) {
            Some(index) => index,
            None => self.names.insert_full(spelling.into()).0,
        };
        Name(u32::try_from(index).expect("fuel bounds the names"))
    }

    /// Returns how `name` is spelled.
    pub fn spelling(&self, name: Name) -> &str {
        let index = usize::try_from(name.0).expect("an index fits");
        self.names.get_index(index).expect("names are indices of their workspace")
    }
}

/// Constructors. They keep the order written and fold nothing but signs and single operands.
impl Workspace<'_> {
    /// Returns the expression of an exact number.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn number(&mut self, value: impl Into<RBig>) -> Result<Expr, Exhausted> {
        self.intern(Node::Number(value.into()))
    }

    /// Returns the expression of a machine integer.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub fn integer(&mut self, value: i64) -> Result<Expr, Exhausted> {
        self.number(IBig::from(value))
    }

    pub(crate) fn symbol(&mut self, spelling: &str) -> Result<Expr, Exhausted> {
        let name = self.name(spelling);
        self.intern(Node::Symbol(name))
    }

    pub(crate) fn constant(&mut self, constant: Constant) -> Result<Expr, Exhausted> {
        self.intern(Node::Constant(constant))
    }

    /// Returns the sum of `terms`; of none it is 0, of one that term.
    pub(crate) fn sum(&mut self, terms: Vec<Expr>) -> Result<Expr, Exhausted> {
        match terms.as_slice() {
            [] => self.integer(0),
            [only] => Ok(*only),
            [_, _, ..] => self.intern(Node::Sum(terms.into())),
        }
    }

    /// Returns the product of `factors`; of none it is 1, of one that factor.
    pub(crate) fn product(&mut self, factors: Vec<Expr>) -> Result<Expr, Exhausted> {
        match factors.as_slice() {
            [] => self.integer(1),
            [only] => Ok(*only),
            [_, _, ..] => self.intern(Node::Product(factors.into())),
        }
    }

    pub(crate) fn power(&mut self, base: Expr, exponent: Expr) -> Result<Expr, Exhausted> {
        self.intern(Node::Power(base, exponent))
    }

    /// Returns `-expr`; of a number the number with the other sign.
    pub(crate) fn negated(&mut self, expr: Expr) -> Result<Expr, Exhausted> {
        if let Node::Number(value) = self.node(expr) {
            let value = -value.clone();
            return self.number(value);
        }
        let minus_one = self.integer(-1)?;
        self.product(vec![minus_one, expr])
    }

    /// Returns `left - right`.
    pub fn difference(&mut self, left: Expr, right: Expr) -> Result<Expr, Exhausted> {
        let right = self.negated(right)?;
        self.sum(vec![left, right])
    }

    /// Returns `left / right`, unevaluated, so that a zero below stays to be found.
    pub(crate) fn quotient(&mut self, left: Expr, right: Expr) -> Result<Expr, Exhausted> {
        let minus_one = self.integer(-1)?;
        let inverse = self.power(right, minus_one)?;
        self.product(vec![left, inverse])
    }

    /// Returns `function(arguments)`; the caller passes as many as [`Function::arity`] allows.
    pub(crate) fn call(
        &mut self,
        function: Function,
        arguments: Vec<Expr>,
    ) -> Result<Expr, Exhausted> {
        self.intern(Node::Call(function, arguments.into()))
    }
}

/// Returns the children of `node`, in order.
pub(crate) fn children(node: &Node) -> Children<'_> {
    match node {
        Node::Number(_) | Node::Symbol(_) | Node::Constant(_) => Children::Slice(&[]),
        Node::Sum(children)
        | Node::Product(children)
        | Node::Call(_, children)
        | Node::Apply(_, children) => Children::Slice(children),
        Node::Power(base, exponent) => Children::Few([Some(*base), Some(*exponent), None], 2),
        Node::Bound(bound) => {
            let ends = [bound.from, bound.to].into_iter().flatten();
            let mut few = [Some(bound.body), None, None];
            let mut len = 1;
            for end in ends {
                few[len] = Some(end);
                len += 1;
            }
            Children::Few(few, len)
        }
    }
}

/// The children of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Children<'n> {
    Slice(&'n [Expr]),
    Few([Option<Expr>; 3], usize),
}

impl Children<'_> {
    /// Counts how many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Children::Slice(children) => children.len(),
            Children::Few(_, len) => *len,
        }
    }

    fn get(&self, index: usize) -> Option<Expr> {
        match self {
            Children::Slice(children) => children.get(index).copied(),
            Children::Few(few, _) => few.get(index).copied().flatten(),
        }
    }
}

impl<'n> IntoIterator for Children<'n> {
    type Item = Expr;
    type IntoIter = ChildIter<'n>;

    fn into_iter(self) -> ChildIter<'n> {
        ChildIter { children: self, at: 0 }
    }
}

/// Goes over the children of a node.
#[derive(Debug)]
pub(crate) struct ChildIter<'n> {
    children: Children<'n>,
    at: usize,
}

impl Iterator for ChildIter<'_> {
    type Item = Expr;

    fn next(&mut self) -> Option<Expr> {
        let child = self.children.get(self.at)?;
        self.at += 1;
        Some(child)
    }
}
