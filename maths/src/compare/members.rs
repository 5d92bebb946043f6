//! Answers of several members: in order, or as sets in which repeats count.

use dashu::rational::RBig;

use super::{Comparer, Comparison, bare, declared, mismatch, region_of, renamed, subject};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Brackets, Chain, Region, Relation, Subject, Value};
use crate::expr::{Expr, Node};
use crate::fuel::Exhausted;

/// Members of an answer without order: their matching takes a comparison for each pair.
const MAX_UNORDERED: usize = 256;

impl Comparer<'_, '_> {
    /// Compares a gold set or list.
    pub(super) fn for_members(
        &mut self,
        gold: &Answer,
        members: &[Answer],
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        // `y = \pm x` gives y two values.
        let named: Vec<Answer>;
        let is_each = gold.subjects.len() == 1
            && matches!(gold.subjects[0], Subject::Expr(_))
            && members.iter().all(|member| member.subjects.is_empty())
            && is_list_of_equations(candidate);
        let members = if is_each {
            let with_name =
                |member: &Answer| Answer { subjects: gold.subjects.clone(), ..member.clone() };
            named = members.iter().map(with_name).collect();
            named.as_slice()
        } else {
            members
        };
        // `x = 1 + 2t, y = 2, t \in \mathbb{R}` declares the letter of the others.
        if let AnswerForm::List(others) = &candidate.form
            && others.len() == members.len() + 1
        {
            let is_letter = |member: &Answer| match member.subjects.as_slice() {
                [Subject::Expr(expr)] => matches!(self.ws.node(*expr), Node::Symbol(_)),
                _ => false,
            };
            let declares = |member: &&Answer| {
                is_letter(member) && matches!(member.form, AnswerForm::Region(Region::Reals))
            };
            let stated: Vec<Answer> =
                others.iter().filter(|member| !declares(member)).cloned().collect();
            if stated.len() == members.len() {
                let form = AnswerForm::List(stated);
                let outcome = self.members(gold, members, &Answer { form, ..candidate.clone() })?;
                if outcome.is_equal() {
                    return Ok(outcome);
                }
            }
        }
        if let Some(outcome) = self.list_of_classes(gold, members, candidate)? {
            return Ok(outcome);
        }
        if let Some(outcome) = self.families(members, candidate)? {
            return Ok(outcome);
        }
        let outcome = self.members(gold, members, candidate)?;
        let outcome = self.same_line_or(outcome, true, gold, candidate)?;
        // `x^2 + c, c \in \mathbb{R}` is `x^2 + c`.
        if !outcome.is_equal()
            && let Some(own) = self.only_stated(members)
        {
            let others =
                if let AnswerForm::List(others) = &candidate.form { Some(others) } else { None };
            let other = others.and_then(|others| self.only_stated(others)).unwrap_or(candidate);
            if !matches!(other.form, AnswerForm::List(_)) {
                return self.answers(own, other, None);
            }
        }
        Ok(outcome)
    }

