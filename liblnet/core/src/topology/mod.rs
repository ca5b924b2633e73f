//! Who is where: this node's nets and NIs, other nodes' peer NIs.

mod ni;

pub use ni::Ni;
