//! Motr's network buffer descriptor: any bytes are read or refused; a descriptor that was read is within the limits of the
//! reader, and is the same bytes when written again. The first byte chooses the direction, and whether the checksum is
//! corrected, as few inputs have the right one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use m0net::lnet::buffer_descriptor::{BufferDescriptor, LEN, Passive};
use m0net::lnet::match_bits::parse_buffer;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let Some((here, descriptor)) = rest.split_first_chunk() else { return };
    let here = u64::from_le_bytes(*here);
    let passive = if choice & 1 == 0 { Passive::Receives } else { Passive::Sends };
    let mut descriptor = descriptor.to_vec();
    if choice & 2 != 0 && descriptor.len() == LEN {
        let (words, sum) = descriptor.split_at_mut(LEN - 8);
        sum.fill(0);
        for word in words.chunks_exact(8) {
            sum.iter_mut().zip(word).for_each(|(sum, byte)| *sum ^= byte);
        }
    }
    let Ok(read) = BufferDescriptor::read(&descriptor, passive, here) else { return };
    assert_eq!(descriptor, read.to_bytes());
    assert_eq!(read.passive, passive);
    match passive {
        Passive::Receives => assert!(here <= read.size),
        Passive::Sends => assert!(here >= read.size),
    }
    assert_eq!(parse_buffer(read.match_bits).map(|(tmid, _)| tmid), Some(read.tmid));
});
