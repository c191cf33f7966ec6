"""Whether the OpenAPI document on standard input is one: valid.py; ends with 1 and the errors if not."""

import sys

import yaml
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

errors = [f"{list(error.instance_path)}: {error.message}" for error in OPENAPI_31_VALIDATOR.iter_errors(yaml.safe_load(sys.stdin))]
print("\n".join(errors))
sys.exit(1 if errors else 0)
