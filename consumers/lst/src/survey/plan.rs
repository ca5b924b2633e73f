//! The plan of a survey: every pair once, in rounds whose pairs have no node in common.

use super::Pair;
use lnet_wire::Nid;
use std::collections::{BTreeMap, HashSet};

/// The nodes of a survey, and the order in which their pairs are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// All nodes, each once: the clients, and behind them the servers that are no clients.
    pub nodes: Vec<Nid>,
    /// The pairs that are measured at the same time. No two of a round have a node in common.
    pub rounds: Vec<Vec<Pair>>,
}

impl Plan {
    /// Plans the pairs of each node of `from` with each other node of `to`. A round has at most `at_once` pairs, and at least one.
    pub fn new(from: &[Nid], to: &[Nid], at_once: usize) -> Self {
        let mut positions = BTreeMap::new();
        let mut nodes = Vec::new();
        let mut position = |nid: &Nid| {
            *positions.entry(*nid).or_insert_with(|| {
                nodes.push(*nid);
                nodes.len() - 1
            })
        };
        let mut each_once = |nids: &[Nid]| {
            let mut seen = HashSet::new();
            nids.iter().map(&mut position).filter(|at| seen.insert(*at)).collect::<Vec<_>>()
        };
        let (from, to) = (each_once(from), each_once(to));
        let mut ranked: Vec<(usize, Pair)> = Vec::new();
        for (row, &from_node) in from.iter().enumerate() {
            for (column, &to_node) in to.iter().enumerate().filter(|(_, to)| **to != from_node) {
                let pair = Pair { from: from_node, to: to_node };
                ranked.push((rank(row, from.len(), column, to.len(), from == to), pair));
            }
        }
        ranked.sort_unstable();
        Self { rounds: rounds(ranked.into_iter().map(|(_, pair)| pair), nodes.len(), at_once.max(1)), nodes }
    }

    /// The number of pairs.
    pub fn pairs(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }
}

/// A number that pairs have in common if they have no node in common, so that few rounds do: that of a round robin where each node is
/// client and server, that of a rotation otherwise.
fn rank(row: usize, rows: usize, column: usize, columns: usize, is_all_pairs: bool) -> usize {
    if !is_all_pairs {
        let places = rows.max(columns);
        return (column + places - row) % places;
    }
    // With an even number of nodes the last one meets the node that would meet itself.
    let places = if rows.is_multiple_of(2) { rows - 1 } else { rows };
    let round = match (row, column) {
        (row, column) if row == places => 2 * column,
        (row, column) if column == places => 2 * row,
        (row, column) => row + column,
    };
    round % places + if row < column { 0 } else { places }
}

/// Puts each pair into the first round that has a place for it.
fn rounds(pairs: impl Iterator<Item = Pair>, nodes: usize, at_once: usize) -> Vec<Vec<Pair>> {
    let mut rounds: Vec<(Vec<Pair>, Vec<bool>)> = Vec::new();
    let mut first_with_place = 0;
    for pair in pairs {
        let is_free = |(round, busy): &(Vec<Pair>, Vec<bool>)| {
            round.len() < at_once && [pair.from, pair.to].iter().all(|at| busy.get(*at) == Some(&false))
        };
        let found = rounds.iter().skip(first_with_place).position(is_free).map(|at| at + first_with_place);
        let at = found.unwrap_or_else(|| {
            rounds.push((Vec::new(), vec![false; nodes]));
            rounds.len() - 1
        });
        if let Some((round, busy)) = rounds.get_mut(at) {
            round.push(pair);
            for node in [pair.from, pair.to] {
                busy.get_mut(node).into_iter().for_each(|busy| *busy = true);
            }
        }
        while rounds.get(first_with_place).is_some_and(|(round, _)| round.len() >= at_once) {
            first_with_place += 1;
        }
    }
    rounds.into_iter().map(|(round, _)| round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nid(number: u8) -> Nid {
        format!("10.0.0.{number}@tcp").parse().unwrap()
    }

    fn nids(numbers: &[u8]) -> Vec<Nid> {
        numbers.iter().map(|number| nid(*number)).collect()
    }

    #[test]
    fn as_few_rounds_are_made_as_the_busiest_node_has_pairs() {
        for count in 2..=17_u8 {
            let all = nids(&(0..count).collect::<Vec<_>>());
            // Of an odd number of nodes one has no partner in a round.
            let rounds = usize::from(if count % 2 == 0 { count - 1 } else { count });
            assert_eq!(Plan::new(&all, &all, usize::MAX).rounds.len(), 2 * rounds, "{count} nodes");
            for others in 1..=17_u8 {
                let others = nids(&(100..100 + others).collect::<Vec<_>>());
                let plan = Plan::new(&all, &others, usize::MAX);
                assert_eq!(plan.rounds.len(), all.len().max(others.len()), "{count} to {}", others.len());
            }
        }
    }

    #[test]
    fn one_pair_at_a_time_makes_as_many_rounds_as_pairs() {
        let table: [(&[u8], &[u8], usize); 5] = [
            (&[1, 2, 3], &[1, 2, 3], 6),
            (&[1], &[2, 3], 2),
            (&[1, 2], &[2], 1),
            (&[1], &[1], 0),
            (&[1, 1], &[2, 2], 1),
        ];
        for (from, to, pairs) in table {
            let plan = Plan::new(&nids(from), &nids(to), 1);
            assert_eq!((plan.rounds.len(), plan.pairs()), (pairs, pairs), "{from:?} to {to:?}");
        }
    }

    proptest! {
        /// Fails if a pair is left out or measured twice, or if a node has two pairs at the same time.
        #[test]
        fn each_pair_is_measured_once_and_no_node_has_two_at_once(
            from in prop::collection::vec(0..12_u8, 1..12),
            to in prop::collection::vec(0..12_u8, 1..12),
            at_once in 1..9_usize,
        ) {
            let plan = Plan::new(&nids(&from), &nids(&to), at_once);
            let expected: HashSet<(Nid, Nid)> = from
                .iter()
                .flat_map(|from| to.iter().map(move |to| (nid(*from), nid(*to))))
                .filter(|(from, to)| from != to)
                .collect();
            let planned: Vec<(Nid, Nid)> =
                plan.rounds.iter().flatten().map(|pair| (plan.nodes[pair.from], plan.nodes[pair.to])).collect();
            prop_assert_eq!(planned.len(), expected.len());
            prop_assert_eq!(planned.into_iter().collect::<HashSet<_>>(), expected);
            for round in &plan.rounds {
                prop_assert!((1..=at_once).contains(&round.len()));
                let busy: HashSet<usize> = round.iter().flat_map(|pair| [pair.from, pair.to]).collect();
                prop_assert_eq!(busy.len(), 2 * round.len());
            }
        }
    }
}
