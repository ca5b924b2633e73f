//! The files of pictures: golden ones, well-formed XML, and what Graphviz says.

use crate::clusters::{library, many_nets, of_library, tests};
use lnet_cluster::report::picture::{Form, draw};
use std::io::Write;
use std::process::{Command, Stdio};
use std::{env, fs};

/// The clusters whose pictures are checked in: healthy with routers, broken, and with a single router; with switches.
const GOLDEN: [&str; 4] = [
    "healthy/routed-two-rails",
    "broken/gateway-not-on-target",
    "broken/single-router",
    "broken/single-switch",
];

/// `UPDATE_PICTURES=1` writes the files anew.
#[test]
fn pictures_are_those_that_are_checked_in() {
    for name in GOLDEN {
        let (cluster, findings) = of_library(name);
        for (form, suffix) in [(Form::Svg, "svg"), (Form::Dot, "dot")] {
            let (_, short) = name.split_once('/').unwrap();
            let file = tests().join(format!("picture/golden/{short}.{suffix}"));
            let drawn = draw(form, &cluster, &findings);
            if env::var_os("UPDATE_PICTURES").is_some() {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, &drawn).unwrap();
            }
            let expected = fs::read_to_string(&file).unwrap();
            assert!(
                drawn == expected,
                "{} differs; UPDATE_PICTURES=1 writes it anew:\n{drawn}",
                file.display()
            );
        }
    }
}

#[test]
fn pictures_are_the_same_each_time() {
    for name in library() {
        let pictures: Vec<[String; 2]> = (0..2)
            .map(|_| {
                let (cluster, findings) = of_library(&name);
                [Form::Svg, Form::Dot].map(|form| draw(form, &cluster, &findings))
            })
            .collect();
        assert_eq!(pictures[0], pictures[1], "{name}");
    }
}

/// The elements of XML that are open at the end, or what is wrong with it. For the XML of pictures: no comments, no CDATA.
fn open_elements(xml: &str) -> Result<Vec<&str>, String> {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if text.contains('>')
            || text
                .split('&')
                .skip(1)
                .any(|it| !["amp;", "lt;", "gt;"].iter().any(|known| it.starts_with(known)))
        {
            return Err(format!("text '{text}'"));
        }
        let end = rest[at..].find('>').ok_or("a tag without end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}>"));
            }
            continue;
        }
        if !tag.matches('"').count().is_multiple_of(2) || tag.contains('<') {
            return Err(format!("<{tag}>"));
        }
        if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or(tag));
        }
    }
    Ok(open)
}

#[test]
fn svg_is_well_formed_and_needs_nothing_else() {
    for name in library() {
        let (cluster, findings) = of_library(&name);
        let svg = draw(Form::Svg, &cluster, &findings);
        assert_eq!(open_elements(&svg), Ok(vec![]), "{name}:\n{svg}");
        for outside in ["href", "url(", "@import", "<script", "<image"] {
            assert!(!svg.contains(outside), "{name}: {outside}");
        }
    }
}

#[test]
fn names_with_signs_of_xml_and_of_graphviz_are_only_names() {
    let (mut cluster, findings) = of_library("broken/single-switch");
    cluster.classes[0].name = "<a & \"b\">\\n\u{1}".to_owned();
    let svg = draw(Form::Svg, &cluster, &findings);
    assert_eq!(open_elements(&svg), Ok(vec![]), "{svg}");
    assert!(svg.contains("&lt;a &amp; \"b\"&gt;\\n?"), "{svg}");
    let dot = draw(Form::Dot, &cluster, &findings);
    assert!(dot.contains("<a & \\\"b\\\">\\\\n"), "{dot}");
    graphviz_takes(&[("signs".to_owned(), dot)]);
}

#[test]
fn graphviz_takes_the_pictures() {
    let mut all: Vec<(String, String)> = library()
        .into_iter()
        .map(|name| {
            let (cluster, findings) = of_library(&name);
            let dot = draw(Form::Dot, &cluster, &findings);
            (name, dot)
        })
        .collect();
    let (cluster, findings) = many_nets(40);
    all.push(("many-nets".to_owned(), draw(Form::Dot, &cluster, &findings)));
    graphviz_takes(&all);
}

fn graphviz_takes(pictures: &[(String, String)]) {
    let Ok(_version) = Command::new("dot").arg("-V").output() else {
        return test_support::skip("no dot; Debian's package graphviz has it");
    };
    for (name, text) in pictures {
        let mut process = Command::new("dot");
        process.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = process.spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        let output = process.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{name}: {errors}\n{text}");
    }
}
