//! Section 7: a page for each concept, from sections of documents and comments of headers.

use crate::header::{Header, Item};
use crate::markdown::{self, Block};
use crate::prose::Names;
use crate::roff::{Page, bold, code, escape};
use crate::{Pages, Result};
use std::fs;
use std::path::Path;

/// A page.
struct Concept {
    name: &'static str,
    about: &'static str,
    parts: &'static [Part],
    example: Example,
    /// Files, and what they have.
    files: &'static [(&'static str, &'static str)],
    see_also: &'static [(&'static str, &'static str)],
}

/// A part of a page.
enum Part {
    /// Sections of a document; the empty title stands for what is before the first.
    Document(&'static str, &'static [&'static str]),
    /// A type of a header: its comment, and its members with theirs.
    Type(&'static str, &'static str),
    /// The macros of a header that begin so, with their comments: header, heading, beginning.
    Macros(&'static str, &'static str, &'static str),
    /// All pages of section 7, with what they are about.
    Pages,
}

/// What stands under EXAMPLES.
enum Example {
    /// The first code in a section of a document.
    Of(&'static str, &'static str),
    /// A file of the repository, as it is.
    File(&'static str),
}

use Part::{Document, Macros, Pages as AllPages, Type};

const HEADER: (&str, &str) = ("<lnet/types.h>", "The types.");
const CONFIGURATION: (&str, &str) =
    ("/etc/lnet/lnet.conf", "The configuration that lnetd reads at its start.");
const SOCKET: (&str, &str) = ("/run/lnet/NAME.sock", "The control socket of the node NAME of root.");

const CONCEPTS: &[Concept] = &[
    Concept {
        name: "lnet",
        about: "LNet in user space: nodes, nets, messages",
        parts: &[
            Document("docs/overview.md", &["Nodes, nets and NIDs", "Messages", "Several rails"]),
            AllPages,
        ],
        example: Example::Of("docs/overview.md", "First commands"),
        files: &[CONFIGURATION, SOCKET],
        see_also: &[
            ("lnetctl", "8"),
            ("lnetd", "8"),
            ("lst", "8"),
            ("LNetNIInit", "3"),
            ("lnet-attach", "7"),
        ],
    },
    Concept {
        name: "lnet-portals",
        about: "portals, match entries, and how messages find memory",
        parts: &[
            Document("docs/programming.md", &["Portals and matching", "Sending"]),
            Type("lnet/types.h", "lnet_ins_pos"),
            Type("lnet/types.h", "lnet_unlink"),
        ],
        example: Example::Of("README.md", "A program"),
        files: &[HEADER, ("<lnet/api.h>", "The functions.")],
        see_also: &[
            ("LNetMEAttach", "3"),
            ("LNetMEInsert", "3"),
            ("LNetSetLazyPortal", "3"),
            ("LNetClaimBits", "3"),
            ("LNetPut", "3"),
            ("LNetGet", "3"),
            ("lnet-memory", "7"),
            ("lnet-events", "7"),
        ],
    },
    Concept {
        name: "lnet-events",
        about: "events of LNet operations, queues and handlers",
        parts: &[
            Document("docs/programming.md", &["Events"]),
            Type("lnet/types.h", "lnet_event_kind"),
            Type("lnet/types.h", "lnet_event"),
            Type("lnet/types.h", "lnet_eq_handler_t"),
        ],
        example: Example::Of("README.md", "A program"),
        files: &[HEADER, ("<lnet/api.h>", "The functions.")],
        see_also: &[
            ("LNetEQAlloc", "3"),
            ("LNetEQGet", "3"),
            ("LNetEQWait", "3"),
            ("LNetEQPoll", "3"),
            ("LNetEQFree", "3"),
            ("lnet-memory", "7"),
        ],
    },
    Concept {
        name: "lnet-memory",
        about: "memory descriptors: memory, and what may happen to it",
        parts: &[
            Document("docs/programming.md", &["Memory descriptors"]),
            Type("lnet/types.h", "lnet_md"),
            Macros("lnet/types.h", "options", "LNET_MD_"),
            Type("lnet/types.h", "lnet_kiov"),
        ],
        example: Example::Of("README.md", "A program"),
        files: &[HEADER, ("<lnet/api.h>", "The functions.")],
        see_also: &[
            ("LNetMDAttach", "3"),
            ("LNetMDBind", "3"),
            ("LNetMDUnlink", "3"),
            ("LNetMemAlloc", "3"),
            ("lnet-events", "7"),
            ("lnet-portals", "7"),
        ],
    },
    Concept {
        name: "lnet-multi-rail",
        about: "several interfaces to a peer, their health, and discovery",
        parts: &[
            Document(
                "docs/health.md",
                &["", "How a failure is detected", "What happens to messages", "Recovery"],
            ),
            Document("docs/configuration.md", &["Discovery"]),
            Document("docs/health.md", &["What can be set"]),
        ],
        example: Example::Of("docs/configuration.md", "Which way a message goes"),
        files: &[CONFIGURATION, SOCKET],
        see_also: &[
            ("lnetctl-peer", "8"),
            ("lnetctl-discover", "8"),
            ("lnetctl-net", "8"),
            ("LNetPrimaryNID", "3"),
            ("lnet-selection", "7"),
            ("lnet-environment", "7"),
        ],
    },
    Concept {
        name: "lnet-selection",
        about: "how LNet chooses the path of a message, and rules for it",
        parts: &[Document(
            "docs/selection-policy.md",
            &[
                "",
                "Which rule for which wish",
                "What a rule says",
                "In which order things are compared",
                "Changing rules",
                "What differs from the kernel",
            ],
        )],
        example: Example::Of("docs/selection-policy.md", "Seeing what a rule does"),
        files: &[CONFIGURATION, ("examples/selection-policy/", "Files with rules, in the sources.")],
        see_also: &[
            ("lnetctl-udsp", "8"),
            ("lnetctl-peer", "8"),
            ("lustre_lnet_add_udsp", "3"),
            ("lnet-multi-rail", "7"),
        ],
    },
    Concept {
        name: "lnet-yaml",
        about: "the YAML files of lnetctl and lnetd",
        parts: &[Document("docs/configuration.md", &["Files", "Settings", "Discovery", "Selection rules"])],
        example: Example::File("packaging/lnet.conf"),
        files: &[
            CONFIGURATION,
            ("PREFIX/share/doc/liblnet/lnet.conf", "The example below, as it is installed."),
        ],
        see_also: &[
            ("lnetctl-import", "8"),
            ("lnetctl-export", "8"),
            ("lnetd", "8"),
            ("lustre_yaml_config", "3"),
            ("lnet-environment", "7"),
        ],
    },
    Concept {
        name: "lnet-environment",
        about: "environment variables of LNet nodes and programs",
        parts: &[Document(
            "docs/environment.md",
            &["", "Where the node is", "How it behaves", "Sharing a node", "LNet selftest", "The C library"],
        )],
        example: Example::Of("docs/overview.md", "First commands"),
        files: &[CONFIGURATION, SOCKET],
        see_also: &[
            ("lnetd", "8"),
            ("lnetctl-set", "8"),
            ("LNetNIInit", "3"),
            ("lnet-attach", "7"),
            ("lnet-yaml", "7"),
        ],
    },
    Concept {
        name: "m0net",
        about: "Motr's network layer: domains, transfer machines, buffers",
        parts: &[Document(
            "docs/motr-net.md",
            &["", "Building a program", "Addresses", "What messages and buffers do", "Delivery and threads"],
        )],
        example: Example::Of("docs/motr-net.md", "Building a program"),
        files: &[("<net/net.h>", "The functions and types."), ("<net/lnet/lnet.h>", "The LNet transport.")],
        see_also: &[
            ("m0_init", "3"),
            ("m0_net_domain_init", "3"),
            ("m0_net_tm_start", "3"),
            ("m0_net_buffer_add", "3"),
            ("m0_net_buffer_pool_init", "3"),
            ("lnet-environment", "7"),
        ],
    },
];

/// Documents that are pages of their own.
const DOCUMENTS: &[(&str, &str)] = &[
    ("environment.md", "lnet-environment"),
    ("selection-policy.md", "lnet-selection"),
    ("programming.md", "lnet-portals"),
    ("overview.md", "lnet"),
    ("health.md", "lnet-multi-rail"),
    ("sharing.md", "lnet-attach"),
    ("motr-net.md", "m0net"),
];

/// Makes the pages.
pub(crate) fn pages(root: &Path, headers: &[Header]) -> Result<Pages> {
    let page = |concept: &Concept| Ok((format!("{}.7", concept.name), concept.page(root, headers)?));
    CONCEPTS.iter().map(page).collect()
}

/// The types that pages describe, each with its page.
pub(crate) fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONCEPTS.iter().flat_map(|concept| {
        concept.parts.iter().filter_map(|part| match part {
            Type(_, name) => Some((*name, concept.name)),
            _ => None,
        })
    })
}

impl Concept {
    fn page(&self, root: &Path, headers: &[Header]) -> Result<String> {
        let mut page = Page::new(self.name, "7", &[self.name], self.about);
        page.heading("DESCRIPTION");
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                Document(path, titles) => {
                    let mut blocks = document(root, path, titles)?;
                    // The first heading would follow another one.
                    if at == 0 && matches!(blocks.first(), Some(Block::Heading(..))) {
                        blocks.remove(0);
                    }
                    markdown::write(&mut page, &blocks, &|text, target| self.link(text, target));
                }
                Type(header, name) => type_of(&mut page, item(headers, header, name)?),
                Macros(header, heading, beginning) => macros(&mut page, headers, header, heading, beginning),
                AllPages => all_pages(&mut page),
            }
        }
        page.heading("EXAMPLES");
        let lines: Vec<String> = match self.example {
            Example::File(path) => read(root, path)?.lines().map(str::to_owned).collect(),
            Example::Of(path, title) => document(root, path, &[title])?
                .into_iter()
                .find_map(|block| if let Block::Code(lines) = block { Some(lines) } else { None })
                .ok_or_else(|| format!("{path}: no code in {title}"))?,
        };
        page.literal(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        page.heading("FILES");
        for (file, about) in self.files {
            page.item(&crate::roff::italic(file), &escape(about));
        }
        let own = |(name, section): &(&str, &str)| ((*name).to_owned(), (*section).to_owned());
        let mut see_also: Vec<(String, String)> = self.see_also.iter().map(own).collect();
        if self.name != "lnet" {
            see_also.push(("lnet".to_owned(), "7".to_owned()));
        }
        page.see_also(&see_also);
        Ok(page.finish())
    }

    /// A link to a document that is a page is a reference to that; another document is shown by its place.
    fn link(&self, text: &str, target: &str) -> Option<String> {
        let path = target.split('#').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let page = DOCUMENTS.iter().find(|(document, _)| *document == name).map(|(_, page)| *page);
        let text_is_file = text.contains(".md");
        match page {
            Some(page) if page == self.name => None,
            Some(page) => {
                let reference = format!("{}(7)", bold(page));
                Some(if text_is_file { reference } else { format!("{} ({reference})", escape(text)) })
            }
            None if text_is_file => Some(markdown::file(&format!("docs/{}", path.trim_start_matches("../")))),
            None => None,
        }
    }
}

fn document(root: &Path, path: &str, titles: &[&str]) -> Result<Vec<Block>> {
    let blocks = markdown::parse(&read(root, path)?);
    Ok(markdown::sections(blocks, titles).map_err(|error| format!("{path}: {error}"))?)
}

fn read(root: &Path, path: &str) -> Result<String> {
    Ok(fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?)
}

fn item<'a>(headers: &'a [Header], header: &str, name: &str) -> Result<&'a Item> {
    let found = headers.iter().filter(|its| its.name == header).flat_map(|its| &its.items);
    let found = found.filter(|item| !item.doc.is_empty()).find(|item| item.name == name);
    Ok(found.ok_or_else(|| format!("{header}: nothing is called {name}, or it has no comment"))?)
}

