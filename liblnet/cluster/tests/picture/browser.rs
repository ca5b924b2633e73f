//! A browser shows pictures.

use crate::clusters::{example, library, many_nets, of_library};
use lnet_cluster::drill::chart::drill_chart_svg;
use lnet_cluster::drill::{DrillCluster, DrillNode, DrillPlan, Loss, run};
use lnet_cluster::report::picture::{Form, draw};
use lnet_sim::{NodeSpec, nid};
use std::time::Duration;
use std::{env, fs};
use test_support::browser::Browser;

/// Texts that are not visible, that leave the picture, or that leave their box; and pairs of texts that overlap.
const PROBLEMS: &str = "(() => { \
     const problems = []; \
     const view = document.documentElement.viewBox.baseVal; \
     const texts = [...document.querySelectorAll('text')].map((it) => [it, it.getBBox()]); \
     const rects = [...document.querySelectorAll('g rect:not([class^=net])')].map((it) => [it, it.getBBox()]); \
     const name = (it) => `'${it.textContent}'`; \
     for (const [it, box] of texts) { \
         if (box.width < 3 || getComputedStyle(it).visibility !== 'visible') problems.push(`${name(it)} is not visible`); \
         if (box.x < 0 || box.y < 0 || box.x + box.width > view.width || box.y + box.height > view.height) \
             problems.push(`${name(it)} leaves the picture`); \
         const rect = it.parentNode.querySelector('rect:not([class^=net])'); \
         if (it.parentNode.tagName === 'g' && rect) { \
             const around = rect.getBBox(); \
             if (box.x < around.x || box.x + box.width > around.x + around.width || box.y + box.height > around.y + around.height + 1) \
                 problems.push(`${name(it)} leaves its box`); \
         } \
         for (const [other, its] of texts) \
             if (other !== it && box.x < its.x + its.width && its.x < box.x + box.width && \
                 box.y + 3 < its.y + its.height && its.y + 3 < box.y + box.height) problems.push(`${name(it)} overlaps ${name(other)}`); \
         for (const [other, its] of rects) \
             if (other.parentNode !== it.parentNode && box.x < its.x + its.width && its.x < box.x + box.width && \
                 box.y + 3 < its.y + its.height && its.y + 3 < box.y + box.height) problems.push(`${name(it)} overlaps a box`); \
     } \
     return problems.join('; '); })()";

/// Colours of texts and of what is behind them with a contrast below what WCAG asks for (AA).
const LOW_CONTRAST: &str = "(() => { \
     const light = (colour) => { const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((it) => { \
         const part = it / 255; return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }); \
         return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]; }; \
     const fill = (it) => getComputedStyle(it).fill; \
     const paper = document.querySelector('.paper'); \
     const low = new Set(); \
     for (const it of document.querySelectorAll('text')) { \
         const behind = it.parentNode.querySelector(':scope > rect:not([class^=net])') || paper; \
         const [a, b] = [light(fill(it)), light(fill(behind))].sort((a, b) => b - a); \
         if ((a + 0.05) / (b + 0.05) < 4.5) low.add(`${it.className.baseVal} on ${behind.className.baseVal}`); \
     } \
     return [...low].join('; '); })()";

/// The number of losses of a chart, and what is wrong with its line: where it is not seen, or leaves the axes.
const CHART: &str = "(() => { \
     const problems = []; \
     const grid = [...document.querySelectorAll('.grid')].map((it) => it.getBBox()); \
     const left = grid[0].x, right = left + grid[0].width; \
     const heights = grid.map((it) => it.y), top = Math.min(...heights), bottom = Math.max(...heights); \
     const line = document.querySelector('.throughput'), box = line.getBBox(); \
     if (box.x < left || box.x + box.width > right || box.y < top || box.y + box.height > bottom) problems.push('the line leaves the axes'); \
     if (box.width < (right - left) * 0.9) problems.push('the line does not go from one end to the other'); \
     if (box.height < (bottom - top) * 0.05) problems.push('the line is flat'); \
     if (getComputedStyle(line).stroke === 'none') problems.push('the line is not seen'); \
     return [`${document.querySelectorAll('.loss').length} losses`, ...problems].join('; '); })()";

