"""Odd but right patch documents: state, patch, result. Of RFC 6901, RFC 6902 appendix A and RFC 7396 appendix A."""

JSON_PATCHES = [
    # Whole documents and empty names.
    ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": [1]}}], {"b": [1]}),
    ({"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
    ({"": {"": 1}}, [{"op": "add", "path": "//x", "value": 2}], {"": {"": 1, "x": 2}}),
    # Escapes are undone in the right order: ~01 is ~1, not a slash.
    ({"a/b": 1, "m~n": 2, "~1": 3}, [{"op": "replace", "path": "/a~1b", "value": 4}, {"op": "remove", "path": "/m~0n"},
                                     {"op": "replace", "path": "/~01", "value": 5}], {"a/b": 4, "~1": 5}),
    # No percent decoding; names that look like indices; names of JavaScript.
    ({"c%d": 1, "0": "x"}, [{"op": "remove", "path": "/c%d"}, {"op": "replace", "path": "/0", "value": "y"}], {"0": "y"}),
    ({"a": {}}, [{"op": "add", "path": "/a/__proto__", "value": {"x": 1}}, {"op": "add", "path": "/a/constructor", "value": 1},
                 {"op": "add", "path": "/a/-", "value": 2}], {"a": {"__proto__": {"x": 1}, "constructor": 1, "-": 2}}),
    # `add` on a member replaces it; in an array it moves the others; `-` and the length append.
    ({"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
    ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}, {"op": "add", "path": "/a/3", "value": 4},
                     {"op": "add", "path": "/a/-", "value": [5]}], {"a": [1, 2, 3, 4, [5]]}),
    ({"a": [[], {}]}, [{"op": "add", "path": "/a/0/0", "value": 1}, {"op": "add", "path": "/a/1/b", "value": 2}], {"a": [[1], {"b": 2}]}),
    # Removing null is no error; a value of null is a value.
    ({"a": None, "b": 1}, [{"op": "remove", "path": "/a"}, {"op": "replace", "path": "/b", "value": None}], {"b": None}),
    # Unknown members are ignored, and later operations see earlier ones.
    ({"a": 1}, [{"op": "add", "path": "/b", "value": {"c": 1}, "note": "x"}, {"op": "replace", "path": "/b/c", "value": 2}], {"a": 1, "b": {"c": 2}}),
    ({"é😀": {"ü": 1}}, [{"op": "replace", "path": "/é😀/ü", "value": "→"}], {"é😀": {"ü": "→"}}),
    # A state need not be an object.
    ([1, 2, 3], [{"op": "remove", "path": "/1"}], [1, 3]),
    ("text", [{"op": "replace", "path": "", "value": 7}], 7),
]

MERGE_PATCHES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    # Nulls inside arrays are values; a text is no object; empty patches change nothing.
    ({"a": 1}, {"a": [None, {"b": None}]}, {"a": [None, {"b": None}]}),
    ({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ({"a": 1}, {}, {"a": 1}),
    ({"": 1}, {"": {"": 2}}, {"": {"": 2}}),
]


def documents(delta):
    """The documents for one of the two kinds of patches."""
    return JSON_PATCHES if delta == "json-patch" else MERGE_PATCHES
