import { select } from "d3-selection";
import { schemeTableau10 } from "d3-scale-chromatic";
import { Layout, Place } from "./layout";
import { Cable } from "./types";
import { rate_text } from "./units";

export interface Shown {
  layout: Layout; members: Set<string>; hot: Set<string>; removed: Set<string>; changed: Set<string>; selected: string; rings: number[][];
}

export const cable_text = (c: Cable): string => `${c.id}: ${c.count} ${c.kind}, ${rate_text(c.bandwidth_Bps * c.count)} a direction`;

const classes = (base: string, flags: [string, boolean][]): string => [base, ...flags.filter(([, on]) => on).map(([name]) => name)].join(" ");

/** Closed lines through the GPUs of each channel, through their centres. */
function ring_path(ring: number[], layout: Layout): string {
  const points = ring.flatMap((gpu) => layout.places.get(`gpu${gpu}`) ?? []);
  if (points.length < 2) return "";
  return `M${points.map((p, i) => `${p.x},${p.y + ((i % 2) - 0.5) * 6}`).join(" L")} Z`;
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
    const flags: [string, boolean][] = [["hot", shown.hot.has(cable.id)], ["removed", shown.removed.has(cable.id)], ["changed", shown.changed.has(cable.id)], ["selected", shown.selected === cable.id]];
    for (const [name, value] of reachable(cable.id, `cable ${cable_text(cable)}`, classes("cable", flags))) group.attr(name, value);
    listen(group.node(), cable.id);
    group.append("title").text(cable_text(cable));
    group.append("path").attr("class", "reach").attr("d", path);
    group.append("path").attr("class", "seen").attr("d", path).attr("stroke-width", Math.min(6, 1 + (cable.bandwidth_Bps * cable.count) / 60e9));
  }
  shown.rings.forEach((ring, i) => root.append("path").attr("class", "ring").attr("d", ring_path(ring, layout)).attr("stroke", schemeTableau10[i % 10]));
  for (const place of layout.places.values()) device(place);

  function device(place: Place): void {
    const group = root.append("g").attr("transform", `translate(${place.x},${place.y})`);
    const flags: [string, boolean][] = [[place.kind, true], ["member", shown.members.has(place.id)], ["selected", shown.selected === place.id], ["hot", shown.hot.has(place.id)]];
    if (place.kind === "node" || place.kind === "fabric") group.attr("class", classes("part", flags));
    else {
      for (const [name, value] of reachable(place.id, place.title, classes("device", flags))) group.attr(name, value);
      listen(group.node(), place.id);
    }
    group.append("title").text(place.title);
    group.append("rect").attr("x", -place.w / 2).attr("y", -place.h / 2).attr("width", place.w).attr("height", place.h).attr("rx", 5);
    group.append("text").text(place.label);
  }
}
