import { show_answer, show_error } from "./answer";
import { CURVE_SIZES, Point, show_curve } from "./curve";
import { button, drawing, fill, h, part } from "./dom";
import { draw } from "./drawing";
import { drawn_parts, legend, loads_of } from "./loads";
import { compare, log_form, measured } from "./log";
import { Actions, edit_form, kind_between, show_edits, show_selection } from "./edits";
import { show_exports } from "./exports";
import { layout_of } from "./layout";
import { USUAL, address_of, collective_query, machine_query, nodes_of, of_address } from "./question";
import { Choices, answer_of, choices, machine_of } from "./service";
import { Answer, Machine, Question } from "./types";
import { bytes_of } from "./units";

const AT_ONCE = 4;  // questions of a curve
const GPUS = "GPUs of a node";
const NARROW = 760;  // pixels, as in page.css

const field_name = (label: string): string => label.replace(/\W/g, "-");

let question: Question = of_address(location.hash);
let machine: Machine | null = null, base: Machine | null = null, answer: Answer | null = null;
let selected = "", joining = "", ring = -1, with_loads = true;
let drawn: { line: Point[]; dashed: Point[]; here_B: number } | null = null;
let asking = new AbortController();

/** Numbers of "0-3,6"; all where nothing is said. */
function members(): Set<number> {
  const found = new Set<number>();
  if (!question.gpus) for (let i = 0; i < (machine?.gpus ?? 0); i += 1) found.add(i);
  for (const piece of question.gpus.split(",").filter(Boolean)) {
    const ends = piece.replace(/gpu/g, "").split("-").map(Number), last = Math.min(ends[1] ?? ends[0], (machine?.gpus ?? 0) - 1);
    for (let i = ends[0]; i <= last; i += 1) found.add(i);
  }
  return found;
}

function change(some: Partial<Question>): void {
  question = { ...question, ...some };
  const address = address_of(question);
  if (address !== location.hash) history.pushState(null, "", address);
  void ask();
}

const actions: Actions = {
  add: (edit) => change({ edits: [...question.edits, edit] }),
  undo: (index) => change({ edits: question.edits.filter((_, i) => i !== index) }),
  join: (from) => { joining = from; show_machine(); },
  toggle: (gpu) => {
    const all = members(), number = Number(gpu.replace("gpu", ""));
    if (!all.delete(number)) all.add(number);
    if (!all.size) return;
    const left = [...all].sort((a, b) => a - b);
    change({ gpus: left.length === machine?.gpus ? "" : left.join(",") });
    const field = part("question").querySelector<HTMLInputElement>(`[name="${field_name(GPUS)}"]`);
    if (field) field.value = question.gpus;
  },
};

function pick(id: string): void {
  if (joining && machine?.devices.some((d) => d.id === id) && id !== joining) {
    const from = joining;
    joining = "";
    actions.add(`add ${from}-${id}:${kind_between(base!, from, id)}:1`);
    return;
  }
  selected = selected === id ? "" : id;
  show_machine();
  document.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
}

function show_machine(): void {
  if (!machine || !base) return;
  const now = new Map(machine.cables.map((c) => [c.id, c])), removed = new Set(base.cables.filter((c) => !now.has(c.id)).map((c) => c.id));
  const were = new Map(base.cables.map((c) => [c.id, c]));
  const changed = new Set(machine.cables.filter((c) => were.get(c.id)?.count !== c.count || were.get(c.id)?.bandwidth_Bps !== c.bandwidth_Bps).map((c) => c.id));
  const ghosts = { ...machine, cables: [...machine.cables, ...base.cables.filter((c) => removed.has(c.id))] };
  const hot = new Set((answer?.bottleneck ?? []).flatMap(drawn_parts(machine)));
  const loads = with_loads && answer?.links ? loads_of(machine, answer.links) : new Map<string, number>();
  const focused = part("machine").contains(document.activeElement) ? document.activeElement : null, words = focused?.getAttribute("data-id") ?? focused?.textContent;
  const layout = layout_of(ghosts, question.nodes || 1, innerWidth < NARROW ? (machine.gpus > 8 ? 6 : 8) : machine.gpus > 16 ? 12 : 16);
  const channels = answer?.algorithm === "ring" ? answer.channels.filter((channel) => channel.length > 1) : [];
  const rings = ring < 0 ? [] : ring >= channels.length ? channels : [channels[ring]];
  const names = new Set([...members()].map((number) => `gpu${number}`));
  draw(drawing(), { layout, members: names, hot, removed, changed, selected, rings, loads }, pick);
  show_selection(machine, base, selected, joining, names.has(selected), actions);
  show_edits(question.edits, actions);
  const turn = (text: string, to: number, on: boolean): HTMLElement => button(text, () => { ring = to; show_machine(); }, { "aria-pressed": String(on) });
  fill("drawing-tools",
    answer?.links && button("loads", () => { with_loads = !with_loads; show_machine(); }, { "aria-pressed": String(with_loads) }), loads.size > 0 && legend(),
    ...(channels.length ? [h("span", { class: "quiet" }, "channels:"), turn("none", -1, ring < 0),
      ...channels.slice(0, 8).map((_, i) => turn(String(i), i, ring === i)), turn("all", channels.length, ring >= channels.length)] : []),
    rings.length === 1 ? h("span", { id: "ring" }, [...rings[0], rings[0][0]].join(" \u2192 ")) : "",
    layout.hidden ? h("span", { class: "quiet" }, `not drawn: ${layout.hidden}`) : "");
  if (focused && !document.contains(focused)) {  // where it was, else at what is selected
    const same = [...part("machine").querySelectorAll<HTMLElement>("button, [data-id]")].find((e) => (e.getAttribute("data-id") ?? e.textContent) === words);
    (same ?? document.querySelector<HTMLElement>(`[data-id="${CSS.escape(selected)}"]`) ?? part("selection").querySelector("button"))?.focus();
  }
}

