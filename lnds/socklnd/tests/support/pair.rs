//! Pairs of nodes.

use super::*;

/// Starts two nodes that recognise each other as nodes of this implementation.
pub fn pair(change: impl Fn(&mut SocklndConfig)) -> (Node, Node) {
    let (low, high, port) = addresses();
    let node = |ip, number| {
        let mut config = same_implementation(config(port), number);
        change(&mut config);
        Node::start(tcp(ip), config)
    };
    (node(low, 1), node(high, 2))
}
