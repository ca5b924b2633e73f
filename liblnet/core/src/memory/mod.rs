//! Memory descriptors: what memory of the application's a message may read or fill, and how often.

mod range;

pub use range::{MdMemory, MemRange, MemSlice};
