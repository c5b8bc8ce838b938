"""Put onto PYTHONPATH by `linkcast record`: once a process has imported torch, its optimizer's steps are recorded."""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class AfterTorch:
    """Finds torch as the others do, and attaches the recorder once it is imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(AfterTorch)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            sys.path.append(os.path.dirname(HERE))
            import linkcast_record
            linkcast_record.attach()
        spec.loader.exec_module = exec_module
        return spec


def run_hidden():
    """The sitecustomize of this Python, which ours hides."""
    paths = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


run_hidden()
if "LINKCAST_RECORD_OUT" in os.environ:
    sys.meta_path.insert(0, AfterTorch)
