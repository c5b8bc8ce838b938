"""linkcast in Python: forecasts of what the links between GPUs will do, in this process.

    >>> import linkcast
    >>> copy = linkcast.predict("p100-dgx1", "gpu0", "gpu1", "64MiB")
    >>> round(copy.bandwidth_Bps / 1e9, 1)
    18.4

Sizes are bytes, times seconds, bandwidths bytes per second and one direction; names end in their unit.
"""
from pathlib import Path as _Path

# In a checkout the compiled module lies where the build put it.
_built = _Path(__file__).absolute().parents[2] / "build" / "module"
if _built.is_dir():
    __path__.append(str(_built))

try:
    from . import _native  # noqa: F401
except ImportError as _error:
    raise ImportError(f"linkcast: its compiled module cannot be loaded: {_error}: pip install . in a checkout, or .ci/prepare") from _error

from .answers import Answer, Answers, Failure, WhatIf  # noqa: E402
from .batches import arrays, batch, batch_lines  # noqa: E402
from .engine import main, program, run  # noqa: E402
from .errors import InputError, InternalError, LinkcastError  # noqa: E402
from .files import Diagnosis, Fit, Import, Initialised, Validation, diagnose, fit, import_, init, validate  # noqa: E402
from .kinds import Collective, Fabric, Flows, P2p, Place, Replay, Rings, Routes, Show  # noqa: E402
from .platform import (  # noqa: E402
    Platform, ask, collective, fabric, flows, keys, p2p, place, platforms, predict, replay, rings, routes, show, version, whatif)
from .studies import Sweep, Wiring, report, sweep, wiring  # noqa: E402

__version__ = version()
__all__ = [
    "Answer", "Answers", "Collective", "Diagnosis", "Fabric", "Failure", "Fit", "Flows", "Import", "Initialised", "InputError", "InternalError",
    "LinkcastError", "P2p", "Place", "Platform", "Replay", "Rings", "Routes", "Show", "Sweep", "Validation", "WhatIf", "Wiring", "arrays", "ask",
    "batch", "batch_lines", "collective", "diagnose", "fabric", "fit", "flows", "import_", "init", "keys", "main", "p2p", "place", "platforms", "predict",
    "program", "replay", "report", "rings", "routes", "run", "show", "sweep", "validate", "version", "whatif", "wiring"]
