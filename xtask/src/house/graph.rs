//! Circles and back-running arrows of a graph of modules.

use std::collections::{BTreeMap, BTreeSet};

/// Groups of two and more nodes that reach each other, each ascending.
pub(crate) fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reach: Vec<BTreeSet<usize>> = (0..edges.len()).map(|from| reachable(edges, from)).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for node in 0..edges.len() {
        if seen.contains(&node) {
            continue;
        }
        let circle: Vec<usize> = (0..edges.len())
            .filter(|other| reach[node].contains(other) && reach[*other].contains(&node))
            .collect();
        seen.extend(circle.iter().copied());
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

fn reachable(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(node) = next.pop() {
        for to in &edges[node] {
            if found.insert(*to) {
                next.push(*to);
            }
        }
    }
    found
}

/// Arrows between the children of one module, as (from, to), that run against the best order of the
/// children: the arrows that would have to go for the children to lie in layers.
///
/// From several first orders one child at a time is moved to the place where the fewest arrows run
/// back, until nothing improves; the best end counts.
pub(crate) fn back_arrows(
    arrows: &BTreeMap<(String, String), usize>,
) -> Vec<(String, String, usize)> {
    let names: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let by_name: Vec<&String> = names.into_iter().collect();
    let mut by_balance = by_name.clone();
    by_balance.sort_by_key(|name| {
        let count = |of: fn(&(String, String)) -> &String| -> usize {
            arrows.iter().filter(|(arrow, _)| of(arrow) == *name).map(|(_, count)| count).sum()
        };
        // Most leaves it: first. Most comes in: last.
        count(|(_, to)| to).cast_signed() - count(|(from, _)| from).cast_signed()
    });
    let reversed = by_name.iter().rev().copied().collect();
    let orders = [by_balance, by_name, reversed].map(|order| improved(order, arrows));
    let order = orders.into_iter().min_by_key(|order| back(order, arrows)).unwrap_or_default();
    let place = |name: &String| order.iter().position(|other| *other == name);
    arrows
        .iter()
        .filter(|((from, to), _)| place(from) > place(to))
        .map(|((from, to), count)| (from.clone(), to.clone(), *count))
        .collect()
}

fn improved<'a>(
    mut order: Vec<&'a String>,
    arrows: &BTreeMap<(String, String), usize>,
) -> Vec<&'a String> {
    let mut cost = back(&order, arrows);
    loop {
        let before = cost;
        for from in 0..order.len() {
            for to in 0..order.len() {
                let mut other = order.clone();
                let name = other.remove(from);
                other.insert(to, name);
                let other_cost = back(&other, arrows);
                if other_cost < cost {
                    (order, cost) = (other, other_cost);
                }
            }
        }
        if cost == before {
            return order;
        }
    }
}

fn back(order: &[&String], arrows: &BTreeMap<(String, String), usize>) -> usize {
    let places: BTreeMap<&String, usize> =
        order.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    arrows.iter().filter(|((from, to), _)| places[from] > places[to]).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[&[usize]]) -> Vec<BTreeSet<usize>> {
        edges.iter().map(|to| to.iter().copied().collect()).collect()
    }

    #[test]
    fn circles_are_strongly_connected_parts() {
        assert_eq!(circles(&graph(&[&[1], &[2], &[]])), Vec::<Vec<usize>>::new());
        assert_eq!(
            circles(&graph(&[&[1], &[2, 3], &[0], &[4], &[3]])),
            [vec![0, 1, 2], vec![3, 4]]
        );
    }

    #[test]
    fn the_fewest_arrows_run_back() {
        let arrow = |from: &str, to: &str, count| ((from.to_owned(), to.to_owned()), count);
        let arrows = BTreeMap::from([arrow("a", "b", 1), arrow("b", "a", 5), arrow("b", "c", 2)]);
        assert_eq!(back_arrows(&arrows), [("a".to_owned(), "b".to_owned(), 1)]);
    }
}
