"""A policy as files: a folder of Rego and data, or the same in OPA's bundle format."""
