//! Fills bulk data with a pattern, and checks it (selftest 8.2). Pure.
//!
//! The pattern repeats in each page of 4096 bytes from the first byte of the data on, independent of the client's offset, as
//! in servers.

use crate::wire::{BRW_PATTERN, BRW_POISON, ByteOrder, Check, PAGE};

const PAGE_LEN: usize = PAGE as usize;
const WORD: usize = 8;
const LITTLE_PAGE: [u8; PAGE_LEN] = page_of(BRW_PATTERN.to_le_bytes());
const BIG_PAGE: [u8; PAGE_LEN] = page_of(BRW_PATTERN.to_be_bytes());

const fn page_of(word: [u8; WORD]) -> [u8; PAGE_LEN] {
    let mut page = [0; PAGE_LEN];
    let mut at = 0;
    while at < PAGE_LEN {
        page[at] = word[at % WORD];
        at += 1;
    }
    page
}

/// Fills data that is sent; the length is a multiple of 8.
pub(crate) fn fill(data: &mut [u8], check: Check) {
    write(data, check, BRW_PATTERN.to_le_bytes());
}

/// Overwrites the bytes that will be checked, so that old data is not taken for new.
pub(crate) fn poison(data: &mut [u8], check: Check) {
    write(data, check, BRW_POISON.to_ne_bytes());
}

/// Whether data that has arrived has the pattern of its sender, which has the byte order `order`.
pub(crate) fn is_intact(data: &[u8], check: Check, order: ByteOrder) -> bool {
    let page = match order {
        ByteOrder::Little => &LITTLE_PAGE,
        ByteOrder::Big => &BIG_PAGE,
    };
    match check {
        Check::None => true,
        Check::Simple => data.chunks(PAGE_LEN).all(|fragment| {
            fragment.first_chunk::<WORD>() == page.first_chunk()
                && fragment.last_chunk::<WORD>() == page.first_chunk()
        }),
        Check::Full => data.chunks(PAGE_LEN).all(|fragment| page.starts_with(fragment)),
    }
}

fn write(data: &mut [u8], check: Check, word: [u8; WORD]) {
    for fragment in data.chunks_mut(PAGE_LEN) {
        match check {
            Check::None => {}
            Check::Simple => {
                if let Some(first) = fragment.first_chunk_mut() {
                    *first = word;
                }
                if let Some(last) = fragment.last_chunk_mut() {
                    *last = word;
                }
            }
            Check::Full => fragment.chunks_exact_mut(WORD).for_each(|place| place.copy_from_slice(&word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHECKS: [Check; 3] = [Check::None, Check::Simple, Check::Full];

    #[test]
    fn simple_is_at_both_ends_of_every_page_and_full_is_everywhere() {
        let mut data = vec![0; 2 * PAGE_LEN + 16];
        fill(&mut data, Check::Simple);
        let filled: Vec<usize> = (0..data.len()).step_by(WORD).filter(|at| data[*at] == 0xb3).collect();
        assert_eq!(filled, [0, 4088, 4096, 8184, 8192, 8200]);
        fill(&mut data, Check::Full);
        assert!(data.chunks(WORD).all(|word| word == [0xb3, 0xee, 0xb2, 0xee, 0xb1, 0xee, 0xb0, 0xee]));
    }

    #[test]
    fn data_of_big_endian_senders_is_checked_in_their_order() {
        let mut data = vec![0; 4096];
        fill(&mut data, Check::Full);
        assert!(is_intact(&data, Check::Full, ByteOrder::Little));
        assert!(!is_intact(&data, Check::Full, ByteOrder::Big));
        data.chunks_mut(WORD).for_each(<[u8]>::reverse);
        assert!(is_intact(&data, Check::Full, ByteOrder::Big));
    }

    proptest! {
        #[test]
        fn what_is_filled_is_intact_and_what_is_poisoned_is_not(words in 1usize..2000, which in 0usize..3) {
            let check = CHECKS[which];
            let mut data = vec![0; words * WORD];
            fill(&mut data, check);
            prop_assert!(is_intact(&data, check, ByteOrder::Little));
            poison(&mut data, check);
            prop_assert_eq!(is_intact(&data, check, ByteOrder::Little), check == Check::None);
        }

        #[test]
        fn a_changed_byte_is_found_where_it_is_checked(words in 1usize..2000, at in any::<prop::sample::Index>()) {
            let mut data = vec![0; words * WORD];
            fill(&mut data, Check::Full);
            let at = at.index(data.len());
            data[at] ^= 1;
            prop_assert!(!is_intact(&data, Check::Full, ByteOrder::Little));
            let in_page = at % PAGE_LEN;
            let page_len = PAGE_LEN.min(data.len() - (at - in_page));
            let is_checked = in_page < WORD || in_page >= page_len - WORD;
            prop_assert_eq!(is_intact(&data, Check::Simple, ByteOrder::Little), !is_checked);
        }
    }
}
