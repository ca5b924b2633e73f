//! Cursors against one flat array.

use super::*;
use proptest::prelude::*;
use std::mem::MaybeUninit;

/// Memory in pieces, whose bytes are 0, 1, 2, ...
struct Memory {
    pieces: Vec<Vec<u8>>,
    counts: Vec<u64>,
    addresses: Vec<*mut c_void>,
}

impl Memory {
    fn new(lengths: &[usize]) -> Self {
        let mut next = 0_u8;
        let mut byte = || {
            next = next.wrapping_add(1);
            next.wrapping_sub(1)
        };
        let mut pieces: Vec<Vec<u8>> =
            lengths.iter().map(|length| (0..*length).map(|_| byte()).collect()).collect();
        let addresses = pieces.iter_mut().map(|piece| piece.as_mut_ptr().cast()).collect();
        Self { pieces, counts: lengths.iter().map(|length| *length as u64).collect(), addresses }
    }

    fn vec(&mut self) -> m0_bufvec {
        m0_bufvec {
            ov_vec: m0_vec { v_nr: self.counts.len() as u32, v_count: self.counts.as_mut_ptr() },
            ov_buf: self.addresses.as_mut_ptr(),
        }
    }

    fn flat(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

fn cursor(vec: &m0_bufvec) -> m0_bufvec_cursor {
    let mut cursor = MaybeUninit::uninit();
    // SAFETY: the vector is valid.
    unsafe {
        m0_bufvec_cursor_init(cursor.as_mut_ptr(), vec);
        cursor.assume_init()
    }
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..9_usize, 0..6)
}

proptest! {
    #[test]
    fn a_cursor_is_where_an_index_into_the_bytes_is(lengths in lengths(), moves in proptest::collection::vec(0..12_u64, 0..12)) {
        let mut memory = Memory::new(&lengths);
        let vec = memory.vec();
        let (flat, mut cursor, mut index) = (memory.flat(), cursor(&vec), 0);
        for count in moves {
            index = flat.len().min(index + count as usize);
            // SAFETY: the cursor of a valid vector.
            unsafe {
                prop_assert_eq!(m0_bufvec_cursor_move(&raw mut cursor, count), index == flat.len());
                if index < flat.len() {
                    let address = m0_bufvec_cursor_addr(&raw mut cursor).cast::<u8>();
                    let step = m0_bufvec_cursor_step(&raw const cursor) as usize;
                    let found = std::slice::from_raw_parts(address, step);
                    prop_assert_eq!(found, &flat[index..index + step]);
                    prop_assert!(step > 0);
                }
            }
        }
    }

    #[test]
    fn copies_are_those_of_flat_arrays(
        from in lengths(), to in lengths(), skip in 0..20_u64, skip_to in 0..20_u64, count in 0..40_u64,
    ) {
        let (mut from, mut to) = (Memory::new(&from), Memory::new(&to));
        to.pieces.iter_mut().for_each(|piece| piece.fill(0xff));
        let (from_vec, to_vec) = (from.vec(), to.vec());
        let (mut source, mut destination) = (cursor(&from_vec), cursor(&to_vec));
        let bytes = from.flat();
        let bytes = &bytes[bytes.len().min(skip as usize)..];
        let mut expected = to.flat();
        let start = expected.len().min(skip_to as usize);
        let number = bytes.len().min(count as usize);
        let both = number.min(expected.len() - start);
        expected[start..start + both].copy_from_slice(&bytes[..both]);
        // SAFETY: cursors of valid vectors.
        unsafe {
            m0_bufvec_cursor_move(&raw mut source, skip);
            m0_bufvec_cursor_move(&raw mut destination, skip_to);
            let copy = (source, destination);
            prop_assert_eq!(m0_bufvec_cursor_copy(&raw mut destination, &raw mut source, count), both as u64);
            prop_assert_eq!(to.flat(), expected.clone());

            // The same by way of plain memory.
            let (mut source, mut destination) = copy;
            let mut plain = vec![0_u8; count as usize];
            let taken = m0_bufvec_cursor_copyfrom(&raw mut source, plain.as_mut_ptr().cast(), count);
            prop_assert_eq!(taken, number as u64);
            prop_assert_eq!(&plain[..number], &bytes[..number]);
            to.pieces.iter_mut().for_each(|piece| piece.fill(0xff));
            prop_assert_eq!(m0_bufvec_cursor_copyto(&raw mut destination, plain.as_mut_ptr().cast(), taken), both as u64);
            prop_assert_eq!(to.flat(), expected);
        }
    }
}
