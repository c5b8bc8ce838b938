// The service behind the page.
import { Answer, Diagnosis, Machine } from "./types";

export interface Choices { platforms: string[]; ops: string[]; libraries: string[] }

async function read<T>(path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const sent = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal } : { signal };
  let reply: Response;
  try {
    reply = await fetch(path, sent);
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Error("linkcast does not answer: is 'linkcast ui' still running?");
  }
  const value = await reply.json();
  if (!reply.ok || value.error) throw new Error(value.error ?? `status ${reply.status}`);
  return value as T;
}

const MOST_KEPT = 512;
const kept = new Map<string, unknown>();

/** The same question has the same answer for as long as the program runs. */
async function remembered<T>(query: object, signal?: AbortSignal): Promise<T> {
  const key = JSON.stringify(query);
  if (kept.has(key)) return kept.get(key) as T;
  const answer = await read<T>("v1/query", query, signal);
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(key, answer);
  return answer;
}

export const machine_of = (query: object, signal?: AbortSignal): Promise<Machine> => remembered(query, signal);
export const answer_of = (query: object, signal?: AbortSignal): Promise<Answer> => remembered(query, signal);
export const diagnosis_of = (sent: object, signal?: AbortSignal): Promise<Diagnosis> => read("v1/diagnose", sent, signal);

export async function choices(): Promise<Choices> {
  const [platforms, schema] = await Promise.all([read<{ id: string; gpus: number }[]>("v1/platforms"), read<any>("v1/schema")]);
  const keys = schema.$defs.collective_query.properties;
  return { platforms: platforms.map((one) => one.id), ops: keys.op.enum, libraries: keys.library.anyOf[0].enum };
}
