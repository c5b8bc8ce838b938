// Time over sizes, with its interval and the size asked for.
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { area, line } from "d3-shape";
import { h, part } from "./dom";
import { Measured } from "./types";
import { size_text, time_text } from "./units";

export interface Point { size_B: number; time_s: number; low_s: number; high_s: number }

const WIDTH = 520, HEIGHT = 300, LEFT = 62, RIGHT = 12, TOP = 10, BOTTOM = 34, STEP = 5;

export const CURVE_SIZES = Array.from({ length: 31 }, (_, i) => 2 ** (i + 3));

export function show_curve(points: Point[], before: Point[], here_B: number, measured: Measured[]): void {
  const holder = part("curve");
  holder.replaceChildren(h("h2", {}, "Over sizes"));
  if (!points.length) return;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const all = [...points, ...before], last_B = CURVE_SIZES[CURVE_SIZES.length - 1], seen = measured.filter((p) => p.size_B >= CURVE_SIZES[0] && p.size_B <= last_B);
  const x = scaleLog().base(2).domain([CURVE_SIZES[0], last_B]).range([LEFT, WIDTH - RIGHT]);
  const y = scaleLog().domain([Math.min(...all.map((p) => p.low_s), ...seen.map((p) => p.measured_s)), Math.max(...all.map((p) => p.high_s), ...seen.map((p) => p.measured_s))]).range([HEIGHT - BOTTOM, TOP]);
  const root = select(svg);
  root.attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`).attr("role", "img").attr("aria-label", `time over size, from ${time_text(points[0].time_s)} at ${size_text(points[0].size_B)} to ${time_text(points[points.length - 1].time_s)} at ${size_text(points[points.length - 1].size_B)}${seen.length ? `, with ${seen.length} measured points, ${seen.filter((p) => p.finding.startsWith("slow")).length} of them slow` : ""}`);
  for (let i = 0; i < CURVE_SIZES.length; i += STEP) {
    const at = x(CURVE_SIZES[i]);
    root.append("line").attr("class", "axis").attr("x1", at).attr("x2", at).attr("y1", TOP).attr("y2", HEIGHT - BOTTOM);
    root.append("text").attr("x", at).attr("y", HEIGHT - 14).attr("text-anchor", i + STEP < CURVE_SIZES.length ? "middle" : "end").text(size_text(CURVE_SIZES[i]));
  }
  for (const tick of y.ticks(6).filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9)) {
    root.append("line").attr("class", "axis").attr("x1", LEFT).attr("x2", WIDTH - RIGHT).attr("y1", y(tick)).attr("y2", y(tick));
    root.append("text").attr("x", LEFT - 6).attr("y", y(tick) + 4).attr("text-anchor", "end").text(time_text(tick));
  }
  const band = area<Point>().x((p) => x(p.size_B)).y0((p) => y(p.low_s)).y1((p) => y(p.high_s));
  const curve = line<Point>().x((p) => x(p.size_B)).y((p) => y(p.time_s));
  root.append("path").attr("class", "band").attr("d", band(points));
  if (before.length) root.append("path").attr("class", "before").attr("d", curve(before));
  root.append("path").attr("class", "line").attr("d", curve(points));
  for (const p of seen) {
    root.append("circle").attr("class", `point ${p.finding.split(" ")[0]}`).attr("cx", x(p.size_B)).attr("cy", y(p.measured_s)).attr("r", p.finding.startsWith("slow") ? 4.5 : 3)
      .append("title").text(`${size_text(p.size_B)}: ${time_text(p.measured_s)}, ${p.finding}`);
  }
  const at = x(here_B), inside = at >= LEFT && at <= WIDTH - RIGHT;
  if (inside) root.append("line").attr("class", "here").attr("x1", at).attr("x2", at).attr("y1", TOP).attr("y2", HEIGHT - BOTTOM);
  holder.append(svg, h("p", { class: "quiet" }, `${seen.length ? `points: ${seen.length} measured (full: fine, large: slow); ` : ""}band: 90 % interval${before.length ? "; dashed: without edits" : ""}${inside ? `; upright: ${size_text(here_B)}` : ""}`));
}
