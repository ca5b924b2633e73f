//! End point addresses, by the C functions.

use m0net as _;
