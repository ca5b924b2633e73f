//! Tests of cursors against one flat array.

use super::*;
use proptest::prelude::*;

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
        let vec = m0_bufvec::default();
        vec.ov_vec.v_nr.set(self.counts.len() as u32);
        // SAFETY: the arrays stay as long as the memory, to the end of the test.
        unsafe {
            vec.ov_vec.v_count.set(Object::new(self.counts.as_mut_ptr()));
            vec.ov_buf.set(Object::new(self.addresses.as_mut_ptr()));
        }
        vec
    }

    fn flat(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// A cursor in `place` at the start of `vec`, which stays to the end of the test.
fn cursor(vec: &mut m0_bufvec, place: &mut m0_bufvec_cursor) -> Object<m0_bufvec_cursor> {
    // SAFETY: both are the test's.
    let (vec, memory) = unsafe { (Object::new(vec), Out::new(&raw mut *place)) };
    m0_bufvec_cursor_init(memory, vec);
    object(place)
}

fn object(place: &mut m0_bufvec_cursor) -> Object<m0_bufvec_cursor> {
    // SAFETY: a cursor of the test, which stays to its end.
    unsafe { Object::new(place) }
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..9_usize, 0..6)
}

proptest! {
    #[test]
    fn a_cursor_is_where_an_index_into_the_bytes_is(lengths in lengths(), moves in proptest::collection::vec(0..12_u64, 0..12)) {
        let mut memory = Memory::new(&lengths);
        let (mut vec, mut place) = (memory.vec(), m0_bufvec_cursor::default());
        let (flat, cursor, mut index) = (memory.flat(), cursor(&mut vec, &mut place), 0);
        for count in moves {
            index = flat.len().min(index + count as usize);
            prop_assert_eq!(m0_bufvec_cursor_move(cursor, count), index == flat.len());
            if index < flat.len() {
                let address = m0_bufvec_cursor_addr(cursor).cast::<u8>();
                let step = m0_bufvec_cursor_step(cursor) as usize;
                // SAFETY: so many bytes are left in the piece.
                let found = unsafe { std::slice::from_raw_parts(address, step) };
                prop_assert_eq!(found, &flat[index..index + step]);
                prop_assert!(step > 0);
            }
        }
    }

    #[test]
    fn copies_are_those_of_flat_arrays(
        from in lengths(), to in lengths(), skip in 0..20_u64, skip_to in 0..20_u64, count in 0..40_u64,
    ) {
        let (mut from, mut to) = (Memory::new(&from), Memory::new(&to));
        to.pieces.iter_mut().for_each(|piece| piece.fill(0xff));
        let (mut from_vec, mut to_vec) = (from.vec(), to.vec());
        let (mut from_place, mut to_place) = (m0_bufvec_cursor::default(), m0_bufvec_cursor::default());
        let (source, destination) =
            (cursor(&mut from_vec, &mut from_place), cursor(&mut to_vec, &mut to_place));
        let bytes = from.flat();
        let bytes = &bytes[bytes.len().min(skip as usize)..];
        let mut expected = to.flat();
        let start = expected.len().min(skip_to as usize);
        let number = bytes.len().min(count as usize);
        let both = number.min(expected.len() - start);
        expected[start..start + both].copy_from_slice(&bytes[..both]);
        m0_bufvec_cursor_move(source, skip);
        m0_bufvec_cursor_move(destination, skip_to);
        let (mut from_copy, mut to_copy) = (m0_bufvec_cursor::clone(&source), m0_bufvec_cursor::clone(&destination));
        prop_assert_eq!(m0_bufvec_cursor_copy(destination, source, count), both as u64);
        prop_assert_eq!(to.flat(), expected.clone());

        // The same through plain memory.
        let (source, destination) = (object(&mut from_copy), object(&mut to_copy));
        let mut plain = vec![0_u8; count as usize];
        // SAFETY: so many bytes.
        let taken = unsafe { m0_bufvec_cursor_copyfrom(source, plain.as_mut_ptr().cast(), count) };
        prop_assert_eq!(taken, number as u64);
        prop_assert_eq!(&plain[..number], &bytes[..number]);
        to.pieces.iter_mut().for_each(|piece| piece.fill(0xff));
        // SAFETY: the same.
        let copied = unsafe { m0_bufvec_cursor_copyto(destination, plain.as_mut_ptr().cast(), taken) };
        prop_assert_eq!(copied, both as u64);
        prop_assert_eq!(to.flat(), expected);
    }
}