/// With `PICTURES_DIRECTORY` the pictures are kept there, also as PNG in base64.
#[test]
fn a_browser_shows_all_texts_of_pictures_apart_from_each_other_in_light_and_dark() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut clusters: Vec<_> = library().into_iter().map(|name| (name.clone(), of_library(&name))).collect();
    clusters.push(("many-nets".to_owned(), many_nets(40)));
    clusters.push(("example".to_owned(), example()));
    let (mut wide, findings) = of_library("broken/single-switch");
    let names = ["WWWWWW@WWWWWW%mmmmmmWWWWWW", "0000000000dddddddddd000000"];
    wide.classes.iter_mut().zip(names).for_each(|(class, name)| class.name = name.to_owned());
    clusters.push(("wide-names".to_owned(), (wide, findings)));
    let keep = env::var_os("PICTURES_DIRECTORY").map(std::path::PathBuf::from);
    for (name, (cluster, findings)) in &clusters {
        let name = name.replace('/', "-");
        let svg = draw(Form::Svg, cluster, findings);
        let file = keep.as_deref().unwrap_or_else(|| directory.path()).join(format!("{name}.svg"));
        fs::write(&file, &svg).unwrap();
        let [width, height] = ["width", "height"].map(|name| attribute(&svg, name));
        for dark in [false, true] {
            browser.set_screen(width, height, dark);
            browser.open(&format!("file://{}", file.display()));
            browser
                .wait_for("document.readyState === 'complete' && document.documentElement.tagName === 'svg'");
            assert_eq!(browser.text(PROBLEMS), "", "{name}, dark: {dark}");
            assert_eq!(browser.text(LOW_CONTRAST), "", "{name}, dark: {dark}");
            if let Some(keep) = &keep {
                let picture = browser.picture(width, height);
                fs::write(keep.join(format!("{name}-{dark}.base64")), picture).unwrap();
            }
        }
    }
    assert_eq!(browser.problems, Vec::<String>::new());
    let foreign: Vec<_> = browser.requests.iter().filter(|it| !it.starts_with("file://")).collect();
    assert!(foreign.iter().all(|it| *it == "about:blank"), "{foreign:?}");
}

/// A drill with two losses, the second of which makes operations fail; one with one loss; and one without any.
#[test]
fn a_browser_shows_all_texts_of_charts_and_the_whole_line() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let node = |name: &str, class: &str, address, nets: &[u16]| {
        let nids: Vec<_> = nets.iter().map(|net| nid(*net, address)).collect();
        DrillNode::new(name, class, NodeSpec::new(&nids))
    };
    let mut nodes = vec![
        node("client", "clients", 1, &[0, 1]),
        node("one-rail", "servers", 2, &[0]),
        node("server", "servers", 3, &[0, 1]),
    ];
    nodes.iter_mut().for_each(|node| node.spec.settings.transaction_timeout = 5);
    let cluster = DrillCluster::of_all(nodes);
    let keep = env::var_os("PICTURES_DIRECTORY").map(std::path::PathBuf::from);
    for (number, losses) in
        [&["10.0.0.3@tcp1@3s", "10.0.0.1@tcp@5s"][..], &["10.0.0.3@tcp1@11s"], &[]].iter().enumerate()
    {
        let plan = DrillPlan {
            losses: losses.iter().map(|loss| Loss::parse(&cluster, loss).unwrap()).collect(),
            load: "put:1k,x2".parse().unwrap(),
            duration: Duration::from_secs(12),
            rate: std::num::NonZeroU64::new(20_000),
            ..DrillPlan::default()
        };
        let report = run(&cluster, &plan, &mut |_| ()).unwrap();
        let failed: u64 = report.series.iter().map(|slice| slice.failed).sum();
        assert_eq!(failed > 0, losses.len() == 2);
        let file = keep.as_deref().unwrap_or_else(|| directory.path()).join(format!("chart-{number}.svg"));
        fs::write(&file, drill_chart_svg(&report)).unwrap();
        browser.set_screen(900, 360, false);
        browser.open(&format!("file://{}", file.display()));
        browser.wait_for("document.readyState === 'complete' && document.documentElement.tagName === 'svg'");
        assert_eq!(browser.text(PROBLEMS), "", "{losses:?}");
        assert_eq!(browser.text(CHART), format!("{} losses", losses.len()), "{losses:?}");
        if let Some(keep) = &keep {
            fs::write(keep.join(format!("chart-{number}.base64")), browser.picture(900, 360)).unwrap();
        }
    }
    assert_eq!(browser.problems, Vec::<String>::new());
}

/// A number in the first element that has this attribute.
fn attribute(svg: &str, name: &str) -> u32 {
    let (_, rest) = svg.split_once(&format!(" {name}=\"")).unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}
