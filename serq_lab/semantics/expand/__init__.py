"""Sugar to plain parts: `parts.py` sorts items and reads libraries, `substitution.py` writes expressions out,
`blocks.py` statements, the serving forms and the two sides of a session among them.

In comes a tree as written; out go trees that `resolver.py` can resolve name by name.
"""
