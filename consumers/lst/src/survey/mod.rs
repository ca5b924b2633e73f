//! Decisions of `lst survey`: which pairs are measured at the same time ([`plan`]), which of the results are slow ([`analysis`]),
//! and the text in which they are printed ([`matrix`]).

pub mod analysis;
pub mod matrix;
pub mod plan;

/// A client and a server, by their positions in the list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair {
    /// The position of the client, which sends the requests.
    pub from: usize,
    /// The position of the server.
    pub to: usize,
}