async function curve(asked: Question, gpus: number, signal: AbortSignal): Promise<Point[]> {
  const points: Point[] = [], left = [...CURVE_SIZES];
  const worker = async (): Promise<void> => {
    for (let size = left.shift(); size !== undefined; size = left.shift()) {
      const one = await answer_of(collective_query(asked, gpus, size), signal).catch(() => null);
      if (one) points.push({ size_B: size, time_s: one.time_s, low_s: one.time_low_s, high_s: one.time_high_s });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return points.sort((a, b) => a.size_B - b.size_B);
}

function draw_curve(): void {
  if (drawn) show_curve(drawn.line, drawn.dashed, drawn.here_B, answer ? measured(question.op, answer.ranks) : []);
}

async function ask(): Promise<void> {
  asking.abort();
  asking = new AbortController();
  if (base?.name !== question.platform) {
    base = machine = null;
    for (const id of ["drawing", "selection", "drawing-tools", "title"]) fill(id);
  }
  show_edits(question.edits, actions);
  const { signal } = asking, asked = question, bare = { ...asked, edits: [] };
  document.body.setAttribute("aria-busy", "true");
  try {
    base = await machine_of(machine_query(bare), signal);
    const edited = asked.edits.length ? machine_of(machine_query(asked), signal) : base;
    machine = base;
    machine = await edited;
    fill("title", machine.title);
    const gpus = machine.gpus, without = asked.edits.length ? answer_of(collective_query(bare, gpus), signal).catch((problem: Error) => problem.message) : null;
    answer = await answer_of(collective_query(asked, gpus), signal);
    show_answer(answer, await without);
    show_machine();
    show_exports(asked, gpus, answer);
    document.body.removeAttribute("aria-busy");
    const [line, dashed] = await Promise.all([curve(asked, gpus, signal), asked.edits.length ? curve(bare, gpus, signal) : []]);
    if (signal.aborted) return;
    drawn = { line, dashed, here_B: bytes_of(asked.size) };
    draw_curve();
    void compare(asked, draw_curve);
  } catch (problem) {
    if (signal.aborted) return;
    answer = drawn = null;
    show_error((problem as Error).message);
    fill("share");
    show_machine();
    fill("curve");
    document.body.removeAttribute("aria-busy");
  }
}

function form(all: Choices): void {
  const listed = (key: "platform" | "op" | "library", options: string[], name: string): HTMLElement => {
    const made = h("select", { name: key, onchange: () => {
      const other = key === "platform";
      if (other) selected = joining = "";
      change({ [key]: made.value, ...(other ? { gpus: "", edits: [], concurrent: null, library: "" } : {}) });
      if (other) form(all);
    } },
      ...(options.includes(question[key]) ? options : [question[key], ...options]).map((one) => h("option", { value: one, selected: one === question[key] }, one || "usual")));
    return h("label", {}, name, made);
  };
  const typed = (value: string, name: string, hint: string, set: (text: string) => void): HTMLElement => {
    const made = h("input", { value, placeholder: hint, name: field_name(name), autocomplete: "off", onchange: () => set(made.value.trim()) });
    return h("label", {}, name, made);
  };
  const { concurrent } = question;
  const with_op = h("select", { name: "with", onchange: () => change({ concurrent: with_op.value ? { ...(question.concurrent ?? { size: "64MiB", gpus: "0-1" }), op: with_op.value } : null }) },
    ...["", ...all.ops].map((one) => h("option", { value: one, selected: one === (concurrent?.op ?? "") }, one || "nothing")));
  fill("question",
    listed("platform", all.platforms, "platform"), listed("op", all.ops, "operation"),
    typed(question.size, "size", "64MiB", (size) => change({ size })), typed(question.gpus, GPUS, "all", (gpus) => change({ gpus })),
    typed(Number.isNaN(question.nodes) ? "" : String(question.nodes), "nodes", "1", (nodes) => change({ nodes: nodes_of(nodes) })), listed("library", ["", ...all.libraries], "library"),
    h("label", {}, "at the same time", with_op),
    concurrent && typed(concurrent.size, "its size", "64MiB", (size) => change({ concurrent: { ...question.concurrent!, size } })),
    concurrent && typed(concurrent.gpus, "its GPUs", "0-1", (gpus) => change({ concurrent: { ...question.concurrent!, gpus } })));
}

async function begin(): Promise<void> {
  log_form(() => question, draw_curve);
  edit_form(actions);
  part("question").addEventListener("submit", (submitted) => submitted.preventDefault());
  try {
    const all = await choices();
    const again = (): void => { question = of_address(location.hash); selected = joining = ""; form(all); void ask(); };
    if (!all.platforms.includes(USUAL.platform)) USUAL.platform = all.platforms[0];
    addEventListener("hashchange", again);
    part("skip").addEventListener("click", (click) => {  // the address holds the question
      click.preventDefault();
      part("answer").focus();
    });
    part("question").addEventListener("change", () => {
      const has_fields = part("question").querySelector('[name="its-size"]') !== null, focused = (document.activeElement as HTMLInputElement | null)?.name;
      if (has_fields === (question.concurrent !== null)) return;
      form(all);
      part("question").querySelector<HTMLElement>(`[name="${focused}"]`)?.focus();
    });
    again();
  } catch (problem) {
    show_error((problem as Error).message);
  }
}

void begin();
