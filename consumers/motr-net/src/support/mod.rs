//! The basic types of Motr that C programs use (motr-net 8): structures that the program allocates, and functions over them.
//!
//! The headers in `consumers/motr-net/include/lib` document each function, and the guarantees of its caller. All structures are valid as
//! zeros. Nothing here depends on networks.
//!
//! | file | holds | header |
//! |---|---|---|
//! | `list` | doubly linked lists | `lib/list.h` |
//! | `tlist` | lists of objects of one type, and the macro that makes a family of functions | `lib/tlist.h` |
//! | `mutex` | a mutex that records its owner | `lib/mutex.h` |
//! | `semaphore` | a count to wait for | `lib/semaphore.h` |
//! | `chan` | channels and clinks: where threads wait | `lib/chan.h` |
//! | `cond` | condition variables | `lib/cond.h` |
//! | `thread` | threads, and the processors they run on | `lib/thread.h`, `lib/processor.h` |
//! | `time` | the clock | `lib/time.h` |
//! | `bitmap` | bitmaps | `lib/bitmap.h` |
//! | `vec` | memory in pieces: sizes, allocation | `lib/vec.h` |
//! | `cursor` | cursors in such memory, copying | `lib/vec.h` |
//! | `memory` | allocation | `lib/memory.h` |
//! | `atomic`, `refs` | numbers that several threads change, counts of references | `lib/atomic.h`, `lib/refs.h` |
//! | `getopts` | options of a command line | `lib/getopts.h` |
//! | `finject` | fault points of programs | `lib/finject.h` |
//!
//! **Contract of the C functions.** The contract is that of the types of their arguments: [`crate::object::Object`] for a shared
//! structure, and those of `lnet_api::c_pointer` for memory that is initialised and for strings.
#![allow(non_camel_case_types)]
#![allow(missing_docs, reason = "the headers document the functions of C")]

mod atomic;
mod bitmap;
mod chan;
mod cond;
mod cursor;
mod finject;
mod getopts;
mod list;
mod memory;
mod mutex;
mod refs;
mod semaphore;
mod thread;
mod time;
pub(crate) mod tlist;
mod vec;

pub use atomic::*;
pub use bitmap::*;
pub use chan::*;
pub use cond::*;
pub use cursor::*;
pub use finject::*;
pub use getopts::*;
pub use list::*;
pub use memory::*;
pub use mutex::*;
pub use refs::*;
pub use semaphore::*;
pub use thread::*;
pub use time::*;
pub use tlist::*;
pub use vec::*;
