// A benchmark's output, pasted: its points beside the curve, and the verdict of `linkcast diagnose`.
import { button, fill, h, part } from "./dom";
import { diagnosis_of } from "./service";
import { DiagnosedFile, Diagnosis, Measured, Question } from "./types";

let pasted = "", compared_with = "", found: Diagnosis | null = null;
let asking = new AbortController();

const place_of = (q: Question): string => JSON.stringify([q.platform, q.edits]);

const of_question = (row: Measured, op: string, ranks: number): boolean => row.transport === op && new RegExp(`^x${ranks}\\b`).test(row.variant);

/** Points of the operation and the number of ranks. */
export const measured = (op: string, ranks: number): Measured[] => (found?.files ?? []).flatMap((file) => file.table.filter((row) => of_question(row, op, ranks)));

function about(file: DiagnosedFile): HTMLElement[] {
  const line = (text: string | undefined, name: string): HTMLElement[] => (text ? [h("p", { class: "quiet" }, `${name}${text}`)] : []);
  const causes = (file.causes ?? []).slice(0, 3).map((cause) => h("li", {}, `${Math.round(100 * cause.probability)} %: ${cause.kind}`));
  return [h("p", { class: `verdict ${file.verdict.replace(/ /g, "-")}` }, h("strong", {}, file.verdict), `: ${file.points} points, ${file.slow} slow, ${file.fast} fast`),
    ...line(file.why, ""), ...(causes.length ? [h("ul", {}, ...causes)] : []), ...line(file.next, "next: ")];
}

function show(shown: () => void): void {
  const kinds = [...new Set((found?.files ?? []).flatMap((file) => file.table.map((row) => `${row.transport} ${row.variant}`)))];
  fill("verdict", ...(found?.files ?? []).flatMap(about), found && !found.files && h("p", {}, found.text),
    kinds.length > 0 && h("p", { class: "quiet" }, `measured: ${kinds.slice(0, 4).join(", ")}; those of this operation and number of GPUs are on the curve`),
    found && h("details", {}, h("summary", {}, "as a table"), h("pre", {}, found.text)));
  shown();
}

/** Compares again where the machine has changed. @param shown  what draws the curve again */
export async function compare(question: Question, shown: () => void): Promise<void> {
  if (!pasted || compared_with === place_of(question)) return;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  found = null;
  compared_with = place_of(question);
  fill("verdict", h("p", { class: "quiet" }, "compared, which takes seconds ..."));
  try {
    const answer = await diagnosis_of({ platform: question.platform, log: pasted, ...(question.edits.length ? { edits: question.edits } : {}) }, signal);
    if (signal.aborted) return;
    found = answer;
    show(shown);
  } catch (problem) {
    if (signal.aborted) return;
    fill("verdict", h("p", { class: "error", role: "alert" }, (problem as Error).message));
    shown();
  }
}

export function log_form(question: () => Question, shown: () => void): void {
  const text = h("textarea", { name: "log", rows: 4, spellcheck: "false", placeholder: "#       size         count      type   redop    root     time ..." });
  const take = (log: string): void => {
    asking.abort();
    pasted = log;
    compared_with = "";
    found = null;
    fill("verdict");
    shown();
    void compare(question(), shown);
  };
  part("log").replaceChildren(h("h2", {}, "Measured"), h("label", {}, "what nccl-tests or another benchmark printed on this machine", text),
    h("div", { class: "tools" }, button("compare", () => take(text.value)), button("take it away", () => { text.value = ""; take(""); })),
    h("div", { id: "verdict", "aria-live": "polite" }));
}
