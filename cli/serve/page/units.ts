const SIZES: Record<string, number> = { "": 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** Bytes of "64MiB", "64M" (as nccl-tests has it), "1.5 GB". @throws Error  nothing that is a size */
export function bytes_of(text: string): number {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?b)?|b)?\s*$/i.exec(text);
  if (!found) throw new Error(`size: '${text}' is no size: 64MiB, 1GB, 4096`);
  const letter = (found[2] ?? "").toLowerCase();
  const decimal = (found[3] ?? "").toLowerCase() === "b";
  const unit = decimal ? 1000 ** Math.round(Math.log2(SIZES[letter]) / 10) : SIZES[letter];
  const bytes = Math.round(Number(found[1]) * unit);
  if (bytes < 1) throw new Error("size: at least 1 B");
  return bytes;
}

function scaled(value: number, step: number, units: string[]): string {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= step ** (at + 1) * 0.9995) at += 1;
  return `${Number((value / step ** at).toPrecision(4))} ${units[at]}`;
}

export const time_text = (seconds: number): string =>
  seconds >= 0.9995 ? `${Number(seconds.toPrecision(4))} s` : scaled(seconds * 1e9, 1000, ["ns", "us", "ms"]);
export const rate_text = (bytes_per_s: number): string => scaled(bytes_per_s, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
export const size_text = (bytes: number): string => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const percent = (share: number): string => `${Math.round(100 * share)} %`;
/** 1.66 of after and before. */
export const times_text = (factor: number): string => `${Number(factor.toPrecision(3))} times`;
