"""Renumberings of a platform's GPUs that nobody could tell, found from what `show` says, without the program's own search."""
from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any


class Wiring:
    def __init__(self, shown: dict[str, Any], parameters: dict[str, Any]):
        """@param parameters  of the calibration: those of one link or cable part it from others"""
        self.devices = [device["id"] for device in shown["devices"]]
        self.start = {device["id"]: str(sorted((key, str(value)) for key, value in device.items() if key not in ("id", "uuid", "bus_id", "numa", "rank")))
                      for device in shown["devices"]}
        self.cables: dict[str, dict[str, str]] = {device: {} for device in self.devices}
        for cable in shown["cables"]:
            text = str(sorted((key, str(value)) for key, value in cable.items() if key not in ("id", "a", "b", "source", "note")))
            for one, other in ((cable["a"], cable["b"]), (cable["b"], cable["a"])):
                self.cables[one][other] = self.cables[one].get(other, "") + text
        for name, parameter in parameters.items():
            link = re.match(r"link\.(\w+)->(\w+)\.(.*)", name) or re.match(r"cable\.\w+@(\w+)-(\w+)\.(.*)", name)
            if link and link[2] in self.cables.get(link[1], {}):
                self.cables[link[1]][link[2]] += f" {link[3]} out {parameter['value']}"
                self.cables[link[2]][link[1]] += f" {link[3]} {'in' if name.startswith('link.') else 'out'} {parameter['value']}"
        self.gpus = [device for device in self.devices if device.startswith("gpu")]

    def colours(self, fixed: dict[str, str]) -> dict[str, str]:
        """Refined until nothing parts any more; `fixed` have colours of their own."""
        colour = {device: self.start[device] + fixed.get(device, "") for device in self.devices}
        while True:
            told = {device: str((colour[device], sorted((colour[other], cable) for other, cable in self.cables[device].items()))) for device in self.devices}
            names = {text: str(number) for number, text in enumerate(sorted(set(told.values())))}
            refined = {device: names[told[device]] for device in self.devices}
            if len(set(refined.values())) == len(set(colour.values())):
                return refined
            colour = refined

    def moved(self, rng: random.Random) -> dict[str, str] | None:
        """A random renumbering of all devices, or none where the refinement is led astray."""
        left: dict[str, str] = {}
        right: dict[str, str] = {}
        for number in range(len(self.devices)):
            one, two = self.colours(left), self.colours(right)
            if Counter(one.values()) != Counter(two.values()):
                return None
            open_ = [device for device in self.devices if Counter(one.values())[one[device]] > 1]
            if not open_:
                by_colour = {colour: device for device, colour in two.items()}
                renumbering = {device: by_colour[colour] for device, colour in one.items()}
                return renumbering if self.is_symmetry(renumbering) else None
            device = open_[0]
            left[device] = f"fixed {number}"
            right[rng.choice([other for other in self.devices if two[other] == one[device]])] = f"fixed {number}"
        return None

    def is_symmetry(self, renumbering: dict[str, str]) -> bool:
        return all(self.start[device] == self.start[renumbering[device]] and
                   {renumbering[other]: cable for other, cable in self.cables[device].items()} == self.cables[renumbering[device]]
                   for device in self.devices)