fn type_of(page: &mut Page, item: &Item) {
    let names = Names::default();
    let kind = item.code[0].split(' ').next().unwrap_or_default();
    match kind {
        "struct" | "enum" => page.subheading(&format!("{kind} {}", item.name)),
        _ => page.subheading(&item.name),
    }
    for paragraph in &item.doc {
        page.paragraph();
        page.fill(&names.shown(&paragraph.join(" ")));
    }
    if kind == "typedef" {
        page.literal(&item.code.iter().map(String::as_str).collect::<Vec<_>>());
        return;
    }
    for member in item.members() {
        let declarations: Vec<&str> =
            member.code.iter().map(|line| line.trim_end_matches([';', ','])).collect();
        page.item(&bold(&declarations.join(", ")), &names.shown(&member.doc));
    }
}

fn macros(page: &mut Page, headers: &[Header], header: &str, heading: &str, beginning: &str) {
    page.subheading(heading);
    let items = headers.iter().filter(|its| its.name == header).flat_map(|its| &its.items);
    for item in items.filter(|item| item.name.starts_with(beginning) && item.code[0].starts_with("#define")) {
        page.item(&bold(&item.name), &Names::default().shown(&item.doc.concat().join(" ")));
    }
}

fn all_pages(page: &mut Page) {
    page.heading("PAGES");
    for concept in CONCEPTS.iter().filter(|concept| concept.name != "lnet") {
        page.item(
            &format!("{}(7)", bold(concept.name)),
            &format!("{}{}", code(&concept.about[..1].to_uppercase()), escape(&concept.about[1..])),
        );
    }
    let attach = "Programs that share the node of a daemon";
    page.item(&format!("{}(7)", bold("lnet-attach")), attach);
}
