// A question as an address, as JSON for the service, and as a command line.
import { Beside, Question } from "./types";
import { bytes_of } from "./units";

export const USUAL: Question = { platform: "hgx-h100", op: "all_reduce", size: "64MiB", gpus: "", nodes: 1, library: "", edits: [], beside: null };

/** NaN: no number of nodes. */
export const nodes_of = (text: string): number => (/^[1-9]\d{0,6}$/.test(text.trim()) ? Number(text) : NaN);

export function of_address(hash: string): Question {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const word = (key: keyof Question, usual: string): string => given.get(key) ?? usual;
  const beside = given.get("beside")?.split(",");
  return {
    platform: word("platform", USUAL.platform), op: word("op", USUAL.op), size: word("size", USUAL.size), gpus: word("gpus", ""),
    nodes: nodes_of(given.get("nodes") ?? "1"), library: word("library", ""), edits: given.getAll("edit"),
    beside: beside && beside.length >= 3 ? { op: beside[0], size: beside[1], gpus: beside.slice(2).join(",") } : null,
  };
}

export function address_of(q: Question): string {
  const made = new URLSearchParams();
  made.set("platform", q.platform);
  made.set("op", q.op);
  made.set("size", q.size);
  if (q.gpus) made.set("gpus", q.gpus);
  if (q.nodes !== 1) made.set("nodes", String(q.nodes));
  if (q.library) made.set("library", q.library);
  for (const edit of q.edits) made.append("edit", edit);
  if (q.beside) made.set("beside", `${q.beside.op},${q.beside.size},${q.beside.gpus}`);
  return `#${made}`;
}

export const machine_query = (q: Question): object => ({ kind: "show", platform: q.platform, edits: q.edits });

function beside_of(beside: Beside): object {
  return { op: beside.op, size_B: bytes_of(beside.size), gpus: beside.gpus };
}

const gpus_of = (q: Question, gpus_of_node: number): string => q.gpus || `0-${gpus_of_node - 1}`;

/** @param size_B  instead of the question's; @throws Error  a size that is none */
export function collective_query(q: Question, gpus_of_node: number, size_B = bytes_of(q.size)): object {
  if (Number.isNaN(q.nodes)) throw new Error("nodes: a number from 1 on");
  return {
    kind: "collective", platform: q.platform, op: q.op, size_B, explain: true,
    gpus: gpus_of(q, gpus_of_node), ...(q.nodes > 1 ? { nodes: q.nodes } : {}), ...(q.library ? { library: q.library } : {}),
    ...(q.edits.length ? { edits: q.edits } : {}), ...(q.beside ? { with: [beside_of(q.beside)] } : {}),
  };
}

const quoted = (word: string): string => (/^[\w.:,=/@+-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

export function command_of(q: Question, gpus_of_node: number): string {
  const words = ["linkcast", "predict", "collective", "--platform", q.platform, "--op", q.op, "--size", q.size];
  words.push("--gpus", gpus_of(q, gpus_of_node));
  if (q.nodes > 1) words.push("--nodes", String(q.nodes));
  if (q.library) words.push("--library", q.library);
  for (const edit of q.edits) words.push("--edit", edit);
  if (q.beside) words.push("--with", `${q.beside.op}:${q.beside.size}:${q.beside.gpus}`);
  return words.map(quoted).join(" ");
}
