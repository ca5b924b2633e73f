mod support;
use support::{pcap, streams};
#[test]
fn smoke() {
    for e in std::fs::read_dir(pcap::capture_path("")).unwrap() {
        let n = e.unwrap().file_name().into_string().unwrap();
        if !n.contains(".pcap") {
            continue;
        }
        let n = n.trim_end_matches(".gz");
        let s = pcap::segments(n);
        let c = streams::connections(&s);
        let missing: usize = c
            .iter()
            .flat_map(|c| [&c.from_opener, &c.from_acceptor])
            .map(|s| s.end() - s.pieces().map(|p| p.range.len()).sum::<usize>())
            .sum();
        println!(
            "{n} {} segs {} conns; {} {} bytes, {missing} missing",
            s.len(),
            c.len(),
            c.iter().map(|c| c.from_opener.end()).sum::<usize>(),
            c.iter().map(|c| c.from_acceptor.end()).sum::<usize>()
        );
    }
}
