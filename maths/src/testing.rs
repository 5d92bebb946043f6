//! Expressions in prefix notation, for the tests of what works on expressions.

use dashu::rational::RBig;

use super::expr::{Constant, Expr, Function, Node, Workspace};

/// Reads prefix notation: `(+ x (* 2 (sin pi)))`. Constructors with less to write.
pub(super) fn read_expr(text: &str, ws: &mut Workspace<'_>) -> Expr {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let (expr, rest) = read_one(&tokens, ws);
    assert!(rest.is_empty(), "{text}");
    expr
}

fn read_one<'t>(tokens: &'t [&'t str], ws: &mut Workspace<'_>) -> (Expr, &'t [&'t str]) {
    if tokens[0] != "(" {
        return (atom(tokens[0], ws), &tokens[1..]);
    }
    let head = tokens[1];
    let mut rest = &tokens[2..];
    let mut arguments = Vec::new();
    while rest[0] != ")" {
        let (argument, after) = read_one(rest, ws);
        arguments.push(argument);
        rest = after;
    }
    let expr = match head {
        "+" => ws.sum(arguments),
        "*" => ws.product(arguments),
        "^" => ws.power(arguments[0], arguments[1]),
        "apply" => {
            let name = ws.name("f");
            ws.intern(Node::Apply(name, arguments.into()))
        }
        name => {
            let function = FUNCTIONS.iter().find(|function| function.plain() == name);
            ws.call(*function.expect(name), arguments)
        }
    };
    (expr.expect("there is fuel"), &rest[1..])
}

const FUNCTIONS: [Function; 26] = [
    Function::Sin,
    Function::Cos,
    Function::Tan,
    Function::Asin,
    Function::Acos,
    Function::Atan,
    Function::Sinh,
    Function::Cosh,
    Function::Tanh,
    Function::Asinh,
    Function::Acosh,
    Function::Atanh,
    Function::Ln,
    Function::Log,
    Function::Root,
    Function::Abs,
    Function::Floor,
    Function::Ceiling,
    Function::Factorial,
    Function::Binomial,
    Function::Gcd,
    Function::Lcm,
    Function::Max,
    Function::Min,
    Function::Mod,
    Function::Arg,
];

fn atom(token: &str, ws: &mut Workspace<'_>) -> Expr {
    let expr = match token {
        "pi" => ws.constant(Constant::Pi),
        "e" => ws.constant(Constant::E),
        "i" => ws.constant(Constant::I),
        "oo" => ws.constant(Constant::Infinity),
        _ => match RBig::from_str_radix(token, 10) {
            Ok(value) => ws.number(value),
            Err(_) => ws.symbol(token),
        },
    };
    expr.expect("there is fuel")
}
