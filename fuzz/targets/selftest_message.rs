//! Messages of LNet selftest: anything is read or refused, a reply means the same when written again, and a list of destinations
//! is read within its bytes. The first byte chooses the service.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_selftest::wire::{
    ByteOrder, IncomingInstance, IncomingReply, IncomingRequest, ReceivedBody, Service, list_length,
    read_destinations,
};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, message)) = bytes.split_first() else { return };
    let services = [Service::FRAMEWORK.as_slice(), &Service::TESTS].concat();
    let service = services[usize::from(*first) % services.len()];

    if let Ok(reply) = IncomingReply::parse(service, message) {
        let again = IncomingReply::parse(service, &reply.reply.write(reply.features))
            .expect("what we wrote is refused");
        assert_eq!(again, IncomingReply { order: ByteOrder::Little, ..reply });
    }
    let Ok(request) = IncomingRequest::parse(service, message) else { return };
    match request.body {
        ReceivedBody::AddTest(Ok(test)) => {
            let IncomingInstance::Client { destinations, concurrency, .. } = test.instance else { return };
            assert!(list_length(destinations).is_some());
            assert!((1..=1024).contains(&concurrency.number()));
            // The message itself serves as the list: shorter than most.
            if let Some(nodes) = read_destinations(message, request.order, destinations) {
                assert_eq!(nodes.len(), destinations as usize);
            }
        }
        ReceivedBody::Brw(brw) => {
            if let Ok(transfer) = brw.transfer {
                let length = transfer.length.bytes();
                assert!(length > 0 && length <= 1 << 20 && length.is_multiple_of(8));
            }
        }
        _ => {}
    }
});
