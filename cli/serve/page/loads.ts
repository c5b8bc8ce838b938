// How busy each cable is, in five steps of colour.
import { h } from "./dom";
import { LinkLoad, Machine } from "./types";
import { percent } from "./units";

export const STEPS = 5;

/** Step of a share of the time, 0 to 4. */
export const step_of = (share: number): number => Math.min(STEPS - 1, Math.floor(share * STEPS));

/** Names of what is drawn of a limit such as gpu0->gpu1, node3/nic0<->plx0, baseboard0->gpu5 or nic10->unit0/rail2. */
export function drawn_parts(machine: Machine): (limit: string) => string[] {
  const known = new Set(machine.devices.map((d) => d.id)), switches = new Set(machine.devices.filter((d) => d.kind === "nvswitch").map((d) => d.id));
  return (limit) => {
    const node = /^(node\d+)\//.exec(limit)?.[1], ends = limit.replace(/^node\d+\//, "").split(/<?[-=]>/);
    if (node && node !== "node0") return [node];
    const drawn = ends.filter((end) => known.has(end));
    if (drawn.length === ends.length) return [ends.join("-"), [...ends].reverse().join("-")];
    const gpu = drawn.find((id) => id.startsWith("gpu"));
    if (!gpu) return ["fabric"];
    return machine.cables.filter((c) => (c.a === gpu && switches.has(c.b)) || (c.b === gpu && switches.has(c.a))).map((c) => c.id);  // all of them at once
  };
}

/** Share of the time by what is drawn: of both directions, and of the links of a node, the busiest. */
export function loads_of(machine: Machine, links: LinkLoad[]): Map<string, number> {
  const found = new Map<string, number>(), parts = drawn_parts(machine);
  for (const { id, utilisation } of links)
    for (const part of parts(id)) found.set(part, Math.max(found.get(part) ?? 0, utilisation));
  return found;
}

export function legend(): HTMLElement {
  const keys = Array.from({ length: STEPS }, (_, i) => h("span", { class: `key load-${i}`, title: `${percent(i / STEPS)} to ${percent((i + 1) / STEPS)}` }));
  return h("span", { id: "legend", role: "img", "aria-label": "load of a link, share of the time: five colours from 0 % to 100 %" }, "load 0 % ", ...keys, " 100 %");
}
