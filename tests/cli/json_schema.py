"""The part of JSON Schema that the schemas in docs/ use."""

TYPES = {"object": dict, "array": list, "integer": int, "string": str, "boolean": bool, "null": type(None)}


def is_of(value, name):
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name]) and (name != "integer" or not isinstance(value, bool))


def faults(value, schema, root=None, where="$"):
    """What a value lacks of the part of JSON Schema that the schemas in docs/ use. An unknown keyword is an error."""
    root = root or schema
    known = {"$schema", "$defs", "title", "description", "type", "required", "properties", "additionalProperties", "items", "minItems", "enum",
             "minimum", "maximum", "$ref"}
    assert not set(schema) - known, set(schema) - known
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    found = []
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of(value, name) for name in types):
        return [f"{where} is no {types}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is none of {schema['enum']}")
    if is_of(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            found.append(f"{where} is out of range")
    if isinstance(value, dict):
        found += [f"{where} has no {name}" for name in schema.get("required", []) if name not in value]
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is False:
            found += [f"{where} has {name}" for name in value if name not in properties]
        for name, one in value.items():
            found += faults(one, properties[name], root, f"{where}.{name}") if name in properties else []
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{where} is too short")
        for k, one in enumerate(value):
            found += faults(one, schema["items"], root, f"{where}[{k}]") if "items" in schema else []
    return found
