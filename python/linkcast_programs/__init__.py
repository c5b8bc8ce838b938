"""Programs that run linkcast and read what it prints: studies, pages, searches, figures.

The package needs no compiled module, so that any Python from 3.11 on runs it, also where `import linkcast` is not installed:
the distribution's interpreter, or a Dask worker. python/run.py starts its programs.
"""
