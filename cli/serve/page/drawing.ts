import { select } from "d3-selection";
import { schemeTableau10 } from "d3-scale-chromatic";
import { Layout, Place } from "./layout";
import { step_of } from "./loads";
import { Cable } from "./types";
import { percent, rate_text } from "./units";

export interface Shown {
  layout: Layout; members: Set<string>; hot: Set<string>; removed: Set<string>; changed: Set<string>; selected: string; rings: number[][]; loads: Map<string, number>;
}

export const cable_text = (c: Cable): string => `${c.id}: ${c.count} ${c.kind}, ${rate_text(c.bandwidth_Bps * c.count)} a direction`;

const classes = (base: string, flags: [string, boolean][]): string => [base, ...flags.filter(([, on]) => on).map(([name]) => name)].join(" ");

/** A ring's hops, each an arc above the GPUs with its arrow in the middle. */
function hops_of(ring: number[], layout: Layout): { path: string; arrow: string }[] {
  return ring.flatMap((gpu, i) => {
    const a = layout.places.get(`gpu${gpu}`), b = layout.places.get(`gpu${ring[(i + 1) % ring.length]}`);
    if (!a || !b) return [];
    const high = Math.min(90, 22 + 0.12 * Math.abs(a.x - b.x)), y = Math.min(a.y, b.y) - a.h / 2 - 0.75 * high, x = (a.x + b.x) / 2, way = a.x < b.x ? 1 : -1;
    const from = `${a.x + 6 * way},${a.y - a.h / 2}`, to = `${b.x - 6 * way},${b.y - b.h / 2}`;
    return [{ path: `M${from} C${a.x + 6 * way},${a.y - a.h / 2 - high} ${b.x - 6 * way},${b.y - b.h / 2 - high} ${to}`,
      arrow: `M${x - 5 * way},${y - 5} L${x + 5 * way},${y} L${x - 5 * way},${y + 5} Z` }];
  });
}

export function draw(svg: SVGSVGElement, shown: Shown, pick: (id: string) => void): void {
  const { layout } = shown;
  const root = select(svg);
  root.attr("viewBox", `0 0 ${layout.width} ${layout.height}`);
  root.selectAll("*").remove();
  const reachable = (id: string, name: string, what: string): [string, string][] =>
    [["tabindex", "0"], ["role", "button"], ["data-id", id], ["aria-label", name], ["aria-pressed", String(shown.selected === id)], ["class", what]];
  const listen = (element: Element, id: string): void => {
    element.addEventListener("click", () => pick(id));
    element.addEventListener("keydown", (pressed) => {
      const { key } = pressed as KeyboardEvent;
      if (key !== "Enter" && key !== " ") return;
      pressed.preventDefault();
      pick(id);
    });
  };
  for (const { cable, path } of layout.cables) {
    const group = root.append("g");
    const load = shown.loads.get(cable.id), says = load === undefined ? cable_text(cable) : `${cable_text(cable)}, load ${percent(load)}`;
    const flags: [string, boolean][] = [[`load-${step_of(load ?? 0)}`, load !== undefined], ["hot", shown.hot.has(cable.id)], ["removed", shown.removed.has(cable.id)], ["changed", shown.changed.has(cable.id)], ["selected", shown.selected === cable.id]];
    for (const [name, value] of reachable(cable.id, `cable ${says}`, classes("cable", flags))) group.attr(name, value);
    listen(group.node(), cable.id);
    group.append("title").text(says);
    group.append("path").attr("class", "reach").attr("d", path);
    group.append("path").attr("class", "seen").attr("d", path).attr("stroke-width", Math.min(6, 1 + (cable.bandwidth_Bps * cable.count) / 60e9));
  }
  for (const place of layout.places.values()) device(place);
  for (const [i, ring] of shown.rings.entries()) {
    const colour = schemeTableau10[i % 10];
    for (const { path, arrow } of hops_of(ring, layout)) {
      root.append("path").attr("class", "ring").attr("d", path).attr("stroke", colour);
      root.append("path").attr("class", "arrow").attr("d", arrow).attr("fill", colour);
    }
  }

  function device(place: Place): void {
    const group = root.append("g").attr("transform", `translate(${place.x},${place.y})`);
    const load = shown.loads.get(place.id);
    const flags: [string, boolean][] = [[place.kind, true], [`load-${step_of(load ?? 0)}`, load !== undefined], ["member", shown.members.has(place.id)], ["selected", shown.selected === place.id], ["hot", shown.hot.has(place.id)]];
    if (place.kind === "node" || place.kind === "fabric") group.attr("class", classes("part", flags));
    else {
      for (const [name, value] of reachable(place.id, place.title, classes("device", flags))) group.attr(name, value);
      listen(group.node(), place.id);
    }
    group.append("title").text(load === undefined ? place.title : `${place.title}, load ${percent(load)}`);
    group.append("rect").attr("x", -place.w / 2).attr("y", -place.h / 2).attr("width", place.w).attr("height", place.h).attr("rx", 5);
    group.append("text").text(place.label);
  }
}
