//! Bitmaps: sets of numbers below a limit (motr-net 8.1).

use super::memory::{m0_alloc, m0_free};
use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Out;
use std::cell::Cell;
use std::ffi::c_int;

const BITS: usize = u64::BITS as usize;

/// A bitmap; a zeroed one has no bits.
#[repr(C)]
#[derive(Debug, Default)]
pub struct m0_bitmap {
    /// The number of bits.
    pub b_nr: Cell<usize>,
    /// The words: bit `i` is bit `i % 64` of word `i / 64`; bits from `b_nr` on are 0.
    pub b_words: Cell<Object<u64>>,
}

impl Object<m0_bitmap> {
    /// The words that hold the bits.
    fn words(&self) -> &[Cell<u64>] {
        match self.b_words.get().get() {
            // SAFETY: an initialised bitmap has so many words (`Object`), until its fini; only the one that uses it writes them.
            Some(words) => unsafe {
                std::slice::from_raw_parts(words.as_ptr().cast(), self.b_nr.get().div_ceil(BITS))
            },
            None => &[],
        }
    }

    /// The words that hold the bits, as numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.words().iter().map(Cell::get)
    }

    /// The word of a bit, and the mask of the bit in it.
    fn word_of(&self, function: &str, bit: usize) -> (&Cell<u64>, u64) {
        let count = self.b_nr.get();
        require!(function, bit < count, "bit {bit} of {count}");
        (&self.words()[bit / BITS], 1 << (bit % BITS))
    }
}

/// The index of the first bit of `words` that equals `value`, among those below `count`.
fn first(words: impl Iterator<Item = u64>, count: usize, value: bool) -> Option<usize> {
    let mut words = words.map(|word| if value { word } else { !word }).enumerate();
    let (index, word) = words.find(|(_, word)| *word != 0)?;
    Some(index * BITS + word.trailing_zeros() as usize).filter(|bit| *bit < count)
}

fn number_or_minus_1(bit: Option<usize>) -> c_int {
    bit.and_then(|bit| c_int::try_from(bit).ok()).unwrap_or(-1)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_init(map: Out<'_, m0_bitmap>, nr: usize) -> c_int {
    let words = m0_alloc(nr.div_ceil(BITS) * size_of::<u64>());
    if words.is_null() {
        return -libc::ENOMEM;
    }
    // SAFETY: new memory of zeros, which stays until `m0_bitmap_fini`.
    let words = unsafe { Object::new(words.cast()) };
    Object::init(map, m0_bitmap { b_nr: Cell::new(nr), b_words: Cell::new(words) });
    0
}

/// # Safety
/// The words were allocated by [`m0_bitmap_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_fini(map: Object<m0_bitmap>) {
    map.b_nr.set(0);
    // SAFETY: the words of `m0_bitmap_init`, for which the caller vouches, or NULL; the bitmap, which was the only one, has none from now on.
    unsafe { m0_free(map.b_words.take().as_ptr().cast()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_get(map: Object<m0_bitmap>, idx: usize) -> bool {
    let (word, mask) = map.word_of("m0_bitmap_get", idx);
    word.get() & mask != 0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_set(map: Object<m0_bitmap>, idx: usize, val: bool) {
    let (word, mask) = map.word_of("m0_bitmap_set", idx);
    word.set(if val { word.get() | mask } else { word.get() & !mask });
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_ffs(map: Object<m0_bitmap>) -> c_int {
    number_or_minus_1(first(map.numbers(), map.b_nr.get(), true))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_ffz(map: Object<m0_bitmap>) -> c_int {
    number_or_minus_1(first(map.numbers(), map.b_nr.get(), false))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_set_nr(map: Object<m0_bitmap>) -> usize {
    map.numbers().map(|word| word.count_ones() as usize).sum()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_copy(dst: Object<m0_bitmap>, src: Object<m0_bitmap>) {
    let fits = dst.b_nr.get() >= src.b_nr.get();
    require!("m0_bitmap_copy", fits, "the destination is the smaller one");
    let values = src.numbers().chain(std::iter::repeat(0));
    dst.words().iter().zip(values).for_each(|(word, value)| word.set(value));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_bitmap_reset(map: Object<m0_bitmap>) {
    map.words().iter().for_each(|word| word.set(0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn init(map: &m0_bitmap, nr: usize) -> Object<m0_bitmap> {
        assert_eq!(m0_bitmap_init(Object::memory_of_test(map), nr), 0);
        Object::of_test(map)
    }

    proptest! {
        #[test]
        fn bitmaps_hold_what_vectors_of_bool_hold(
            nr in 0..200_usize,
            more in 0..100_usize,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..300),
        ) {
            let (map, copy) = (m0_bitmap::default(), m0_bitmap::default());
            let (map, copy) = (init(&map, nr), init(&copy, nr + more));
            let mut model = vec![false; nr];
            (0..nr + more).for_each(|bit| m0_bitmap_set(copy, bit, true));
            for (index, value) in changes.into_iter().filter(|_| nr > 0) {
                let bit = index.index(nr);
                m0_bitmap_set(map, bit, value);
                model[bit] = value;
            }
            let place = |value| model.iter().position(|it| *it == value).map_or(-1, |bit| bit as c_int);
            prop_assert_eq!(m0_bitmap_ffs(map), place(true));
            prop_assert_eq!(m0_bitmap_ffz(map), place(false));
            prop_assert_eq!(m0_bitmap_set_nr(map), model.iter().filter(|it| **it).count());
            m0_bitmap_copy(copy, map);
            for bit in 0..nr + more {
                prop_assert_eq!(m0_bitmap_get(copy, bit), model.get(bit) == Some(&true), "{}", bit);
            }
            m0_bitmap_reset(map);
            prop_assert_eq!(m0_bitmap_ffs(map), -1);
            // SAFETY: made by `m0_bitmap_init`.
            unsafe {
                m0_bitmap_fini(map);
                m0_bitmap_fini(copy);
            }
            prop_assert_eq!((map.b_nr.get(), map.b_words.get().is_null()), (0, true));
        }
    }
}
