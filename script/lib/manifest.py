#!/usr/bin/env python3
"""Checks deploy/kubernetes.yaml against the schemas of Kubernetes that script/lib/manifest-schema.json has.

    script/lib/manifest.py [MANIFEST]
    script/lib/manifest.py --update FOLDER

--update writes the schemas of the types that the manifest uses. FOLDER has those of one version that allow no unknown
member, such as kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict in the wheel of PyPI's kubernetes-validate.
Each object that the manifest has keeps the names of all its members; those that the manifest does not have are not checked
further, so that the file stays small: update it after the manifest has got a member of an object for the first time.
"""
import json
import pathlib
import sys

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).parents[2]
MANIFEST = ROOT / "deploy/kubernetes.yaml"
SCHEMAS = pathlib.Path(__file__).with_name("manifest-schema.json")
# What says nothing about a value here.
NOTES = ("description", "$schema", "default", "format")


def name(document):
    return f"{document.get('apiVersion')} {document.get('kind')}"


def pruned(schema, values, definitions):
    """The schema without notes, with the definitions that the values need in place."""
    if reference := schema.get("$ref"):
        schema = definitions[reference.rpartition("/")[2]]
    kept = {key: part for key, part in schema.items() if key not in NOTES and not key.startswith("x-")}
    objects = [value for value in values if isinstance(value, dict)]
    if "properties" in kept:
        kept["properties"] = {
            key: pruned(part, found, definitions) if (found := [each[key] for each in objects if key in each]) else True
            for key, part in kept["properties"].items()}
    if isinstance(kept.get("additionalProperties"), dict):
        below = [value for each in objects for value in each.values()]
        kept["additionalProperties"] = pruned(kept["additionalProperties"], below, definitions)
    if "items" in kept:
        below = [item for value in values if isinstance(value, list) for item in value]
        kept["items"] = pruned(kept["items"], below, definitions) if below else True
    return kept


def update(folder, documents):
    definitions = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    by_kind = {}
    for document in documents:
        by_kind.setdefault(name(document), []).append(document)
    schemas = {}
    for kind, found in by_kind.items():
        group = found[0]["apiVersion"].replace(".k8s.io", "").replace("/", "-")
        schema = json.loads((folder / f"{found[0]['kind'].lower()}-{group}.json").read_text(encoding="utf-8"))
        schemas[kind] = pruned(schema, found, definitions)
    text = json.dumps({"version": folder.name.split("-")[0], "schemas": schemas}, indent=1, sort_keys=True)
    SCHEMAS.write_text(text + "\n", encoding="utf-8")


def findings(documents):
    schemas = json.loads(SCHEMAS.read_text(encoding="utf-8"))["schemas"]
    for document in documents:
        if name(document) not in schemas:
            yield f"{name(document)}: there is no schema of this kind; make it with script/lib/manifest.py --update"
            continue
        for error in jsonschema.Draft7Validator(schemas[name(document)]).iter_errors(document):
            yield f"{name(document)}: {'/'.join(map(str, error.absolute_path))}: {error.message}"


def main():
    given = sys.argv[1:]
    manifest = pathlib.Path(given[0]) if len(given) == 1 else MANIFEST
    documents = [each for each in yaml.safe_load_all(manifest.read_text(encoding="utf-8")) if each]
    if given[:1] == ["--update"]:
        return update(pathlib.Path(given[1]), documents)
    for finding in findings(documents):
        print(finding)


if __name__ == "__main__":
    main()
