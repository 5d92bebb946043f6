//! Checks of every invariant of the tree and the blocks.

use models::BLOCK;

use super::pool::{BlockPool, at};
use super::tree::{NodeId, Parent, PrefixNode, Tree};

/// Checks all nodes and blocks.
///
/// # Errors
/// The first broken invariant.
pub(super) fn audit(tree: &Tree, pool: &BlockPool) -> Result<(), String> {
    let mut uses = vec![0_u32; pool.counts().total];
    let (mut n_nodes, mut n_roots, mut n_idle) = (0, 0, 0);
    for (id, node) in tree.nodes() {
        let fault = |what: &str| Err(format!("{id:?} {what}: {node:?}"));
        match &node.parent {
            Parent::Root(namespace) => {
                n_roots += 1;
                if tree.roots.get(namespace) != Some(&id) || node.end() > 0 {
                    return fault("is no root of its namespace");
                }
                if node.n_children == 0 && node.n_tables == 0 {
                    return fault("is a root without children or tables");
                }
            }
            Parent::Node(above) => {
                n_nodes += 1;
                n_idle += usize::from(tree.idle.contains(&(node.used, id)));
                if let Some(what) = edge_fault(tree, (*above, tree.node(*above)), (id, node)) {
                    return fault(what);
                }
            }
        }
        if let Some(what) = node_fault(node, tree.clock) {
            return fault(what);
        }
        for block in &node.blocks {
            uses[at(*block)] += 1;
        }
    }
    let counts = [tree.children.len(), tree.roots.len(), tree.idle.len()];
    if counts != [n_nodes, n_roots, n_idle] {
        return Err(format!(
            "{counts:?} children, roots and idle leaves are listed and {:?} are there",
            [n_nodes, n_roots, n_idle]
        ));
    }
    if tree.slots.len() != n_nodes + n_roots + tree.vacant.len() {
        return Err("a vacant slot is lost".to_owned());
    }
    children_fault(tree)?;
    pool.audit(&uses)?;
    duplicates_fault(tree, pool)
}

/// The fault between a node and its parent.
fn edge_fault(
    tree: &Tree,
    (parent_id, parent): (NodeId, &PrefixNode),
    (id, node): (NodeId, &PrefixNode),
) -> Option<&'static str> {
    let Some(first) = node.tokens.token_ids().first() else {
        return Some("has no tokens");
    };
    let idle = node.n_children == 0 && node.n_tables == 0;
    if tree.children.get(&(parent_id, *first)) != Some(&id) {
        Some("is not listed below its parent")
    } else if parent.end() != node.start || parent.ready != parent.end() {
        Some("does not begin where its parent's computed tokens end")
    } else if parent.used < node.used {
        Some("was used later than its parent")
    } else if tree.idle.contains(&(node.used, id)) != idle {
        Some("is listed as idle and is not, or the other way round")
    } else {
        None
    }
}

/// The fault inside a node.
fn node_fault(node: &PrefixNode, clock: u64) -> Option<&'static str> {
    let n_blocks =
        if node.ready > node.start { node.ready.div_ceil(BLOCK) - node.first_block() } else { 0 };
    let pending = node.ready < node.end();
    let abandoned = node.n_tables == 0 && (pending || node.owner.is_some());
    if node.ready < node.start || node.ready > node.end() {
        Some("has computed what it does not have")
    } else if node.blocks.len() != n_blocks {
        Some("has too many blocks or too few")
    } else if abandoned || (pending && node.owner.is_none()) {
        Some("is computed by no sequence, or by one that is gone")
    } else if pending && node.n_children > 0 {
        Some("has nodes below tokens that are not computed")
    } else if node.used > clock {
        Some("was used in the future")
    } else {
        None
    }
}

fn children_fault(tree: &Tree) -> Result<(), String> {
    let mut n_children = vec![0; tree.slots.len()];
    for (above, _) in tree.children.keys() {
        n_children[above.slot()] += 1;
    }
    for (id, node) in tree.nodes() {
        if node.n_children != n_children[id.slot()] {
            return Err(format!("{id:?} has {} children", n_children[id.slot()]));
        }
    }
    Ok(())
}

/// A block of a node on the path of an open table is held by a table, or is the node's last and a
/// duplicate of one further down. Otherwise it could not be evicted.
fn duplicates_fault(tree: &Tree, pool: &BlockPool) -> Result<(), String> {
    let mut duplicated = vec![false; tree.slots.len()];
    let mut passed = vec![false; tree.slots.len()];
    for (id, node) in tree.nodes().filter(|(_, node)| node.n_tables > 0) {
        let mut here = (id, node);
        loop {
            passed[here.0.slot()] = true;
            let Parent::Node(above) = here.1.parent else {
                break;
            };
            let first = here.1.blocks.first();
            let version = first.is_some_and(|first| pool.is_held(*first))
                || (here.1.blocks.len() == 1 && duplicated[here.0.slot()]);
            if version && !here.1.start.is_multiple_of(BLOCK) {
                duplicated[above.slot()] = true;
            }
            here = (above, tree.node(above));
        }
    }
    for (id, node) in tree.nodes().filter(|(id, _)| passed[id.slot()]) {
        let own = node.blocks.len() - usize::from(duplicated[id.slot()]);
        if let Some(block) = node.blocks[..own].iter().find(|b| !pool.is_held(**b)) {
            return Err(format!("block {} of {id:?} cannot be had: {node:?}", block.0));
        }
    }
    Ok(())
}
