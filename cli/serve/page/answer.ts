import { schemeTableau10 } from "d3-scale-chromatic";
import { fill, h } from "./dom";
import { Answer } from "./types";
import { percent, rate_text, time_text, times_text } from "./units";

const MOST_WARNINGS = 3;

function warnings_of(all: string[]): HTMLElement[] {
  const lines = (some: string[]): HTMLElement[] => some.map((one) => h("p", { class: "warning" }, one));
  const rest = all.slice(MOST_WARNINGS);
  return [...lines(all.slice(0, MOST_WARNINGS)), ...(rest.length ? [h("details", {}, h("summary", {}, `${rest.length} more`), ...lines(rest))] : [])];
}

function terms_of(answer: Answer): HTMLElement[] {
  const terms = (answer.terms ?? []).filter((term) => term.time_share > 0.0005 || term.uncertainty_share > 0.005);
  const colour = (i: number): string => schemeTableau10[i % 10];
  const bar = h("div", { class: "terms", "aria-hidden": "true" });
  terms.forEach((term, i) => {
    const piece = h("span", { title: `${term.label}: ${time_text(term.time_s)}` });
    piece.style.flexGrow = String(term.time_share);
    piece.style.background = colour(i);
    bar.append(piece);
  });
  const rows = terms.map((term, i) => {
    const key = h("span", { class: "key" });
    key.style.background = colour(i);
    return h("tr", {}, h("td", {}, key, term.label), h("td", { class: "number" }, term.time_s > 0 ? time_text(term.time_s) : ""),
      h("td", { class: "number" }, percent(term.time_share)), h("td", { class: "number" }, percent(term.uncertainty_share)), h("td", {}, term.source));
  });
  const head = ["term", "time", "of time", "of spread", "source"].map((name, i) => h("th", { scope: "col", class: i > 0 && i < 4 ? "number" : "" }, name));
  return [bar, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))];
}

/** @param before  of the machine without edits, why there is none, or null */
export function show_answer(answer: Answer, before: Answer | string | null): void {
  const factor = before && typeof before !== "string" ? answer.time_s / before.time_s : 1;
  const change = typeof before === "string" ? `without edits there is no forecast: ${before}` : before && `without edits ${time_text(before.time_s)}: ${Math.abs(factor - 1) < 5e-4 ? "no change" : `now ${times_text(factor)} that`}`;
  const interval = `90 %: ${time_text(answer.time_low_s)} to ${time_text(answer.time_high_s)}`;
  fill("said", `forecast ${time_text(answer.time_s)}, ${interval}${change ? `; ${change}` : ""}`);
  fill("answer",
    h("h2", {}, "Forecast"),
    h("p", { class: "time" }, time_text(answer.time_s)),
    h("p", {}, interval),
    h("p", {}, `bus bandwidth ${rate_text(answer.busbw_Bps)}, ${answer.ranks} ranks`),
    h("p", { class: "quiet" }, `${answer.library}: ${answer.algorithm}, ${answer.protocol}`),
    change && h("p", { id: "change" }, change),
    answer.slowdown && answer.slowdown > 1.0005 && h("p", {}, `${times_text(answer.slowdown)} as long as alone`),
    answer.bottleneck.length > 0 && h("p", { id: "bottleneck" }, `limited by ${answer.bottleneck.slice(0, 4).join(", ")}${answer.bottleneck.length > 4 ? ", ..." : ""}`),
    answer.hint && h("p", {}, answer.hint),
    ...terms_of(answer), ...warnings_of(answer.warnings));
}

export function show_error(text: string): void {
  fill("said");
  fill("answer", h("h2", {}, "Forecast"), h("p", { class: "error", role: "alert" }, text));
}
