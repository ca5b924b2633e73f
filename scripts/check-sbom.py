"""Fails if a file is no bill of materials in the format CycloneDX 1.5: check-sbom.py FILE"""

import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

with open(sys.argv[1], encoding="utf-8") as file:
    mistake = JsonStrictValidator(SchemaVersion.V1_5).validate_str(file.read())
if mistake is not None:
    sys.exit(f"{sys.argv[1]}: {mistake}")
