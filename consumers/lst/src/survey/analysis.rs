//! Names what is slow in a survey: a node that sends or receives slowly from all others, or one pair of nodes that are not.

use super::Pair;
use std::collections::BTreeMap;

/// The smallest number of pairs of a node from which the node is named, and not its pairs.
const PAIRS_OF_A_NODE: usize = 2;

/// The part of a network that is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// The node at this position as a client: most of its pairs are slow.
    Client(usize),
    /// The node at this position as a server.
    Server(usize),
    /// One pair, whose nodes are not slow with others.
    Pair(Pair),
}

/// A slow part of a network, and what it was compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// The slow part.
    pub culprit: Culprit,
    /// The rate of the pair, or the median of the node's pairs.
    pub rate: f64,
    /// The median of the pairs that it was compared with. Of two medians, the lower one.
    pub others: f64,
}

/// A part that a node has in pairs: the culprit that a node with that part is, and the node that has it in a pair.
type Part = (fn(usize) -> Culprit, fn(&Pair) -> usize);

/// Finds the slow parts: those with a rate below `share` (0 to 1) of the median of comparable pairs.
///
/// A node is compared, as a client and as a server, with all pairs in which it has not this part. A pair is compared with the other
/// pairs of its client and with the other pairs of its server, and has to be slow beside both; so the pairs of a slow node are
/// not named one by one. Where neither has another pair, all other pairs count.
pub fn slow(rates: &[(Pair, f64)], share: f64) -> Vec<Slow> {
    let mut found = Vec::new();
    let parts: [Part; 2] = [(Culprit::Client, |pair| pair.from), (Culprit::Server, |pair| pair.to)];
    for (culprit, node_of) in parts {
        let groups = grouped(rates, node_of);
        for (node, of_node) in groups.into_iter().filter(|(_, pairs)| pairs.len() >= PAIRS_OF_A_NODE) {
            let others = median(select(rates, |pair| node_of(pair) != node));
            found.extend(compare(culprit(node), median(select(&of_node, |_| true)), others, share));
        }
    }
    let [clients, servers] = parts.map(|(_, node_of)| grouped(rates, node_of));
    for &(pair, rate) in rates {
        let beside = |group: Option<&Vec<(Pair, f64)>>| median(select(group?, |it| *it != pair));
        let others = match (beside(clients.get(&pair.from)), beside(servers.get(&pair.to))) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (None, None) => median(select(rates, |it| *it != pair)),
            (one, other) => one.or(other),
        };
        found.extend(compare(Culprit::Pair(pair), Some(rate), others, share));
    }
    found.sort_by_key(|slow| slow.culprit);
    found
}

fn grouped(rates: &[(Pair, f64)], node_of: fn(&Pair) -> usize) -> BTreeMap<usize, Vec<(Pair, f64)>> {
    let mut groups: BTreeMap<usize, Vec<(Pair, f64)>> = BTreeMap::new();
    for rate in rates {
        groups.entry(node_of(&rate.0)).or_default().push(*rate);
    }
    groups
}

fn select(rates: &[(Pair, f64)], is_meant: impl Fn(&Pair) -> bool) -> Vec<f64> {
    rates.iter().filter(|(pair, _)| is_meant(pair)).map(|(_, rate)| *rate).collect()
}

fn compare(culprit: Culprit, rate: Option<f64>, others: Option<f64>, share: f64) -> Option<Slow> {
    let (rate, others) = (rate?, others?);
    (rate < share * others).then_some(Slow { culprit, rate, others })
}

