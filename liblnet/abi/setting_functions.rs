//! Makes the C functions of the settings, in Rust, from the table of settings: `dlc/global.rs` includes them, and the headers are made from
//! them as from the functions that are written by hand.

use lnet_settings::{CFunction, Setting};

/// The source of all these functions.
pub(crate) fn source() -> String {
    let mut source = String::new();
    for setting in Setting::ALL {
        let Some(functions) = setting.spec().c else { continue };
        source.extend(functions.set.map(|function| setter(*setting, function)));
        source += &shower(*setting, functions.show);
    }
    source
}

fn setter(setting: Setting, CFunction { name, doc }: CFunction) -> String {
    format!(
        "{}#[unsafe(no_mangle)]
pub extern \"C\" fn _{name}(
    value: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {{
    set(\"{name}\", Setting::{setting:?}, value, seq_no, err_rc)
}}

",
        documentation(doc)
    )
}

fn shower(setting: Setting, CFunction { name, doc }: CFunction) -> String {
    format!(
        "{}#[unsafe(no_mangle)]
pub extern \"C\" fn _{name}(
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {{
    shown(\"{name}\", Setting::{setting:?}, seq_no, show_rc, err_rc)
}}

",
        documentation(doc)
    )
}

fn documentation(doc: &str) -> String {
    doc.lines().map(|line| format!("/// {line}\n")).collect()
}