    /// Returns the only member that states something, where all others say of its parameters that they are any
    /// real numbers.
    pub(super) fn only_stated<'a>(&self, members: &'a [Answer]) -> Option<&'a Answer> {
        declared::only_stated(self.ws, members)
    }

    fn members(
        &mut self,
        gold: &Answer,
        members: &[Answer],
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        match &candidate.form {
            AnswerForm::Set(others) | AnswerForm::List(others) => match others.as_slice() {
                // `S = \{(7, 3)\}`: the only solution.
                [only @ Answer { form: AnswerForm::Tuple(..), .. }] if members.len() > 1 => {
                    self.members(gold, members, only)
                }
                others => self.unordered(members, others),
            },
            AnswerForm::Inequality(chain) => match self.ordered(chain)? {
                Some(others) => {
                    let outcome = self.in_order(members, &others)?;
                    Ok(if outcome.is_equal() { outcome } else { mismatch() })
                }
                None => Ok(mismatch()),
            },
            // A list of one, or `x = 1, y = 2` for which a tuple says the values in that order.
            AnswerForm::Tuple(_, others) => {
                match subject::assigned(self.ws, &candidate.subjects, members) {
                    Some(members) => self.in_order(&members, others),
                    None => Ok(mismatch()),
                }
            }
            AnswerForm::Region(region) => {
                let Some(own) = region_of(&gold.form) else {
                    return Ok(mismatch());
                };
                self.regions(&own, region)
            }
            AnswerForm::Value(_) if members.len() == 1 => {
                self.answers(&members[0], candidate, None)
            }
            AnswerForm::Value(_) => self.some_of(members, candidate),
            AnswerForm::Equation(..)
            | AnswerForm::Matrix(_)
            | AnswerForm::Piecewise(_)
            | AnswerForm::Congruence { .. }
            | AnswerForm::Numeral(_)
            | AnswerForm::Ratio(_)
            | AnswerForm::Date(_)
            | AnswerForm::Clock(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => Ok(mismatch()),
        }
    }

    /// Returns the numbers of `1 < \pi < 4`, which are a list in this order. `None` where the signs
    /// point both ways, or a side is no number.
    pub(super) fn ordered(&mut self, chain: &Chain) -> Result<Option<Vec<Answer>>, Exhausted> {
        let first = chain.rest[0].0;
        let is_order = matches!(first, Relation::Less | Relation::Greater);
        if !is_order || chain.rest.iter().any(|(relation, _)| *relation != first) {
            return Ok(None);
        }
        let mut members = Vec::with_capacity(chain.rest.len() + 1);
        for side in std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side)) {
            if !self.ws.is_closed(side)? {
                return Ok(None);
            }
            members.push(bare(side));
        }
        Ok(Some(members))
    }

    /// Compares one answer with several gold answers: wrong, unless all of them are that one.
    fn some_of(&mut self, members: &[Answer], candidate: &Answer) -> Result<Comparison, Exhausted> {
        for (index, member) in members.iter().enumerate() {
            match self.answers(member, candidate, None)? {
                Comparison::Equal(_) => {}
                Comparison::Different(_) => {
                    return Ok(Comparison::different("members_missing").at(index));
                }
                Comparison::Incomparable(_) => return Ok(mismatch()),
                Comparison::Undecided(doubt) => return Ok(Comparison::Undecided(doubt)),
            }
        }
        Ok(if self.policy.collapse_repeats {
            Comparison::equal("members_equal")
        } else {
            Comparison::different("members_missing")
        })
    }

    /// Compares member by member.
    pub(super) fn in_order(
        &mut self,
        members: &[Answer],
        others: &[Answer],
    ) -> Result<Comparison, Exhausted> {
        if members.len() != others.len() {
            return Ok(Comparison::different("length_different"));
        }
        let mut open = None;
        for (index, (member, other)) in members.iter().zip(others).enumerate() {
            match self.answers(member, other, None)? {
                Comparison::Equal(_) => {}
                Comparison::Different(ground) => return Ok(Comparison::Different(ground).at(index)),
                // A later member may still prove a difference.
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => {
                    open = open.or(Some(rest.at(index)));
                }
            }
        }
        Ok(open.unwrap_or(Comparison::equal("members_equal")))
    }

    /// Compares without order. Equality carries over, so each candidate member can take the first
    /// gold member that it equals.
    fn unordered(
        &mut self,
        members: &[Answer],
        others: &[Answer],
    ) -> Result<Comparison, Exhausted> {
        self.ws.fuel.spend(1 + members.len() as u64)?;
        if members == others {
            return Ok(Comparison::equal("members_equal"));
        }
        if let Some(others) = subject::by_names(members, others) {
            return self.in_order(members, &others);
        }
        if let Some(outcome) = self.by_shared_names(members, others)? {
            return Ok(outcome);
        }
        // Names of which no two are one give their order.
        if subject::are_named(members) && subject::are_named(others) {
            let outcome = self.in_order(members, others)?;
            return Ok(if outcome.is_equal() { outcome } else { mismatch() });
        }
        // The labels of parts give them an order.
        if subject::are_labelled(members) || subject::are_labelled(others) {
            return self.in_order(members, others);
        }
        if self.policy.collapse_repeats {
            let (members, others) = (self.distinct(members)?, self.distinct(others)?);
            return self.matched(&members, &others);
        }
        let members: Vec<&Answer> = members.iter().collect();
        let others: Vec<&Answer> = others.iter().collect();
        self.matched(&members, &others)
    }

    /// Compares members of one name where both sides name all of theirs and share some names; the others
    /// are compared without order.
    fn by_shared_names(
        &mut self,
        members: &[Answer],
        others: &[Answer],
    ) -> Result<Option<Comparison>, Exhausted> {
        let pairs = subject::shared_names(members, others);
        if pairs.is_empty() {
            return Ok(None);
        }
        for (own, other) in &pairs {
            let outcome = self.answers(&members[*own], &others[*other], None)?;
            if !outcome.is_equal() {
                return Ok(Some(outcome.at(*own)));
            }
        }
        let is_left = |at: usize, pick: fn(&(usize, usize)) -> usize| {
            pairs.iter().all(|pair| pick(pair) != at)
        };
        let own = members.iter().enumerate().filter(|(at, _)| is_left(*at, |pair| pair.0));
        let other = others.iter().enumerate().filter(|(at, _)| is_left(*at, |pair| pair.1));
        let own: Vec<&Answer> = own.map(|(_, member)| member).collect();
        let other: Vec<&Answer> = other.map(|(_, member)| member).collect();
        self.matched(&own, &other).map(Some)
    }

    fn matched(
        &mut self,
        members: &[&Answer],
        others: &[&Answer],
    ) -> Result<Comparison, Exhausted> {
        if members.len() > MAX_UNORDERED || others.len() > MAX_UNORDERED {
            return Ok(Comparison::incomparable("too_many_members"));
        }
        let mut free: Vec<&Answer> = others.to_vec();
        let mut open = None;
        let mut missing = None;
        for (index, member) in members.iter().enumerate() {
            let mut own_open = None;
            let mut found = None;
            for (place, other) in free.iter().enumerate() {
                match self.answers(member, other, None)? {
                    Comparison::Equal(_) => {
                        found = Some(place);
                        break;
                    }
                    Comparison::Different(_) => {}
                    rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => {
                        own_open = own_open.or(Some(rest.at(index)));
                    }
                }
            }
            match (found, own_open) {
                (Some(place), _) => {
                    free.swap_remove(place);
                }
                (None, Some(rest)) => open = open.or(Some(rest)),
                (None, None) => missing = missing.or(Some(index)),
            }
        }
        // A gold member that differs from all that is left proves the difference, whatever is open.
        Ok(match (missing, open, free.is_empty()) {
            (Some(index), _, _) => Comparison::different("members_missing").at(index),
            (None, Some(open), _) if members.len() == others.len() => open,
            (None, Some(_), _) => Comparison::different("length_different"),
            (None, None, false) => Comparison::different("members_added"),
            (None, None, true) => Comparison::equal("members_equal"),
        })
    }

    /// Returns the members without those that equal an earlier one.
    fn distinct<'a>(&mut self, members: &'a [Answer]) -> Result<Vec<&'a Answer>, Exhausted> {
        let mut kept: Vec<&Answer> = Vec::new();
        'members: for member in members {
            for earlier in &kept {
                if self.answers(earlier, member, None)?.is_equal() {
                    continue 'members;
                }
            }
            kept.push(member);
        }
        Ok(kept)
    }

    /// Reads `x = 3k, k \in \mathbb{Z}`: families of values over integer parameters. `None` if
    /// neither side declares one.
    fn families(
        &mut self,
        members: &[Answer],
        candidate: &Answer,
    ) -> Result<Option<Comparison>, Exhausted> {
        let others = if let AnswerForm::List(others) = &candidate.form {
            others.as_slice()
        } else {
            std::slice::from_ref(candidate)
        };
        let (own, other) = (self.family(members), self.family(others));
        let (Some(own), other) = (own, other) else {
            return Ok(None);
        };
        let other = match other {
            Some(other) => other,
            // The candidate may leave the declaration out where it uses the same letter.
            None => others.iter().collect::<Vec<_>>(),
        };
        let is_point =
            |members: &[&Answer]| matches!(members, [Answer { form: AnswerForm::Tuple(..), .. }]);
        if is_point(&own) == is_point(&other) {
            // `x = 2 + 5t, y = -1 - 3t` and `x = -3 + 5k, y = 2 - 3k`: the parameter is one for both.
            let own_point = self.as_point(own.clone(), &[]);
            let [own_point @ Answer { form: AnswerForm::Tuple(..), .. }] = own_point.as_slice()
            else {
                return self.families_match(&own, &other).map(Some);
            };
            let is_same = match self.as_point(other, &[]).as_slice() {
                [other] => {
                    declared::have_same_names(own_point, other)
                        && self.is_same_family(own_point, other)?
                }
                _ => false,
            };
            return Ok(Some(if is_same {
                Comparison::equal("families_equal")
            } else {
                Comparison::incomparable("families_different")
            }));
        }
        let order = |members: &[&Answer]| members[0].subjects.clone();
        let (own_order, other_order) = (order(&own), order(&other));
        let own =
            if is_point(&own) { vec![own[0].clone()] } else { self.as_point(own, &other_order) };
        let other = if is_point(&other) {
            vec![other[0].clone()]
        } else {
            self.as_point(other, &own_order)
        };
        let (own, other): (Vec<_>, Vec<_>) = (own.iter().collect(), other.iter().collect());
        self.families_match(&own, &other).map(Some)
    }

    /// Returns the values of a list that declares an integer parameter, without the declaration.
    fn family<'a>(&self, members: &'a [Answer]) -> Option<Vec<&'a Answer>> {
        let values = self.without_declarations(members);
        (values.len() < members.len() && !values.is_empty()).then_some(values)
    }

    /// Returns the members that are no declarations of integers, `k \in \mathbb{Z}`.
    pub(super) fn without_declarations<'a>(&self, members: &'a [Answer]) -> Vec<&'a Answer> {
        let is_declaration = |member: &&Answer| {
            let of_symbol = match member.subjects.as_slice() {
                [Subject::Expr(expr)] => matches!(self.ws.node(*expr), Node::Symbol(_)),
                _ => false,
            };
            of_symbol
                && matches!(&member.form, AnswerForm::Region(region) if declared::counts(region, self.ws))
        };
        members.iter().filter(|member| !is_declaration(member)).collect()
    }

    fn families_match(
        &mut self,
        own: &[&Answer],
        other: &[&Answer],
    ) -> Result<Comparison, Exhausted> {
        let (own, other) = (self.without_alternation(own)?, self.without_alternation(other)?);
        if own.len() != other.len() {
            return Ok(Comparison::incomparable("families_different"));
        }
        let mut free: Vec<&Answer> = other.iter().collect();
        for member in &own {
            let mut found = None;
            for (place, candidate) in free.iter().enumerate() {
                if self.is_same_family(member, candidate)? {
                    found = Some(place);
                    break;
                }
            }
            match found {
                Some(place) => {
                    free.swap_remove(place);
                }
                None => return Ok(Comparison::incomparable("families_different")),
            }
        }
        Ok(Comparison::equal("families_equal"))
    }

    /// Returns families with two in place of each that alternates, `(-1)^n a + n b`: one for even and one for
    /// odd numbers.
    fn without_alternation(&mut self, members: &[&Answer]) -> Result<Vec<Answer>, Exhausted> {
        let mut all = Vec::with_capacity(members.len());
        for member in members {
            let AnswerForm::Value(value) = &member.form else {
                all.push((*member).clone());
                continue;
            };
            let minus_one = self.ws.integer(-1)?;
            let mut counter = None;
            self.ws.any(value.expr, &mut |node| {
                if let Node::Power(base, exponent) = node
                    && *base == minus_one
                {
                    counter = Some(*exponent);
                }
                false
            })?;
            let name = counter.and_then(|counter| {
                let node = self.ws.node(counter);
                if let Node::Symbol(name) = node { Some((counter, *name)) } else { None }
            });
            let Some((exponent, name)) = name else {
                all.push((*member).clone());
                continue;
            };
            for (sign, shift) in [(1, 0), (-1, 1)] {
                let sign = self.ws.integer(sign)?;
                let power = Node::Power(minus_one, exponent);
                let expr = self
                    .ws
                    .replaced(value.expr, &mut |_, node| Ok((*node == power).then_some(sign)))?;
                let two = self.ws.integer(2)?;
                let shift = self.ws.integer(shift)?;
                let double = self.ws.product(vec![two, exponent])?;
                let by = self.ws.sum(vec![double, shift])?;
                let expr = algebra::substitute(expr, name, by, self.ws)?;
                let form = AnswerForm::Value(Value { expr, ..value.clone() });
                all.push(Answer { form, ..(*member).clone() });
            }
        }
        Ok(all)
    }

    /// Decides whether two members run through the same values while their parameters run through
    /// the integers: `a + b·k` and `c ± b·m` with (a - c)/b an integer.
    fn is_same_family(&mut self, gold: &Answer, candidate: &Answer) -> Result<bool, Exhausted> {
        if let (AnswerForm::Tuple(_, own), AnswerForm::Tuple(_, other)) =
            (&gold.form, &candidate.form)
        {
            return self.are_same_points(own, other);
        }
        let (AnswerForm::Value(own), AnswerForm::Value(other)) = (&gold.form, &candidate.form)
        else {
            return Ok(self.answers(gold, candidate, None)?.is_equal());
        };
        // `f(n) = 2n + c` and `f(x) = 2x + m`
        if renamed::are_of_one_function(gold, candidate, self.ws) {
            return Ok(self.answers(gold, candidate, None)?.is_equal());
        }
        if self.exprs(own.expr, other.expr)?.is_equal() {
            return Ok(true);
        }
        let (Some(own), Some(other)) = (self.progression(own.expr)?, self.progression(other.expr)?)
        else {
            return Ok(false);
        };
        let opposite = self.ws.negated(other.1)?;
        if !self.exprs(own.1, other.1)?.is_equal() && !self.exprs(own.1, opposite)?.is_equal() {
            return Ok(false);
        }
        let shift = self.ws.difference(own.0, other.0)?;
        let steps = self.ws.quotient(shift, own.1)?;
        let steps = algebra::rational(steps, self.ws)?;
        Ok(steps.is_some_and(|steps| steps.is_int()))
    }

    /// Decides whether `(a + b·k, c + d·k)` and another such point run through the same points: the steps
    /// are equal or opposite, and the starts are a whole number of steps apart, the same in each place.
    fn are_same_points(&mut self, own: &[Answer], other: &[Answer]) -> Result<bool, Exhausted> {
        let mut all: Option<(bool, RBig)> = None;
        for (own, other) in own.iter().zip(other) {
            let (AnswerForm::Value(own), AnswerForm::Value(other)) = (&own.form, &other.form)
            else {
                return Ok(false);
            };
            let (Some(own), Some(other)) =
                (self.progression(own.expr)?, self.progression(other.expr)?)
            else {
                return Ok(false);
            };
            let mut values = Vec::with_capacity(4);
            for expr in [own.0, own.1, other.0, other.1] {
                match algebra::rational(expr, self.ws)? {
                    Some(value) => values.push(value),
                    None => return Ok(false),
                }
            }
            let is_opposite = values[1] == -values[3].clone();
            if values[1].is_zero() || values[1] != values[3] && !is_opposite {
                return Ok(false);
            }
            let steps = (&values[2] - &values[0]) / &values[1];
            if !steps.is_int()
                || *all.get_or_insert((is_opposite, steps.clone())) != (is_opposite, steps)
            {
                return Ok(false);
            }
        }
        Ok(own.len() == other.len() && all.is_some())
    }

    /// Returns the members that are no declarations as one point where each names a coordinate: `x = 2 +
    /// 5t, y = -1 - 3t, t \in \mathbb{Z}`.
    fn as_point(&self, members: Vec<&Answer>, order: &[Subject]) -> Vec<Answer> {
        let owned: Vec<Answer> = members.into_iter().cloned().collect();
        match subject::assigned(self.ws, order, &owned) {
            Some(members) if members.len() > 1 => {
                vec![Answer {
                    subjects: Vec::new(),
                    form: AnswerForm::Tuple(Brackets::Round, members),
                    notes: Vec::new(),
                }]
            }
            Some(_) | None => owned,
        }
    }

    /// Returns start and step of an expression that is linear in its only variable.
    fn progression(&mut self, expr: Expr) -> Result<Option<(Expr, Expr)>, Exhausted> {
        let variables = algebra::variables(expr, self.ws);
        let [only] = variables.as_slice() else {
            return Ok(None);
        };
        let linear = algebra::linear(expr, *only, self.ws)?;
        Ok(linear.map(|(step, start)| (start, step)))
    }

    /// Returns residue and modulus of `7k + 3` with a whole step.
    pub(super) fn family_residue(&mut self, expr: Expr) -> Result<Option<(Expr, Expr)>, Exhausted> {
        let Some((start, step)) = self.progression(expr)? else {
            return Ok(None);
        };
        let are_whole = [start, step].map(|expr| algebra::rational(expr, self.ws));
        let mut both = true;
        for value in are_whole {
            both &= value?.is_some_and(|value| value.is_int());
        }
        Ok(both.then_some((start, step)))
    }
}

/// Returns whether an answer lists equations.
fn is_list_of_equations(answer: &Answer) -> bool {
    if let AnswerForm::List(members) = &answer.form {
        members.iter().all(|member| matches!(member.form, AnswerForm::Equation(..)))
    } else {
        false
    }
}