/// The value in the middle, or the greater one of two there: of two pairs, one slow one does not make a node slow, and not the median that
/// others are compared with. `None` without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rates of a matrix; a negative one is no pair.
    fn rates(rows: &[&[f64]]) -> Vec<(Pair, f64)> {
        let row = |(from, row): (usize, &&[f64])| -> Vec<(Pair, f64)> {
            row.iter().enumerate().map(|(to, rate)| (Pair { from, to }, *rate)).collect()
        };
        rows.iter().enumerate().flat_map(row).filter(|(_, rate)| *rate >= 0.0).collect()
    }

    fn culprits(rates: &[(Pair, f64)]) -> Vec<Culprit> {
        slow(rates, 0.5).iter().map(|slow| slow.culprit).collect()
    }

    const NO: f64 = -1.0;

    /// The name of a case, the rates of its pairs, and what is slow.
    type Row<'a> = (&'a str, &'a [&'a [f64]], Vec<Culprit>);

    #[test]
    fn what_is_slow_is_named_once() {
        let pair = |from, to| Culprit::Pair(Pair { from, to });
        let table: [Row<'_>; 14] = [
            ("no pairs", &[], vec![]),
            ("one pair", &[&[NO, 9.0]], vec![]),
            ("both directions of one pair", &[&[NO, 100.0], &[10.0, NO]], vec![pair(1, 0)]),
            ("all the same", &[&[NO, 9.0, 9.0], &[9.0, NO, 9.0], &[9.0, 9.0, NO]], vec![]),
            (
                "half is not below half",
                &[&[NO, 50.0, 100.0], &[100.0, NO, 100.0], &[100.0, 100.0, NO]],
                vec![],
            ),
            (
                "one direction of one pair of three nodes",
                &[&[NO, 49.0, 100.0], &[100.0, NO, 100.0], &[100.0, 100.0, NO]],
                vec![pair(0, 1)],
            ),
            (
                "a node that sends slowly",
                &[
                    &[NO, 10.0, 10.0, 10.0],
                    &[90.0, NO, 90.0, 90.0],
                    &[90.0, 90.0, NO, 90.0],
                    &[90.0, 90.0, 90.0, NO],
                ],
                vec![Culprit::Client(0)],
            ),
            (
                "a node that sends and receives slowly",
                &[
                    &[NO, 10.0, 10.0, 10.0],
                    &[10.0, NO, 90.0, 90.0],
                    &[10.0, 90.0, NO, 90.0],
                    &[10.0, 90.0, 90.0, NO],
                ],
                vec![Culprit::Client(0), Culprit::Server(0)],
            ),
            (
                "a node that sends slowly, and to one node even more so",
                &[
                    &[NO, 1.0, 10.0, 10.0],
                    &[90.0, NO, 90.0, 90.0],
                    &[90.0, 90.0, NO, 90.0],
                    &[90.0, 90.0, 90.0, NO],
                ],
                vec![Culprit::Client(0), pair(0, 1)],
            ),
            (
                "one of three nodes in both directions",
                &[&[NO, 40.0, 40.0], &[40.0, NO, 90.0], &[40.0, 90.0, NO]],
                vec![Culprit::Client(0), Culprit::Server(0)],
            ),
            (
                "one link of three nodes in both directions",
                &[&[NO, 10.0, 80.0], &[10.0, NO, 99.0], &[90.0, 90.0, NO]],
                vec![pair(0, 1), pair(1, 0)],
            ),
            ("one server of one client", &[&[NO, 90.0, 90.0, 10.0]], vec![pair(0, 3)]),
            (
                "a client of two servers",
                &[&[NO, NO, 10.0, 10.0], &[NO, NO, 90.0, 90.0]],
                vec![Culprit::Client(0)],
            ),
            ("a pair that carried nothing", &[&[NO, NO, 0.0, 90.0], &[NO, NO, 90.0, 90.0]], vec![pair(0, 2)]),
        ];
        for (name, rows, expected) in table {
            assert_eq!(culprits(&rates(rows)), expected, "{name}");
        }
    }

    #[test]
    fn a_slow_part_is_shown_beside_what_it_was_compared_with() {
        let rows: [&[f64]; 3] = [&[NO, 10.0, 100.0], &[80.0, NO, 100.0], &[90.0, 70.0, NO]];
        let found = slow(&rates(&rows), 0.5);
        assert_eq!(
            found,
            [Slow { culprit: Culprit::Pair(Pair { from: 0, to: 1 }), rate: 10.0, others: 70.0 }]
        );
        assert_eq!(slow(&rates(&rows), 0.1), []);
    }

    proptest! {
        /// Fails if rates that differ by less than the share are called slow, or if the unit changes the result.
        #[test]
        fn nothing_is_slow_that_has_more_than_half_of_the_greatest_rate(
            values in prop::collection::vec(50.1..100.0_f64, 1..40),
            columns in 1..7_usize,
        ) {
            let rates: Vec<(Pair, f64)> =
                values.iter().enumerate().map(|(at, rate)| (Pair { from: at / columns, to: 100 + at % columns }, *rate)).collect();
            prop_assert_eq!(slow(&rates, 0.5), []);
        }

        #[test]
        fn the_unit_of_rates_does_not_matter(values in prop::collection::vec(1.0..100.0_f64, 1..40), columns in 1..7_usize) {
            let scaled = |scale: f64| -> Vec<(Pair, f64)> {
                let pair = |at| Pair { from: at / columns, to: 100 + at % columns };
                values.iter().enumerate().map(|(at, rate)| (pair(at), rate * scale)).collect()
            };
            // Powers of two change no digit.
            prop_assert_eq!(culprits(&scaled(1.0)), culprits(&scaled(1024.0)));
        }

        /// Fails if a slow link among equal ones is not named, or another is.
        #[test]
        fn of_equal_pairs_the_one_that_is_slowed_down_is_named(nodes in 3..9_usize, from in 0..9_usize, to in 0..9_usize) {
            prop_assume!(from < nodes && to < nodes && from != to);
            let slowed = Pair { from, to };
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| Pair { from, to })).filter(|pair| pair.from != pair.to);
            let rates: Vec<(Pair, f64)> = pairs.map(|pair| (pair, if pair == slowed { 10.0 } else { 90.0 })).collect();
            prop_assert_eq!(culprits(&rates), [Culprit::Pair(slowed)]);
        }
    }
}
