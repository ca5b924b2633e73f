//! The bill of materials in the format CycloneDX 1.5, without a date or a random number.

use crate::Result;
use crate::crates::{Crate, Inventory, Key};
use serde_json::{Map, Value, json};

/// Makes the document.
pub(crate) fn json(inventory: &Inventory) -> Result<String> {
    let product = format!("liblnet@{}", inventory.version);
    let rust = format!("rust-std@{}", inventory.rust);
    let mut components: Vec<Value> = inventory.crates.iter().map(component).collect();
    components.push(json!({
        "type": "library",
        "bom-ref": rust,
        "name": "rust-std",
        "version": inventory.rust,
        "description": "the standard library of Rust",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }));
    let ours: Vec<String> =
        inventory.crates.iter().filter(|it| it.is_of_workspace).map(|it| reference(&it.key)).collect();
    let mut dependencies = vec![json!({"ref": product, "dependsOn": ours})];
    dependencies.extend(inventory.crates.iter().map(|it| {
        let called: Vec<String> = it.dependencies.iter().map(reference).chain([rust.clone()]).collect();
        json!({"ref": reference(&it.key), "dependsOn": called})
    }));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "library",
            "bom-ref": product,
            "name": "liblnet",
            "version": inventory.version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(linked: &Crate) -> Value {
    let (name, version) = &linked.key;
    let mut fields = Map::new();
    fields.insert("type".to_owned(), json!("library"));
    fields.insert("bom-ref".to_owned(), json!(reference(&linked.key)));
    fields.insert("name".to_owned(), json!(name));
    fields.insert("version".to_owned(), json!(version));
    fields.insert("licenses".to_owned(), json!([{"expression": linked.license}]));
    if let Some(checksum) = &linked.checksum {
        fields.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": checksum}]));
    }
    // A name of a package is one in a registry, which crates of the workspace are not in.
    if !linked.is_of_workspace {
        fields.insert("purl".to_owned(), json!(format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))));
    }
    if let Some(repository) = &linked.repository {
        fields.insert("externalReferences".to_owned(), json!([{"type": "vcs", "url": repository}]));
    }
    Value::Object(fields)
}

/// What other parts of the document call a crate.
fn reference((name, version): &Key) -> String {
    format!("{name}@{version}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    fn linked(name: &str, checksum: Option<&str>, dependencies: &[&str]) -> Crate {
        Crate {
            key: (name.to_owned(), "1.0.0+x".to_owned()),
            license: "MIT".to_owned(),
            repository: checksum.map(|_| "https://example.org/x".to_owned()),
            directory: PathBuf::new(),
            checksum: checksum.map(str::to_owned),
            is_of_workspace: checksum.is_none(),
            dependencies: dependencies.iter().map(|it| ((*it).to_owned(), "1.0.0+x".to_owned())).collect(),
        }
    }

    fn document() -> Value {
        let crates = vec![linked("ours", None, &["used"]), linked("used", Some("12ab"), &[])];
        let inventory =
            Inventory { version: "0.1.0".to_owned(), rust: "1.95.0".to_owned(), rust_notices: None, crates };
        serde_json::from_str(&json(&inventory).unwrap()).unwrap()
    }

    #[test]
    fn crates_of_a_registry_have_their_name_there_and_their_sum() {
        let document = document();
        let [ours, used, rust] = document["components"].as_array().unwrap().as_slice() else { panic!() };
        assert_eq!(used["purl"], "pkg:cargo/used@1.0.0%2Bx");
        assert_eq!(used["hashes"], json!([{"alg": "SHA-256", "content": "12ab"}]));
        assert_eq!(used["licenses"], json!([{"expression": "MIT"}]));
        assert!(ours.get("purl").is_none() && ours.get("hashes").is_none(), "{ours}");
        assert_eq!(rust["version"], "1.95.0");
    }

    /// Fails if a dependency refers to what the document does not have.
    #[test]
    fn every_reference_resolves() {
        let document = document();
        let components = document["components"].as_array().unwrap().iter();
        let known: BTreeSet<&str> = components
            .chain([&document["metadata"]["component"]])
            .map(|it| it["bom-ref"].as_str().unwrap())
            .collect();
        for dependency in document["dependencies"].as_array().unwrap() {
            let called = dependency["dependsOn"].as_array().unwrap().iter();
            for reference in called.chain([&dependency["ref"]]) {
                assert!(known.contains(reference.as_str().unwrap()), "{reference}");
            }
        }
    }
}
