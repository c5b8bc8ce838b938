// A question as an address, as JSON for the service, and as a command line.
import { Concurrent, Question } from "./types";
import { bytes_of } from "./units";

export const USUAL: Question = { platform: "hgx-h100", op: "all_reduce", size: "64MiB", gpus: "", nodes: 1, library: "", edits: [], concurrent: null };

/** NaN: no number of nodes. */
export const nodes_of = (text: string): number => (/^[1-9]\d{0,6}$/.test(text.trim()) ? Number(text) : NaN);

export function of_address(hash: string): Question {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const word = (key: keyof Question, usual: string): string => given.get(key) ?? usual;
  const concurrent = given.get("with")?.split(",");
  return {
    platform: word("platform", USUAL.platform), op: word("op", USUAL.op), size: word("size", USUAL.size), gpus: word("gpus", ""),
    nodes: nodes_of(given.get("nodes") ?? "1"), library: word("library", ""), edits: given.getAll("edit"),
    concurrent: concurrent && concurrent.length >= 3 ? { op: concurrent[0], size: concurrent[1], gpus: concurrent.slice(2).join(",") } : null,
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
  if (q.concurrent) made.set("with", `${q.concurrent.op},${q.concurrent.size},${q.concurrent.gpus}`);
  return `#${made}`;
}

export const machine_query = (q: Question): object => ({ kind: "show", platform: q.platform, edits: q.edits });

const concurrent_query = (c: Concurrent): object => ({ op: c.op, size_B: bytes_of(c.size), gpus: c.gpus });

const gpus_of = (q: Question, gpus_of_node: number): string => q.gpus || `0-${gpus_of_node - 1}`;

/** @param size_B  of a point of the curve, instead of the question's; @throws Error  a size that is none */
export function collective_query(q: Question, gpus_of_node: number, size_B?: number): object {
  if (Number.isNaN(q.nodes)) throw new Error("nodes: a number from 1 on");
  return {
    kind: "collective", platform: q.platform, op: q.op, size_B: size_B ?? bytes_of(q.size), ...(size_B === undefined ? { explain: true, utilisation: true } : {}),
    gpus: gpus_of(q, gpus_of_node), ...(q.nodes > 1 ? { nodes: q.nodes } : {}), ...(q.library ? { library: q.library } : {}),
    ...(q.edits.length ? { edits: q.edits } : {}), ...(q.concurrent ? { with: [concurrent_query(q.concurrent)] } : {}),
  };
}

const quoted = (word: string): string => (/^[\w.:,=/@+-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

export function command_of(q: Question, gpus_of_node: number): string {
  const words = ["linkcast", "predict", "collective", "--platform", q.platform, "--op", q.op, "--size", q.size];
  words.push("--gpus", gpus_of(q, gpus_of_node));
  if (q.nodes > 1) words.push("--nodes", String(q.nodes));
  if (q.library) words.push("--library", q.library);
  for (const edit of q.edits) words.push("--edit", edit);
  if (q.concurrent) words.push("--with", `${q.concurrent.op}:${q.concurrent.size}:${q.concurrent.gpus}`);
  return words.map(quoted).join(" ");
}
