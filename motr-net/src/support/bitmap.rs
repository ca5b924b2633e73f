//! Sets of numbers below a limit (motr-net 8.1).

use super::memory::{m0_alloc, m0_free};
use crate::contract::require;
use std::ffi::c_int;
use std::ptr;

const BITS: usize = u64::BITS as usize;

/// A set; one of zeros has no bits.
#[repr(C)]
#[derive(Debug)]
pub struct m0_bitmap {
    /// How many bits there are.
    pub b_nr: usize,
    /// Bit `i` is bit `i % 64` of word `i / 64`; those beyond `b_nr` are 0.
    pub b_words: *mut u64,
}

impl m0_bitmap {
    /// # Safety
    /// It is initialised, and nothing writes it meanwhile.
    pub(crate) unsafe fn words(&self) -> &[u64] {
        if self.b_nr == 0 {
            return &[];
        }
        // SAFETY: by contract; an initialised one has so many words.
        unsafe { std::slice::from_raw_parts(self.b_words, self.b_nr.div_ceil(BITS)) }
    }

    /// # Safety
    /// It is initialised, and nobody else uses it meanwhile.
    unsafe fn words_mut(&mut self) -> &mut [u64] {
        if self.b_nr == 0 {
            return &mut [];
        }
        // SAFETY: as in `words`.
        unsafe { std::slice::from_raw_parts_mut(self.b_words, self.b_nr.div_ceil(BITS)) }
    }
}

/// The first bit of `words` that is `value`, of those below `count`.
fn first(words: impl Iterator<Item = u64>, count: usize, value: bool) -> Option<usize> {
    let mut words = words.map(|word| if value { word } else { !word }).enumerate();
    let (index, word) = words.find(|(_, word)| *word != 0)?;
    Some(index * BITS + word.trailing_zeros() as usize).filter(|bit| *bit < count)
}

fn number_or_minus_1(bit: Option<usize>) -> c_int {
    bit.and_then(|bit| c_int::try_from(bit).ok()).unwrap_or(-1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_init(map: *mut m0_bitmap, nr: usize) -> c_int {
    let words = m0_alloc(nr.div_ceil(BITS) * size_of::<u64>());
    if words.is_null() {
        return -libc::ENOMEM;
    }
    // SAFETY: by contract the caller's to write.
    unsafe { map.write(m0_bitmap { b_nr: nr, b_words: words.cast() }) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_fini(map: *mut m0_bitmap) {
    // SAFETY: by contract; the words are from `m0_bitmap_init`.
    unsafe {
        m0_free((*map).b_words.cast());
        map.write(m0_bitmap { b_nr: 0, b_words: ptr::null_mut() });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_get(map: *const m0_bitmap, idx: usize) -> bool {
    // SAFETY: by contract.
    unsafe {
        require!("m0_bitmap_get", idx < (*map).b_nr, "bit {idx} of {}", (*map).b_nr);
        (*map).words()[idx / BITS] >> (idx % BITS) & 1 == 1
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_set(map: *mut m0_bitmap, idx: usize, val: bool) {
    // SAFETY: by contract.
    unsafe {
        require!("m0_bitmap_set", idx < (*map).b_nr, "bit {idx} of {}", (*map).b_nr);
        let word = &mut (*map).words_mut()[idx / BITS];
        *word = *word & !(1 << (idx % BITS)) | u64::from(val) << (idx % BITS);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_ffs(map: *const m0_bitmap) -> c_int {
    // SAFETY: by contract.
    unsafe { number_or_minus_1(first((*map).words().iter().copied(), (*map).b_nr, true)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_ffz(map: *const m0_bitmap) -> c_int {
    // SAFETY: by contract.
    unsafe { number_or_minus_1(first((*map).words().iter().copied(), (*map).b_nr, false)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_set_nr(map: *const m0_bitmap) -> usize {
    // SAFETY: by contract.
    unsafe { (*map).words() }.iter().map(|word| word.count_ones() as usize).sum()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_copy(dst: *mut m0_bitmap, src: *const m0_bitmap) {
    // SAFETY: by contract they are two.
    unsafe {
        require!("m0_bitmap_copy", (*dst).b_nr >= (*src).b_nr, "the destination is the smaller one");
        let (dst, src) = ((*dst).words_mut(), (*src).words());
        let (copied, beyond) = dst.split_at_mut(src.len());
        copied.copy_from_slice(src);
        beyond.fill(0);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_bitmap_reset(map: *mut m0_bitmap) {
    // SAFETY: by contract.
    unsafe { (*map).words_mut() }.fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::mem::MaybeUninit;

    fn new(nr: usize) -> m0_bitmap {
        let mut map = MaybeUninit::uninit();
        // SAFETY: written by the call.
        unsafe {
            assert_eq!(m0_bitmap_init(map.as_mut_ptr(), nr), 0);
            map.assume_init()
        }
    }

    proptest! {
        #[test]
        fn bitmaps_hold_what_vectors_of_bool_hold(
            nr in 0..200_usize,
            more in 0..100_usize,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..300),
        ) {
            let (mut map, mut copy) = (new(nr), new(nr + more));
            let mut model = vec![false; nr];
            // SAFETY: both are initialised, and used by this thread alone.
            unsafe {
                (0..nr + more).for_each(|bit| m0_bitmap_set(&raw mut copy, bit, true));
                for (index, value) in changes.into_iter().filter(|_| nr > 0) {
                    let bit = index.index(nr);
                    m0_bitmap_set(&raw mut map, bit, value);
                    model[bit] = value;
                }
                let place = |value| model.iter().position(|it| *it == value).map_or(-1, |bit| bit as c_int);
                prop_assert_eq!(m0_bitmap_ffs(&raw const map), place(true));
                prop_assert_eq!(m0_bitmap_ffz(&raw const map), place(false));
                prop_assert_eq!(m0_bitmap_set_nr(&raw const map), model.iter().filter(|it| **it).count());
                m0_bitmap_copy(&raw mut copy, &raw const map);
                for bit in 0..nr + more {
                    prop_assert_eq!(m0_bitmap_get(&raw const copy, bit), model.get(bit) == Some(&true), "{}", bit);
                }
                m0_bitmap_reset(&raw mut map);
                prop_assert_eq!(m0_bitmap_ffs(&raw const map), -1);
                m0_bitmap_fini(&raw mut map);
                m0_bitmap_fini(&raw mut copy);
                prop_assert_eq!((map.b_nr, map.b_words.is_null()), (0, true));
            }
        }
    }
}
