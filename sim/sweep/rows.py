"""What of an answer becomes a row: numbers, texts and flags. Needs no other file of linkcast: Dask workers get it too."""
import re

LEFT_OUT = ("id", "kind", "inputs", "versions")
JOINED = {"bottleneck": "  ", "route": "  ", "warnings": " | "}
FIRST_OF = {"routes": "route", "placements": "placement"}  # lists of answers, best first


def _is_plain(value):
    return isinstance(value, (str, int, float, bool))


def _flat(answer):
    row = {}
    for key, value in answer.items():
        if key in LEFT_OUT or key in FIRST_OF:
            continue
        if _is_plain(value):
            row[key] = value
        elif key in JOINED and isinstance(value, list):
            row[key] = JOINED[key].join(str(item) for item in value)
        elif key == "channels":
            row[key] = len(value)
        elif isinstance(value, dict):
            row |= {f"{key}.{inner}": item for inner, item in value.items() if _is_plain(item)}
    return row


def row_of(answer):
    """Of lists of answers the first, and how many there are."""
    row = _flat(answer)
    for key, name in FIRST_OF.items():
        if isinstance(answer.get(key), list) and answer[key]:
            best = _flat(answer[key][0])
            if "gpus" in answer[key][0]:
                best[name] = " ".join(str(gpu) for gpu in answer[key][0]["gpus"])
            row = best | row | {key: len(answer[key])}
    return row


def error_row(error):
    """Without the place in a batch, which differs from worker to worker."""
    return {"error": re.sub(r"^- line \d+:\s*", "", error)}
