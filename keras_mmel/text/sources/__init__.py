"""Text data that others wrote: read, checked, and given as a source.

A source is an `InMemory` of records, or anything like it. Whoever adds one
writes a function that returns one, as `from_long` does.
"""
